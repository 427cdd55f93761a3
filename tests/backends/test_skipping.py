"""Missing values in C: the decisions of the plain Python twin, on hostile data with gaps."""

import numpy as np
import pytest

from mapdpm.testing.backends import agree
from mapdpm.testing.data import hostile
from tests.marks import complete_but, slow_but
from tests.missing_values import with_gaps

MOVES = ("merge", "split", "permutation", "regroup")


def problem(seed, i, most_points):
    """A hostile problem of which a tenth to two thirds of the values are missing."""
    case = hostile(np.random.default_rng([seed, i]), most_points)
    return case._replace(X=with_gaps(case.X, (0.1, 0.3, 0.65)[i % 3], seed=i), missing="skip")


@pytest.mark.parametrize("fourth", complete_but([1], range(4)))
def test_c_and_python_agree(fourth):
    for i in range(10 * fourth, 10 * fourth + 10):
        agree(problem(1, i, 25), "c", "python", moves=MOVES if i % 10 == 0 else ())


@pytest.mark.complete
@pytest.mark.parametrize("first", slow_but([0], range(0, 60, 15)))
def test_c_and_numba_agree(first):
    for i in range(first, first + 15):
        agree(problem(2, i, 200), "c", "numba", moves=())


@pytest.mark.slow
@pytest.mark.parametrize("i", range(0, 60, 4))
def test_c_and_numba_agree_on_moves(i):
    """Compiling them takes minutes."""
    agree(problem(2, i, 200), "c", "numba", moves=MOVES)


@pytest.mark.slow
def test_all_agree():
    for i in range(400):
        agree(problem(3, i, 400), "c", "numba")
        agree(problem(4, i, 80), "c", "python", moves=())
