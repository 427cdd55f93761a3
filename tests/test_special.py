"""log_rising keeps its digits where a difference of lgamma loses them."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapdpm.special import log_count_gain, log_factorial, log_rising
from tests.oracle.raw import exact_log_factorial

UNIT = 2.0**-52


@given(st.floats(1e-3, 1e8), st.integers(0, 60))
def test_integer_steps_are_a_product(a, h):
    exact = sum(math.log1p(float(Fraction(a) + j - 1)) if a + j > 0.5 else math.log(a + j) for j in range(h))
    size = sum(abs(math.log(a + j)) for j in range(h))
    # a dozen roundings of the terms of the Stirling form, of size h log(a + h), and of the sum it is compared with
    assert abs(log_rising(a, float(h)) - exact) <= 64 * UNIT * (1.0 + size + h)


@pytest.mark.parametrize("a", [0.5, 1.0, 7.5, 20.0])
def test_half_steps(a):
    """Gamma(a + 1/2) / Gamma(a) twice is a rising factorial."""
    two = log_rising(a, 0.5) + log_rising(a + 0.5, 0.5)
    assert abs(two - math.log(a)) <= 16 * UNIT * (1.0 + abs(math.log(a)))


@given(st.floats(1e-2, 1e9), st.floats(1e-3, 1e6), st.floats(1e-3, 1e6))
def test_steps_add_up(a, h, g):
    once, twice = log_rising(a, h + g), log_rising(a, h) + log_rising(a + h, g)
    size = abs(log_rising(a, h)) + abs(log_rising(a + h, g)) + h + g
    assert abs(once - twice) <= 64 * UNIT * (1.0 + size)


def test_is_lgamma_where_lgamma_is_good():
    for a in (0.1, 0.9, 2.3, 9.99, 10.0, 31.0):
        for h in (-0.05, 0.25, 3.0, 40.0):
            assert log_rising(a, h) == pytest.approx(math.lgamma(a + h) - math.lgamma(a), rel=1e-13, abs=1e-13)


def test_large_arguments():
    # lnGamma(a + 1/2) - lnGamma(a) = 1/2 ln a - 1/(8a) + O(a^-3), and a^-3 = 1e-24 here
    a = 1e8
    assert abs(log_rising(a, 0.5) - (0.5 * math.log(a) - 1.0 / (8.0 * a))) <= 8 * UNIT * math.log(a)


@pytest.mark.parametrize("x", [1_000, 1_000_000, 999_999_999, 10**9])
def test_log_factorial_of_large_counts(x):
    with localcontext(prec=60):
        exact = float(exact_log_factorial(x))
    assert abs(log_factorial(float(x)) - exact) <= 4 * UNIT * exact


@pytest.mark.parametrize("w", [1.0, 0.25, 3.0])
@pytest.mark.parametrize("x", [1_000, 10**6, 10**9])
@pytest.mark.parametrize("ratio", [1e-6, 0.5, 0.9999, 1.0, 1.00003, 4.0])
@pytest.mark.parametrize("b", [0.5, 1.0, 100.0, 1e6])
def test_gain_of_a_large_count(b, ratio, x, w):
    """Against 60 digits: the terms of size x log x leave no rounding behind, only the result and its inputs do."""
    a = max(1.0, round(ratio * x * b))
    with localcontext(prec=60):
        da, db, dx, dw = (Decimal(v) for v in (a, b, x, w))
        h = dw * dx
        gain = exact_log_factorial(da + h - 1) - exact_log_factorial(da - 1) - dw * exact_log_factorial(dx)
        gain += da * (db / (db + dw)).ln() - h * (db + dw).ln()
        exact = float(gain)
        off = abs(float(dw * (da - dx * db) / (db + dw)))
    # x b and a - x b round once each: an error of off carries the slope of a deviance, at most |log(m / x)|
    size = w * (a + x * b) / (b + w) * min(1.0, off / min(a, w * x))
    assert abs(log_count_gain(a, b, float(x), w) - exact) <= 32 * UNIT * (1.0 + 8 * math.log(a + x) + abs(exact) + size)
