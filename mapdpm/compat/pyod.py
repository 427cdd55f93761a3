"""A detector for PyOD, for outliers of tables: ``MAPDPM.assess`` behind PyOD's contract."""

from __future__ import annotations

from typing import Any

from mapdpm.estimators.map_dpm import MAPDPM
from mapdpm.protocol import Vector

try:
    from pyod.models.base import BaseDetector
except ImportError as error:
    _MISSING = "mapdpm.compat.pyod needs PyOD, which is not installed; try: pip install 'mapdpm[pyod]'"
    raise ImportError(_MISSING) from error

__all__ = ["MAPDPMDetector"]


class MAPDPMDetector(BaseDetector):  # type: ignore[misc]  # PyOD has no types
    """Outliers of a table by a Dirichlet process mixture: the score is the surprise of ``MAPDPM.assess``, -log of it.

    Parameters
    ----------
    contamination : float in (0, 0.5]
        The share of the points of ``fit`` that are outliers: their scores are above ``threshold_``.
    model : MAPDPM or None
        The estimator, which is copied; None is ``MAPDPM()``.

    Attributes
    ----------
    decision_scores_, labels_ : ndarray of shape (n_points,)
        Score of each point of ``fit``, left out of its cluster, in nats; high is unusual. 1 for an outlier, else 0.
    threshold_ : float
        The score above which a point is an outlier.
    model_ : MAPDPM
        The fitted model.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> X[:9] += 7.0  # a knot
    >>> detector = MAPDPMDetector(contamination=0.03).fit(X)
    >>> detector.labels_[:9].tolist(), int(detector.labels_.sum()), detector.predict([[7.0, 7.0], [0.0, 0.0]]).tolist()
    ([1, 1, 1, 1, 1, 1, 1, 1, 1], 9, [1, 0])
    """

    def __init__(self, contamination: float = 0.1, model: MAPDPM | None = None) -> None:
        super().__init__(contamination=contamination)
        self.model = model

    def fit(self, X: Any, y: Any = None) -> MAPDPMDetector:
        """Fit the model to the points, and score each; ``y`` is ignored. O(N K D) a sweep. Returns self."""
        self._set_n_classes(y)
        template = MAPDPM() if self.model is None else self.model
        self.model_ = type(template)(**template.get_params(deep=False)).fit(X)
        self.decision_scores_ = self.decision_function(X)
        self._process_decision_scores()
        return self

    def decision_function(self, X: Any) -> Vector:
        """-log of the surprise of each point, in nats; high is unusual. ValueError where X does not fit the model."""
        return -self.model_.log_surprises(X)
