"""Points of streams, for tests of learners."""

import numpy as np


def blobs(n=2000, seed=0, D=2, K=5, offset=0.0):
    """Clusters of unit variance, whose centres are 12 apart or more."""
    rng = np.random.default_rng(seed)
    lattice = rng.permutation(np.stack(np.meshgrid(*[[-24.0, -12.0, 0.0, 12.0, 24.0]] * D), -1).reshape(-1, D))
    centres = lattice[:K]
    y = rng.integers(0, K, n)
    return offset + centres[y] + rng.normal(size=(n, D)), y


def flow(n=3000, seed=0):
    """Clusters that come and go, and some points of none."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, 8, (12, 2))
    y = (np.arange(n) * 9 // n) + rng.integers(0, 4, n)
    X = centres[y] + rng.normal(size=(n, 2))
    lost = rng.random(n) < 0.03
    X[lost] = rng.uniform(-30, 30, (int(lost.sum()), 2))
    return X
