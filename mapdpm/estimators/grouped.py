"""The contract of scikit-learn's tools, for estimators whose points have groups."""

from __future__ import annotations

import abc
from typing import Any, ClassVar, Self

from mapdpm.estimators.base import Estimator
from mapdpm.protocol import Labels


class GroupedEstimator(Estimator):
    """The common base of estimators that take ``groups``, by position in place of y or by name."""

    _routed: ClassVar[dict[str, str]] = dict.fromkeys(
        ("fit", "predict", "predict_proba", "score", "transform"), "groups"
    )

    @abc.abstractmethod
    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Cluster the points of ``X``."""

    @abc.abstractmethod
    def transform(self, X: Any, groups: Any = None) -> Any:
        """One row for each point, one column for each name of ``get_feature_names_out``."""

    def fit_predict(self, X: Any, y: Any = None, groups: Any = None) -> Labels:
        """Cluster the points of ``X`` and return ``labels_``."""
        return self.fit(X, y, groups).labels_

    def fit_transform(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        """Cluster the points of ``X`` and return their ``transform``."""
        chosen = chosen_groups(y, groups)
        return self.fit(X, groups=chosen).transform(X, chosen)


def chosen_groups(y: Any, groups: Any) -> Any:
    """The groups, which ``fit(X, groups)`` and ``score(X, groups)`` have in the place of y."""
    return y if groups is None else groups
