"""MAPDPM in model files: what Python adds to the container of ``snapshot``, and how an estimator comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mapdpm.backends import resolve
from mapdpm.snapshot import Model, ModelFileError, smallest_integers

if TYPE_CHECKING:
    from mapdpm.estimators import MAPDPM

_PARAMETERS = ("max_clusters", "n_restarts", "max_sweeps", "backend", "n_jobs", "verbose")
_RESULTS = ("log_joint_", "n_sweeps_", "converged_")


def extras_of(model: MAPDPM) -> dict[str, Any]:
    """What a device does not need and a user does not want to lose: labels, history, parameters."""
    plain = {name: _plain(getattr(model, name)) for name in (*_PARAMETERS, *_RESULTS) if hasattr(model, name)}
    plain["moves"] = list(model.moves)
    plain["likelihood_"] = _listed(model.likelihood_)
    plain["likelihood"] = None if model.likelihood is None else _listed(model.likelihood)
    if isinstance(model.random_state, (int, np.integer)):
        plain["random_state"] = int(model.random_state)
    arrays = {name: getattr(model, name) for name in ("labels_", "history_") if hasattr(model, name)}
    if isinstance(model.init, str):
        plain["init"] = model.init
    else:
        arrays["init"] = np.asarray(model.init).astype(np.int64)
    packed = {n: smallest_integers(a) if a.dtype.kind == "i" else a for n, a in arrays.items()}
    return plain | packed


def _plain(value: Any) -> Any:
    """A number of numpy's as one of Python's, which JSON knows."""
    return value.item() if isinstance(value, np.generic) else value


def _listed(likelihood: Any) -> list[Any]:
    return [np.asarray(value).tolist() for value in likelihood]


def revived(cls: type[MAPDPM], model: Model, extras: dict[str, Any]) -> MAPDPM:
    """The estimator of a model read from a file; ``extras`` may be empty, and are checked where they are not."""
    family = type(model.likelihood)
    try:
        likelihood = family(*extras["likelihood_"]) if extras else model.likelihood.shifted(-model.anchor)
        given = family(*extras["likelihood"]) if extras.get("likelihood") else None
        _check_extras(extras, model)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        msg = f"the model file is damaged: its extras do not fit ({error})"
        raise ModelFileError(msg) from None
    parameters = {name: extras[name] for name in (*_PARAMETERS, "init", "random_state") if name in extras}
    parameters |= {"moves": tuple(extras.get("moves", ())), "likelihood": given if extras else likelihood}
    prior: Any = model.prior
    estimator = cls(prior.alpha, discount=getattr(prior, "discount", 0.0), **parameters)
    estimator._adopt(model, likelihood, resolve("auto", likelihood).name)
    for name in (*_RESULTS, "history_", "labels_"):
        if name in extras:
            value = extras[name]
            setattr(estimator, name, value.astype(np.int64) if name == "labels_" else value)
    return estimator


def _check_extras(extras: dict[str, Any], model: Model) -> None:
    """ValueError where what Python added does not fit the model, or itself."""
    if not extras:
        return
    labels, history = extras["labels_"], extras["history_"]
    rising = np.all(np.isfinite(history)) and np.all(np.diff(history) >= 0.0)
    checks = {
        "labels": labels.min() >= 0 and np.array_equal(np.bincount(labels), model.counts),
        "history": rising and history[-1] == extras["log_joint_"] and len(history) == extras["n_sweeps_"] + 1,
        "converged": isinstance(extras["converged_"], bool),
    }
    for name, fine in checks.items():
        if not fine:
            raise ValueError(name)
