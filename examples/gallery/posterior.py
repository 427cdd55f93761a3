"""How many clusters: draws of the posterior say how sure one can be of their number.

The mode is one answer, and a low one. The data is 82 made-up points in five groups.
"""

import matplotlib.pyplot as plt
import numpy as np

from mapdpm import MAPDPM, NormalGamma
from mapdpm.samplers import CollapsedGibbs, sample

rng = np.random.default_rng(0)
centres = np.repeat([9.7, 19.8, 22.9, 26.9, 33.0], [7, 36, 33, 3, 3])[:, None]
X = centres + rng.normal(0.0, 0.7, (82, 1))

prior = NormalGamma(m0=20.0, c0=0.02, a0=2.0, b0=1.0)
mode = MAPDPM(likelihood=prior).fit(X)
draws = sample(X, CollapsedGibbs(likelihood=prior), draws=2000, burn_in=200, random_state=0)
shares = draws.n_clusters_posterior()

figure, ax = plt.subplots(figsize=(4.8, 3.6), layout="constrained")
ax.bar(range(len(shares)), shares, color="0.6", label="posterior")
ax.axvline(mode.n_clusters_, color="tab:orange", linewidth=3, label="mode")
ax.set(xlim=(1, len(shares)), xlabel="clusters", ylabel="share of draws")
ax.spines[["top", "right"]].set_visible(False)
ax.set_title("82 points in five groups")
ax.legend(frameon=False)
figure.savefig("posterior.png", dpi=150)
