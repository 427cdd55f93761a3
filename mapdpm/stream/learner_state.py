"""The state of a stream learner: the C learner behind a lock, its clusters, its memory."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mapdpm.compat import scikit_learn
from mapdpm.data.frames import Names, check_names, column_names
from mapdpm.estimators.base import Parameters
from mapdpm.files import container, disk
from mapdpm.files.errors import ModelFileError, refuse_damaged
from mapdpm.files.extras import checked_names
from mapdpm.names import AUTO
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.stream import summaries
from mapdpm.stream.c_learner import Learner
from mapdpm.stream.c_options import DTYPES, Settings, settings_for
from mapdpm.stream.fast_path import FastPath
from mapdpm.stream.integer_learner import learner_for
from mapdpm.stream.lock import Lock, exclusive
from mapdpm.stream.points import MICROSECONDS, check_point, microseconds
from mapdpm.stream.records import Clusters, Event
from mapdpm.stream.settings import SharedSettings, checked_settings, settings_of
from mapdpm.validation import caller_level, check_choice, check_count, check_points, refuse_value

_TIMES = 2  # the clock of a learner whose points have times, in mapdpm_learner.h


class LearnerState(Parameters, SharedSettings):
    """The layer between the public methods of a stream learner and the C library."""

    _kind = container.STREAM
    """The kind of its files."""
    feature_names_in_: Names

    def __post_init__(self) -> None:
        """Check all settings, and allocate all memory if they give the number of features."""
        if self.likelihood is None:
            msg = f"likelihood=None of a stream means likelihood={AUTO!r} for one more version; write that"
            warnings.warn(msg, FutureWarning, stacklevel=caller_level())
        self._begin()

    @exclusive
    def resolve(self, id: int) -> int:  # noqa: A002  (the public name)
        """The id that a cluster has now, after merges; for a provisional id, the cluster that its point joined.

        KeyError where the id was never given, the cluster has ended, or its merge is older than the events kept.
        """
        number = check_count("id", id, least=0)
        if self._learner is None or number >= 2**32:
            msg = f"no cluster has the id {number}: it was never given"
            raise KeyError(msg)
        return self._learner.resolve(number)

    @exclusive
    def clusters(self) -> Clusters:
        """``ids, weights, means, variances`` at one moment, at the cost of one of them."""
        return self.ready_learner().clusters()

    @property
    def ids(self) -> Labels:
        """Ids of the current clusters in rising order, shape (K,)."""
        return self.clusters().ids

    @property
    def weights(self) -> Vector:
        """Decayed number of points in each cluster, shape (K,)."""
        return self.clusters().weights

    @property
    def means(self) -> Matrix:
        """Sample means of the clusters, shape (K, n_features)."""
        return self.clusters().means

    @property
    def variances(self) -> Matrix:
        """Sample variances M2 / n of the clusters, shape (K, n_features)."""
        return self.clusters().variances

    @property
    def n_features_in_(self) -> int:
        """Number of features of the data; AttributeError while it is unknown, as scikit-learn has it."""
        if self._learner is None:
            msg = f"this {type(self).__name__} has no n_features_in_ yet: it has seen nothing"
            raise AttributeError(msg)
        return self._learner.n_features

    @property
    def n_clusters(self) -> int:
        """Number of clusters; 0 during the warm-up."""
        return 0 if self._learner is None else int(self._learner.stream.n_clusters)

    @property
    def n_seen(self) -> int:
        """Number of points learned."""
        return 0 if self._learner is None else int(self._learner.stream.n_seen)

    @property
    def last_time(self) -> float | None:
        """Time of the last point, in seconds; None where points come without times."""
        if self._learner is None or self._learner.stream.clock != _TIMES:
            return None
        return float(self._learner.stream.now) / MICROSECONDS

    @property
    def nbytes(self) -> int:
        """Bytes of the learner; 0 while the number of features is unknown."""
        return 0 if self._learner is None else self._learner.nbytes

    @property
    @exclusive
    def events(self) -> list[Event]:
        """The events that are kept, the oldest first."""
        return self._kept_events()

    @property
    def n_events(self) -> int:
        """Number of all events, kept or not."""
        return 0 if self._learner is None else int(self._learner.stream.n_events)

    @property
    @exclusive
    def likelihood_(self) -> Any:
        """The likelihood with its prior; None until the warm-up is over."""
        return self._settings["likelihood"] if self._learner is None else self._learner.likelihood()

    @property
    @exclusive
    def relevant_(self) -> NDArray[np.bool_] | None:
        """Which features carry clusters, shape (n_features,); None until the warm-up is over."""
        return self._judged_columns()[0]

    @property
    @exclusive
    def relevance_(self) -> Vector | None:
        """The nats that each feature gains by the clusters over one of all points, shape (n_features,).

        docs/maths.md, section 39. None until the warm-up is over, and without ``relevance="auto"``. O(K D).
        """
        return self._judged_columns()[1]

    def _judged_columns(self) -> tuple[NDArray[np.bool_] | None, Vector | None]:
        learner = self._learner
        return (None, None) if learner is None or learner.stream.warming else learner.relevance()

    # ---- files -------------------------------------------------------------------------------------------------------

    @exclusive
    def to_bytes(self) -> bytes:
        """The whole learner in the format of docs/format.md; a chip reads it, and goes on with the same bits."""
        return self._file()

    @exclusive
    def summary(self, dtype: str | None = None) -> bytes:
        """The clusters that the learner saw itself, as a message to its gateway, or from the gateway to devices.

        It has the prior, and of each cluster its tables, weight, mean and variance. 4 (3 + 2 D) bytes a cluster in
        "float32", which all learners read. ``dtype`` None is that of the learner. NotFittedError where the learner has
        seen nothing, or the warm-up lasts. ValueError where it has more than 2,048 clusters.
        """
        if self.ready_learner().stream.warming:
            raise self._not_ready()
        if dtype is not None:
            check_choice("dtype", dtype, DTYPES)
        return summaries.summary_of(self.ready_learner(), dtype)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner to ``path``, wholly or not at all; ``mapdpm.load`` reads it. No pickle."""
        disk.write_file(path, self.to_bytes())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The learner that ``to_bytes`` or a chip wrote; ValueError where the bytes are another file, or damaged.

        Groups of a chip are called by their numbers.
        """
        dtype, extras = container.check_stream(data, cls._kind)
        learner, problem = learner_for(dtype).read(dtype, data)
        if learner is None:
            refuse_damaged(problem)
        try:
            settings = learner.settings()
            model: Self = cls._of_settings(settings)
            model.n_features = settings["n_features"]
            model._adopt(learner)
            model._take_extras(extras)
        except ModelFileError:
            raise
        except (TypeError, ValueError) as error:
            refuse_damaged(error)
        return model

    @classmethod
    def _of_settings(cls, settings: Settings, n_features: int | None = None) -> Self:
        """A learner that has seen nothing, with the settings of another."""
        given = {name: settings[name] for name in settings_of(cls) if name in settings}
        prior = AUTO if given["likelihood"] is None else given["likelihood"]
        return cls(**given | {"n_features": n_features, "likelihood": prior})

    def _take_extras(self, extras: dict[str, Any]) -> None:
        """Take what a file holds besides the state of the C library; ValueError where it does not fit."""
        names = checked_names(extras, self.ready_learner().n_features)
        if names is not None:
            self.feature_names_in_ = names

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle, copy and joblib: as the bytes of a file, checked on arrival."""
        state = None if self._learner is None else self.to_bytes()
        return restored, (type(self), self.get_params(deep=False), state)

    # ---- inside ------------------------------------------------------------------------------------------------------

    @exclusive
    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, before the first point or base; ValueError after it: all memory is allocated then."""
        if self.n_seen or self.n_clusters:
            msg = "a learner that has seen points or has a base keeps its parameters; make a new one"
            raise ValueError(msg)
        changed = Parameters.set_params(self._fresh(), **params)
        self._become(type(self)(**changed.get_params(deep=False)))
        return self

    def _fresh(self) -> Self:
        """A learner with the same parameters that has seen nothing."""
        return type(self)(**self.get_params(deep=False))

    def _become(self, other: Self) -> None:
        """Take over the parameters and the state of ``other``, which nobody else uses, in one step or not at all."""
        if "feature_names_in_" not in other.__dict__:
            self.__dict__.pop("feature_names_in_", None)
        other._lock = self._lock
        other._adopt(other._learner)  # the fast path shares the lock
        self.__dict__.update(other.__dict__)

    def _begin(self) -> None:
        self._settings = checked_settings(self)
        self._lock = Lock()
        self._adopt(None)
        D = self._known_n_features()
        if D is not None:
            self._adopt(self._new_learner(settings_for(self, D)))

    def _known_n_features(self) -> int | None:
        """Number of features, where the settings give it; else None."""
        n_features, likelihood = self._settings["n_features"], self._settings["likelihood"]
        if n_features is not None or likelihood is None:
            return None if n_features is None else int(n_features)
        width = max(len(value) for value in likelihood if isinstance(value, np.ndarray))
        return width if width > 1 else None

    def _new_learner(self, settings: Settings) -> Learner:
        return learner_for(settings["dtype"]).new(settings)

    def _adopt(self, learner: Learner | None) -> None:
        self._learner = learner
        self._fast_path = FastPath(learner, self._lock)  # last: it learns at once, in whatever thread

    def _kept_events(self) -> list[Event]:
        """The events, for a caller that holds the lock."""
        return [] if self._learner is None else self._learner.events()

    def _file(self) -> bytes:
        """The bytes of ``to_bytes``, for a caller that holds the lock."""
        if self._learner is None:
            msg = (
                f"this {type(self).__name__} has seen nothing, not even how many features there are; give it n_features"
            )
            raise scikit_learn.not_fitted(msg)
        return container.with_extras(self._learner.write(), self._extras())

    def _extras(self) -> dict[str, Any]:
        """What a file holds besides the state of the C library."""
        names = getattr(self, "feature_names_in_", None)
        return {} if names is None else {"feature_names_in_": names.tolist()}

    def _start(self, x: Any) -> Learner:
        """A new learner for the number of features of the first point."""
        learner = self._new_learner(settings_for(self, check_point(x)))
        self._adopt(learner)
        return learner

    def ready_learner(self) -> Learner:
        """The learner of the C library; NotFittedError while the number of features is unknown."""
        if self._learner is None:
            msg = f"this {type(self).__name__} has seen nothing yet; call learn_one, learn_many or partial_fit first"
            raise scikit_learn.not_fitted(msg)
        return self._learner

    def _with_clusters(self) -> Learner:
        """The learner of the C library; NotFittedError where it has no clusters."""
        learner = self.ready_learner()
        if learner.stream.warming or not learner.stream.n_clusters:
            raise self._not_ready()
        return learner

    @exclusive
    def _call_on_point(self, ask: Callable[..., Any], x: Any, t: Any = None) -> Any:
        """The result of the method ``ask`` of the learner for the point x; ValueError where x is no point."""
        return self._on_point(ask, x, t)

    def _on_point(self, ask: Callable[..., Any], x: Any, t: Any = None) -> Any:
        """The same, for a caller that holds the lock."""
        at = () if t is None else (microseconds(t),)
        try:
            learner = self._learner or self._start(x)
            return ask(learner, learner.point(x), *at)
        except (TypeError, OverflowError):
            refuse_value(f"x must be a sequence of {check_point(x)} numbers", x)

    def _not_ready(self) -> Exception:
        msg = (
            f"there are no clusters yet: {self.n_seen} of {self.warmup} points of the warm-up were learned"
            if self._learner is not None and self._learner.stream.warming
            else "there are no clusters; learn some points first"
        )
        return scikit_learn.not_fitted(msg)

    def _checked(self, X: Any) -> tuple[Learner, Any]:
        names = column_names(X)
        points = check_points(X, missing=self.missing == "skip")
        learner = self._learner
        if learner is None:
            learner = self._start(points[0])
            if names is not None:
                self.feature_names_in_ = names
        fitted = getattr(self, "feature_names_in_", None)
        if fitted is not None or names is not None:
            check_names(names, fitted, type(self).__name__)
        if points.shape[1] != learner.n_features:
            who, D = type(self).__name__, learner.n_features
            msg = f"X has {points.shape[1]} features, but {who} is expecting {D} features as input"
            raise ValueError(msg)
        with np.errstate(over="ignore"):
            return learner, np.ascontiguousarray(points, dtype=learner.dtype)


def restored(cls: Any, parameters: dict[str, Any], state: bytes | None, more: dict[str, Any] | None = None) -> Any:
    """The learner of a pickle: its class, its parameters, its file, and more attributes."""
    model = cls(**parameters)
    if state is not None:
        kept = cls.from_bytes(state)
        model.__dict__.update({name: value for name, value in kept.__dict__.items() if name not in parameters})
    model.__dict__.update(more or {})
    return model
