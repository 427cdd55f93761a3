"""A machine that idles and runs has three faults: one alert each, not one a reading.

Below is the surprise of each reading, a tail probability; the dashed line is the level of
the alarm, and the spans are its episodes.
"""

import matplotlib.pyplot as plt
import numpy as np

from mapdpm import Alarm, OnlineMAPDPM, plots

rng = np.random.default_rng(0)
x = np.arange(3000) // 150 % 2 * 6.0 + rng.normal(size=3000)
for start, fault in [(1200, 16.0), (1800, -9.0), (2400, 12.0)]:
    x[start : start + 80] = fault + rng.normal(size=80)

model, alarm = OnlineMAPDPM(), Alarm(level=1e-4, hold=80)
found = model.learn_many_assessed(x[:, None])
for surprise in found.surprise:
    alarm.update(surprise)

figure, axes = plt.subplots(2, 1, sharex=True, figsize=(4.8, 3.6), layout="constrained")
plots.surprise(None, x[:, None], found, alarm, ax=axes)
axes[0].set(title=f"{len(x):,} readings, {len(alarm.events)} alerts", ylabel="reading")
figure.savefig("alarms.png", dpi=150)
