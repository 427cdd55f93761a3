"""Three states of a machine: their clusters overlap, but each state lasts for a while.

The strip on top has the true states. Below are two sensors over the states that were found.
Without the order in time, MAPDPM sees one cluster.
"""

import matplotlib.pyplot as plt
import numpy as np

from mapdpm import HDPHMM, MAPDPM, plots

rng = np.random.default_rng(0)
truth = np.repeat([0, 1, 2, 0, 2, 1, 0, 1, 2, 1], rng.integers(20, 80, 10))
X = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]])[truth] + rng.normal(size=(len(truth), 2))

model = HDPHMM().fit(X)

figure, (top, ax) = plt.subplots(2, 1, sharex=True, height_ratios=[1, 9], figsize=(4.8, 3.6), layout="constrained")
plots.segments(model, X, ax=ax).get_legend().remove()
top.pcolormesh(range(len(truth) + 1), [0, 1], [truth], cmap="tab10", vmin=0, vmax=9, alpha=0.45)
top.set_yticks([0.5], ["truth"])
top.set_title(f"{model.n_states_} states by HDPHMM, {MAPDPM().fit(X).n_clusters_} by MAPDPM")
figure.savefig("states.png", dpi=150)
