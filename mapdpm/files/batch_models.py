"""MAPDPM in model files: the extras that Python adds to the container, and the estimator made from a file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mapdpm.files import families
from mapdpm.files.errors import refuse_damaged
from mapdpm.files.extras import checked_names, smallest_integers
from mapdpm.files.relevance import extras_of_relevance, restored_relevance
from mapdpm.likelihoods._restricted import restricted
from mapdpm.likelihoods._skipping import in_kernels
from mapdpm.merging.groups import check_groups
from mapdpm.names import COVARIANCE, MISSING, STARTS
from mapdpm.search.background import Relevance
from mapdpm.search.observed import ABSENT, less_anchor
from mapdpm.search.settings import check_search
from mapdpm.search.widths import family_to_fit
from mapdpm.state import Mixture
from mapdpm.validation import check_choice, check_count, check_start, in_order_of_appearance

PARAMETERS = (
    "max_clusters",
    "missing",
    "groups",
    "covariance",
    "relevance",
    "n_restarts",
    "max_sweeps",
    "time_limit",
    "backend",
    "n_jobs",
    "verbose",
)
RESULTS = ("log_joint_", "n_sweeps_", "converged_")
"""Attributes that are plain numbers."""


def extras_of(model: Any) -> dict[str, Any]:
    """The extras of a model file, which devices skip: labels, history, parameters.

    ValueError where a parameter is invalid, perhaps set since the fit: the file could not be read again.
    """
    _check_parameters(model)
    extras = common_extras(model)
    if isinstance(model.init, str):
        return extras | {"init": model.init}
    return extras | {"init": smallest_integers(np.asarray(model.init).astype(np.int64))}


def common_extras(model: Any) -> dict[str, Any]:
    """The extras that models of all kinds have: parameters of the search, the likelihood, results."""
    plain = {name: _plain(getattr(model, name)) for name in (*PARAMETERS, *RESULTS) if hasattr(model, name)}
    plain["moves"] = list(model.moves)
    plain["likelihood_"] = families.values_of(model.likelihood_)
    plain |= families.encoded(model.likelihood)
    if hasattr(model, "feature_names_in_"):
        plain["feature_names_in_"] = model.feature_names_in_.tolist()
    if isinstance(model.random_state, (int, np.integer)):
        plain["random_state"] = int(model.random_state)
    arrays = {name: getattr(model, name) for name in ("labels_", "history_") if hasattr(model, name)}
    if getattr(model, "_groups", None) is not None:
        arrays |= {"groups_": model.groups_} | ({"labels_": model.components_} if "labels_" in arrays else {})
    calibration = getattr(model, "_calibration", None)
    if calibration is not None:
        arrays |= calibration._asdict()
    packed = {n: smallest_integers(a) if a.dtype.kind == "i" else a for n, a in arrays.items()}
    return plain | packed | extras_of_relevance(getattr(model, "_relevance", None))


def _check_parameters(model: Any) -> None:
    """ValueError where a parameter is invalid: the same when a file is written and when it is read."""
    check_search(model)
    family_to_fit(model.likelihood)
    check_start(model.init, len(np.atleast_1d(model.init)), STARTS)
    check_choice("missing", getattr(model, "missing", MISSING[0]), MISSING)
    check_choice("covariance", getattr(model, "covariance", COVARIANCE[0]), COVARIANCE)
    check_groups(getattr(model, "groups", None))
    if model.max_clusters is not None:
        check_count("max_clusters", model.max_clusters)


def _plain(value: Any) -> Any:
    """A numpy number as a Python number, for JSON."""
    return value.item() if isinstance(value, np.generic) else value


class Restored(NamedTuple):
    """The estimator that the extras of a file give, not yet fitted, with its likelihood and the names of features."""

    estimator: Any
    likelihood: Any
    names: Any
    relevance: Relevance | None = None


def restored_estimator(cls: Any, mixture: Mixture, extras: dict[str, Any]) -> Restored:
    """The estimator for a model read from a file; ``extras`` are checked, and may be empty."""
    prior: Any = mixture.prior
    try:
        likelihood = less_anchor(families.of_kernels(mixture.likelihood), -mixture.anchor) if not extras else None
    except ValueError as error:
        refuse_damaged(f"its anchor and its prior do not fit each other ({error})")
    parameters: dict[str, Any] = {"likelihood": likelihood, "missing": families.missing_of(mixture.likelihood)}
    names = relevance = None
    if extras:
        with reading_extras():
            relevance = restored_relevance(extras, mixture)
            likelihood = checked_likelihood(extras, mixture, relevance)
            parameters = parameters_of(extras, type(likelihood))
            _check_parameters(cls(**parameters))
            check_results(extras, mixture)
            n_features = len(mixture.anchor) if relevance is None else len(relevance.relevant)
            names = checked_names(extras, families.n_columns(likelihood, n_features))
    return Restored(cls(prior.alpha, discount=prior.discount, **parameters), likelihood, names, relevance)


@contextlib.contextmanager
def reading_extras() -> Iterator[None]:
    """Checks of extras; where one fails, the error is a ModelFileError."""
    try:
        yield
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        refuse_damaged(f"its extras do not fit ({error})")


def checked_likelihood(extras: dict[str, Any], mixture: Mixture, relevance: Relevance | None = None) -> Any:
    """``likelihood_`` of the extras, checked: it must equal that of the model, up to rounding by a shift or float32."""
    likelihood = families.of_values(extras["likelihood_"], mixture.likelihood)
    missing = families.missing_of(mixture.likelihood)
    own = likelihood if relevance is None or relevance.is_all else restricted(likelihood, relevance.columns)
    anchored = in_kernels(less_anchor(own, mixture.anchor), missing)
    ours, theirs = families.parameters_of(anchored), families.parameters_of(mixture.likelihood)
    size = 1.0 + np.abs(families.parameters_of(in_kernels(own, missing))).max()
    if ours.shape != theirs.shape or not np.allclose(ours, theirs, rtol=1e-6, atol=1e-12 * size):
        msg = "likelihood_ is not that of the model"
        raise ValueError(msg)
    return likelihood


def parameters_of(extras: dict[str, Any], family: type[Any]) -> dict[str, Any]:
    """The parameters of the estimator, not yet checked."""
    parameters = {name: extras[name] for name in (*PARAMETERS, "init") if name in extras}
    if "random_state" in extras:
        parameters["random_state"] = check_count("random_state", extras["random_state"], least=0)
    moves, given, number = extras["moves"], extras["likelihood"], extras.get("likelihood_family")
    if not isinstance(moves, list):
        msg = "moves"
        raise ValueError(msg)
    return parameters | {"moves": tuple(moves), "likelihood": families.decoded(given, number, family)}


def _are_labels(labels: Any, counts: Any) -> bool:
    within = labels.dtype.kind == "i" and labels.min() >= ABSENT and labels.max() < len(counts)
    return bool(within and np.array_equal(np.bincount(labels[labels != ABSENT]), counts))


def _are_groups(groups: Any, n_clusters: int) -> bool:
    return (
        groups.dtype.kind == "i"
        and np.array_equal(groups, in_order_of_appearance(groups))
        and len(groups) == n_clusters
    )


def _are_depths(depths: Any, above: Any) -> bool:
    rising = np.all(np.isfinite(depths)) and np.all(np.diff(depths) >= 0.0)
    falling = above.dtype.kind == "i" and np.all(np.diff(above.astype(np.int64)) < 0) and above.min() > 0
    return bool(rising and falling and len(depths) == len(above))


def check_results(extras: dict[str, Any], mixture: Mixture) -> None:
    """ValueError where the labels disagree with the counts of the model, or the history with the log joint.

    A model from a device has none of these, and is saved without them. One of points that were elsewhere has no labels.
    """
    if not {"labels_", "groups_", "depths", "history_", *RESULTS} & set(extras):
        return
    history = extras["history_"]
    rising = np.all(np.isfinite(history)) and np.all(np.diff(history) >= 0.0)
    checks = {
        "labels": "labels_" not in extras or _are_labels(extras["labels_"], mixture.counts),
        "groups": "groups_" not in extras or _are_groups(extras["groups_"], len(mixture.counts)),
        "depths": "depths" not in extras or _are_depths(extras["depths"], extras["above"]),
        "history": rising and history[-1] == extras["log_joint_"] and len(history) > extras["n_sweeps_"],
        "converged": isinstance(extras["converged_"], bool),
    }
    for name, fine in checks.items():
        if not fine:
            raise ValueError(name)
