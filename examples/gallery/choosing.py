"""Which alpha: the one under which points that the fit did not see are most probable.

A bar is one standard error to both sides, and a number is that of clusters; 30 were drawn.
"""

import matplotlib.pyplot as plt
import numpy as np

from mapdpm import NormalGamma, select_alpha

rng = np.random.default_rng(0)
centres = rng.normal(size=(30, 2)) * 6.0
X = centres[rng.integers(0, 30, 300)] + rng.normal(size=(300, 2)) * 0.5

prior = NormalGamma(m0=0.0, c0=0.03, a0=2.0, b0=0.5)
found = select_alpha(X, 10.0 ** np.arange(-4, 4), likelihood=prior)

figure, ax = plt.subplots(figsize=(4.8, 3.6), layout="constrained")
found.plot(ax=ax).set_title(f"the best alpha: {found.alpha:g}")
figure.savefig("choosing.png", dpi=150)
