"""Points with missing values, for tests: some missing completely at random, but not all of a point."""

import numpy as np

from mapdpm import BetaBernoulli, GammaPoisson, NormalGamma, NormalKnownVariance

SKIPPING = (NormalGamma, NormalKnownVariance, GammaPoisson, BetaBernoulli)
"""The families under which missing values have exact densities."""


def with_gaps(X, share, seed=0):
    """``X`` with about a ``share`` of its values missing; each point keeps one."""
    rng = np.random.default_rng(seed)
    gaps = np.array(X, dtype=np.float64)
    absent = rng.random(gaps.shape) < share
    absent[np.arange(len(gaps)), rng.integers(0, gaps.shape[1], len(gaps))] = False
    gaps[absent] = np.nan
    return gaps
