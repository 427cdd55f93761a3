"""Points a second of StickBreakingGibbs beside CollapsedGibbs, at equal numbers of clusters.

Run: python bench/explicit_labels.py. Both start at the same labels. Steps of both in turn, median ratio of times.
"""

from __future__ import annotations

import time

import numpy as np
from machine import about
from tables import print_table

from mapdpm import NormalGamma
from mapdpm.rng import seeded
from mapdpm.samplers import CollapsedGibbs, StickBreakingGibbs
from mapdpm.samplers.chain_data import ChainData


def speed() -> None:
    """Both samplers on the same points, from the same labels."""
    rows = []
    for D, K in ((2, 5), (2, 20), (6, 10), (6, 40)):
        rng = np.random.default_rng(0)
        z = rng.integers(0, K, 4000)
        X = rng.normal(0.0, 12.0, (K, D))[z] + rng.normal(size=(len(z), D))
        likelihood = NormalGamma(0.0, 0.01, 4.0, 4.0).for_data(X)
        samplers = {
            "CollapsedGibbs": CollapsedGibbs(1.0),
            "StickBreakingGibbs": StickBreakingGibbs(1.0),
            "without moves": StickBreakingGibbs(1.0, label_moves=()),
            "discount 0.3": StickBreakingGibbs(1.0, discount=0.3),
        }
        labels_of_all = np.unique(z, return_inverse=True)[1]
        chains = {
            n: (s.chain(ChainData(likelihood, X), labels_of_all, seeded(1)), seeded(2)) for n, s in samplers.items()
        }
        times: dict[str, list[float]] = {name: [] for name in samplers}
        for turn in range(26):
            for name, sampler in samplers.items():
                begin = time.perf_counter()
                sampler.step(*chains[name])
                if turn > 0:
                    times[name].append(time.perf_counter() - begin)
        base = np.array(times["CollapsedGibbs"])
        for name in samplers:
            ratio = np.median(np.array(times[name]) / base)
            rate = len(X) / np.median(times[name])
            rows.append((f"{D}, {K}", name, str(chains[name][0].n_clusters), f"{rate / 1e6:.2f}", f"{ratio:.2f}"))
    header = ("D, true K", "sampler", "clusters", "million points/s", "time / CollapsedGibbs")
    print_table("Speed", header, rows)


if __name__ == "__main__":
    print(about())
    speed()
