"""Saving, for models of more than one flat partition."""

from __future__ import annotations

import abc
import os
from typing import Any, ClassVar, Self

import numpy as np

from mapdpm.estimators.packed import PackedMixture
from mapdpm.files import container, disk
from mapdpm.files.batch_models import (
    Restored,
    check_results,
    checked_likelihood,
    common_extras,
    parameters_of,
    reading_extras,
)
from mapdpm.files.extras import checked_names, smallest_integers
from mapdpm.files.families import n_columns
from mapdpm.files.relevance import restored_relevance
from mapdpm.partition_priors.hyperpriors import GammaPrior
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.state import Mixture

_PRIORS = ("alpha_prior", "gamma_prior")


class SavedMixture(PackedMixture):
    """A fitted model of clusters with common shares, which is written with its table of counts and its shares."""

    _own_parameters: ClassVar[tuple[str, ...]] = ()
    """The names of parameters that only this class has; ``_extras`` holds them."""
    _table: Labels
    shares_: Vector

    @abc.abstractmethod
    def _priors(self) -> Any:
        """The priors of partitions and of concentrations, checked."""

    @abc.abstractmethod
    def _settings(self, n_points: int, structure: Any) -> Any:
        """The settings of the search, checked."""

    @abc.abstractmethod
    def _extras(self) -> dict[str, Any]:
        """The extras that only this class has."""

    @abc.abstractmethod
    def _read_table(self, mixture: Mixture, extras: dict[str, Any]) -> tuple[Mixture, Labels, Matrix]:
        """The whole mixture, the table and the shares of inner nodes of a file; ValueError where they do not fit."""

    @abc.abstractmethod
    def _set_table(self, table: Labels, shares: Matrix) -> None:
        """Set the attributes that follow from the table and the shares of inner nodes."""

    def _check_parameters(self) -> None:
        """ValueError where a parameter is invalid; labels to start from count as those of as many points."""
        self._priors()
        init: Any = getattr(self, "init", None)
        self._settings(np.size(init), None)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to ``path``, wholly or not at all; ``mapdpm.load`` reads it. No pickle.

        ValueError where the file could not hold it: a name of a group is no str, int, float or bool, or the family has
        no number in the format.
        """
        disk.write_file(path, self.to_bytes())

    def to_bytes(self) -> bytes:
        """The model in the format of docs/format.md, with all fitted attributes."""
        self._check_fitted()
        self._check_parameters()  # one set since the fit may be invalid: the file could not be read again
        shared = {"table": smallest_integers(self._table.ravel()), "shares_": self.shares_}
        extras = common_extras(self) | _concentrations_of(self) | shared | self._extras()
        return container.pack(self._mixture, extras, kind=self._kind)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The model that ``to_bytes`` wrote; ValueError where the bytes are another file, or damaged."""
        mixture, extras = container.unpack(data, cls._kind)
        with reading_extras():
            relevance = restored_relevance(extras, mixture)
            likelihood = checked_likelihood(extras, mixture, relevance)
            parameters = parameters_of(extras, type(likelihood)) | _restored_concentrations(extras)
            make: Any = cls  # of the classes that have these parameters
            model: Self = make(**parameters, **{name: extras[name] for name in cls._own_parameters})
            check_results(extras, mixture)
            n_features = len(mixture.anchor) if relevance is None else len(relevance.relevant)
            names = checked_names(extras, n_columns(likelihood, n_features))
            restored = Restored(model, likelihood, names, relevance)
            mixture, table, shares = model._read_table(mixture, extras)
            model._check_parameters()
        model._restore(mixture, restored, extras)
        model._set_table(table, shares)
        return model


def _concentrations_of(model: Any) -> dict[str, Any]:
    """alpha, gamma and their priors, as extras."""
    priors = {name: getattr(model, name) for name in _PRIORS}
    return {
        "alpha": np.asarray(model.alpha, dtype=np.float64).tolist(),
        "gamma": float(model.gamma),
        **{name: None if each is None else np.array(each, dtype=np.float64).tolist() for name, each in priors.items()},
    }


def _restored_concentrations(extras: dict[str, Any]) -> dict[str, Any]:
    """alpha, gamma and their priors, from extras; the model checks them itself."""
    return {"alpha": extras["alpha"], "gamma": extras["gamma"]} | {name: _prior_of(extras[name]) for name in _PRIORS}


def _prior_of(extra: Any) -> Any:
    """A prior of a concentration, or one a level."""
    if extra is None:
        return None
    return GammaPrior(*extra) if np.ndim(extra) == 1 else [GammaPrior(*each) for each in extra]
