"""Partition priors are probabilities, and exchangeable."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapdpm.partition_priors import DirichletProcess, PitmanYor, finite_prior, partition_prior
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


@given(st.floats(1e-3, 1e3), st.integers(5, 50))
def test_laws_of_finite_mixtures(alpha, n_components):
    prior = finite_prior(alpha, n_components)
    laws.check_partition_prior(prior, 5)
    laws.weight_is_repetition_in_prior(prior)


@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_finite_mixtures_have_no_more_clusters_than_components(n_components):
    prior = finite_prior(0.8, n_components)
    logs = [prior.log_partition(np.bincount(z).astype(float)) for z in partitions(5)]
    assert math.fsum(map(math.exp, logs)) == pytest.approx(1.0, abs=1e-13)
    assert prior.log_new(n_components, 1.0) == -math.inf


@pytest.mark.parametrize("z", [(0, 0, 1, 2, 1), (0, 1, 2, 3, 4), (0, 0, 0, 0, 0)])
def test_finite_mixtures_are_sums_over_components(z):
    """Each point chooses a component, its share integrated out (Polya's urn); z says who chose the same."""
    alpha, M = 1.3, 5
    total = 0.0
    for chosen in itertools.permutations(range(M), max(z) + 1):
        counts, p = np.zeros(M), 1.0
        for i, k in enumerate(z):
            p *= (alpha / M + counts[chosen[k]]) / (alpha + i)
            counts[chosen[k]] += 1
        total += p
    ours = finite_prior(alpha, M).log_partition(np.bincount(z).astype(float))
    assert ours == pytest.approx(math.log(total), abs=1e-12)


def test_parts_of_finite_mixtures():
    """Given clusters of other points, partitions of the rest differ by the same as in the whole."""
    whole, part = finite_prior(1.3, 5), finite_prior(1.3, 5).given_other_clusters(2)
    others = [3.0, 2.0]
    rests = [[4.0], [1.0, 3.0], [1.0, 1.0, 2.0]]
    wholes = [whole.log_partition(np.array(others + rest)) for rest in rests]
    parts = [part.log_partition(np.array(rest)) for rest in rests]
    np.testing.assert_allclose(np.diff(wholes), np.diff(parts), atol=1e-12)
    np.testing.assert_allclose(
        finite_prior(2.0, 10**9).log_partition(np.array([4.0, 1.0])),
        DirichletProcess(2.0).log_partition(np.array([4.0, 1.0])),
        atol=1e-7,
    )


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
