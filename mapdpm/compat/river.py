"""Classes for river, for points that are dicts: a clusterer, an anomaly detector, and features before them."""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from mapdpm.features import parse
from mapdpm.names import MISSING
from mapdpm.stream import kinds
from mapdpm.stream.online import OnlineMAPDPM
from mapdpm.stream.settings import ClusterSettings, setting, values_of
from mapdpm.validation import refuse_value

try:
    from river.base import Clusterer, Transformer
except ImportError as error:
    _MISSING = "mapdpm.compat.river needs river, which is not installed; try: pip install 'mapdpm[river]'"
    raise ImportError(_MISSING) from error
try:
    from river.base import AnomalyDetector
except ImportError:  # before river 0.26
    from river.anomaly.base import AnomalyDetector

__all__ = ["Features", "OnlineMAPDPMAnomaly", "OnlineMAPDPMClusterer"]

Columns: TypeAlias = tuple[Hashable, ...]

_LARGEST_LOG_DENSITY = math.log(sys.float_info.max)  # nats, of a feature: its variance is a float > 0


@dataclass(kw_only=True, eq=False, repr=False)
class _Adapter(ClusterSettings):
    """The common base of both: the settings in river's form, and the conversion of a dict to a row."""

    n_features: int | None = setting(
        None,
        kinds.SIZE.or_none(),
        "Largest number of features. None: as many as the likelihood has, else as the first point has.",
    )
    missing: str = setting(
        "skip",
        kinds.choice(MISSING),
        '"skip": a missing feature (or None or NaN) is left out of the density. A new name takes a free place; when '
        'no place is free, new names are ignored, for memory is fixed. "error": every point must have the features '
        "of the first one, each with a number.",
    )

    def __post_init__(self) -> None:
        """Make the learner, which checks the settings."""
        self.model = OnlineMAPDPM(**values_of(self))
        self.features: Columns = ()

    def learn_one(self, x: Mapping[Any, Any], *, t: float | None = None) -> None:
        """Learn a point; ``t``, by keyword only, is its time in seconds, and ``half_life`` is in seconds then.

        With ``missing="skip"`` a point without any value is ignored. ValueError where x is no such point; the model is
        unchanged then.
        """
        features, row = self._row(x, learning=True)
        if row is not None:
            self.model.learn_one(row, t)
            self.features = features

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"warmup": 20}  # river's streams are hardly longer than the default warm-up

    def _row(self, x: Any, learning: bool = False) -> tuple[Columns, array[float] | None]:
        """The features, and their values in x: NaN for a missing value, None instead of a row without any value."""
        if not isinstance(x, Mapping):
            refuse_value("x must be a dict of numbers by the names of their features", x)
        n_places = getattr(self.model, "n_features_in_", len(x))
        features = self.features
        if len(features) < n_places and (learning or not features):
            features = (features + _in_order(name for name in x if name not in features))[:n_places]
        values = [x.get(name) for name in features]
        try:  # an array, not a list: numpy would take the text "1.5" for a number
            row = array("d", [math.nan if value is None else value for value in values])
        except (TypeError, OverflowError):
            row = array("d", [math.inf])
        if any(map(math.isinf, row)):
            name, value = next(each for each in zip(features, values, strict=True) if not _is_number(each[1]))
            msg = f"x must have finite numbers, but the feature {name!r} is {value!r}"
            raise ValueError(msg)
        if self.missing == "error":
            self._check_complete(x, features, row)
        elif all(map(math.isnan, row)):
            return features, None
        row.extend([math.nan] * (n_places - len(features)))
        return features, row

    def _check_complete(self, x: Mapping[Any, Any], features: Columns, row: array[float]) -> None:
        n_features = getattr(self.model, "n_features_in_", len(x))
        if absent := [name for name, number in zip(features, row, strict=True) if math.isnan(number)]:
            problem = f"x has no value for {_listed(absent)}"
        elif len(x) != len(features):
            problem = f"x has unseen features: {_listed(name for name in x if name not in features)}"
        elif len(x) != n_features or not x:
            problem = f"x has {len(x)} features, but {type(self).__name__} is expecting {n_features or 'some'}"
        else:
            return
        msg = f"{problem}; with missing='skip' a point need not have exactly the features of the first one"
        raise ValueError(msg)


class OnlineMAPDPMClusterer(_Adapter, Clusterer):  # type: ignore[misc]  # river's classes are Any here
    """``OnlineMAPDPM`` as a clusterer of river: the number of clusters is found, and memory never grows.

    Parameters
    ----------
    {settings}

    Attributes
    ----------
    model : OnlineMAPDPM
        The learner, with ``ids``, ``weights``, ``events``, ``resolve`` and so on.
    features : tuple
        Names in the order of the learner's columns: those of the first point sorted, then as they came.

    Examples
    --------
    >>> from mapdpm import NormalKnownVariance
    >>> from mapdpm.compat.river import OnlineMAPDPMClusterer
    >>> clusterer = OnlineMAPDPMClusterer(likelihood=NormalKnownVariance(0.0, 100.0, 1.0))
    >>> for x in ({"a": 0.1, "b": 9.0}, {"a": 7.0, "b": 0.2}, {"b": 8.8, "a": 0.4}, {"a": 6.5}):
    ...     clusterer.learn_one(x)
    >>> clusterer.features, [clusterer.predict_one(x) for x in ({"a": 0.0, "b": 9.5}, {"b": 0.5}, {"a": 6.6})]
    (('a', 'b'), [0, 1, 1])
    """

    def predict_one(self, x: Mapping[Any, Any]) -> int:
        """The id of the best existing cluster, 0 while there is none; changes nothing.

        For a point without any value it is the heaviest cluster, as the model implies.
        """
        _, row = self._row(x)
        if not self.model.n_clusters:
            return 0
        return int(self.model.ids[self.model.weights.argmax()]) if row is None else self.model.predict_one(row)

    @property
    def n_clusters(self) -> int:
        """Number of clusters; 0 during the warm-up."""
        return self.model.n_clusters

    @property
    def centers(self) -> dict[int, dict[Hashable, float]]:
        """Mean of each cluster by its id, in the form of river's metrics of clusterings."""
        if not self.model.n_clusters:
            return {}
        ids, means = self.model.ids.tolist(), self.model.means.tolist()
        return {number: dict(zip(self.features, mean, strict=False)) for number, mean in zip(ids, means, strict=True)}


class OnlineMAPDPMAnomaly(_Adapter, AnomalyDetector):  # type: ignore[misc]  # likewise
    """``OnlineMAPDPM`` as an anomaly detector of river: points of low density are anomalies.

    The score is -log p(x) in nats: high is anomalous, as in river, and the opposite of ``OnlineMAPDPM.score_one``. It
    may be any number, also below 0, so use metrics that rank (``metrics.RollingROCAUC``; ``ROCAUC`` wants 0 to 1).
    In the warm-up there is no model yet, and the score is below that of every later point: -710 for each feature, minus
    the number of points learned. So no point of the warm-up ranks as an anomaly. (River's own detectors return 0 there,
    which is their lowest score. Here 0 would be high wherever densities exceed 1.)
    A point with missing features has the density of the others; do not compare it with that of complete points.

    Parameters and attributes are those of ``OnlineMAPDPMClusterer``.

    Examples
    --------
    >>> from mapdpm import NormalKnownVariance
    >>> from mapdpm.compat.river import OnlineMAPDPMAnomaly
    >>> detector = OnlineMAPDPMAnomaly(likelihood=NormalKnownVariance(0.0, 100.0, 1.0))
    >>> for value in (0.1, 0.3, -0.2):
    ...     detector.learn_one({"a": value})
    >>> detector.score_one({"a": 0.0}) < detector.score_one({"a": 5.0}) < detector.score_one({"a": 50.0})
    True
    """

    def score_one(self, x: Mapping[Any, Any]) -> float:
        """-log predictive density of x in nats; in the warm-up a score below all others. Changes nothing."""
        _, row = self._row(x)
        if not self.features or (row is None and self.model.likelihood_ is None):
            score = math.nan  # no point was learned, or the warm-up is not over
        else:
            score = 0.0 if row is None else self.model.score_one(row)  # log 1: the density of no value
        return self._warmup_score(x, known=row is not None) if math.isnan(score) else -score

    def _warmup_score(self, x: Mapping[Any, Any], *, known: bool) -> float:
        """A score of the warm-up: below all later scores, and falling from point to point.

        river's ``QuantileFilter`` learns only points whose score is below a quantile of the scores before. If all were
        equal, it would never learn. (A point without any value is never learned.)
        """
        n_features = getattr(self.model, "n_features_in_", 0) or max(1, len(x))
        return -_LARGEST_LOG_DENSITY * n_features - self.model.n_seen + (0.0 if known else 0.5)


def _in_order(names: Iterable[Hashable]) -> Columns:
    """Names in sorted order, so that the order in a dict has no effect; by type and text if they do not compare."""
    listed: list[Any] = list(names)
    try:
        return tuple(sorted(listed))
    except TypeError:
        return tuple(sorted(listed, key=lambda name: (type(name).__name__, str(name))))


def _is_number(value: Any) -> bool:
    """Whether a value is a finite number, or missing: None or NaN."""
    try:
        return value is None or not math.isinf(array("d", [value])[0])
    except (TypeError, OverflowError):
        return False


def _listed(names: Iterable[Hashable]) -> str:
    return ", ".join(map(repr, names))


class Features(Transformer):  # type: ignore[misc]  # likewise
    """Features of ``mapdpm.features`` as a transformer of river, for points that are dicts.

    ``learn_one`` takes a point into the state. ``transform_one`` changes nothing: of the dict that was learned last it
    gives the result that came out then, and of any other the result that would come out if it came next. So each point
    counts once in river's pipelines, whose ``learn_one`` calls the two one after the other, and whose ``predict_one``
    and ``score_one`` call ``transform_one`` alone.

    Parameters
    ----------
    pipeline : Transformer or str
        Features of ``mapdpm.features``, or their text. Blocks such as ``RMS``, and what has a warm-up, such as
        ``Series``, are refused: river wants a result at each point.
    time : str or None
        Name of the entry with the time of each point in seconds since 1970 (UTC) or as a datetime, which is no feature.
        Without it, ``learn_one`` takes ``t``, by keyword; ``transform_one`` of a new point has the last time then.

    Attributes
    ----------
    features : tuple
        Names in the order of the columns: those of the first point, sorted. A missing name, None or NaN is a missing
        value; later names are ignored.

    Raises
    ------
    ValueError
        Blocks or a warm-up; a text that is wrong; or, of a point, numbers that are infinite, or no time where seasons
        need one.

    Examples
    --------
    >>> from mapdpm.compat.river import Features
    >>> features = Features("Lag(1)")
    >>> for value in (1.0, 2.0):
    ...     features.learn_one({"a": value})
    >>> features.transform_one({"a": 5.0})
    {'a': 5.0, 'a lag 1': 2.0}
    """

    def __init__(self, pipeline: Any, time: Hashable | None = None) -> None:
        self.pipeline = pipeline
        self.time = time
        self._own = parse(pipeline) if isinstance(pipeline, str) else parse(repr(pipeline))
        if self._own.every != 1:
            msg = f"river wants a result at each point, but {self._own!r} gives one in {self._own.every}"
            raise ValueError(msg)
        if self._own.waits:
            msg = f"river wants a result at each point, but the first points of {self._own!r}, a warm-up, have none"
            raise ValueError(msg)
        self.features: Columns = ()
        self._last: tuple[Any, dict[Hashable, Any], dict[Hashable, float]] | None = None
        self._last_time: Any = None
        self._out: list[str] | None = None

    def learn_one(self, x: Mapping[Any, Any], *, t: Any = None) -> None:
        """Take a point into the state; ``t``, by keyword only, is its time. ValueError changes nothing."""
        names = self.features or self._names_of(x)
        when = self._time_of(x, t)
        result = self._own.transform_one(self._row(x, names), when)
        named = self._named(result, names)
        self.features, self._last_time = names, when
        self._last = (x, dict(x), named)

    def transform_one(self, x: Mapping[Any, Any]) -> dict[Hashable, float]:
        """The features of a point; changes nothing."""
        if self._last is not None and x is self._last[0] and dict(x) == self._last[1]:
            return dict(self._last[2])
        names = self.features or self._names_of(x)
        row, when, before = self._row(x, names), self._time_of(x, self._last_time), self._own.copied_pipeline()
        try:
            result = self._own.transform_one(row, when)
        finally:
            self._own.adopt(before, None)
        return self._named(result, names)

    def __getstate__(self) -> dict[str, Any]:
        """The state without the last dict itself: nobody else can have that one."""
        last = None if self._last is None else (None, *self._last[1:])
        return self.__dict__ | {"_last": last}

    def _named(self, row: list[float] | None, names: Columns) -> dict[Hashable, float]:
        if self._out is None or not self.features:
            self._out = self._own.get_feature_names_out([str(name) for name in names]).tolist()
        return dict(zip(self._out, row or (), strict=True))

    def _names_of(self, x: Any) -> Columns:
        if not isinstance(x, Mapping) or not any(name != self.time for name in x):
            refuse_value("x must be a dict of numbers by the names of their features", x)
        return _in_order(name for name in x if name != self.time)

    def _row(self, x: Mapping[Any, Any], names: Columns) -> list[float]:
        values = [x.get(name) for name in names]
        wrong = next((name for name, value in zip(names, values, strict=True) if not _is_number(value)), None)
        if wrong is not None:
            msg = f"x must have finite numbers, but the feature {wrong!r} is {x[wrong]!r}"
            raise ValueError(msg)
        return [math.nan if value is None else float(value) for value in values]

    def _time_of(self, x: Mapping[Any, Any], t: Any) -> Any:
        return t if self.time is None else x.get(self.time)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"pipeline": "Lag(1) + Centre(5)"}
