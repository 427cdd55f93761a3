"""What choosing found: every score, and the model of the setting that won."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mapdpm.partition_priors.concentration_posterior import ConcentrationPosterior
from mapdpm.protocol import Matrix, Vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEW = 2


class Selection(NamedTuple):
    """What ``select_alpha`` found; S settings were tried, on F folds.

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
    """How: "cv", "nll", "map", "empirical-bayes" or "prequential"."""
    settings: list[dict[str, Any]]
    """What was tried, S dicts of parameters."""
    scores: Matrix
    """Shape (S, F), nats per point, high is good: a mean for each fold; F = 1 but for "cv" and
    "prequential"."""
    n_clusters: Matrix
    """Shape (S, F), clusters that were found."""
    chosen: int
    """Which of the settings won."""
    model: Any
    """With the chosen setting, fitted to all points: a ``MAPDPM``, of "prequential" an ``OnlineMAPDPM``."""

    @property
    def alphas(self) -> Vector:
        """The alphas that were tried, shape (S,); for "map" and "empirical-bayes" those that were reached."""
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
        """Shape (S,): each fold counts the same, as in scikit-learn."""
        means: Vector = self.scores.mean(axis=1)
        return means

    @property
    def standard_errors(self) -> Vector:
        """Shape (S,): standard deviation of the folds' scores over the root of their number; NaN for a single one.

        The folds share points to fit on, so these are rough, and rather too small.
        """
        return _standard_errors(self.scores)

    def posterior(self, prior: Any = None) -> ConcentrationPosterior:
        """p(alpha | N, K) for the clusters of ``model``, under the inverse-Gamma prior of (25) or another."""
        N, K = int(self.model.cluster_sizes_.sum()), int(self.model.n_clusters_)
        return ConcentrationPosterior(N, K) if prior is None else ConcentrationPosterior(N, K, prior)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw scores over alpha, their standard errors, and numbers of clusters: ``plots.selection``."""
        from mapdpm import plots  # noqa: PLC0415  (pictures are drawn by few)

        return plots.selection(self, ax=ax)


def simplest(scores: Matrix, n_clusters: Matrix) -> int:
    """The one-standard-error rule: the fewest clusters, on average, of settings that score as well as the best.

    As well: not lower than it by more than its standard error. Of equals the first.
    """
    means = scores.mean(axis=1)
    best = int(np.argmax(means))
    near = np.flatnonzero(means >= means[best] - _standard_errors(scores)[best])
    return int(near[np.argmin(n_clusters[near].mean(axis=1))])


def _standard_errors(scores: Matrix) -> Vector:
    S, F = scores.shape
    return np.full(S, np.nan) if F < _FEW else scores.std(axis=1, ddof=1) / np.sqrt(F)
