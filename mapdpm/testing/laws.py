"""Laws that every likelihood and every partition prior must obey. A law that is broken raises AssertionError.

A bound is a number of roundings times the unit roundoff times the size of the terms (``_close``), so there is nothing
to tune. Laws start from a random row that is not empty, because an empty row hides errors.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mapdpm.optional_verbs import add_many
from mapdpm.protocol import Likelihood, LikelihoodVerbs, Matrix, PartitionPriorVerbs, RngVerbs, Vector
from mapdpm.testing.exact import partitions

_UNIT = 2.0**-52


def check_likelihood(likelihood: Likelihood, data: Any, n_points: int, seed: int = 0) -> None:
    """All laws but ``normalisation`` and ``offset``, which need to know the support and what a shift means.

    ``data`` holds ``n_points`` >= 6 points in the form that the verbs read.
    """
    order = np.random.default_rng(seed).permutation(n_points)
    chain_rule(likelihood, data, order)
    exchangeability(likelihood, data, order)
    removal_inverts_addition(likelihood, data, order)
    merge_is_union(likelihood, data, order)
    merge_gain_is_the_difference(likelihood, data, order)
    many_are_one_after_another(likelihood, data, order)
    if hasattr(likelihood, "log_predictive_weighted"):
        weight_is_repetition(likelihood, data, order)
    if hasattr(likelihood, "log_predictive_without"):
        without_is_removal(likelihood, data, order)
    if hasattr(likelihood, "feature"):
        features_are_independent(likelihood, data, order)
    if hasattr(likelihood, "tangent"):
        tangent_is_below(likelihood, data, order)
    if hasattr(likelihood, "tangent") and hasattr(likelihood, "log_predictive_weighted"):
        tangent_is_the_slope(likelihood, data, order)


def row_of(likelihood: LikelihoodVerbs, data: Any, points: Any, w: float = 1.0) -> Vector:
    """The prepared row of a cluster that holds ``points``, each with weight ``w``."""
    row = np.full(likelihood.size(), np.nan)  # NaN shows what init leaves out
    likelihood.init(row)
    for i in points:
        likelihood.add(row, data, int(i), w)
    likelihood.prepare(row)
    return row


def chain_rule(likelihood: LikelihoodVerbs, data: Any, order: Any) -> None:
    """The log predictives of points, taken one after the other, sum to the log marginal."""
    row = row_of(likelihood, data, order[:0])
    terms = []
    for i in order:
        terms.append(likelihood.log_predictive(row, data, int(i)))
        likelihood.add(row, data, int(i), 1.0)
        likelihood.prepare(row)
    _close(math.fsum(terms), likelihood.log_marginal(row), terms, likelihood)


def exchangeability(likelihood: LikelihoodVerbs, data: Any, order: Any) -> None:
    """The log marginal and the predictive of another point do not depend on the order of points."""
    held, rest = int(order[0]), order[1:]
    forth, back = row_of(likelihood, data, rest), row_of(likelihood, data, rest[::-1])
    L = likelihood.log_marginal(forth)
    _close(L, likelihood.log_marginal(back), [L], likelihood)
    q = likelihood.log_predictive(forth, data, held)
    _close(q, likelihood.log_predictive(back, data, held), [q, L], likelihood)


def removal_inverts_addition(likelihood: LikelihoodVerbs, data: Any, order: Any) -> None:
    """Adding and removing a point gives an equivalent row, or ``remove`` returns False."""
    moved, held, rest = int(order[0]), int(order[1]), order[2:]
    row, expected = row_of(likelihood, data, rest), row_of(likelihood, data, rest)
    likelihood.add(row, data, moved, 1.0)
    if not likelihood.remove(row, data, moved, 1.0):
        return
    likelihood.prepare(row)
    assert abs(row[0] - expected[0]) <= 8 * _UNIT * expected[0], "the weight is not what it was"
    L = likelihood.log_marginal(expected)
    # A removal that reports success may lose up to four digits.
    _close(likelihood.log_marginal(row), L, [L, 1e4 * len(order)], likelihood)
    q = likelihood.log_predictive(expected, data, held)
    _close(likelihood.log_predictive(row, data, held), q, [q, 1e4 * len(order)], likelihood)


def merge_is_union(likelihood: LikelihoodVerbs, data: Any, order: Any) -> None:
    """Merging two rows gives the row of all their points."""
    half = len(order) // 2
    row, other = row_of(likelihood, data, order[:half]), row_of(likelihood, data, order[half:])
    likelihood.merge(row, other)
    likelihood.prepare(row)
    union = row_of(likelihood, data, order)
    assert row[0] == union[0], "the weights do not add up"
    L = likelihood.log_marginal(union)
    _close(likelihood.log_marginal(row), L, [L], likelihood)


def merge_gain_is_the_difference(likelihood: Likelihood, data: Any, order: Any) -> None:
    """``log_merge`` is the log marginal of the union minus those of the two rows."""
    half = len(order) // 2
    parts = [row_of(likelihood, data, points) for points in (order, order[:half], order[half:])]
    union, row, other = (likelihood.log_marginal(part) for part in parts)
    _close(likelihood.log_merge(*parts), union - row - other, [union, row, other], likelihood)


def many_are_one_after_another(likelihood: LikelihoodVerbs, data: Any, order: Any) -> None:
    """``add_many`` gives the rows that ``add`` gives, whether or not they were empty; with weights, if it may."""
    half = len(order) // 2
    many = np.array([row_of(likelihood, data, points) for points in (order[:2], ())])
    one_by_one = many.copy()
    points, slots = np.array(order[half:], dtype=np.int64), np.arange(len(order) - half) % 2
    weights = np.ones(len(points))
    if hasattr(likelihood, "log_predictive_weighted"):
        weights += np.arange(len(points)) / 4.0
    add_many(likelihood, many, data, points, slots, weights)
    for point, slot, weight in zip(points, slots, weights, strict=True):
        likelihood.add(one_by_one[slot], data, point, weight)
    for row, expected in zip(many, one_by_one, strict=True):
        assert row[0] == expected[0], "the weights do not add up"
        likelihood.prepare(row)
        likelihood.prepare(expected)
        L = likelihood.log_marginal(expected)
        _close(likelihood.log_marginal(row), L, [L], likelihood)
        gain = likelihood.log_predictive(expected, data, int(order[0]))
        _close(likelihood.log_predictive(row, data, int(order[0])), gain, [L, gain], likelihood)


def weight_is_repetition(likelihood: LikelihoodVerbs, data: Any, order: Any, times: int = 3) -> None:
    """A point of integer weight counts as that many copies, in the statistics and in the weighted predictive."""
    point, rest = int(order[0]), order[1:]
    heavy, copies = row_of(likelihood, data, rest), row_of(likelihood, data, rest)
    gain = likelihood.log_predictive_weighted(heavy, data, point, float(times))
    once = likelihood.log_predictive_weighted(heavy, data, point, 1.0)
    before = likelihood.log_marginal(heavy)
    likelihood.add(heavy, data, point, float(times))
    likelihood.prepare(heavy)
    terms = []
    for _ in range(times):
        terms.append(likelihood.log_predictive(copies, data, point))
        likelihood.add(copies, data, point, 1.0)
        likelihood.prepare(copies)
    L = likelihood.log_marginal(copies)
    _close(once, terms[0], [L, *terms], likelihood)
    _close(gain, math.fsum(terms), [L, *terms], likelihood)
    _close(likelihood.log_marginal(heavy), L, [L, *terms], likelihood)
    _close(likelihood.log_marginal(heavy) - before, gain, [L, before, *terms], likelihood)


def without_is_removal(likelihood: LikelihoodVerbs, data: Any, order: Any) -> None:
    """``log_predictive_without`` is the predictive of the other points, or nan."""
    for size in range(1, len(order) + 1):
        held, others = int(order[0]), order[1:size]
        row, rest = row_of(likelihood, data, order[:size]), row_of(likelihood, data, others)
        left, whole = likelihood.log_marginal(rest), likelihood.log_marginal(row)
        gain = likelihood.log_predictive_without(row, data, held)
        if not math.isnan(gain):
            _close(gain, likelihood.log_predictive(rest, data, held), [left, whole], likelihood)


def features_are_independent(likelihood: LikelihoodVerbs, data: Matrix, order: Any) -> None:
    """The log marginal is the sum of those of ``feature(d)``, the families of single columns."""
    terms = []
    for d in range(data.shape[1]):
        one, column = likelihood.feature(d), np.ascontiguousarray(data[:, d : d + 1])
        terms.append(one.log_marginal(row_of(one, column, order)))
    _close(likelihood.log_marginal(row_of(likelihood, data, order)), math.fsum(terms), terms, likelihood)


def tangent_is_below(likelihood: LikelihoodVerbs, data: Any, order: Any) -> None:
    """The log marginal is above its tangent, wherever any points join and leave: maths (97)."""
    half = len(order) // 2
    before = row_of(likelihood, data, order[:half])
    slopes = _slopes(likelihood, before, data, order)
    L = likelihood.log_marginal(before)
    for first, last in ((len(order) // 3, len(order)), (half, len(order)), (0, len(order)), (0, 1), (half - 1, half)):
        after = likelihood.log_marginal(row_of(likelihood, data, order[first:last]))
        stays = np.isin(np.arange(len(order)), np.arange(first, last)).astype(int)
        changes = stays - (np.arange(len(order)) < half)
        rise = math.fsum(change * slope for change, slope in zip(changes, slopes, strict=True))
        bound = 64 * likelihood.size() * _UNIT * (1.0 + abs(L) + abs(after) + sum(map(abs, slopes)))
        assert after - L >= rise - bound, f"the tangent is {rise - (after - L)} nats too high"


def tangent_is_the_slope(likelihood: LikelihoodVerbs, data: Any, order: Any, w: float = 2.0**-10) -> None:
    """A small part w of a point gains between w times the slope before it and w times that after it."""
    point, rest = int(order[0]), order[1:]
    row, slope = row_of(likelihood, data, rest), _slopes(likelihood, row_of(likelihood, data, rest), data, [point])[0]
    gain = likelihood.log_predictive_weighted(row, data, point, w)
    likelihood.add(row, data, point, w)
    likelihood.prepare(row)
    later = _slopes(likelihood, row, data, [point])[0]
    bound = 64 * likelihood.size() * _UNIT * (1.0 + abs(likelihood.log_marginal(row)) + abs(slope)) / w
    assert slope - bound <= gain / w <= later + bound, f"{gain / w} is not between the slopes {slope} and {later}"


def _slopes(likelihood: LikelihoodVerbs, row: Vector, data: Any, points: Any) -> list[float]:
    """E[log F(x | theta)] of points, given a row."""
    parameters = np.full(likelihood.n_parameters(), np.nan)
    likelihood.tangent(row, parameters)
    return [likelihood.log_likelihood(parameters, data, int(i)) for i in points]


def normalisation(likelihood: LikelihoodVerbs, data: Matrix, support: tuple[float, float]) -> None:
    """The predictive of a continuous family of one feature integrates to 1, given the points of ``data`` (N, 1)."""
    from scipy.integrate import quad  # noqa: PLC0415  (an extra)

    row = row_of(likelihood, data, range(len(data)))
    middle, spread = float(np.median(data)), float(np.ptp(data)) + 1.0

    def density(u: float) -> float:  # x = middle + spread sinh(u): heavy tails become thin
        x = middle + spread * math.sinh(u)
        if not support[0] <= x <= support[1]:
            return 0.0
        return math.exp(likelihood.log_predictive(row, np.array([[x]]), 0)) * spread * math.cosh(u)

    edges = [
        math.asinh((edge - middle) / spread) if math.isfinite(edge) else math.copysign(40.0, edge) for edge in support
    ]
    integral, error = quad(density, *edges, limit=500, points=None, epsabs=1e-9)
    assert abs(integral - 1.0) <= 1e-7 + error, f"the predictive integrates to {integral}"


def offset(likelihood: Likelihood, data: Matrix, shift: float = 1e8) -> None:
    """Data and prior at a large offset give the same marginal as without it, to 1e-8 of its size.

    Data are first rounded to the digits that remain at the offset, so only the arithmetic of the family is tested: its
    mean is rounded by 1e-16 times the shift, which is 1e-8 of a unit, and deviations from the mean by as much.
    """
    shifted = data + shift
    data = shifted - shift
    near, far = row_of(likelihood, data, range(len(data))), None
    there = likelihood.shifted(np.full(data.shape[1], -shift))
    far = row_of(there, shifted, range(len(data)))
    L = likelihood.log_marginal(near)
    loss = abs(there.log_marginal(far) - L)
    assert loss <= 1e-8 * (abs(L) + data.size), f"an offset of {shift:g} costs {loss} nats of {L}"


def draws_average_to_predictive(
    likelihood: LikelihoodVerbs, data: Any, points: Any, i: int, rng: RngVerbs, n_draws: int = 20_000
) -> None:
    """The mean of F(x_i | parameters) over draws of parameters given ``points`` is p(x_i | points).

    The tolerance is 5.5 standard errors, which a mean of normal numbers exceeds once in 2.6e7 times. Point ``i`` should
    lie near ``points``: for a distant point, a few draws dominate the mean.
    """
    row = row_of(likelihood, data, points)
    q = likelihood.log_predictive(row, data, i)
    parameters, ratios = np.empty(likelihood.n_parameters()), np.empty(n_draws)
    for number in range(n_draws):
        likelihood.draw(row, parameters, rng)
        ratios[number] = math.exp(likelihood.log_likelihood(parameters, data, i) - q)
    error = float(ratios.std()) / math.sqrt(n_draws) + 64 * likelihood.size() * _UNIT
    z = (float(ratios.mean()) - 1.0) / error
    assert abs(z) <= 5.5, f"densities of draws average to {z:.1f} standard errors from the predictive"


def check_partition_prior(prior: PartitionPriorVerbs, n_points: int = 6) -> None:
    """Sequential weights multiply to p(z) in any order of points, and p(z) sums to 1 over all partitions."""
    logs, largest = [], 0.0
    for z in partitions(n_points):
        sizes = np.bincount(z).astype(np.float64)
        logs.append(prior.log_partition(sizes))
        for order in (range(n_points), range(n_points - 1, -1, -1)):
            terms = _sequential(prior, [z[i] for i in order])
            size = 64 * n_points * _UNIT * (1.0 + sum(map(abs, terms)))
            largest = max(largest, size)
            _near(math.fsum(terms), logs[-1], size)
    _near(math.fsum(map(math.exp, logs)), 1.0, largest)


def weight_is_repetition_in_prior(prior: PartitionPriorVerbs, times: int = 3) -> None:
    """A point of integer weight joins or opens a cluster with the weight of that many copies."""
    for n in (0.0, 1.0, 7.0):
        total = n + 4.0
        if n:
            copies = [prior.log_existing(n + j, 1.0) for j in range(times)]
            heavy = prior.log_existing(n, float(times))
        else:
            copies = [prior.log_new(2, 1.0), *(prior.log_existing(1.0 + j, 1.0) for j in range(times - 1))]
            heavy = prior.log_new(2, float(times))
        normalisers = [prior.log_normaliser(total + j, 1.0) for j in range(times)]
        size = 64 * _UNIT * (1.0 + sum(map(abs, copies + normalisers)))
        _near(heavy, math.fsum(copies), size)
        _near(prior.log_normaliser(total, float(times)), math.fsum(normalisers), size)


def _sequential(prior: PartitionPriorVerbs, labels: list[int]) -> list[float]:
    sizes: dict[int, float] = {}
    terms = []
    for i, k in enumerate(labels):
        joining = prior.log_existing(sizes[k], 1.0) if k in sizes else prior.log_new(len(sizes), 1.0)
        terms += [joining, prior.log_normaliser(float(i), 1.0)]
        sizes[k] = sizes.get(k, 0.0) + 1.0
    return terms


def _close(value: float, expected: float, terms: list[float], likelihood: LikelihoodVerbs) -> None:
    # Each entry of a row is rounded some 64 times on its way into a term, and adds at most its share to the error.
    _near(value, expected, 64 * likelihood.size() * _UNIT * (1.0 + sum(map(abs, terms))))


def _near(value: float, expected: float, bound: float) -> None:
    assert abs(value - expected) <= bound, (
        f"{value} instead of {expected}: off by {abs(value - expected):.1e} > {bound:.1e}"
    )
