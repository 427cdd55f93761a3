"""The probability that a point of one normal cluster is taken for one of another: the tail of a quadratic form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mapdpm.likelihoods import _triangle as tri
from mapdpm.likelihoods._skipping import plain, skips
from mapdpm.likelihoods.normal_gamma import NormalGamma
from mapdpm.likelihoods.normal_inverse_wishart import NormalInverseWishart
from mapdpm.likelihoods.normal_known_variance import NormalKnownVariance
from mapdpm.protocol import Matrix, Vector

_BISECTIONS = 60
_FARTHEST = 1e6  # of t, where its range has no end
_FLAT = 1e-3  # |w|, below which the two terms of the tail cancel
_DEEPEST = 30.0  # standard deviations; a tail of 1e-197
_ROOT = math.sqrt(2.0 * math.pi)
_SMALLEST_SPREAD = 1e-20  # of a form that is a constant: two equal clusters

_DIAGONAL = (NormalGamma, NormalKnownVariance)


def has_closed_form(likelihood: Any) -> bool:
    """Whether clusters are normals."""
    return isinstance(plain(likelihood), (*_DIAGONAL, NormalInverseWishart))


def log_misclassified(likelihood: Any, rows: Matrix) -> Matrix:
    """ln P(pi_j F_j(x) > pi_i F_i(x)) for x of cluster i, shape (K, K); rows are i. The diagonal means nothing.

    Clusters are normals F with the expected precision of each, and weights pi of their sizes. ln (pi_j F_j / pi_i F_i)
    is c + sum_d (a_d z_d^2 + b_d z_d) of independent standard normals z. Its tail is found by the saddlepoint
    approximation of Lugannani and Rice (1980). O(K^2 D); for full matrices O(K^2 D^3).
    """
    diagonal, K = isinstance(plain(likelihood), _DIAGONAL), len(rows)
    parameters = np.empty((K, likelihood.n_parameters()))
    for row, own in zip(rows, parameters, strict=True):
        likelihood.tangent(row, own)
    if skips(likelihood):  # a constant for each feature; no form reads them
        parameters = parameters[:, likelihood.n_features - 1 :]
    log_weights = np.log(rows[:, 0])
    form = _diagonal_forms if diagonal else _full_forms
    chances = np.empty((K, K))
    for i in range(K):
        c, a, b = form(parameters, i)
        chances[i] = log_tail(c + log_weights - log_weights[i], a, b)
    return chances


def _diagonal_forms(parameters: Matrix, i: int) -> tuple[Vector, Matrix, Matrix]:
    D = (parameters.shape[1] - 1) // 2
    means, precisions = parameters[:, 1 : 1 + D], 2.0 * parameters[:, 1 + D :]
    ratio = precisions / precisions[i]
    apart = (means[i] - means) * np.sqrt(precisions)
    return (0.5 * np.log(ratio) - 0.5 * apart**2).sum(axis=1), 0.5 * (1.0 - ratio), -apart * np.sqrt(ratio)


def _full_forms(parameters: Matrix, i: int) -> tuple[Vector, Matrix, Matrix]:
    D = int(np.sqrt(2 * parameters.shape[1] + 0.25) - 1.5)
    roots = tri.unpacked(parameters[:, 1 + D :])  # W, where W'W is the precision matrix
    apart = np.einsum("kde,ke->kd", roots, parameters[i, 1 : 1 + D] - parameters[:, 1 : 1 + D])
    turned, scales, _ = np.linalg.svd(roots @ np.linalg.inv(roots[i]))
    along = np.einsum("kde,kd->ke", turned, apart)
    return (np.log(scales) - 0.5 * along**2).sum(axis=1), 0.5 * (1.0 - scales**2), -along * scales


def log_tail(c: Vector, a: Matrix, b: Matrix) -> Vector:
    """ln P(c + sum_d (a_d z_d^2 + b_d z_d) > 0) of independent standard normals z; see ``log_misclassified``."""
    spread = (2.0 * a * a + b * b).sum(axis=1)
    constant = spread < _SMALLEST_SPREAD
    with np.errstate(all="ignore"):
        t = _saddlepoint(c, a, b)
        k, _, k2 = _cumulants(t, c, a, b)
        w, u = np.sign(t) * np.sqrt(np.maximum(-2.0 * k, 0.0)), t * np.sqrt(k2)
        beside = _mills(w) + 1.0 / u - 1.0 / w
        far = -0.5 * w * w - 0.5 * math.log(2.0 * math.pi) + np.log(np.where(beside > 0.0, beside, 1.0 / u))
        skew = (8.0 * a**3 + 6.0 * a * b * b).sum(axis=1) / spread**1.5
        near = np.log(0.5 - skew / (6.0 * math.sqrt(2.0 * math.pi)))
        chance = np.minimum(np.where(np.abs(w) < _FLAT, near, far), 0.0)
    never = c + _highest_of(a, b) <= 0.0
    known = np.where(c == 0.0, math.log(0.5), np.where(c > 0.0, 0.0, -np.inf))
    return np.where(constant, known, np.where(never, -np.inf, np.nan_to_num(chance, nan=0.0)))


def _mills(w: Vector) -> Vector:
    """(1 - Phi(w)) / phi(w) of a standard normal: beyond some deviations by three terms of its series."""
    inside = np.minimum(w, _DEEPEST)
    tails = np.array([0.5 * math.erfc(each / math.sqrt(2.0)) for each in inside.tolist()])
    return np.where(w > _DEEPEST, (1.0 - (1.0 - 3.0 / w**2) / w**2) / w, tails * np.exp(0.5 * inside**2) * _ROOT)


def _saddlepoint(c: Vector, a: Matrix, b: Matrix) -> Vector:
    """The t at which the slope of the cumulant generating function is 0; it rises with t."""
    low = np.max(np.where(a < 0.0, 0.5 / np.minimum(a, -0.5 / _FARTHEST), -_FARTHEST), axis=1)
    high = np.min(np.where(a > 0.0, 0.5 / np.maximum(a, 0.5 / _FARTHEST), _FARTHEST), axis=1)
    for _ in range(_BISECTIONS):
        t = 0.5 * (low + high)
        rises = _cumulants(t, c, a, b)[1] < 0.0
        low, high = np.where(rises, t, low), np.where(rises, high, t)
    return 0.5 * (low + high)


def _cumulants(t: Vector, c: Vector, a: Matrix, b: Matrix) -> Any:
    """The cumulant generating function of the form at ``t``, its slope, and the slope of that."""
    q = 1.0 - 2.0 * t[:, None] * a
    s = t[:, None] * b * b / q
    return (
        t * c + 0.5 * (t[:, None] * s - np.log(q)).sum(axis=1),
        c + (a / q + s * (1.0 + t[:, None] * a / q)).sum(axis=1),
        (2.0 * a * a / q**2 + b * b / q**3).sum(axis=1),
    )


def _highest_of(a: Matrix, b: Matrix) -> Vector:
    """The largest value of sum_d (a_d z_d^2 + b_d z_d); infinite where one of the terms has none."""
    peaks = np.where(
        a < 0.0, -b * b / (4.0 * np.where(a < 0.0, a, -1.0)), np.where((a > 0.0) | (b != 0.0), np.inf, 0.0)
    )
    return np.asarray(peaks.sum(axis=1))
