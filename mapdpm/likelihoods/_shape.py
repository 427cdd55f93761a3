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

MOST_COLUMNS = 32
"""Of full covariances that are tried unasked: a fit costs as the cube of them."""


def full_of(likelihood: Any) -> Any:
    """``likelihood``, whose prior is to be fitted, with full covariances of its normal columns."""
    if isinstance(likelihood, Mixed):
        return likelihood.of_blocks(tuple(_full_block(block) for block in likelihood.blocks))
    if isinstance(likelihood, Measured):
        return likelihood._replace(family=full_of(likelihood.family))
    return NormalInverseWishart if likelihood is NormalGamma else likelihood


def diagonal_of(likelihood: Any) -> Any:
    """``likelihood``, whose prior is to be fitted, with independent columns in place of full covariances."""
    if isinstance(likelihood, Mixed):
        return likelihood.of_blocks(tuple(_diagonal_block(block) for block in likelihood.blocks))
    if isinstance(likelihood, Measured):
        return likelihood._replace(family=diagonal_of(likelihood.family))
    return NormalGamma if likelihood is NormalInverseWishart else likelihood


def is_full(likelihood: Any) -> bool:
    """Whether columns of ``likelihood`` have full covariances."""
    if isinstance(likelihood, Mixed):
        return any(is_full(block.family) for block in likelihood.blocks)
    kind = getattr(likelihood, "kind", likelihood)
    return (kind if isinstance(kind, type) else type(kind)) is NormalInverseWishart


def normal_columns(likelihood: Any, n_columns: int) -> NDArray[np.bool_]:
    """Of each column that ``likelihood`` reads, whether ``full_of`` changes it."""
    if not isinstance(likelihood, Mixed):
        return np.full(n_columns, full_of(likelihood) is not likelihood)
    return np.concatenate([np.full(block.width, _full_block(block) is not block) for block in likelihood.blocks])


def _diagonal_block(block: Block) -> Block:
    family = diagonal_of(block.family)
    return block if family is block.family else block._replace(family=family)


def _full_block(block: Block) -> Block:
    family = full_of(block.family)
    is_normal = family is not block.family and block.kind is NormalGamma and block.reading == AS_IT_IS
    return block._replace(family=family) if is_normal and block.width > 1 else block
