"""A sensor with three levels that drift: clusters follow them and keep their colours.

One level ends, and its cluster is forgotten. The level that begins then has a new one.
The learner keeps no points: `half_life=300` says how fast it forgets what it has learned.
"""

import matplotlib.pyplot as plt
import numpy as np

from mapdpm import OnlineMAPDPM

rng = np.random.default_rng(0)
t = np.arange(6000)
levels = [12 + t / 500 + np.sin(t / 500), 20 + t / 500, np.where(t < 3000, 34, 8)]
x = np.stack(levels)[rng.integers(0, 3, 6000), t] + rng.normal(0.0, 0.5, 6000)

model = OnlineMAPDPM(half_life=300)
ids = model.learn_many(x[:, None])[200:]  # the first 200 points are the warm-up

figure, ax = plt.subplots(figsize=(4.8, 3.6), layout="constrained")
for number in np.unique(ids):
    ax.plot(t[200:][ids == number], x[200:][ids == number], ".", markersize=3)
ax.set(title=f"{len(np.unique(ids))} clusters", xlabel="point", ylabel="reading")
ax.spines[["top", "right"]].set_visible(False)
figure.savefig("drift.png", dpi=150)
