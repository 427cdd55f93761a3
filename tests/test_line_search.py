"""The maximum of a function of one variable."""

import math
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mapdpm.line_search import highest

place = st.floats(-20.0, 20.0)


@given(peak=place, ends=st.tuples(place, place), start=st.none() | place, power=st.sampled_from([1.5, 2.0, 4.0]))
def test_the_maximum_is_found(peak, ends, start, power):
    """Within the tolerance, wherever the search begins; at an end where the peak lies outside."""
    low, high = min(ends) - 1.0, max(ends) + 1.0
    found, value = highest(lambda t: -(abs(t - peak) ** power), low, high, 1e-4, start)
    assert value == -(abs(found - peak) ** power)
    assert low <= found <= high
    assert abs(found - min(max(peak, low), high)) <= 1e-4


@given(peak=st.floats(-3.0, 3.0), wall=st.floats(-9.0, -3.5))
def test_the_function_may_be_minus_infinity(peak, wall):
    found, _ = highest(lambda t: -((t - peak) ** 2) if t > wall else -math.inf, -10.0, 10.0, 1e-6)
    assert abs(found - peak) <= 1e-6


def test_a_parabola_takes_few_values():
    """Golden sections alone shrink an interval of 20 to 1e-8 in 45 steps; parabolas end in fewer than half of that."""
    for peak in np.linspace(-9.0, 9.0, 7):
        asked = Counter()

        def parabola(t, peak=peak, asked=asked):
            asked["values"] += 1
            return -((t - peak) ** 2)

        highest(parabola, -10.0, 10.0, 1e-8)
        assert asked["values"] <= 20


@given(start=place, low=st.floats(-5.0, 0.0))
def test_a_known_value_is_not_asked_for_again(start, low):
    """Nor taken where the search begins elsewhere, as the start lies outside."""

    def parabola(t):
        return -((t - 1.0) ** 2)

    asked = [[], []]
    for each, known in zip(asked, (None, parabola(start)), strict=True):
        found = highest(lambda t, each=each: each.append(t) or parabola(t), low, 5.0, 1e-6, start, known)
        assert found[1] == parabola(found[0])
    inside = low <= start <= 5.0
    assert asked[1] == asked[0][inside:]
