"""The contract of scikit-learn's tools, for estimators whose points have groups, or are sequences in time."""

from __future__ import annotations

from typing import Any, ClassVar

from mapdpm.estimators.base import Estimator
from mapdpm.protocol import Labels

_METHODS = ("fit", "predict", "predict_proba", "score", "transform")


class GroupedEstimator(Estimator):
    """The common base of estimators that take ``groups``, by position in place of y or by name."""

    _routed: ClassVar[dict[str, str]] = dict.fromkeys(_METHODS, "groups")

    def fit_predict(self, X: Any, y: Any = None, groups: Any = None) -> Labels:
        """Cluster the points of ``X`` and return ``labels_``."""
        return self.fit(X, y, groups).labels_

    def fit_transform(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        """Cluster the points of ``X`` and return their ``transform``."""
        chosen = chosen_groups(y, groups)
        return self.fit(X, groups=chosen).transform(X, chosen)


class SequenceEstimator(Estimator):
    """The common base of estimators that take ``sequences``, by position in place of y or by name."""

    _routed: ClassVar[dict[str, str]] = dict.fromkeys(_METHODS, "sequences")

    def fit_predict(self, X: Any, y: Any = None, sequences: Any = None) -> Labels:
        """Find the states of the points of ``X`` and return ``labels_``."""
        return self.fit(X, y, sequences).labels_

    def fit_transform(self, X: Any, y: Any = None, sequences: Any = None) -> Any:
        """Find the states of the points of ``X`` and return their ``transform``."""
        chosen = chosen_groups(y, sequences)
        return self.fit(X, sequences=chosen).transform(X, chosen)


def chosen_groups(y: Any, groups: Any) -> Any:
    """The groups, which ``fit(X, groups)`` and ``score(X, groups)`` have in the place of y."""
    return y if groups is None else groups
