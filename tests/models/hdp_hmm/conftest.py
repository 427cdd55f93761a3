"""Fits of states of sequences, for all tests of HDPHMM."""

import numpy as np
import pytest

from mapdpm import HDPHMM
from tests.models.hdp_hmm.fits import NAMES, SIZES
from tests.search.test_states import PRIOR, machine


@pytest.fixture(scope="module")
def data():
    return machine(0, sum(SIZES), 4, apart=8.0, dwell=8)[0], np.repeat(NAMES, SIZES)


@pytest.fixture(scope="module")
def model(data):
    return HDPHMM(1.5, 2.0, kappa=3.0, likelihood=PRIOR).fit(*data)


@pytest.fixture(scope="module")
def new(data):
    """Points that were not fitted, some far out, in sequences of 5, 1 and 4."""
    X = data[0][5:15] + 0.3
    X[[2, 7]] += 25.0
    return X, ["x"] * 5 + ["morning"] + [3.0] * 4
