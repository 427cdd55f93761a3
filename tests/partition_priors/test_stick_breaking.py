"""Stick-breaking priors: closed forms of gaps and tails against sums over every stick."""

import itertools
import math

import numpy as np
import pytest

from mapdpm.partition_priors import DirichletProcess, PitmanYor, StickBreaking
from mapdpm.partition_priors.stick_breaking import (
    LAST_LABEL,
    draw_behind,
    draw_in_gap,
    log_gap,
    log_labels,
    log_rest,
    mean_shares_given,
    stick,
)
from mapdpm.rng import seeded
from mapdpm.testing.enumerating_rng import EnumeratingRng
from mapdpm.testing.enumeration import labellings, partitions
from tests.oracle import sticks as oracle

FAMILIES = {
    "DP": StickBreaking.dirichlet_process(1.3),
    "PY": StickBreaking.pitman_yor(0.6, 0.4),
    "PY, alpha < 0": StickBreaking.pitman_yor(-0.2, 0.4),
    "PY, small discount": StickBreaking.pitman_yor(2.0, 1e-3),
    "(5, 0.1)": StickBreaking.of(5.0, 0.1),
    "gamma": StickBreaking.gamma_family(2.5, 0.7),
    "given": StickBreaking.of([1.0, 3.0, 0.5], [2.0, 0.3]),
    "ends": StickBreaking.of(1.0, [1.3] * 40 + [0.0]),
}
EACH = pytest.mark.parametrize("name", FAMILIES)


def arrays(prior, n):
    """(a_i, b_i) of the first ``n`` labels."""
    return np.array([stick(prior, i) for i in range(n)]).T


def test_presets_have_the_papers_sticks():
    i = np.arange(6)
    np.testing.assert_allclose(arrays(FAMILIES["DP"], 6), [np.ones(6), np.full(6, 1.3)])
    np.testing.assert_allclose(arrays(FAMILIES["PY"], 6), [np.full(6, 0.6), 0.6 + 0.4 * (i + 1)])
    gammas = 2.5 * 0.3 * 0.7**i
    np.testing.assert_allclose(arrays(FAMILIES["gamma"], 6), [gammas, 2.5 - np.cumsum(gammas)], atol=1e-14)
    np.testing.assert_allclose(arrays(FAMILIES["given"], 5), [[1.0, 3.0, 0.5, 0.5, 0.5], [2.0, 0.3, 0.3, 0.3, 0.3]])


@EACH
def test_gaps_in_closed_form_are_sums_over_labels(name):
    """Relative to 1 nat and the terms' size: sums of up to 40 logs, each to 1e-15."""
    prior = FAMILIES[name]
    a, b = arrays(prior, 40)
    for first, end, n in itertools.product((0, 1, 5), (1, 6, 17, 40), (0, 1, 3, 25)):
        if end > first:
            passing = np.log(b[first:end] + n) - np.log(a[first:end] + b[first:end] + n)
            np.testing.assert_allclose(log_rest(prior, first, end, float(n)), passing.sum(), rtol=1e-12, atol=1e-12)
            gap = sum(
                math.lgamma(b[i] + n) - math.lgamma(b[i]) - math.lgamma(a[i] + b[i] + n) + math.lgamma(a[i] + b[i])
                for i in range(first, end)
            )
            np.testing.assert_allclose(log_gap(prior, first, end, n), gap, rtol=1e-11, atol=1e-11)


@EACH
def test_log_probability_is_the_product_over_sticks(name):
    prior = FAMILIES[name]
    a, b = arrays(prior, 31)
    for z in ([0], [4, 4, 4], [0, 1, 1, 5], [29, 0, 0, 7, 29], np.repeat([0, 3, 20], [7, 40, 2])):
        np.testing.assert_allclose(prior.log_probability(z), oracle.log_probability(z, a, b), rtol=1e-12, atol=1e-12)


def test_labels_summed_out_give_the_process():
    """P of a partition: the sum over its labels. 17 labels leave (1 / 5)^17 = 1e-12 of the sticks out."""
    prior, process = StickBreaking.dirichlet_process(0.25), DirichletProcess(0.25)
    for z in partitions(3):
        K, sizes = max(z) + 1, np.bincount(z).astype(np.float64)
        total = sum(
            math.exp(prior.log_probability([names[k] for k in z])) for names in itertools.permutations(range(17), K)
        )
        np.testing.assert_allclose(total, math.exp(process.log_partition(sizes)), atol=1e-12)


def test_two_points_of_a_pitman_yor_process():
    """P(z_1 = z_2) = (1 - d) / (1 + alpha): the sum over labels i, whose rest falls as i^-4 for d = 0.2."""
    prior = StickBreaking.pitman_yor(0.5, 0.2)
    together = sum(math.exp(prior.log_probability([i, i])) for i in range(3000))
    np.testing.assert_allclose(together, math.exp(PitmanYor(0.5, 0.2).log_partition(np.array([2.0]))), atol=1e-10)


@EACH
def test_mean_shares_given_points(name):
    prior, n_labels = FAMILIES[name], 31
    labels, counts = np.array([0, 3, 20, 29]), np.array([2, 1, 6, 3])
    shares, gaps = np.empty(4), np.empty(5)
    empty = mean_shares_given(prior, labels, counts, 12, shares, gaps)
    a, b = arrays(prior, n_labels)
    every = np.zeros(n_labels, dtype=int)
    every[labels] = counts
    expected = oracle.mean_shares(every, a, b)
    np.testing.assert_allclose(shares, expected[labels], rtol=1e-12)
    np.testing.assert_allclose(
        gaps,
        [0.0, *(expected[first:end].sum() for first, end in ((1, 3), (4, 20), (21, 29))), expected[30:].sum()],
        rtol=1e-11,
    )
    np.testing.assert_allclose(shares.sum() + empty, 1.0, rtol=1e-12)
    np.testing.assert_allclose(gaps.sum(), empty, rtol=1e-12)


def distribution(draw):
    """The probability of each label, over every path of ``draw(rng)``."""
    rng, found = EnumeratingRng(), {}
    for _ in rng.paths():
        label = draw(rng)
        found[label] = found.get(label, 0.0) + rng.probability
    return found


@EACH
@pytest.mark.parametrize("n", [0.0, 3.0])
def test_labels_of_a_gap_are_drawn_by_their_shares(name, n):
    prior = FAMILIES[name]
    found = distribution(lambda rng: draw_in_gap(prior, 2, 25, n, rng))
    a, b = arrays(prior, 25)
    passing = (b + n) / (a + b + n)
    shares = np.array([(1.0 - passing[i]) * passing[2:i].prod() for i in range(2, 25)])
    assert set(found) <= set(range(2, 25))
    shares /= shares.sum()  # below 1e-16 a choice is certain
    np.testing.assert_allclose([found.get(i, 0.0) for i in range(2, 25)], shares, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("name", ["DP", "(5, 0.1)", "gamma", "given", "ends"])
@pytest.mark.parametrize("first", [0, 3])
def test_labels_behind_all_are_drawn_by_their_shares(name, first):
    """Of sticks whose rest vanishes fast: then no choice is left, and paths end."""
    prior = FAMILIES[name]
    found = distribution(lambda rng: draw_behind(prior, first, rng))
    a, b = arrays(prior, 41)
    shares = np.array([a[i] / (a[i] + b[i]) * (b / (a + b))[first:i].prod() for i in range(first, 41)])
    np.testing.assert_allclose([found.get(i, 0.0) for i in range(first, 41)], shares, rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(sum(found.values()), 1.0, rtol=1e-12)


def test_high_labels_cost_no_time():
    """A discount of 0.7 has labels of a million: P(label > m) falls as m^(-3 / 7)."""
    prior, rng = StickBreaking.pitman_yor(1.0, 0.7), seeded(0)
    drawn = np.array([draw_behind(prior, 0, rng) for _ in range(2000)])
    assert np.all(drawn >= 0)
    for m in (10, 1000, 10**6):
        rest = math.exp(log_rest(prior, 0, m, 0.0))
        assert abs((drawn >= m).mean() - rest) < 5.0 * math.sqrt(rest / 2000)  # five deviations
    pair = np.array([7, 10**15])
    counts = np.array([3, 2])
    value = log_labels(prior, pair, counts, 0, int(pair[1]) + 1, 0)
    assert math.isfinite(value)
    shares, gaps = np.empty(2), np.empty(3)
    empty = mean_shares_given(prior, pair, counts, 5, shares, gaps)
    np.testing.assert_allclose(shares.sum() + empty, 1.0, rtol=1e-12)


def test_sum_over_all_labellings_is_one():
    prior = StickBreaking.of([1.0, 2.0, 0.5, 1.0], [1.3, 0.4, 2.0, 0.0])
    total = sum(math.exp(prior.log_probability(z)) for z in labellings(4, 4))
    np.testing.assert_allclose(total, 1.0, rtol=1e-13)
    assert prior.log_probability([0, 4]) == -math.inf


def test_what_is_refused():
    for a, b in ((0.0, 1.0), (1.0, -1.0), ([1.0, 2.0], [0.0, 1.0]), ([], 1.0), (np.nan, 1.0), ([[1.0]], 1.0)):
        with pytest.raises(ValueError, match="must be"):
            StickBreaking.of(a, b)
    for gamma, decay in ((0.0, 0.5), (1.0, 1.0), (1.0, 0.0)):
        with pytest.raises(ValueError, match=r"gamma must be > 0 and decay in \(0, 1\)"):
            StickBreaking.gamma_family(gamma, decay)
    for alpha, discount in ((-1.0, 0.0), (0.0, 0.0), (np.nan, 0.0), (1.0, -0.5), (-0.5, 0.2), (1.0, 1.0)):
        with pytest.raises(ValueError, match="alpha"):
            StickBreaking.pitman_yor(alpha, discount)
    with pytest.raises(ValueError, match="alpha"):
        StickBreaking.dirichlet_process(-3.0)
    for Z in ([-1, 0], [0.5, 1.7], [], [[0]]):
        with pytest.raises(ValueError, match="Z must be labels of points"):
            FAMILIES["DP"].log_probability(Z)
    with pytest.raises(ValueError, match="a must be a finite number, or a sequence of them"):
        StickBreaking.of("x", 1)
    with pytest.raises(ValueError, match="labels beyond 2\\^62"):
        StickBreaking.pitman_yor(1.0, 0.9)
    assert LAST_LABEL == 2**62


def test_repr_tells_priors_apart():
    assert repr(FAMILIES["PY"]) == "StickBreaking(a=[0.6], b=[1.0], discount=0.4)"
    assert repr(FAMILIES["gamma"]) != repr(StickBreaking.gamma_family(2.5, 0.6))


def test_equal_priors():
    assert StickBreaking.of([1.0, 2.0], 1.0) == StickBreaking.of([1, 2], [1.0, 1.0])
    assert StickBreaking.of(1.0, 2.0) != StickBreaking.of(2.0, 2.0)
    assert len({StickBreaking.of(1.0, 2.0), StickBreaking.of(1, 2)}) == 1


def test_shares_that_vanish():
    """Labels end where a and b fall below 1e-100: 0.5^(i + 1) does after i = 331."""
    prior = StickBreaking.gamma_family(1.0, 0.5)
    assert prior.n_components == 332
    assert prior.log_probability([400]) == -math.inf
    assert FAMILIES["ends"].n_components == 41
    assert FAMILIES["DP"].n_components is None
