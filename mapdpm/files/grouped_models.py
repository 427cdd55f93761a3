"""HDPMixture in model files: the table of counts, the shares and the names of groups, as extras of the container."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapdpm.data.groups import read_groups
from mapdpm.files.batch_models import Restored, check_results, checked_likelihood, common_extras, parameters_of
from mapdpm.files.errors import ModelFileError
from mapdpm.files.extras import checked_names, smallest_integers
from mapdpm.partition_priors.hyperpriors import GammaPrior
from mapdpm.protocol import Labels, Vector
from mapdpm.state import Mixture

_PRIORS = ("alpha_prior", "gamma_prior")


def extras_of(model: Any, table: Labels) -> dict[str, Any]:
    """The extras of a model file; ValueError where a group has a name that JSON does not have."""
    for name in model.group_names_:
        if not isinstance(name, (str, int, float, bool)) and name is not None:
            msg = (
                f"a model file has groups named by str, int, float or bool, got {name!r}; pickle or joblib can keep it"
            )
            raise ValueError(msg)
    priors = {name: getattr(model, name) for name in _PRIORS}
    return common_extras(model) | {
        "alpha": float(model.alpha),
        "gamma": float(model.gamma),
        **{name: None if prior is None else [float(value) for value in prior] for name, prior in priors.items()},
        "group_names_": model.group_names_.tolist(),
        "table": smallest_integers(table.ravel()),
        "shares_": model.shares_,
    }


class RestoredGroups(NamedTuple):
    """The model that the extras give, with the names of groups, the table of counts and the common shares."""

    model: Restored
    names: NDArray[np.object_]
    table: Labels
    shares: Vector


def restored_groups(cls: Any, mixture: Mixture, extras: dict[str, Any]) -> RestoredGroups:
    """The model read from a file; ``extras`` are checked, but for the parameters, which the model checks itself."""
    try:
        likelihood = checked_likelihood(extras, mixture)
        parameters = parameters_of(extras, type(likelihood)) | {name: extras[name] for name in ("alpha", "gamma")}
        for name in _PRIORS:
            parameters[name] = None if extras[name] is None else GammaPrior(*extras[name])
        check_results(extras, mixture)
        model = Restored(cls(**parameters), likelihood, checked_names(extras, len(mixture.anchor)))
        return RestoredGroups(model, *_checked_groups(extras, mixture))
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        raise misfit(error) from None


def misfit(error: Exception) -> ModelFileError:
    """The error for extras that do not fit."""
    return ModelFileError(f"the model file is damaged: its extras do not fit ({error})")


def _checked_groups(extras: dict[str, Any], mixture: Mixture) -> tuple[NDArray[np.object_], Labels, Vector]:
    """The names of groups, the table of counts and the common shares; ValueError where they do not fit the model."""
    names, n_clusters = extras["group_names_"], len(mixture.counts)
    unnamed = names == [None]
    seen = read_groups(None, 1) if unnamed else read_groups(_checked_list(names), len(names))
    table, shares = extras["table"], extras["shares_"]
    if len(seen.names) != len(names) or table.dtype.kind != "i" or len(table) != len(names) * n_clusters:
        msg = "table"
        raise ValueError(msg)
    table = table.astype(np.int64).reshape(len(names), n_clusters)
    if table.min() < 0 or not np.array_equal(table.sum(axis=0), mixture.counts) or table.sum(axis=1).min() < 1:
        msg = "table"
        raise ValueError(msg)
    within = shares.shape == (n_clusters + 1,) and shares.min() >= 0.0 and shares[:-1].min() > 0.0
    if not within or not np.isclose(shares.sum(), 1.0, rtol=0.0, atol=1e-9):
        msg = "shares_"
        raise ValueError(msg)
    return seen.names, table, shares


def _checked_list(names: Any) -> list[Any]:
    if not isinstance(names, list) or not all(isinstance(name, (str, int, float, bool)) for name in names):
        msg = "group_names_"
        raise ValueError(msg)
    return names
