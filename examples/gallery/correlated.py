"""Three clusters whose two features go together.

Independent features cut them into pieces, full covariances do not. The default takes the
better of the two.
"""

import matplotlib.pyplot as plt
import numpy as np

from mapdpm import MAPDPM, plots

rng = np.random.default_rng(0)
centres = np.repeat([[0.0, 0.0], [3.0, 0.0], [1.0, 6.0]], 100, axis=0)
X = centres + rng.normal(size=(300, 2)) @ [[1.0, 1.2], [0.0, 0.5]]

figure, axes = plt.subplots(1, 2, sharex=True, sharey=True, figsize=(4.8, 3.6), layout="constrained")
for ax, shape in zip(axes, ["diagonal", "full"], strict=True):
    model = MAPDPM(covariance=shape).fit(X)
    plots.clusters(model, X, ax=ax).get_legend().remove()
    ax.set_title(f'covariance="{shape}":\n{model.n_clusters_} clusters')
axes[1].set_ylabel("")
figure.savefig("correlated.png", dpi=150)
