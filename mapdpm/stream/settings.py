"""Settings of a stream learner: its parameters, checked, in one tuple for the C library."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapdpm import names
from mapdpm.likelihoods import STREAM_FAMILIES, NormalKnownVariance
from mapdpm.validation import check_choice, check_count, check_number

LEAST_NUMBER = 1e-9
"""The least alpha, gamma and half-life. OnlineMAPDPM takes the log of a smaller alpha."""
WHEN_FULL = {name: number for number, name in enumerate(names.WHEN_FULL)}
WHEN_GROUPS_FULL = {name: number for number, name in enumerate(names.WHEN_GROUPS_FULL)}
DTYPES: dict[str, np.dtype[Any]] = {name: np.dtype(name) for name in names.DTYPES}

MICROSECONDS = 1e6
"""In a second."""

_OUT_OF_RANGE = 2.0**62
_LARGEST_NUMBER = 1e9
_LARGEST_COUNT = 10**6
# The counts among the parameters of learners: the least and the largest value of each.
_COUNTS = {
    "max_clusters": (1, _LARGEST_COUNT),
    "max_states": (1, _LARGEST_COUNT),
    "max_groups": (1, _LARGEST_COUNT),
    "window": (0, _LARGEST_COUNT),
    "warmup": (2, _LARGEST_COUNT),
    "n_features": (1, _LARGEST_COUNT),
    "lag": (1, 1024),
}
_CHOICES: dict[str, Any] = {
    "when_full": WHEN_FULL,
    "when_groups_full": WHEN_GROUPS_FULL,
    "missing": names.MISSING,
    "dtype": DTYPES,
}
# Where log alpha is lower, the C library takes log alpha instead of alpha.
_LEAST_LOG_ALPHA = {"float64": math.log(1e-29), "float32": math.log(1e-8)}
# The DP-means limit: the variance within clusters, in units of lambda, and the variance of the prior of the means, in
# units of that one. They differ as much as the real type allows.
_DP_MEANS_LIMIT = {"float64": (1e-9, 1e18), "float32": (1e-5, 1e9)}


class StreamSettings(NamedTuple):
    """The settings of a stream learner; ``likelihood`` is None where the warm-up sets it."""

    likelihood: Any
    n_features: int
    max_clusters: int
    warmup: int
    when_full: str
    missing: bool
    alpha: float
    half_life: float
    dtype: str
    log_alpha: float = 0.0
    window: int = 0
    max_groups: int = 0
    when_groups_full: str = "error"
    gamma: float = 0.0
    with_base: bool = False
    lag: int = 0
    kappa: float = 0.0
    surprise: bool = False
    rare: float = 0.0

    @property
    def max_states(self) -> int:
        """The clusters of a learner of states."""
        return self.max_clusters


def checked_parameters(model: Any, own: tuple[str, ...]) -> dict[str, Any]:
    """The parameters of all stream learners, and those of the names ``own``; ValueError where one is invalid."""
    return {name: _CHECKS[name](name, getattr(model, name)) for name in (*_SHARED, *own)}


def known_n_features(model: Any) -> int | None:
    """Number of features, where the parameters give it; else None."""
    if model.n_features is not None or model.likelihood is None:
        return None if model.n_features is None else int(model.n_features)
    width = max(len(value) for value in model.likelihood if isinstance(value, np.ndarray))
    return width if width > 1 else None


def stream_settings(model: Any, own: tuple[str, ...], n_features: int) -> StreamSettings:
    """The settings of a learner of ``n_features`` features; ValueError where its prior has another number."""
    found = checked_parameters(model, own) | {"n_features": n_features}
    likelihood = found["likelihood"]
    if likelihood is not None:
        origin = likelihood.m0 if len(likelihood.m0) in {1, n_features} else 0.0
        found["likelihood"] = likelihood.for_data(np.broadcast_to(origin, (1, n_features)))
    found["missing"] = found["missing"] == "skip"
    if "max_states" in found:
        found["max_clusters"] = found.pop("max_states")
    found["alpha"], found["log_alpha"] = _concentration(found["alpha"], found.get("log_alpha"), found["dtype"])
    return StreamSettings(**found)


def _concentration(alpha: float, log_alpha: float | None, dtype: str) -> tuple[float, float]:
    """(alpha, 0), or (0, log alpha) where alpha is too small for the real type."""
    if log_alpha is None:
        return alpha, 0.0
    if log_alpha > _LEAST_LOG_ALPHA[dtype]:
        return math.exp(min(log_alpha, math.log(_LARGEST_NUMBER))), 0.0
    return 0.0, log_alpha


def dp_means_parameters(lam: float, centre: Any, n_features: int | None, dtype: str) -> dict[str, Any]:
    """The parameters of an ``OnlineMAPDPM`` at the DP-means limit: docs/maths.md, section 10."""
    number = check_number("lam", lam)
    if not number > 0.0:
        msg = f"lam must be > 0, in squared data units, got {lam!r}"
        raise ValueError(msg)
    check_choice("dtype", dtype, DTYPES)
    middle = np.atleast_1d(np.asarray(centre, dtype=np.float64))
    if n_features is None and np.ndim(centre) == 0:
        msg = "dp_means needs n_features (or a centre with one entry a feature): alpha depends on it"
        raise ValueError(msg)
    D = len(middle) if n_features is None else check_count("n_features", n_features)
    share, wider = _DP_MEANS_LIMIT[dtype]
    variance = number * share
    return {
        "likelihood": NormalKnownVariance(middle, variance * wider, variance),
        "n_features": D,
        "dtype": dtype,
        "log_alpha": 0.5 * D * math.log1p(wider) - 0.5 / share,
    }


def check_point(x: Any) -> int:
    """Number of features of a point; ValueError where it is no sequence."""
    if isinstance(x, (str, bytes, dict)) or not hasattr(x, "__len__") or np.ndim(x) != 1 or len(x) == 0:
        hint = "; mapdpm.compat.river takes dicts" if isinstance(x, dict) else ""
        msg = f"x must be a sequence of numbers, one a feature, got {x!r}{hint}"
        raise ValueError(msg)
    return len(x)


def microseconds(t: Any) -> int:
    """A time in seconds as the integer microseconds of the C library."""
    _refuse_dates(t)
    return int(_rounded_microseconds(np.array(check_number("t", t))))


def microseconds_of_many(t: Any, n: int) -> NDArray[np.int64] | None:
    """Times of n points in microseconds, shape (n,); None where ``t`` is None."""
    if t is None:
        return None
    _refuse_dates(t)
    try:
        times = np.asarray(t, dtype=np.float64)
    except (TypeError, ValueError):
        msg = f"t must be numbers, in seconds, got {t!r}"
        raise ValueError(msg) from None
    if times.shape != (n,):
        msg = f"t must have one entry a point, shape ({n},), got shape {times.shape}"
        raise ValueError(msg)
    if not np.isfinite(times).all():
        msg = f"t contains NaN or infinity at entry {int(np.argmin(np.isfinite(times)))}"
        raise ValueError(msg)
    return _rounded_microseconds(times)


def _refuse_dates(t: Any) -> None:
    """ValueError for dates: numpy would convert them to numbers in their own unit, such as milliseconds."""
    kind = np.asarray(t).dtype if hasattr(t, "__array__") or isinstance(t, (list, tuple)) else None
    if kind is not None and kind.kind in "mM":
        msg = f"t must be numbers, in seconds, got {kind}; for dates, pass (t - t[0]) / np.timedelta64(1, 's')"
        raise ValueError(msg)


def _rounded_microseconds(seconds: NDArray[np.float64]) -> NDArray[np.int64]:
    """Seconds as microseconds; a time beyond any clock becomes one that the C library refuses."""
    return np.rint(np.clip(seconds * MICROSECONDS, -_OUT_OF_RANGE, _OUT_OF_RANGE)).astype(np.int64)


# ---- checks of one parameter, given its name -------------------------------------------------------------------------


def _count(name: str, value: Any) -> int:
    least, most = _COUNTS[name]
    number = check_count(name, value, least)
    if number > most:
        msg = f"{name} must be at most {most}, got {value}"
        raise ValueError(msg)
    return number


def _positive(name: str, value: Any) -> float:
    number = check_number(name, value)
    if not LEAST_NUMBER <= number <= _LARGEST_NUMBER:
        rule = "> 0" if number <= 0.0 else f"between {LEAST_NUMBER:g} and {_LARGEST_NUMBER:g}"
        msg = f"{name} must be {rule}, got {value!r}"
        raise ValueError(msg)
    return number


def _not_negative(name: str, value: Any) -> float:
    number = check_number(name, value)
    if not 0.0 <= number <= _LARGEST_NUMBER:
        msg = f"{name} must be from 0 to {_LARGEST_NUMBER:g}, got {value!r}"
        raise ValueError(msg)
    return number


def _share(name: str, value: Any) -> float:
    number = check_number(name, value)
    if not 0.0 <= number < 1.0:
        msg = f"{name} must be a share of all points, at least 0 and less than 1, got {value!r}"
        raise ValueError(msg)
    return number


def _choice(name: str, value: Any) -> str:
    check_choice(name, value, _CHOICES[name])
    chosen: str = value
    return chosen


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        msg = f"{name} must be True or False, got {value!r}"
        raise ValueError(msg)
    return bool(value)


def _likelihood(name: str, value: Any) -> Any:  # noqa: ARG001  (as all checks)
    if value is not None and (isinstance(value, type) or type(value) not in STREAM_FAMILIES):
        msg = (
            f"a stream knows NormalGamma and NormalKnownVariance, each with its prior, got {value!r}; MAPDPM runs any "
            "other in batch"
        )
        raise ValueError(msg)
    return value


_SHARED = ("warmup", "n_features", "alpha", "half_life", "when_full", "missing", "dtype", "likelihood")
_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(_COUNTS, _count),
    **dict.fromkeys(_CHOICES, _choice),
    "n_features": lambda name, value: None if value is None else _count(name, value),
    "half_life": lambda name, value: 0.0 if value is None else _positive(name, value),
    "log_alpha": lambda name, value: None if value is None else check_number(name, value),
    "alpha": _positive,
    "gamma": _positive,
    "kappa": _not_negative,
    "with_base": _flag,
    "surprise": _flag,
    "rare": _share,
    "likelihood": _likelihood,
}
