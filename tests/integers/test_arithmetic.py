"""Logarithms, powers and ratios in whole numbers, each against real arithmetic within the bound of its docstring."""

import math
import random

import pytest

from mapdpm.integers import arithmetic as whole

RANDOM = random.Random(5)
# Numbers of all lengths, and the ends of each.
NUMBERS = [RANDOM.randrange(1, 1 << RANDOM.randrange(1, 64)) for _ in range(5000)]
NUMBERS += [(1 << i) + step for i in range(1, 63) for step in (-1, 0, 1) if (1 << i) + step > 0]
PAIRS = list(zip(NUMBERS, reversed(NUMBERS), strict=True))


def test_log2():
    assert max(abs(whole.log2(v) / 2**24 - math.log2(v)) for v in NUMBERS) <= 2**-20
    assert all(whole.log2(1 << i) == i << 24 for i in range(63))
    assert all(whole.log2(v) <= whole.log2(v + 1) for v in range(1, 70000))


def test_powers():
    assert max(abs(whole.power(f) / 65536 / 2 ** (f / 65536) - 1) for f in range(65536)) <= 1.3e-4
    assert max(abs(whole.exp_minus(x) / 65536 - math.exp(-x / 65536)) for x in range(0, 1 << 20, 37)) <= 1.6e-4
    assert whole.power(0) == whole.exp_minus(0) == 65536


def test_ratios():
    for a, b in PAIRS:
        m, e = whole.ratio(a, b)
        assert 1 << 15 <= m < 1 << 16
        assert abs(m * 2.0**e * b / a - 1) <= 2**-13.9
    assert whole.ratio(0, 7) == (0, 0)
    for i in range(62):
        for a in (1, 3, 1000, 65535):
            m, e = whole.ratio(a, 1 << i)
            assert m * 2.0**e * 2**i == a


def test_scaled_and_product():
    for v, b in PAIRS:
        r = whole.ratio(b, v)
        right = min(v * r[0] * 2.0 ** r[1], whole.MOST)
        assert abs(whole.scaled(v, r) - right) <= 1 + right * 2**-30
        b31 = b % (1 << 31)
        for down in (8, 26, 40):
            right, found = v * b31 / 2**down, whole.product(v, b31, down)
            assert abs(found - right) <= 1 + right * 2**-30 or (found == whole.MOST and right > found)
    assert whole.shifted(3, 70) == whole.MOST
    assert whole.shifted(3, -70) == whole.scaled(0, (40000, 3)) == 0


@pytest.mark.parametrize("x", [8, 9, 100, 511, 512, 513, 2047, 2048, 5000, 65535, 65536, 1 << 20, 1 << 27])
def test_log_gamma(x):
    t = x / 512
    right = (math.lgamma(t) + t - math.log(2 * math.pi) / 2) / math.log(2)
    # The logarithm is multiplied by x; the last term of Stirling's series is left out from 128 on.
    assert abs(whole.log_gamma(x) / 65536 - right) <= 1e-4 + 2**-21 * t + (1e-3 if t >= 128 else 0)


@pytest.mark.parametrize("x", [1, 5, 100, 511, 512, 1023, 1024, 1025, 4095, 4096, 100000, (1 << 32) - 1])
def test_half_rising(x):
    t = x / 512
    right = (math.lgamma(t + 0.5) - math.lgamma(t)) / math.log(2) if t < 1e5 else math.log2(t) / 2
    assert abs(whole.half_rising(x) / 2**24 - right) <= 7e-5
