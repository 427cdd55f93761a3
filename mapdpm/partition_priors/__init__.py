"""Priors over partitions: how many clusters, and how large, before any data is seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.partition_priors.cluster_penalty import ClusterPenalty
from mapdpm.partition_priors.dirichlet_process import DirichletProcess
from mapdpm.partition_priors.finite_dirichlet import FiniteDirichlet
from mapdpm.partition_priors.pitman_yor import PitmanYor
from mapdpm.partition_priors.stick_breaking import StickBreaking
from mapdpm.protocol import LARGEST, SMALLEST
from mapdpm.validation import check_number, check_positive

__all__ = [
    "ClusterPenalty",
    "DirichletProcess",
    "FiniteDirichlet",
    "PitmanYor",
    "StickBreaking",
    "finite_prior",
    "partition_prior",
]


def partition_prior(alpha: float, discount: float = 0.0) -> DirichletProcess | PitmanYor:
    """The process with concentration ``alpha`` and ``discount``, checked; a Dirichlet process if that is 0."""
    alpha, discount = check_number("alpha", alpha), check_number("discount", discount)
    if not 0.0 <= discount < 1.0:
        msg = f"discount must be in [0, 1), got {discount}"
        raise ValueError(msg)
    if discount == 0.0:
        check_positive("alpha", alpha)
    if (discount == 0.0 and alpha < SMALLEST) or alpha > LARGEST:
        msg = f"alpha must be between {SMALLEST:.0e} and {LARGEST:.0e}, got {alpha}"
        raise ValueError(msg)
    if not alpha > -discount:
        msg = f"alpha must be > -discount, got alpha {alpha} with discount {discount}"
        raise ValueError(msg)
    return PitmanYor(alpha, discount) if discount else DirichletProcess(alpha)  # decision 15


def finite_prior(alpha: float, n_components: int) -> FiniteDirichlet:
    """The finite mixture of ``n_components``, whose shares are Dirichlet(alpha / n_components, ...); alpha checked."""
    return FiniteDirichlet(partition_prior(alpha).alpha, n_components)


def check_drawn(alpha: Any, discount: Any) -> None:
    """ValueError unless 0 <= discount < 1 and alpha > -discount: numbers, or arrays of draws."""
    given = [np.asarray(value) for value in (alpha, discount)]
    real = all(value.dtype.kind in "biuf" for value in given)  # a file has any type
    alpha, discount = (value.astype(np.float64) if real else np.nan for value in given)
    if not np.all((discount >= 0.0) & (discount < 1.0) & (alpha > -discount) & (alpha <= LARGEST)):
        msg = f"a discount must be in [0, 1), and alpha must be > -discount and at most {LARGEST:.0e}"
        raise ValueError(msg)
