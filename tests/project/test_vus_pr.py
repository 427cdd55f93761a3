"""``bench/vus_pr.py``: the values of its authors' program, vus 0.0.6, and of perfect scores."""

import importlib
import sys

import numpy as np
import pytest

from repository import ROOT


@pytest.fixture(scope="module")
def measure():
    sys.path.insert(0, str(ROOT / "bench"))
    try:
        return importlib.import_module("vus_pr").vus_pr
    finally:
        sys.path.remove(str(ROOT / "bench"))


@pytest.mark.parametrize(
    ("window", "published"), [(0, 0.2671531242252909), (7, 0.2940564580087172), (30, 0.39451179144017356)]
)
def test_the_values_are_those_of_the_authors_program(measure, window, published):
    y, at = np.zeros(400, int), np.arange(400)
    y[[50, 51, 52, 150, 300, 301, 302, 303, 304]] = 1
    score = (at * 157 % 401) / 401.0 + 0.7 * y * (at % 3 > 0)
    assert measure(y, score, window) == pytest.approx(published, rel=1e-12)


def test_a_perfect_score_has_the_volume_one_without_a_buffer(measure):
    y = np.zeros(1000, int)
    y[100:140] = 1
    assert measure(y, y.astype(float), 0) == pytest.approx(1.0)
