"""The density of a bent cloud of points, and the scores of three new points.

A score is the log of a density that integrates to 1, in nats: a low one is unusual.
"""

import matplotlib.pyplot as plt
import numpy as np

from mapdpm import MAPDPM, NormalInverseWishart, plots

rng = np.random.default_rng(0)
angle = rng.uniform(0.0, np.pi, 500)
X = 3.0 * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(size=(500, 2)) * 0.3

model = MAPDPM(likelihood=NormalInverseWishart).fit(X)
new = np.array([[-2.2, 2.1], [-0.9, 1.2], [0.8, 0.2]])

figure, ax = plt.subplots(figsize=(4.8, 3.6), layout="constrained")
plots.density(model, X, ax=ax).set_title("log density of three new points")
ax.plot(*new.T, "k*", markersize=12)
box = {"color": "white", "pad": 1.5}
for (x, y), score in zip(new, model.score_samples(new), strict=True):
    ax.text(x, y + 0.3, f"{score:.1f}", ha="center", weight="bold", bbox=box)
figure.savefig("density.png", dpi=150)
