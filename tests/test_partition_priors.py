"""Partition priors are probabilities, and exchangeable."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapdpm.partition_priors import DirichletProcess, PitmanYor, partition_prior
from mapdpm.testing import laws
from mapdpm.testing.exact import partitions
from tests.oracle import raw

PROCESSES = st.one_of(
    st.floats(1e-3, 1e3).map(lambda a: (a, 0.0)),
    st.floats(0.01, 0.95).flatmap(lambda d: st.tuples(st.floats(-0.9 * d, 50.0), st.just(d))),
)


@given(PROCESSES)
def test_laws(process):
    prior = partition_prior(*process)
    laws.check_partition_prior(prior, 5)
    laws.weight_is_repetition_in_prior(prior)


@given(st.floats(1e-3, 50.0), st.floats(0.0, 0.95))
def test_is_the_sequential_definition(alpha, discount):
    prior = partition_prior(alpha, discount)
    for z in partitions(5):
        terms = raw.log_partition(z, alpha, discount)
        bound = 2.0**-46 * (1.0 + sum(map(abs, terms)))  # 64 roundings of what is added up
        assert abs(prior.log_partition(np.bincount(z).astype(float)) - math.fsum(terms)) <= bound


def test_no_discount_is_a_dirichlet_process():
    assert partition_prior(2.0) == DirichletProcess(2.0)
    assert partition_prior(2.0, 0.5) == PitmanYor(2.0, 0.5)
    sizes = np.array([4.0, 1.0, 2.0])
    np.testing.assert_allclose(PitmanYor(2.0, 0.0).log_partition(sizes), DirichletProcess(2.0).log_partition(sizes))


@pytest.mark.parametrize(
    ("alpha", "discount", "message"),
    [
        (0.0, 0.0, "alpha must be > 0, got 0.0"),
        (-1.0, 0.0, "alpha must be > 0, got -1.0"),
        (math.nan, 0.0, "alpha must be a finite number, got nan"),
        ("many", 0.0, "alpha must be a number, got 'many'"),
        (1.0, 1.0, r"discount must be in \[0, 1\), got 1.0"),
        (-0.5, 0.3, "alpha must be > -discount"),
    ],
)
def test_bad_parameters_are_refused(alpha, discount, message):
    with pytest.raises(ValueError, match=message):
        partition_prior(alpha, discount)
