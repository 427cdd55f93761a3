"""Four machines share three ways of running: each has them in shares of its own.

The bar on top has the common shares, which are those of a new machine. Grey is a new cluster.
"""

import matplotlib.pyplot as plt
import numpy as np

from mapdpm import HDPMixture, plots

rng = np.random.default_rng(0)
shares = [[0.8, 0.2, 0.0], [0.5, 0.0, 0.5], [0.2, 0.4, 0.4], [0.0, 0.9, 0.1]]
machines = np.repeat(["press", "drill", "saw", "mill"], 100)
ways = np.concatenate([rng.choice(3, 100, p=each) for each in shares])
X = np.array([[0.0, 0.0], [4.0, 1.0], [1.5, 4.0]])[ways] + rng.normal(size=(400, 2)) * 0.8

model = HDPMixture().fit(X, machines)

figure, (left, right) = plt.subplots(1, 2, figsize=(4.8, 3.6), layout="constrained")
plots.clusters(model, X, ax=left).get_legend().remove()
plots.groups(model, ax=right).get_legend().remove()
left.set_title(f"{model.n_clusters_} clusters")
right.set(title="shares by group", ylabel="")
figure.savefig("groups.png", dpi=150)
