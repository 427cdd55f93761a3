"""Moments, scores and gains in whole numbers against exact fractions and the formulas of Normal-Gamma in floats."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from mapdpm.integers.arithmetic import log2, nats
from mapdpm.integers.clusters import POINT, Moments, Prior, View, place, score

C0, A0 = 0.05, 1.0
PRIOR = Prior(round(C0 * 65536), 512, (2 * 300**2 * 256, 2 * 20**2 * 256))
B0 = np.array(PRIOR.twice_b0) / 512


def moments_of(points, weight=POINT, *, keeps_rest=True):
    made = Moments(0, [0, 0], [0, 0], keeps_rest)
    for x in points:
        made.add(x, weight)
    return made


def view_of(points):
    return PRIOR.view(moments_of(points), POINT)


def posterior(X):
    """c, a, b and the mean of each feature, by the textbook."""
    n, mean = len(X), np.mean(X, axis=0) if len(X) else np.zeros(2)
    squares = np.sum((X - mean) ** 2, axis=0) if n else np.zeros(2)
    b = B0 + squares / 2 + C0 * n * mean**2 / (2 * (C0 + n))
    return C0 + n, A0 + n / 2, b, n * mean / (C0 + n)


def log_marginal(X):
    """Log p of points, all constants included."""
    c, a, b, _ = posterior(X)
    each = math.lgamma(a) - math.lgamma(A0) + (math.log(C0) - math.log(c)) / 2 - len(X) / 2 * math.log(2 * math.pi)
    return float(np.sum(each + A0 * np.log(B0) - a * np.log(b)))


def points_of(n, seed, at=(0, 0), width=(300, 20)):
    rng = np.random.default_rng(seed)
    return np.rint(rng.normal(at, width, (n, 2))).astype(int).tolist()


@pytest.mark.parametrize("n", [1, 2, 3, 10, 100, 3000])
def test_moments_are_those_of_fractions(n):
    X = points_of(n, n, at=(5000, -70))
    found = moments_of(X)
    for d in range(2):
        values = [Fraction(x[d]) for x in X]
        mean = sum(values) / n
        squares = sum((each - mean) ** 2 for each in values)
        assert abs(found.means[d] / 2**29 - mean) <= 2**-12 + 2**-13.9 * 4 * abs(float(squares / n)) ** 0.5
        assert abs(found.squares[d] / 256 - squares) <= n / 256 + float(squares) * 2e-3
    assert found.weight == n * POINT


def test_a_mean_of_many_equal_points_does_not_move():
    for keeps_rest in (True, False):
        found = moments_of([(1234, -7)] * 5000, keeps_rest=keeps_rest)
        assert found.means == [1234 << 29, -7 << 29]
        assert found.squares == [0, 0]


def test_merging_is_adding():
    X, Y = points_of(40, 1), points_of(300, 2, at=(900, 5))
    both, added = moments_of(X), moments_of(X + Y)
    both.merge(moments_of(Y))
    assert both.weight == added.weight
    np.testing.assert_allclose(both.means, added.means, rtol=2e-4)
    np.testing.assert_allclose(both.squares, added.squares, rtol=2e-4)


@pytest.mark.parametrize("n", [0, 1, 2, 30, 1000, 100000])
def test_scores_are_those_of_student_t(n):
    X = np.array(points_of(min(n, 1000), n + 7, at=(400, 3)))
    if n > 1000:  # the same points many times
        found = moments_of(X.tolist())
        view = View(n * POINT, [place(each) for each in found.means], [each * (n // 1000) for each in found.squares])
        X = np.repeat(X, n // 1000, axis=0)
    else:
        view = view_of(X.tolist())
    row = PRIOR.row(view, n * POINT)
    c, a, b, centre = posterior(X)
    scale = np.sqrt(b * (c + 1) / (a * c))
    for x in [(400, 3), (700, 20), (-2000, 40), (400, 60), (32000, -32000), (-65000, 65000)]:
        right = float(np.sum(stats.t.logpdf(x, 2 * a, centre, scale))) + (math.log(n) if n else 0)
        # The tail has a relative error of 2^-13 for each feature; moments, which are rounded, add theirs.
        peak = float(np.sum(stats.t.logpdf(centre, 2 * a, centre, scale))) + (math.log(n) if n else 0)
        away = np.abs(np.array(x) - centre) / scale / np.sqrt(2 * a)
        if peak - right < 16000 and np.all(away < 255):
            assert abs(score(row, x) / 65536 - right) <= 4e-3 + 2e-3 * (peak - right)
        else:  # it is cut
            assert right < score(row, x) / 65536 < peak - min(16000, (a + 0.5) * 11)


def test_a_score_below_the_least_is_an_upper_bound():
    row = PRIOR.row(view_of(points_of(50, 3)), 50 * POINT)
    for x in points_of(200, 4, width=(3000, 200)):
        exact = score(row, x)
        for least in (exact - 1, exact + 70000):
            bound = score(row, x, least)
            assert bound >= exact
            assert bound == exact or bound < least


@pytest.mark.parametrize(
    ("n", "m", "apart"), [(1, 1, 0), (2, 30, 0), (20, 30, 300), (500, 400, 0), (500, 400, 900), (1, 900, 3000)]
)
def test_gain_of_a_merge(n, m, apart):
    X, Y, alpha = points_of(n, 11), points_of(m, 12, at=(apart, 0)), 0.5
    log_alpha = nats(log2(32768) - (16 << 24) >> 8)
    right = log_marginal(np.array(X + Y)) - log_marginal(np.array(X)) - log_marginal(np.array(Y)) - math.log(alpha)
    right += math.lgamma(n + m) - math.lgamma(n) - math.lgamma(m)
    found = PRIOR.merge_gain(view_of(X), view_of(Y), log_alpha) / 65536
    # Squares have a relative error of 2^-13, whose logarithm counts half the points.
    assert abs(found - right) <= 0.02 + 2e-3 * abs(right) + (n + m) / 2 * 2**-13


@pytest.mark.parametrize("n", [1, 5, 200])
def test_joint_of_a_cluster(n):
    X = points_of(n, n, at=(100, 9))
    right = log_marginal(np.array(X)) + math.lgamma(n)
    found = PRIOR.joint_term(view_of(X)) / 65536
    assert abs(found - right) <= 0.02 + 1e-3 * abs(right)


def test_a_point_alone():
    X = np.array(points_of(80, 9, at=(2000, 50)))
    scale = np.sqrt(B0 * (C0 + 1) / (A0 * C0))
    away = np.sqrt(np.mean(X**2, axis=0))
    right = float(np.sum(stats.t.logpdf(away, 2 * A0, 0, scale)))
    assert abs(PRIOR.alone(view_of(X.tolist())) / 65536 - right) <= 5e-3


def test_a_view_is_in_units_of_a_point_of_now():
    X = points_of(100, 21)
    heavy, light = moments_of(X, 400), moments_of(X)
    seen = PRIOR.view(heavy, 400)
    assert abs(seen.weight - light.weight) <= 2
    np.testing.assert_allclose(seen.squares, light.squares, rtol=2e-4)
