"""Which clusters belong together: a tree of their mergers, cut into four merged clusters.

The clusters are those of a smart watch's recording, each named by the activity of most of
its seconds. The fit and the tree do not see activities. A merger costs its height, in nats.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from mapdpm import MAPDPM, plots

file = Path(__file__).parents[1] / "data" / "smartwatch.csv"
watch = np.loadtxt(file, delimiter=",", skiprows=1, usecols=range(2, 8))
activity = np.loadtxt(file, delimiter=",", skiprows=1, usecols=8, dtype=str)[::10]
X = np.log(watch.reshape(800, 10, 6).std(axis=1) + 1e-6)  # ten samples are a second

model = MAPDPM().fit(X)
figure, ax = plt.subplots(figsize=(4.8, 3.6), layout="constrained")
plots.tree(model.merge_tree(prior=type(model.likelihood_).empirical(X)), n_groups=4, ax=ax)
leaves = [int(text.get_text()) for text in ax.get_xticklabels()]
kinds, kind = np.unique(activity, return_inverse=True)
names = [kinds[np.bincount(kind[model.labels_ == leaf]).argmax()] for leaf in leaves]
ax.set_xticks(range(len(leaves)), names, rotation=90)
ax.set_xlabel("")
figure.savefig("tree.png", dpi=150)
