"""How far a cluster is from the others, column by column: divergences of its predictive densities; maths (179).

The predictive density of one column is one of three kinds: a Student t (a normal where its freedom is infinite), a few
probabilities, or a negative binomial. Rows give it in closed form for every family of the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from mapdpm.likelihoods import _triangle as tri
from mapdpm.likelihoods._product import Product, parts_of
from mapdpm.likelihoods._skipping import Skipping
from mapdpm.likelihoods.beta_bernoulli import BetaBernoulli
from mapdpm.likelihoods.categorical import Categorical
from mapdpm.likelihoods.dirichlet_multinomial import DirichletMultinomial
from mapdpm.likelihoods.gamma_poisson import GammaPoisson
from mapdpm.likelihoods.normal_gamma import NormalGamma
from mapdpm.likelihoods.normal_inverse_wishart import NormalInverseWishart
from mapdpm.likelihoods.normal_known_variance import NormalKnownVariance
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.special import log_rising_of_arrays

_HALF = np.array(0.5)
_NODES = np.arange(-14.5, 14.5 + 0.05, 0.1)  # of u: sinh reaches a million scales, where a t of one point ends
_LEAST = 1e-13  # of the mass: nodes with less say nothing
_MOST_COUNTS = 4096  # whole numbers that are summed one by one


class Numbers(NamedTuple):
    """Student t densities of one column, of each cluster; each field has shape (K,)."""

    freedom: Vector
    centre: Vector
    scale: Vector

    def log_densities(self, points: Vector) -> Matrix:
        """The log density of each cluster at ``points``, shape (K, n)."""
        z = (points - self.centre[:, None]) / self.scale[:, None]
        own: Matrix = self._log_standard(z, self.freedom[:, None]) - np.log(self.scale)[:, None]
        return own

    def nodes(self, k: int) -> tuple[Vector, Vector]:
        """Points, and the mass of cluster ``k`` that each stands for: trapezoids in u, where x = m + s sinh u."""
        z = np.sinh(_NODES)
        log_density = self._log_standard(z, np.full(1, self.freedom[k]))
        mass = np.exp(log_density) * np.cosh(_NODES) * (_NODES[1] - _NODES[0])
        kept = mass > _LEAST
        return self.centre[k] + self.scale[k] * z[kept], mass[kept]

    @staticmethod
    def _log_standard(z: Any, freedom: Any) -> Any:
        finite = np.isfinite(freedom)
        nu = np.where(finite, freedom, 1.0)
        of_t = (
            log_rising_of_arrays(0.5 * nu, _HALF) - 0.5 * np.log(nu * math.pi) - 0.5 * (nu + 1.0) * np.log1p(z * z / nu)
        )
        return np.where(finite, of_t, -0.5 * (math.log(2.0 * math.pi) + z * z))


class Shares(NamedTuple):
    """Probabilities of a few values of one column, and how often each was seen; (K, n_values)."""

    probabilities: Matrix
    counts: Matrix

    def log_densities(self, points: Vector) -> Matrix:
        """The log probability of each cluster at ``points``, which are places of values."""
        found: Matrix = np.log(self.probabilities[:, points.astype(np.int64)])
        return found

    def nodes(self, k: int) -> tuple[Vector, Vector]:
        """All values, and the probability of each in cluster ``k``."""
        return np.arange(self.probabilities.shape[1], dtype=np.float64), self.probabilities[k]


class Counts(NamedTuple):
    """Negative binomial probabilities of one column of counts; each field has shape (K,)."""

    shape: Vector
    rate: Vector
    mean: Vector
    """The mean of the counts that were seen; the prior's where there are none."""

    def log_densities(self, points: Vector) -> Matrix:
        """The log probability of each cluster at ``points``; maths (42)."""
        x = np.maximum(points, 1e-300)  # log_rising is of numbers > 0
        a, b = self.shape[:, None], self.rate[:, None]
        ways = log_rising_of_arrays(np.broadcast_to(a, (len(a), len(x))), x) - log_rising_of_arrays(np.ones(1), x)
        found: Matrix = np.where(points > 0.0, ways, 0.0) - a * np.log1p(1.0 / b) - points * np.log1p(b)
        return found

    def nodes(self, k: int) -> tuple[Vector, Vector]:
        """Counts, and the mass of cluster ``k`` that each stands for: all counts of a few thousand, else some."""
        mean = self.shape[k] / self.rate[k]
        spread = math.sqrt(mean * (1.0 + 1.0 / self.rate[k]))
        last = mean + 40.0 * spread + 40.0
        x = np.arange(min(math.ceil(last), _MOST_COUNTS), dtype=np.float64)
        step = np.ones_like(x)
        if last > _MOST_COUNTS:
            x = np.linspace(0.0, last, _MOST_COUNTS)
            step = np.full_like(x, x[1])
        mass = np.exp(self.log_densities(x)[k]) * step
        return x[mass > _LEAST], mass[mass > _LEAST]


Column: TypeAlias = Numbers | Shares | Counts


def predictives(likelihood: Any, rows: Matrix, n_columns: int) -> list[Column | None]:
    """The predictive densities of each column that ``likelihood`` reads, of the clusters in ``rows``.

    None for the columns of a family from outside. Words of documents are one column: that of the next word.
    """
    if isinstance(likelihood, Product):
        widths = ((part, part.columns.stop - part.columns.start) for part in parts_of(likelihood))
        return [each for part, width in widths for each in predictives(part.family, rows[:, part.row], width)]
    if isinstance(likelihood, Skipping):
        D = likelihood.n_features
        return [each for d in range(D) for each in predictives(likelihood.family.feature(d), rows[:, 1 + d :: D], 1)]
    make = _OF_FAMILIES.get(type(likelihood))
    return [None] * n_columns if make is None else list(make(likelihood, rows))


def presences(likelihood: Any, columns: Sequence[Column | None], n_clusters: int) -> Matrix:
    """The probability that each cluster has a value in each column: less than 1 where other columns hold spikes."""
    found = np.ones((n_clusters, len(columns)))
    for flag, column in getattr(likelihood, "blanks", ()):
        shares = columns[flag]
        if isinstance(shares, Shares):
            found[:, column] *= shares.probabilities[:, 0]
    return found


def nats_by_column(
    columns: Sequence[Column | None], presence: Matrix, weights: Vector, clusters: Sequence[int] | Labels
) -> Matrix:
    """How far some ``clusters`` are from all others in each column, (len(clusters), n_columns), in nats a point.

    E[log p(x_d | cluster) - log p(x_d | the others)] for x drawn from the cluster, where the others are the mixture of
    their predictive densities by their ``weights``: a Kullback-Leibler divergence; maths (179). ``presence`` is that of
    ``presences``. NaN for a single cluster, and where a column has no density. O(K D) a cluster.
    """
    found = np.full((len(clusters), len(columns)), np.nan)
    if len(weights) == 1:
        return found
    for d, column in enumerate(columns):
        if column is None:
            continue
        with np.errstate(divide="ignore"):
            log_weights = np.log(weights * presence[:, d])
        for at, k in enumerate(clusters):
            points, mass = column.nodes(k)
            logs = column.log_densities(points)
            others = logs + np.where(np.arange(len(weights)) == k, -np.inf, log_weights)[:, None]
            total = np.logaddexp.reduce(np.delete(log_weights, k))
            if presence[k, d] > 0.0 and np.isfinite(total):
                gap = mass @ (logs[k] - (np.logaddexp.reduce(others, axis=0) - total))
                found[at, d] = presence[k, d] * max(float(gap), 0.0)
    return found


# ---- the families ----------------------------------------------------------------------------------------------------


def _of_normal_gamma(prior: NormalGamma, rows: Matrix) -> list[Numbers]:
    """maths (5): a t with 2 a_n degrees of freedom."""
    n, means, squares = _moments(rows, len(prior.m0))
    c, a = prior.c0 + n, prior.a0 + 0.5 * n
    b = prior.b0 + 0.5 * squares + 0.5 * prior.c0 * n / c * (means - prior.m0) ** 2
    centre, scale = (prior.c0 * prior.m0 + n * means) / c, np.sqrt(b * (c + 1.0) / (a * c))
    return [Numbers(2.0 * a[:, 0], centre[:, d], scale[:, d]) for d in range(len(prior.m0))]


def _of_known_variance(prior: NormalKnownVariance, rows: Matrix) -> list[Numbers]:
    """maths (13): a normal, as wide as a cluster and what is unknown of its mean."""
    n, means, _ = _moments(rows, len(prior.m0))
    total = prior.variance + n * prior.prior_variance
    centre = (prior.variance * prior.m0 + n * prior.prior_variance * means) / total
    scale = np.sqrt(prior.variance + prior.variance * prior.prior_variance / total)
    return [Numbers(np.full(len(rows), np.inf), centre[:, d], scale[:, d]) for d in range(len(prior.m0))]


def _of_inverse_wishart(prior: NormalInverseWishart, rows: Matrix) -> list[Numbers]:
    """maths (34): of one column a t with as many degrees of freedom as that of all."""
    D = len(prior.m0)
    n, means = rows[:, :1], rows[:, 1 : 1 + D]
    c, freedom = prior.c0 + n, prior.nu0 + n - D + 1.0
    psi = tri.squared_rows(rows, 1 + D, D) + prior.c0 * n / c * (means - prior.m0) ** 2
    centre, scale = (prior.c0 * prior.m0 + n * means) / c, np.sqrt(psi * (c + 1.0) / (c * freedom))
    return [Numbers(freedom[:, 0], centre[:, d], scale[:, d]) for d in range(D)]


def _of_flags(prior: BetaBernoulli, rows: Matrix) -> list[Shares]:
    """maths (45); the first value is 0, the second 1."""
    found = []
    for d in range(len(prior.a0)):
        counts = np.stack([np.maximum(rows[:, 0] - rows[:, 1 + d], 0.0), rows[:, 1 + d]], axis=1)
        found.append(_shares(np.array([prior.b0[d], prior.a0[d]]), counts))
    return found


def _of_counts(prior: GammaPoisson, rows: Matrix) -> list[Counts]:
    found = []
    for d in range(len(prior.a0)):
        n, events = rows[:, 0], rows[:, 1 + d]
        mean = np.where(n > 0.0, events / np.where(n > 0.0, n, 1.0), prior.a0[d] / prior.b0[d])
        found.append(Counts(prior.a0[d] + events, prior.b0[d] + n, mean))
    return found


def _of_categories(prior: Categorical, rows: Matrix) -> list[Shares]:
    return [_shares(prior.beta, rows[:, 1 : 1 + len(prior.beta)])]


def _of_words(prior: DirichletMultinomial, rows: Matrix) -> list[Shares]:
    return [_shares(prior.beta, rows[:, 2 : 2 + len(prior.beta)])]


def _shares(beta: Vector, counts: Matrix) -> Shares:
    grown = beta + counts
    return Shares(grown / grown.sum(axis=1, keepdims=True), counts)


def _moments(rows: Matrix, D: int) -> tuple[Matrix, Matrix, Matrix]:
    return rows[:, :1], rows[:, 1 : 1 + D], rows[:, 1 + D : 1 + 2 * D]


_OF_FAMILIES: dict[type[Any], Callable[[Any, Matrix], Sequence[Column]]] = {
    NormalGamma: _of_normal_gamma,
    NormalKnownVariance: _of_known_variance,
    NormalInverseWishart: _of_inverse_wishart,
    BetaBernoulli: _of_flags,
    GammaPoisson: _of_counts,
    Categorical: _of_categories,
    DirichletMultinomial: _of_words,
}
