"""Objects of scikit-learn (from version 1.6 on), for estimators that keep its contract without importing it."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from mapdpm.validation import ConvergenceWarning, NotFittedError, caller_level

E = TypeVar("E", bound=Exception)


def tags(allow_nan: bool) -> Any:
    """The tags of our estimators: clusterers that need no y, and transform dense numbers, finite or also NaN."""
    from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags  # noqa: PLC0415  (scikit-learn is asking)

    return Tags(
        estimator_type="clusterer",
        target_tags=TargetTags(required=False),
        transformer_tags=TransformerTags(),
        input_tags=InputTags(allow_nan=allow_nan),
    )


def transformer_tags() -> Any:
    """The tags of transformers that need no y and no fit, and take NaN."""
    from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags  # noqa: PLC0415  (scikit-learn is asking)

    return Tags(
        estimator_type=None,
        target_tags=TargetTags(required=False),
        transformer_tags=TransformerTags(),
        input_tags=InputTags(allow_nan=True),
        requires_fit=False,
    )


def metadata_request(estimator: Any, requests: Mapping[str, Mapping[str, Any]]) -> Any:
    """A MetadataRequest by which each method of ``estimator`` requests the names that ``requests`` has for it."""
    from sklearn.utils.metadata_routing import MetadataRequest  # noqa: PLC0415

    request = MetadataRequest(owner=estimator)
    for method, names in requests.items():
        for name, alias in names.items():
            getattr(request, method).add_request(param=name, alias=alias)
    return request


def diagram(estimator: Any) -> str | None:
    """The estimator in HTML as scikit-learn draws its own; None where scikit-learn is not loaded."""
    if "sklearn" not in sys.modules:
        return None
    from sklearn.utils import estimator_html_repr  # noqa: PLC0415

    return str(estimator_html_repr(estimator))


def container() -> str:
    """The container set by ``sklearn.set_config(transform_output=...)``; "default" without scikit-learn."""
    sklearn = sys.modules.get("sklearn")
    return "default" if sklearn is None else str(sklearn.get_config()["transform_output"])


def not_fitted(message: str) -> NotFittedError:
    """The exception for a model that is not fitted; scikit-learn's as well, where that is loaded."""
    return _theirs_too(NotFittedError, not_fitted)(message)


def converging(message: str) -> ConvergenceWarning:
    """The warning of a fit that ended early; scikit-learn's as well, where that is loaded."""
    return _theirs_too(ConvergenceWarning, converging)(message)


def warn_of_early_end() -> None:
    """Warn of a fit that ended early."""
    msg = (
        "the fit ended before it converged, by max_sweeps, time_limit or the callback, so that its log joint can still "
        "rise; raise max_sweeps or time_limit, or rescale features that are far from normal"
    )
    warnings.warn(converging(msg), stacklevel=caller_level())


def _theirs_too(ours: type[E], made_by: Callable[[str], E]) -> type[E]:
    """``ours``, and scikit-learn's exception of the same name as well, where that is loaded."""
    theirs = sys.modules.get("sklearn.exceptions")
    return ours if theirs is None else _both(ours, getattr(theirs, ours.__name__), made_by)  # type: ignore[arg-type]  # a class can be hashed


@functools.cache
def _both(ours: type[E], theirs: type[Exception], made_by: Callable[[str], E]) -> type[E]:
    def reduced(self: Exception) -> tuple[Any, ...]:  # pickle cannot find a class made at run time
        return made_by, self.args

    members = {"__doc__": ours.__doc__, "__module__": ours.__module__, "__reduce__": reduced}
    return type(ours.__name__, (ours, theirs), members)
