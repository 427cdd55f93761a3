"""HDPHMM in model files: the table of transitions and the shares of states, as extras of the container."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm.files.batch_models import Restored, check_results, checked_likelihood, common_extras, parameters_of
from mapdpm.files.extras import checked_names, smallest_integers
from mapdpm.files.grouped_models import concentrations_of, misfit, restored_concentrations
from mapdpm.partition_priors.transitions import transitions
from mapdpm.protocol import Labels, Vector
from mapdpm.state import Mixture


def extras_of(model: Any, table: Labels) -> dict[str, Any]:
    """The extras of a model file."""
    return common_extras(model) | {
        **concentrations_of(model),
        "kappa": float(model.kappa),
        "kappa_": model.kappa_,
        "max_states": model.max_states,
        "table": smallest_integers(table.ravel()),
        "shares_": model.shares_,
    }


class RestoredStates(NamedTuple):
    """The model that the extras give, with the table of transitions and the shares of states."""

    model: Restored
    mixture: Mixture
    table: Labels
    shares: Vector


def restored_states(cls: Any, mixture: Mixture, extras: dict[str, Any]) -> RestoredStates:
    """The model read from a file; ``extras`` are checked, but for the parameters, which the model checks itself."""
    try:
        likelihood = checked_likelihood(extras, mixture)
        parameters = parameters_of(extras, type(likelihood)) | restored_concentrations(extras)
        parameters |= {name: extras[name] for name in ("kappa", "max_states")}
        check_results(extras, mixture)
        model = Restored(cls(**parameters), likelihood, checked_names(extras, len(mixture.anchor)))
        return RestoredStates(model, with_kappa(mixture, extras["kappa_"]), *_checked_table(extras, mixture))
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        raise misfit(error) from None


def with_kappa(mixture: Mixture, kappa: Any) -> Mixture:
    """``mixture``, as the body of a file has it, with the number that is not there; ValueError where it is invalid."""
    return mixture._replace(prior=transitions(mixture.prior.alpha, mixture.prior.gamma, kappa))


def _checked_table(extras: dict[str, Any], mixture: Mixture) -> tuple[Labels, Vector]:
    """The transitions (K + 1, K) and the shares (K + 1,); ValueError where they do not fit the model."""
    K = len(mixture.counts)
    table, shares = extras["table"], extras["shares_"]
    if table.dtype.kind != "i" or len(table) != (K + 1) * K or table.min() < 0 or table.max() > mixture.counts.max():
        msg = "table"
        raise ValueError(msg)
    table = table.astype(np.int64).reshape(K + 1, K)
    left = mixture.counts - table[:-1].sum(axis=1)  # of points of a state those after which a sequence ends
    if not np.array_equal(table.sum(axis=0), mixture.counts) or left.min() < 0 or left.sum() != table[-1].sum():
        msg = "table"
        raise ValueError(msg)
    within = shares.shape == (K + 1,) and bool(np.all(np.isfinite(shares))) and shares.min() > 0.0
    if not within or not np.isclose(shares.sum(), 1.0, rtol=0.0, atol=1e-9):
        msg = "shares_"
        raise ValueError(msg)
    return table, shares
