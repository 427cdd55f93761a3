"""The verbs of Rng turn uniform numbers into the right shares: on a grid of them, so nothing here is random."""

import math

import numpy as np
import pytest
from scipy import stats

from mapdpm.backends.halves import distinct
from mapdpm.jit import compiled
from mapdpm.rng import Climbing, Rng, seeded

GRID = (np.arange(1000) + 0.5) / 1000


class Fixed:
    """A generator whose next uniform number is known."""

    def __init__(self, u):
        self._u = u

    def random(self):
        return self._u


def shares(draw, n):
    """The frequency of each of n outcomes over the grid."""
    return np.bincount([draw(Rng(Fixed(u))) for u in GRID], minlength=n) / len(GRID)


@pytest.mark.parametrize("shift", [0.0, -1e4, 700.0])
def test_categorical_draws_in_proportion(shift):
    p = np.array([0.0, 0.125, 0.5, 0.0, 0.25, 0.125, 0.0])
    with np.errstate(divide="ignore"):
        logw = np.log(p) + shift
    got = shares(lambda rng: rng.categorical(logw.copy()), len(p))
    np.testing.assert_allclose(got, p, atol=1.0 / len(GRID))  # an edge of an interval lies between two of the grid
    assert not got[p == 0.0].any()
    assert Rng(Fixed(1.0 - 2.0**-53)).categorical(logw.copy()) == 5
    # As where rounding leaves no interval for u: the last that has a share, never one without.
    assert Rng(Fixed(1.0)).categorical(logw.copy()) == 5
    assert Rng(Fixed(0.0)).categorical(logw.copy()) == 1


@pytest.mark.parametrize("n", [7, 8, 21])
def test_by_weight_draws_in_proportion(n):
    """Less than a block of eight, one, and two with a rest; some weights are 0."""
    weights = np.arange(n, dtype=float) % 5
    p = weights / weights.sum()
    got = shares(lambda rng: rng.by_weight(weights), n)
    np.testing.assert_allclose(got, p, atol=1.0 / len(GRID))
    assert not got[p == 0.0].any()
    last = int(np.flatnonzero(weights)[-1])
    assert Rng(Fixed(1.0 - 2.0**-53)).by_weight(weights) == Rng(Fixed(1.0)).by_weight(weights) == last
    assert Rng(Fixed(0.0)).by_weight(weights) == 1


@pytest.mark.parametrize("n", [1, 3, 8, 21])
def test_weights_that_are_all_zero_give_the_first(n):
    """No entry before the first is read: a word that no topic has must not reach the memory before the array."""
    assert Rng(Fixed(0.5)).by_weight(np.zeros(n)) == 0


@pytest.mark.parametrize("probability", [0.0, 0.3, 1.0])
def test_chance_has_the_probability(probability):
    assert shares(lambda rng: int(rng.chance(probability)), 2)[1] == pytest.approx(probability, abs=1.0 / len(GRID))


@pytest.mark.parametrize(("a", "b"), [(1.5, 4.0), (0.05, 0.3)])
def test_log_odds_are_those_of_beta(a, b):
    """A Kolmogorov-Smirnov test, with a false alarm of 1e-5."""
    rng = seeded(0)
    x = 1.0 / (1.0 + np.exp([-rng.log_odds(a, b) for _ in range(5000)]))
    assert stats.kstest(x, stats.beta(a, b).cdf).pvalue > 1e-5
    assert stats.kstest(x, stats.beta(b, a).cdf).pvalue < 1e-5
    assert math.isfinite(rng.log_odds(1e-300, 1.0))


def test_integer_is_uniform():
    np.testing.assert_allclose(shares(lambda rng: rng.integer(8), 8), 1.0 / 8, atol=1.0 / len(GRID))
    assert Rng(Fixed(1.0 - 2.0**-53)).integer(3) == 2


@pytest.mark.parametrize("log_ratio", [-3.0, -0.5, 0.0, 2.0, -math.inf])
def test_accept_has_the_probability(log_ratio):
    accepted = shares(lambda rng: int(rng.accept(log_ratio)), 2)[1]
    assert accepted == pytest.approx(min(1.0, math.exp(log_ratio)), abs=1.0 / len(GRID))


def every_verb(rng, out):
    out[0] = rng.categorical(np.zeros(5))
    out[1] = rng.integer(1000)
    out[2] = rng.accept(-0.7)
    out[3] = rng.uniform()
    out[4] = rng.normal()
    out[5] = rng.gamma(2.5)
    out[6] = rng.by_weight(np.arange(21.0))
    out[7] = rng.chance(0.4)
    out[8] = rng.log_odds(0.4, 3.0)


@pytest.mark.complete
def test_compiled_verbs_draw_the_same():
    plain, fast = np.zeros(9), np.zeros(9)
    one, two = seeded(5), seeded(5)
    kernel = compiled(every_verb)
    for _ in range(20):
        every_verb(one, plain)
        kernel(two, fast)
        np.testing.assert_allclose(fast, plain, rtol=1e-14)


def test_seeds():
    assert seeded(3).uniform() == seeded(np.int64(3)).uniform() == seeded(np.random.default_rng(3)).uniform()
    assert seeded(np.random.RandomState(1)).uniform() == seeded(np.random.RandomState(1)).uniform()
    assert seeded(None).uniform() != seeded(None).uniform()


def test_distinct_numbers_are_those_of_choice():
    """The numbers and the state of the generator, in one call for all pools."""
    for seed in range(300):
        one, two, other = (np.random.default_rng(each) for each in (seed, seed, [seed, 1]))
        pools = [(int(n), int(other.integers(1, min(4, n) + 1))) for n in other.integers(1, 3000, other.integers(0, 5))]
        expected = [number for n, k in pools for number in one.choice(n, k, replace=False)]
        assert distinct(two, pools).tolist() == expected
        assert one.bit_generator.state == two.bit_generator.state


VERBS = {
    "categorical": np.log([0.2, 0.5, 0.3]),
    "by_weight": np.array([0.2, 0.5, 0.3]),
    "integer": 7,
    "accept": -0.7,
    "chance": 0.4,
    "normal": None,
    "log_gamma": 1.5,
}


@pytest.mark.parametrize("verb", VERBS)
def test_climbing_draws_as_rng_where_it_does_not_climb(verb):
    def drawn(rng):
        given = () if VERBS[verb] is None else (np.copy(VERBS[verb])[()],)
        return getattr(rng, verb)(*given)

    one, two = seeded(5), Climbing(seeded(5).generator, climbs=False)
    assert [drawn(one) for _ in range(50)] == [drawn(two) for _ in range(50)]
    climbs = Climbing(seeded(5).generator, climbs=True)
    if verb not in {"integer", "chance"}:  # which propose, and draw in both
        assert len({drawn(climbs) for _ in range(50)}) == 1
