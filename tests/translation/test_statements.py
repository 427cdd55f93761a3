"""Statements and expressions that verbs may have, in C against Python: the same numbers, whatever is in the row."""

import math
from math import exp, floor, sqrt

import numpy as np
import pytest

from mapdpm.backends import c_calls
from mapdpm.backends.c_families import Called
from mapdpm.jit import jitable
from mapdpm.likelihoods import _sums
from mapdpm.likelihoods._template import GammaExponential

WEIGHTS = np.array([0.5, -1.25, 1e-300])
MOST, IS_LOUD = 3, True


@jitable
def swaps(row):
    a, b = row[1], row[2]
    a, b = b, a + b
    x = np.zeros(3)
    x[0], x[1] = row[3], x[0] + 1.0
    x[0], x[1] = x[1], x[0]
    return 100.0 * a + 10.0 * b + x[0] - x[1]


@jitable
def whole_numbers(row):
    n = int(row[1] * 10.0)
    total = 0
    for k in range(-7, 8, 3):
        total += (n * k) // MOST + (n * k) % 4
        total -= abs(k) * n
    return total / (abs(n) + 1)


@jitable
def widens(row):
    total = 0
    for d in range(4):
        total += 1
        if row[d] > 0.0:
            total += row[d] / 2
    return total - True


@jitable
def carries(row):
    last = 0.0
    for d in range(4):
        if d % 2 == 0:
            step = row[d]  # stays for the next round
        last = last * 0.5 + step
    return last


@jitable
def leaves_early(row):
    n, x = 0, abs(row[1]) + 2.0
    while True:
        x /= 2.0
        n += 1
        if n % 2 == 0 and x > 0.5:
            continue
        if x < 0.1 or n == 9:
            break
    return n + x


@jitable
def limits(row):
    """A range is computed once."""
    n, found = 3, 0
    for _k in range(n):
        n += 1
        found += n
    row_like = np.empty(2)
    row_like[0], row_like[1] = 2.0, 5.0
    for _k in range(int(row_like[0])):
        row_like[0] += 1.0
        found += 1
    for k in range(4, -1, -2):
        found = 10 * found + k
    return float(found) + row_like[0]


@jitable
def choices(row):
    low, high = min(row[1], row[2], 0.5), max(row[1], row[2], -0.5)
    is_between = low < row[3] <= high
    odd = not is_between and (row[1] > 0.0 or row[2] > 0.0)
    both = is_between | odd
    both &= row[0] >= 0.0
    x = -1.0 if both else (1.0 if odd else 0.25)
    return x * (high - low) - (row[1] - (row[2] - row[3])) / (row[1] * (row[2] * row[3]) + 7.25) + IS_LOUD


@jitable
def parts(row):
    """Slices, their lengths, tables, and functions of other modules."""
    tail = row[1:]
    total = 0.0
    for d in range(tail.shape[0]):
        total += tail[d] * (d + 1)
    for d in range(len(WEIGHTS)):
        total += WEIGHTS[d] * middle(row[1:4], d)
    return total + floor(row[1]) + _sums.is_exact(row[2], 1.0) + math.inf * 0 if row[1] > 1e9 else total


@jitable
def middle(part, d):
    part_of = part[d:]
    return part_of[0] ** 2 - part_of.shape[0]


@jitable
def fills(row):
    x = np.empty(5)
    x[:] = 1.5
    x[1:3] = row[1]
    halve(x[2:])
    return x[0] + 10.0 * x[1] + 100.0 * x[2] + sqrt(x[4]) + exp(-x[3])


@jitable
def halve(x):
    for d in range(x.shape[0]):
        x[d] *= 0.5


FUNCTIONS = (swaps, whole_numbers, widens, carries, leaves_early, limits, choices, parts, fills)


class Torture(GammaExponential):
    """Its first number says which function is meant."""

    __slots__ = ()

    def log_marginal(self, row):
        found = fills(row)
        if row[0] == 0.0:
            found = swaps(row)
        elif row[0] == 1.0:
            found = whole_numbers(row)
        elif row[0] == 2.0:
            found = widens(row)
        elif row[0] == 3.0:
            found = carries(row)
        elif row[0] == 4.0:
            found = leaves_early(row)
        elif row[0] == 5.0:
            found = limits(row)
        elif row[0] == 6.0:
            found = choices(row)
        elif row[0] == 7.0:
            found = parts(row)
        return float(found)


@pytest.mark.parametrize("number", range(len(FUNCTIONS)), ids=lambda number: FUNCTIONS[number].__name__)
def test_c_does_as_python_does(number):
    lib, ffi = c_calls.library(np.dtype(np.float64))
    family = Torture(1.0, [1.0, 2.0, 3.0])
    assert not c_calls.why_not(family)
    called, rng = Called(lib, ffi, family), np.random.default_rng(number)
    for _ in range(200):
        row = np.append(float(number), rng.normal(0.0, 3.0, family.size() - 1))
        row = np.round(row) if rng.random() < 0.2 else row
        row[0] = number
        ours = called.verbs.log_marginal(called.view, ffi.from_buffer("double[]", row))
        assert float(family.log_marginal(row)) == ours
