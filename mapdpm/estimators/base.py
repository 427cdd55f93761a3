"""The contract of scikit-learn's estimators, for its pipelines and searches, without importing it (decision 36)."""

from __future__ import annotations

import abc
import copy
import html
import inspect
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Self

import numpy as np

from mapdpm.compat import scikit_learn
from mapdpm.data import point_set
from mapdpm.data.frames import CONTAINERS, Names, check_names, column_names, framed
from mapdpm.protocol import Labels, Matrix
from mapdpm.validation import check_points, refuse_value

UNCHANGED = "$UNCHANGED$"
"""The default of scikit-learn's ``set_fit_request``."""

_OURS = ("get_params", "set_params", "__sklearn_tags__")


class Parameters:
    """Parameters by name, for every class whose constructor keeps its arguments as attributes."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with ``deep`` those of the likelihood too, as ``likelihood__c0``.

        Examples
        --------
        >>> from mapdpm import MAPDPM, NormalGamma
        >>> model = MAPDPM(likelihood=NormalGamma(m0=0.0, c0=0.1, a0=1.0, b0=1.0))
        >>> model.get_params()["likelihood__c0"]
        0.1
        """
        named = {name: self._parameter(name) for name in sorted(_defaults(type(self)))}
        if deep:
            for name, value in list(named.items()):
                named |= {f"{name}__{inner}": each for inner, each in _parameters_of(value).items()}
        return named

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, those of the likelihood as ``likelihood__c0``: a new likelihood replaces it.

        Either all are set or none. They take effect at the next ``fit``. ValueError for an unknown name, and for a
        value that the likelihood refuses.

        Examples
        --------
        >>> from mapdpm import MAPDPM, NormalGamma
        >>> model = MAPDPM(likelihood=NormalGamma(m0=0.0, c0=0.1, a0=1.0, b0=1.0))
        >>> model.set_params(alpha=2.0, likelihood__c0=0.5).likelihood.c0
        0.5
        """
        known = self.get_params(deep=False)
        plain = {name: value for name, value in params.items() if "__" not in name}
        nested: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            outer, nests, inner = name.partition("__")
            if outer not in known or bool(nests) != bool(inner):
                msg = (
                    f"Invalid parameter {outer + nests!r} for estimator {self}. Valid parameters are: {sorted(known)}."
                )
                raise ValueError(msg)
            if inner:
                nested.setdefault(outer, {})[inner] = value
        for outer, values in nested.items():
            plain[outer] = _replaced(outer, plain.get(outer, known[outer]), values)
        for name, value in plain.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """The call that makes such an estimator, with the parameters that differ from their defaults."""
        defaults = _defaults(type(self))
        given = {name: repr(self._parameter(name)) for name in defaults}
        changed = (f"{n}={' '.join(text.split())}" for n, text in given.items() if text != repr(defaults[n]))
        return f"{type(self).__name__}({', '.join(changed)})"

    def _repr_html_(self) -> str:
        """HTML for notebooks: scikit-learn's diagram where scikit-learn is loaded, else the text."""
        return scikit_learn.diagram(self) or f"<pre>{html.escape(repr(self))}</pre>"

    def _parameter(self, name: str) -> Any:
        try:
            return getattr(self, name)
        except AttributeError:
            msg = f"{type(self).__name__}.__init__ must keep its parameter {name!r} as the attribute self.{name}"
            raise AttributeError(msg) from None


class Transforming(Parameters):
    """Parameters, and names of columns and containers of output, for every class that has ``transform``."""

    feature_names_in_: Names

    def set_output(self, *, transform: str | None = None) -> Self:
        """Set the container that ``transform`` returns: "default" (an array), "pandas" or "polars"; None keeps it."""
        if transform is None:
            return self
        if transform not in CONTAINERS:
            refuse_value(f"transform must be one of {', '.join(map(repr, CONTAINERS))} or None", transform)
        self._sklearn_output_config = {"transform": transform}  # the name by which scikit-learn's clone keeps it
        return self

    def _in_container(self, values: Matrix, names: Iterable[str], like: Any) -> Any:
        """``values`` of ``transform(like)`` in the container that ``set_output`` chose, with these columns."""
        chosen = getattr(self, "_sklearn_output_config", {}).get("transform") or scikit_learn.container()
        return framed(values, chosen, names, like)

    def _check_input_features(self, given: Any, n_features: int) -> None:
        """ValueError where names of columns, as scikit-learn gives them, are not those of ``fit``."""
        if given is None:
            return
        fitted = getattr(self, "feature_names_in_", None)
        if fitted is not None and not np.array_equal(np.asarray(given, dtype=object), fitted):
            msg = "input_features is not equal to feature_names_in_"
            raise ValueError(msg)
        if len(given) != n_features:
            msg = f"input_features should have length equal to number of features ({n_features}), got {len(given)}"
            raise ValueError(msg)


def _request_setter(method: str, name: str) -> Any:
    """``set_{method}_request``, by which users of metadata routing ask for the metadata ``name``."""

    def setter(self: Any, **metadata: Any) -> Any:
        unknown = sorted(set(metadata) - {name})
        if unknown:
            msg = f"set_{method}_request takes {name}, got {', '.join(unknown)}"
            raise TypeError(msg)
        return self._request(method, metadata.get(name, UNCHANGED))

    setter.__name__ = f"set_{method}_request"
    setter.__doc__ = f"""Ask for ``{name}`` in ``{method}`` where scikit-learn's metadata routing is on.

        ``{name}`` is True, False or an alias. Returns self.
        """
    parameter = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=UNCHANGED)
    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    setattr(setter, "__signature__", inspect.Signature([this, parameter]))  # noqa: B010  (mypy)
    return setter


class Estimator(Transforming, abc.ABC):
    """The common base of all estimators: parameters by name, names of features, containers of output."""

    n_features_in_: int
    labels_: Labels
    fit: Callable[..., Self]
    transform: Callable[..., Any]
    """Each kind of estimator has these, with arguments of its own."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """A class that also inherits from scikit-learn keeps our parameters and tags, in any order of its bases."""
        super().__init_subclass__(**kwargs)
        for method, name in vars(cls).get("_routed", {}).items():
            setattr(cls, f"set_{method}_request", _request_setter(method, name))
        for name in _OURS:
            ours = next(kind for kind in cls.__mro__ if issubclass(kind, Parameters) and name in vars(kind))
            if getattr(cls, name).__module__.startswith("sklearn."):
                setattr(cls, name, vars(ours)[name])

    @abc.abstractmethod
    def _names_out(self, prefix: str) -> list[str]:
        """Names of the columns of ``transform``."""

    # ---- for scikit-learn -------------------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        """The tags by which scikit-learn knows the kind of an estimator."""
        return scikit_learn.tags(allow_nan=getattr(self, "missing", None) == "skip")

    _routed: ClassVar[dict[str, str]]
    """The metadata that each method takes; for each, a class has ``set_{method}_request``."""

    def get_metadata_routing(self) -> Any:
        """The requests for the metadata of the methods, for scikit-learn's metadata routing."""
        kept = getattr(self, "_metadata_request", None)
        if kept is not None:
            return copy.deepcopy(kept)
        return scikit_learn.metadata_request(self, {method: {name: None} for method, name in self._routed.items()})

    def _request(self, method: str, alias: bool | str | None) -> Self:
        """Ask for the metadata of ``method``: True, False or an alias."""
        if alias == UNCHANGED:
            return self
        request = self.get_metadata_routing()
        getattr(request, method).add_request(param=self._routed[method], alias=alias)
        self._metadata_request = request
        return self

    # ---- names of features, containers -----------------------------------------------------------------------------

    def get_feature_names_out(self, input_features: Any = None) -> Names:
        """Names of the columns of ``transform``: the name of the class in lower case, and the number of the cluster.

        ``input_features`` must equal the names of ``fit``, where it had names.
        """
        self._check_fitted()
        self._check_input_features(input_features, self.n_features_in_)
        return np.array(self._names_out(type(self).__name__.lower()), dtype=object)

    def _framed(self, values: Matrix, X: Any) -> Any:
        """``values`` of ``transform(X)`` in the container that ``set_output`` chose."""
        return self._in_container(values, self.get_feature_names_out(), X)

    def _read(self, X: Any) -> Any:
        """The points of ``X``, checked, in the form that this estimator uses."""
        return check_points(X)

    def _points(self, X: Any, named: bool = True) -> Any:
        """The points of ``X``, checked; their columns must be those of ``fit``, by name too if ``named``."""
        self._check_fitted()
        if named:
            check_names(column_names(X), getattr(self, "feature_names_in_", None), type(self).__name__)
        points = self._read(X)
        n_features = point_set(points).n_features
        if n_features != self._n_features_read():
            who = type(self).__name__
            msg = f"X has {n_features} features, but {who} is expecting {self.n_features_in_} features as input"
            raise ValueError(msg)
        return points

    def _n_features_read(self) -> int:
        """The number of features of points as ``_read`` returns them."""
        return self.n_features_in_

    def _check_fitted(self) -> None:
        if not hasattr(self, "n_clusters_"):
            msg = f"this {type(self).__name__} is not fitted yet; call fit first"
            raise scikit_learn.not_fitted(msg)


class WeightedEstimator(Estimator):
    """The common base of MAPDPM and DPMeans, whose points may have weights."""

    _routed: ClassVar[dict[str, str]] = {"fit": "sample_weight"}

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Labels:
        """Cluster the points of ``X`` and return ``labels_``."""
        return self.fit(X, y, sample_weight).labels_

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Cluster the points of ``X`` and return their ``transform``."""
        return self.fit(X, y, sample_weight).transform(X)


def _defaults(kind: type[Any]) -> dict[str, Any]:
    signature = inspect.signature(kind.__init__)
    named = list(signature.parameters.items())[1:]
    return {name: each.default for name, each in named if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)}


def _parameters_of(value: Any) -> dict[str, Any]:
    """The named parameters of a likelihood, or of another estimator; empty for any other value."""
    if isinstance(value, type):
        return {}
    if hasattr(value, "get_params"):
        return dict(value.get_params())
    return value._asdict() if hasattr(value, "_fields") else {}


def _replaced(name: str, value: Any, changes: dict[str, Any]) -> Any:
    if value is None or isinstance(value, (str, type)):
        first, shown = next(iter(changes)), value.__name__ if isinstance(value, type) else repr(value)
        hint = ", to NormalGamma.empirical(X) say" if name == "likelihood" else ""
        msg = f"{name} is {shown}, which has no parameter {first!r}; set {name} first{hint}"
        raise ValueError(msg)
    known = _parameters_of(value)
    deep = hasattr(value, "set_params")
    for inner in changes:
        if (inner.partition("__")[0] if deep else inner) not in known:
            valid = sorted(known)
            msg = f"Invalid parameter {inner!r} for {name} {type(value).__name__}. Valid parameters are: {valid}."
            raise ValueError(msg)
    return value.set_params(**changes) if deep else value._replace(**changes)
