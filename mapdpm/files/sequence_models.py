"""HDPHMM in model files: the table of transitions and the shares of states, as extras of the container."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.partition_priors.transitions import transitions
from mapdpm.protocol import Labels, Matrix
from mapdpm.state import Mixture


def with_kappa(mixture: Mixture, kappa: Any) -> Mixture:
    """``mixture``, as the body of a file has it, with the number that is not there; ValueError where it is invalid."""
    return mixture._replace(prior=transitions(mixture.prior.alpha, mixture.prior.gamma, kappa))


def checked_states(mixture: Mixture, extras: dict[str, Any]) -> tuple[Labels, Matrix]:
    """The transitions (K + 1, K) and the shares (1, K + 1); ValueError where they do not fit the model."""
    K = len(mixture.counts)
    table, shares = extras["table"], extras["shares_"]
    if table.dtype.kind != "i" or len(table) != (K + 1) * K or table.min() < 0 or table.max() > mixture.counts.max():
        msg = "table"
        raise ValueError(msg)
    table = table.astype(np.int64).reshape(K + 1, K)
    left = mixture.counts - table[:-1].sum(axis=1)  # of points of a state those after which a sequence ends
    if not np.array_equal(table.sum(axis=0), mixture.counts) or left.min() < 0:
        msg = "table"
        raise ValueError(msg)
    within = shares.shape == (K + 1,) and bool(np.all(np.isfinite(shares))) and shares.min() > 0.0
    if not within or not np.isclose(shares.sum(), 1.0, rtol=0.0, atol=1e-9):
        msg = "shares_"
        raise ValueError(msg)
    return table, shares[None]
