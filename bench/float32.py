"""Number of labels that differ between float32 and float64 input, on 200 data sets, centred and at offsets.

Run: python bench/float32.py. Statistics and decisions are in float64 for both; what differs is the rounding of the
input, which at an offset of 1e6 is 0.03 of a unit deviation at most.
"""

from __future__ import annotations

import json

import numpy as np

from mapdpm import MAPDPM, NormalGamma

SETS, POINTS = 200, 400


def main() -> None:
    """Fit each data set in both types at each offset."""
    for offset in (0.0, 1e3, 1e6):
        points = different = 0
        for seed in range(SETS):
            rng = np.random.default_rng([4, seed])
            D, K = rng.integers(1, 21, 2)
            X = rng.normal(0.0, 3.0, (K, D))[rng.integers(0, K, POINTS)] + rng.normal(size=(POINTS, D))
            X += offset - X.mean(axis=0)
            prior = NormalGamma(offset, 0.1, 1.0, 1.0)
            one, two = (MAPDPM(likelihood=prior).fit(X.astype(kind)).labels_ for kind in (np.float64, np.float32))
            points += len(X)
            different += np.count_nonzero(one != two)
        share = different / points
        print(json.dumps({"offset": offset, "points": points, "different": int(different), "share": round(share, 5)}))


if __name__ == "__main__":
    main()
