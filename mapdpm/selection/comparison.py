"""Two models on held-out points: which predicts better, and by how much more than chance."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm.validation import check_weights


class Comparison(NamedTuple):
    """The result of ``compare``: nats a point by which the first model predicts better, and its standard error."""

    difference: float
    standard_error: float
    n_points: int

    def __str__(self) -> str:
        return f"{self.difference:+.4f} nats a point, standard error {self.standard_error:.4f}, {self.n_points} points"


def compare(a: Any, b: Any, X: Any, sample_weight: Any = None) -> Comparison:
    """Whether model ``a`` predicts points better than ``b``: the mean of log p_a(x) - log p_b(x), in nats a point.

    Parameters
    ----------
    a, b : fitted models
        Anything with ``score_samples(X)`` in nats: ``MAPDPM``, a mixture of scikit-learn. Their densities compare if
        both are of the same columns in the same units, and none has columns of probabilities where the other has
        densities (spikes, flags, counts, categories).
    X : array-like of shape (n_points, n_features)
        Points that neither model was fitted to: points of a fit favour the model with more clusters.
    sample_weight : array-like of shape (n_points,), optional
        Weights of the points; only their ratios count.

    Returns
    -------
    Comparison
        ``difference``, its ``standard_error`` over points, as of independent ones, and ``n_points`` of weight > 0.

    Raises
    ------
    ValueError
        There are fewer than two points, or a score is not finite.

    Notes
    -----
    Twice the standard error is a usual limit. Neighbours in time are not independent: leave out whole stretches, and
    take the error as too small. O(N K D) for each model.

    Examples
    --------
    >>> import numpy as np
    >>> from mapdpm import MAPDPM
    >>> X = np.random.default_rng(0).normal(size=(600, 2)) @ [[1.0, 0.9], [0.0, 0.3]]
    >>> full, diagonal = (MAPDPM(covariance=shape).fit(X[:300]) for shape in ("full", "diagonal"))
    >>> found = compare(full, diagonal, X[300:])
    >>> found.difference > 2.0 * found.standard_error > 0.0
    True
    """
    differences = np.asarray(a.score_samples(X), dtype=np.float64) - np.asarray(b.score_samples(X), dtype=np.float64)
    weights = check_weights(sample_weight, len(differences), 0.0)
    weights = np.ones(len(differences)) if weights is None else weights
    n_points = int(np.count_nonzero(weights))
    if n_points <= 1:
        msg = f"X must have at least two points to compare models, got {n_points}"
        raise ValueError(msg)
    if not np.isfinite(differences[weights > 0.0]).all():
        at = int(np.flatnonzero(~np.isfinite(differences) & (weights > 0.0))[0])
        msg = (
            f"scores must be finite to be compared, but those of row {at} (counted from 0) differ by {differences[at]}"
        )
        raise ValueError(msg)
    shares = weights / weights.sum()
    mean = float(shares @ differences)
    apart = shares * (differences - mean)
    error = float(np.sqrt(n_points / (n_points - 1.0) * (apart @ apart)))
    return Comparison(mean, error, n_points)
