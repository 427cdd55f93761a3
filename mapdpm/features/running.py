"""The methods of all transformers that take points: one by one, many at once, or as scikit-learn calls them."""

from __future__ import annotations

import abc
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mapdpm.compat import scikit_learn
from mapdpm.data.frames import Names, check_names, column_names
from mapdpm.estimators.base import Parameters, Transforming
from mapdpm.features.c_pipeline import CPipeline, Step
from mapdpm.features.times import microseconds_of, of_index
from mapdpm.protocol import Labels
from mapdpm.stream.c_options import DTYPES
from mapdpm.stream.lock import Lock, exclusive
from mapdpm.stream.points import check_point
from mapdpm.validation import check_choice, check_points, refuse_value


class Running(Transforming, abc.ABC):
    """A pipeline of the C library and its state, behind the methods of a transformer."""

    dtype: str
    _pipeline: CPipeline | None

    # ---- what each transformer says of itself ------------------------------------------------------------------------

    @property
    def every(self) -> int:
        """Number of points from one result to the next."""
        return 1

    @property
    def waits(self) -> bool:
        """Whether the first points, a warm-up, have no result."""
        return False

    @property
    def needs_times(self) -> bool:
        """Whether each point needs its time ``t``."""
        return False

    @abc.abstractmethod
    def compile_into(self, source: int, steps: list[Step]) -> int:
        """Append the steps of this transformer of the result ``source``; return the number of its own result."""

    @abc.abstractmethod
    def names_for(self, names: list[str]) -> list[str]:
        """Names of the columns of results, for those of the points."""

    # ---- points of a stream ------------------------------------------------------------------------------------------

    @exclusive
    def transform_one(self, x: Any, t: float | None = None) -> list[float] | None:
        """The result at the point ``x``, a list of numbers; None where nothing comes out at this point.

        ``t`` is its time in seconds since 1970 (UTC), or a date. O(memory used at one point). Changes the state.
        ValueError for infinite values, for another number of columns, and where ``t`` is needed; nothing changes then.

        Examples
        --------
        >>> from mapdpm.features import Lag
        >>> lag = Lag(1)
        >>> lag.transform_one([3.0]), lag.transform_one([4.0])
        ([3.0, 3.0], [4.0, 3.0])
        """
        D = check_point(x)
        pipeline = self._pipeline or self._new(D)
        if pipeline.n_features != D:
            msg = f"x has {D} features, but {self._name} expects {pipeline.n_features}"
            raise ValueError(msg)
        when = microseconds_of(t, None, needed=self.needs_times)
        try:
            result = pipeline.one(np.asarray(x).tolist(), when)
        except (TypeError, OverflowError):
            refuse_value(f"x must be a sequence of {D} numbers", x)
        self._pipeline = pipeline
        return result

    @exclusive
    def transform_many(self, X: Any, t: Any = None, *, indices: bool = False) -> Any:
        """The results at the points of ``X``, shape (rows, n_features_out): the bits of ``transform_one`` in a loop.

        ``t`` has the time of each point. With ``indices``, the result is a pair: the rows, and for each row the number
        of the point of ``X`` at which it came out. Changes the state, or nothing where a point is invalid.

        Examples
        --------
        >>> from mapdpm.features import RMS
        >>> RMS(2).transform_many([[1.0], [3.0], [5.0], [5.0], [9.0]], indices=True)[1].tolist()
        [1, 3]
        """
        points, times = self._read(X, t)
        pipeline = self._pipeline or self._new(points.shape[1])
        rows, places = pipeline.many(points, times)
        names = column_names(X)
        if self._pipeline is None and names is not None:
            self.feature_names_in_ = names
        self._pipeline = pipeline
        return (rows, places) if indices else rows

    @exclusive
    def reset(self) -> Self:
        """Forget all points. The number and the names of columns stay."""
        if self._pipeline is not None:
            self._pipeline.reset()
        return self

    # ---- for scikit-learn --------------------------------------------------------------------------------------------

    @exclusive
    def fit(self, X: Any, y: Any = None, t: Any = None) -> Self:  # noqa: ARG002  (as scikit-learn calls it)
        """Forget everything; only the number and the names of the columns of ``X`` are taken."""
        points = check_points(X, missing=True, blank=True)
        self.adopt(self._new(points.shape[1]), column_names(X))
        return self

    def transform(self, X: Any, t: Any = None) -> Any:
        """The results of ``X`` alone, as if no point had come before; the state does not change.

        ``t`` None: the index of ``X``, where it is a DataFrame with an index of dates and times are needed.
        """
        points, times = self._read(X, t)
        rows = self._new(points.shape[1]).many(points, times)[0]
        names = column_names(X) if self._pipeline is None else None
        named = self.names_for(self._names_in(points.shape[1], names))
        return self._in_container(rows, named, X if len(rows) == len(points) else None)

    def fit_transform(self, X: Any, y: Any = None, t: Any = None) -> Any:
        """``fit(X).transform(X, t)``."""
        return self.fit(X, y).transform(X, t)

    def get_feature_names_out(self, input_features: Any = None) -> Names:
        """Names of the columns of results, from those of the points: ``input_features``, else those known, else x0, ...

        Examples
        --------
        >>> from mapdpm.features import Lag
        >>> Lag(1).get_feature_names_out(["temperature"]).tolist()
        ['temperature', 'temperature lag 1']
        """
        known = None if self._pipeline is None else self._pipeline.n_features
        if input_features is None and known is None:
            raise self._not_ready()
        n = len(input_features) if known is None else known
        self._check_input_features(input_features, n)
        return np.array(self.names_for(self._names_in(n, input_features)), dtype=object)

    def __sklearn_tags__(self) -> Any:
        """The tags by which scikit-learn knows the kind of an estimator."""
        return scikit_learn.transformer_tags()

    @exclusive
    def set_params(self, **params: Any) -> Self:
        """Set parameters by name. All points are forgotten. ValueError where one is invalid; nothing changes then."""
        changed = Parameters.set_params(type(self)(**self.get_params(deep=False)), **params)
        new = type(self)(**changed.get_params(deep=False))
        for name in new.get_params(deep=False):
            setattr(self, name, getattr(new, name))
        self.adopt(None, None)
        return self

    # ---- sizes ------------------------------------------------------------------------------------------------

    @property
    def n_features_in_(self) -> int:
        """Number of columns of the points; AttributeError while it is unknown."""
        return self._known("n_features_in_").n_features

    @property
    def n_features_out(self) -> int:
        """Number of columns of the results; AttributeError while that of the points is unknown."""
        return self._known("n_features_out").width

    @property
    def nbytes(self) -> int:
        """Bytes of the memory; 0 while the number of columns is unknown."""
        return 0 if self._pipeline is None else self._pipeline.nbytes

    @property
    def period_(self) -> int | None:
        """The period, in points, that an ``Autoperiod`` in it has found; None where there is none, or none yet."""
        return None if self._pipeline is None else self._pipeline.period()

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Check ``dtype``, and begin without a number of columns. The last call of a constructor."""
        check_choice("dtype", self.dtype, DTYPES)
        self._lock = Lock()
        self._pipeline = None

    @exclusive
    def copied_pipeline(self) -> CPipeline | None:
        """A copy of the state, for ``adopt``."""
        return None if self._pipeline is None else self._pipeline.copy()

    def adopt(self, pipeline: CPipeline | None, names: Names | None) -> None:
        """Go on from the state of a pipeline of these steps, or None: no points and no columns yet."""
        self._pipeline = pipeline
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names

    def _known(self, name: str) -> CPipeline:
        if self._pipeline is None:
            msg = f"this {self._name} has no {name} yet: it has seen nothing"
            raise AttributeError(msg)
        return self._pipeline

    @property
    def _name(self) -> str:
        return type(self).__name__

    def c_steps(self) -> list[Step]:
        """The steps of the C library."""
        steps: list[Step] = []
        self.compile_into(0, steps)
        return steps

    def _new(self, n_features: int) -> CPipeline:
        """A pipeline that has seen nothing."""
        return CPipeline.new(self.dtype, self.c_steps(), n_features)

    def _names_in(self, n_features: int, names: Any = None) -> list[str]:
        if names is None:
            names = getattr(self, "feature_names_in_", None)
        return [f"x{d}" for d in range(n_features)] if names is None else [str(name) for name in names]

    def _read(self, X: Any, t: Any) -> tuple[NDArray[Any], Labels | None]:
        """The points of ``X`` in the real type, and their times in microseconds; ValueError where they are invalid."""
        names, fitted = column_names(X), getattr(self, "feature_names_in_", None)
        points = check_points(X, missing=True, blank=True)
        if self._pipeline is not None:
            if names is not None and fitted is not None:
                check_names(names, fitted, self._name)
            if points.shape[1] != self._pipeline.n_features:
                expected = self._pipeline.n_features
                msg = f"X has {points.shape[1]} features, but {self._name} is expecting {expected} features as input"
                raise ValueError(msg)
        if t is None and self.needs_times:
            t = of_index(X)
        times = microseconds_of(t, len(points), needed=self.needs_times)
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(points, dtype=DTYPES[self.dtype]), times

    def _not_ready(self) -> Exception:
        msg = f"this {self._name} has seen nothing, not even how many columns there are; call fit or transform_one"
        return scikit_learn.not_fitted(msg)
