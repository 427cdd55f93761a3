"""The result of ``select_alpha``: all scores, and the model of the best setting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapdpm.partition_priors.concentration_posterior import ConcentrationPosterior
from mapdpm.partition_priors.hyperpriors import InverseGammaPrior
from mapdpm.protocol import Matrix, Vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEW = 2


class Selection(NamedTuple):
    """The result of ``select_alpha`` for S settings and F folds.

    Examples
    --------
    >>> import numpy as np
    >>> from mapdpm import select_alpha
    >>> X = np.concatenate([np.linspace(0.0, 1.0, 20), np.linspace(9.0, 10.0, 20)])[:, None]
    >>> found = select_alpha(X, [0.1, 1.0, 10.0], folds=4)
    >>> found.scores.shape, found.model.n_clusters_
    ((3, 4), 2)
    """

    method: str
    """The method: "cv", "nll", "map", "empirical-bayes" or "prequential"."""
    settings: list[dict[str, Any]]
    """The settings that were tried, S dicts of parameters."""
    scores: Matrix
    """Mean score of each fold in nats per point, high is good; shape (S, F), F > 1 only for "cv" and "prequential"."""
    n_clusters: Matrix
    """Number of clusters found, shape (S, F)."""
    chosen: int
    """Index of the best setting."""
    model: Any
    """The model of the best setting, fitted to all points: a ``MAPDPM``, or for "prequential" an ``OnlineMAPDPM``."""

    @property
    def alphas(self) -> Vector:
        """The alphas that were tried, shape (S,); for "map" and "empirical-bayes", those at the end of each search."""
        return np.array([setting.get("alpha", 1.0) for setting in self.settings])

    @property
    def alpha(self) -> float:
        """The chosen alpha."""
        return float(self.alphas[self.chosen])

    @property
    def params(self) -> dict[str, Any]:
        """The chosen setting."""
        return self.settings[self.chosen]

    @property
    def mean_scores(self) -> Vector:
        """Mean over folds, shape (S,); all folds have equal weight, as in scikit-learn."""
        return self.scores.mean(axis=1)

    @property
    def standard_errors(self) -> Vector:
        """Standard deviation of the folds' scores over the root of their number, shape (S,); NaN for a single fold.

        Folds share training points, so these are rough, and tend to be too small.
        """
        return _standard_errors(self.scores)

    @property
    def near_best(self) -> NDArray[np.bool_]:
        """Whether each score is lower than the best one by at most the standard error of that, shape (S,).

        Nothing tells these settings apart. Only the best one for a single fold.
        """
        return _near_best(self.scores)

    def posterior(self, prior: Any = None) -> ConcentrationPosterior:
        """p(alpha | N, K) for the clusters of ``model``, under the inverse-Gamma prior of (25) or another.

        With the discount of the model, where it has one.
        """
        N, K = int(self.model.cluster_sizes_.sum()), int(self.model.n_clusters_)
        discount = float(getattr(self.model, "discount", 0.0))  # a stream has none
        return ConcentrationPosterior(N, K, InverseGammaPrior() if prior is None else prior, discount)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw scores over alpha, their standard errors, and numbers of clusters: ``plots.selection``."""
        from mapdpm import plots  # noqa: PLC0415  (pictures are drawn by few)

        return plots.selection(self, ax=ax)


def simplest(scores: Matrix, n_clusters: Matrix) -> int:
    """The one-standard-error rule: the setting with the fewest clusters on average among those near the best.

    Near: lower than the best score by at most its standard error. In a tie the first setting wins.
    """
    near = np.flatnonzero(_near_best(scores))
    return int(near[np.argmin(n_clusters[near].mean(axis=1))])


def _near_best(scores: Matrix) -> NDArray[np.bool_]:
    means = scores.mean(axis=1)
    best = int(np.argmax(means))
    found: NDArray[np.bool_] = means >= means[best] - np.nan_to_num(_standard_errors(scores)[best])
    return found


def _standard_errors(scores: Matrix) -> Vector:
    S, F = scores.shape
    return np.full(S, np.nan) if F < _FEW else scores.std(axis=1, ddof=1) / np.sqrt(F)
