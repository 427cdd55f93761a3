"""Merges: C makes those of the twin, from the pairs that it knows."""

import numpy as np
import pytest

from mapdpm import NormalGamma, NormalInverseWishart, NormalKnownVariance
from mapdpm.backends import BACKENDS, agglomeration
from mapdpm.backends.agglomeration import Agglomeration
from mapdpm.likelihoods._skipping import Skipping
from mapdpm.partition_priors import partition_prior
from mapdpm.protocol import Model
from mapdpm.search.problem import Problem
from mapdpm.testing.data import crp_mixture
from tests.marks import complete_but
from tests.missing_values import with_gaps

FAMILIES = (NormalGamma, NormalKnownVariance, NormalInverseWishart, Skipping)


def case(seed, family):
    """A problem, and a state of too many clusters."""
    rng = np.random.default_rng([seed, 11])
    X = crp_mixture(rng, 80)[0]
    likelihood = (NormalGamma if family is Skipping else family).empirical(X).for_data(X)
    if family is Skipping:
        X, likelihood = with_gaps(X, 0.1, seed=seed), Skipping(likelihood, X.shape[1])
    problem = Problem.of(Model(likelihood, partition_prior(1.0, 0.3 * (seed % 2)), X, None), BACKENDS["c"], None)
    K = int(rng.integers(2, 20))
    return problem, problem.from_labels(np.append(np.arange(K), rng.integers(0, K, 80 - K)))


@pytest.mark.parametrize("family", complete_but([NormalGamma], FAMILIES))
def test_c_merges_as_the_twin_does(family):
    """Twice, with what is known of pairs, and one at a time."""
    merged = 0
    for seed in range(30):
        problem, state = case(seed, family)
        for most in (1, 64):
            other, model = state.copy(), problem.model
            pairs = [Agglomeration(model.likelihood, model.prior, problem.backend) for _ in range(2)]
            before = problem.log_joint(state)
            for _ in range(3):
                n = problem.backend.merge(model, state, pairs[0], most)
                assert n == agglomeration.merge(problem.backend, model, other, pairs[1], most)
                merged += n
                np.testing.assert_array_equal(state.labels, other.labels)
                np.testing.assert_array_equal(state.counts, other.counts)
                if len(pairs[1].known):  # where there are two clusters
                    np.testing.assert_array_equal(pairs[0].partners, pairs[1].partners)
                    np.testing.assert_allclose(pairs[0].losses, pairs[1].losses, rtol=1e-9, atol=1e-9)
            problem.refresh(state)
            assert problem.log_joint(state) >= before
    assert merged > 30


def test_backends_merge_alike():
    X = np.random.default_rng(0).normal(size=(60, 2))
    for discount in (0.0, 0.3):
        found = []
        for name in ("c", "python"):
            model = Model(NormalGamma.empirical(X).for_data(X), partition_prior(1.0, discount), X, None)
            state = Problem.of(model, BACKENDS[name], None).from_labels(np.arange(60) % 12)
            pairs = Agglomeration(model.likelihood, model.prior, BACKENDS[name])
            found.append((BACKENDS[name].merge(model, state, pairs, 64), state.labels.tolist()))
        assert found[0] == found[1]
        assert found[0][0] > 0
