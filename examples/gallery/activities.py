"""Four activities of people with a smart watch: a strip each, every second in a colour.

The fit does not see the activities. It finds small clusters, and a tree merges them into
four groups, one for each colour.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from mapdpm import MAPDPM

file = Path(__file__).parents[1] / "data" / "smartwatch.csv"
watch = np.loadtxt(file, delimiter=",", skiprows=1, usecols=range(2, 8))
activity = np.loadtxt(file, delimiter=",", skiprows=1, usecols=8, dtype=str)[::10]
X = np.log(watch.reshape(800, 10, 6).std(axis=1) + 1e-6)  # ten samples are a second

model = MAPDPM().fit(X)
groups = model.merge_tree(prior=type(model.likelihood_).empirical(X)).labels(4)

figure, ax = plt.subplots(figsize=(4.8, 3.6), layout="constrained")
strips = groups[np.argsort(activity, kind="stable")].reshape(4, 200)
ax.imshow(strips, cmap="tab10", vmin=0, vmax=9, aspect="auto", interpolation="nearest")
ax.set_yticks(range(4), np.unique(activity))
ax.set(title=f"{model.n_clusters_} clusters in 4 groups", xlabel="second")
figure.savefig("activities.png", dpi=150)
