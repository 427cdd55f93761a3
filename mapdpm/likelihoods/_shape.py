"""Full covariances in place of independent normal columns: the same likelihood, for clusters of another shape."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapdpm.likelihoods._blocks import Block
from mapdpm.likelihoods._measured import Measured
from mapdpm.likelihoods._readings import AS_IT_IS
from mapdpm.likelihoods.mixed import Mixed
from mapdpm.likelihoods.normal_gamma import NormalGamma
from mapdpm.likelihoods.normal_inverse_wishart import NormalInverseWishart
from mapdpm.protocol import SMALLEST, Labels, Matrix, Weights

MOST_COLUMNS = 32
"""The most columns of full covariances that are tried unasked; a fit costs the cube of them."""

_ENOUGH_POINTS = 10  # of a cluster, to know a correlation
_NEARLY_ONE = 1.0 - 1e-12


def full_of(likelihood: Any) -> Any:
    """``likelihood``, whose prior is to be fitted, with full covariances of its normal columns."""
    return _swapped(likelihood, NormalGamma, NormalInverseWishart)


def diagonal_of(likelihood: Any) -> Any:
    """``likelihood``, whose prior is to be fitted, with independent columns in place of full covariances."""
    return _swapped(likelihood, NormalInverseWishart, NormalGamma)


def is_full(likelihood: Any) -> bool:
    """Whether columns of ``likelihood`` have full covariances."""
    if isinstance(likelihood, Mixed):
        return any(is_full(block.family) for block in likelihood.blocks)
    kind = getattr(likelihood, "kind", likelihood)
    return (kind if isinstance(kind, type) else type(kind)) is NormalInverseWishart


def normal_columns(likelihood: Any, n_columns: int) -> NDArray[np.bool_]:
    """Whether ``full_of`` changes each column that ``likelihood`` reads."""
    full = full_of(likelihood)
    if not isinstance(likelihood, Mixed):
        return np.full(n_columns, full is not likelihood)
    pairs = zip(likelihood.blocks, full.blocks, strict=True)
    return np.concatenate([np.full(block.width, other is not block) for block, other in pairs])


def gains_of_pairs(table: Matrix, weights: Weights, labels: Labels) -> Matrix:
    """By how many nats each two columns are better together: -1/2 sum_k (n_k ln(1 - r_k^2) + ln n_k), maths section 37.

    r_k is their correlation in a cluster of 10 points or more; the diagonal is 0. O(n D^2).
    """
    gains = np.zeros((table.shape[1], table.shape[1]))
    for k in np.flatnonzero(np.bincount(labels) >= _ENOUGH_POINTS):
        of_k = labels == k
        weight = None if weights is None else weights[of_k]
        n = float(of_k.sum() if weight is None else weight.sum())
        gains -= 0.5 * (n * np.log1p(-_squared_correlations(table[of_k], weight)) + np.log(n))
    np.fill_diagonal(gains, 0.0)
    return gains


def _squared_correlations(table: Matrix, weights: Weights) -> Matrix:
    """Those of columns, below 1; 0 for a column that does not vary."""
    away = (table - np.average(table, axis=0, weights=weights)).astype(np.float64)
    away /= np.maximum(np.abs(away).max(axis=0), SMALLEST)  # a unit is nothing special
    rooted = away if weights is None else away * np.sqrt(weights)[:, None]
    size = np.sqrt((rooted**2).sum(axis=0))
    unit = rooted / np.where(size > 0.0, size, 1.0)
    return np.minimum((unit.T @ unit) ** 2, _NEARLY_ONE)


def _swapped(likelihood: Any, old: Any, new: Any) -> Any:
    """``likelihood`` with the class ``new`` where it has ``old``; itself where it has none."""
    if isinstance(likelihood, Mixed):
        return likelihood.of_blocks(tuple(_swapped_block(block, old, new) for block in likelihood.blocks))
    if isinstance(likelihood, Measured) and likelihood.family is old:
        return likelihood._replace(family=new)
    return new if likelihood is old else likelihood


def _swapped_block(block: Block, old: Any, new: Any) -> Block:
    """The block with the other class: not one column alone, and none with a spike or of angles."""
    family = _swapped(block.family, old, new)
    is_kept = family is block.family or block.width == 1 or block.reading != AS_IT_IS
    return block if is_kept else block._replace(family=family)
