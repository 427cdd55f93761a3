"""log_rising keeps its digits where a difference of lgamma loses them."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapdpm.special import log_rising

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
