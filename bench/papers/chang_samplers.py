"""The samplers that Chang2013 compares, as rows of its Table 1, and the points of its Figure 4."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mapdpm import NormalInverseWishart
from mapdpm.samplers import (
    CollapsedGibbs,
    FiniteSymmetricDirichlet,
    Hybrid,
    LaunchedSplitMerge,
    Sampler,
    SequentialSplitMerge,
    SubClusterSplits,
    SuperClusters,
    UncollapsedGibbs,
)

CLUSTERS = 10
Make = Callable[..., Sampler]


class Row(NamedTuple):
    """A row of Table 1; the names of fields are its columns."""

    make: Make
    here: str
    infinite: bool
    exact: bool
    within: bool
    """Points of one cluster can be drawn in parallel."""
    between: bool
    """Clusters can be, at least."""
    splits: bool


def with_gibbs(kind: Make, count: int = 1) -> Make:
    """Collapsed Gibbs sampling, and so many steps of another sampler."""
    return lambda **model: Hybrid((CollapsedGibbs(**model), kind(**model)), counts=(1, count))


PRINTED = partial(SubClusterSplits, variant="printed")
ROWS = {
    "GIBBS": Row(CollapsedGibbs, "`CollapsedGibbs`", True, True, False, False, False),
    "GIBBS, uncollapsed": Row(UncollapsedGibbs, "`UncollapsedGibbs`", True, True, False, False, False),
    "FSD": Row(FiniteSymmetricDirichlet, "`FiniteSymmetricDirichlet`", False, True, True, True, False),
    "GIBBS+SUPC": Row(SuperClusters, "`SuperClusters`", True, True, False, True, False),
    "GIBBS+SAMS": Row(with_gibbs(SequentialSplitMerge), "with `SequentialSplitMerge`", True, True, False, False, True),
    "GIBBS+LAUNCHED": Row(
        with_gibbs(LaunchedSplitMerge, 10), "with ten `LaunchedSplitMerge`", True, True, False, False, True
    ),
    "SUBC": Row(PRINTED, '`SubClusterSplits(variant="printed")`', True, False, True, True, True),
    "SUBC+SUPC": Row(
        partial(PRINTED, super_clusters=True), "the same, `super_clusters=True`", True, False, True, True, True
    ),
    "APPROX": Row(
        partial(PRINTED, super_clusters=True, deferred=False),
        "the same, `deferred=False`",
        True,
        False,
        True,
        True,
        True,
    ),
    "EXACT": Row(SubClusterSplits, "`SubClusterSplits`", True, True, True, True, True),
    "EXACT+SUPC": Row(
        partial(SubClusterSplits, super_clusters=True), "the same, `super_clusters=True`", True, True, True, True, True
    ),
}


def normals(n: int, seed: int = 4) -> tuple[Any, Any]:
    """Points of ten normal clusters of random covariances in two dimensions, some of which overlap; their clusters."""
    rng = np.random.default_rng(seed)
    means, roots = 8.0 * rng.normal(size=(CLUSTERS, 2)), rng.normal(size=(CLUSTERS, 2, 2))
    z = rng.integers(0, CLUSTERS, n)
    return means[z] + np.einsum("nij,nj->ni", roots[z], rng.normal(size=(n, 2))), z


def wishart(X: Any) -> NormalInverseWishart:
    """The prior of the authors' program."""
    D = X.shape[1]
    return NormalInverseWishart(X.mean(axis=0), 1.0, D + 3.0, np.eye(D))
