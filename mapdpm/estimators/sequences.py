"""The contract of scikit-learn's tools, for estimators whose points are sequences in time."""

from __future__ import annotations

import abc
from typing import Any, ClassVar, Self

from mapdpm.estimators.base import Estimator
from mapdpm.estimators.grouped import chosen_groups
from mapdpm.protocol import Labels


class SequenceEstimator(Estimator):
    """The common base of estimators that take ``sequences``, by position in place of y or by name."""

    _routed: ClassVar[dict[str, str]] = dict.fromkeys(
        ("fit", "predict", "predict_proba", "score", "transform"), "sequences"
    )

    @abc.abstractmethod
    def fit(self, X: Any, y: Any = None, sequences: Any = None) -> Self:
        """Find the states of the points of ``X``."""

    @abc.abstractmethod
    def transform(self, X: Any, sequences: Any = None) -> Any:
        """One row for each point, one column for each name of ``get_feature_names_out``."""

    def fit_predict(self, X: Any, y: Any = None, sequences: Any = None) -> Labels:
        """Find the states of the points of ``X`` and return ``labels_``."""
        return self.fit(X, y, sequences).labels_

    def fit_transform(self, X: Any, y: Any = None, sequences: Any = None) -> Any:
        """Find the states of the points of ``X`` and return their ``transform``."""
        chosen = chosen_groups(y, sequences)
        return self.fit(X, sequences=chosen).transform(X, chosen)
