"""Whether the sampler of Chang2013 as printed is exact: partitions of six points, and numbers of clusters."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from chang_samplers import PRINTED, with_gibbs
from noise import mean_and_error

from mapdpm import NormalGamma, NormalKnownVariance
from mapdpm.diagnostics import effective_sample_size
from mapdpm.partition_priors import DirichletProcess
from mapdpm.samplers import CollapsedGibbs, SequentialSplitMerge, SubClusterSplits, sample
from mapdpm.testing import kernels
from mapdpm.testing.enumeration import canonical, partitions

SIX = (
    (-1.2, -0.9, -0.1, 0.3, 1.0, 1.4),
    (-2.0, -1.8, -1.5, 1.5, 1.7, 2.2),
    (-0.3, -0.2, 0.0, 0.1, 0.2, 0.4),
    (-3.0, -1.0, 0.0, 1.0, 2.0, 4.0),
)
VARIANTS = ("exact", "printed")


def six_points(draws: int, sets: Sequence[tuple[float, ...]] = SIX) -> dict[str, list[float]]:
    """The total variation of draws from the posterior of partitions, which is enumerated; by the variant."""
    found: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    for points, alpha in itertools.product(sets, (0.5, 1.0, 3.0)):
        X = np.array(points)[:, None]
        family = NormalKnownVariance(0.0, 4.0, 0.25).for_data(X)
        posterior = kernels.posterior_of(DirichletProcess(alpha), family, X, len(X))
        which = {z: number for number, z in enumerate(partitions(len(X)))}
        for variant in VARIANTS:
            sampler = SubClusterSplits(alpha, likelihood=family, variant=variant)
            drawn = sample(X, sampler, draws=draws, random_state=0).partitions
            assert drawn is not None
            counted = np.bincount([which[canonical(z)] for z in drawn[0]], minlength=len(which))
            found[variant].append(0.5 * float(np.abs(counted / draws - posterior).sum()))
    return found


def numbers_of_clusters(n: int, draws: int) -> dict[str, tuple[float, float, float]]:
    """The mean number of clusters, its standard error, and the total variation from exact samplers: by the sampler.

    The points are of four normal clusters that overlap.
    """
    rng = np.random.default_rng(11)
    X = (2.0 * rng.normal(size=(4, 2)))[rng.integers(0, 4, n)] + rng.normal(size=(n, 2))
    model: dict[str, Any] = {"alpha": 1.0, "likelihood": NormalGamma(0.0, 0.1, 2.0, 1.0)}
    named = {
        "`CollapsedGibbs`, `SequentialSplitMerge`": with_gibbs(SequentialSplitMerge, 3)(**model),
        "`CollapsedGibbs`": CollapsedGibbs(**model),
        "`SubClusterSplits`": SubClusterSplits(**model),
        "as printed": PRINTED(**model),
    }
    found, first = {}, None
    for name, sampler in named.items():
        K = sample(X, sampler, draws=draws, burn_in=draws // 10, chains=2, random_state=1, keep=()).n_clusters
        shares = np.bincount(np.minimum(K.ravel(), 29), minlength=30) / K.size
        first = shares if first is None else first
        error = float(K.std(ddof=1) / np.sqrt(effective_sample_size(K.astype(float), method="mean")))
        found[name] = mean_and_error(K.ravel())[0], error, 0.5 * float(np.abs(shares - first).sum())
    return found
