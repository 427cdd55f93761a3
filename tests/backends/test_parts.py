"""Clusters whose points are clustered anew: C does as the twin, and the gain is that of the log joint of all points."""

import numpy as np
import pytest

from mapdpm import NormalGamma
from mapdpm.backends import BACKENDS, parts
from mapdpm.data import point_set
from mapdpm.likelihoods._skipping import Skipping
from mapdpm.partition_priors import partition_prior
from mapdpm.protocol import Model
from mapdpm.search.moves.neighbours import points_of
from mapdpm.search.problem import Problem
from mapdpm.testing.data import crp_mixture
from tests.marks import complete_but
from tests.missing_values import with_gaps


def case(seed):
    """A problem, its state, some of its slots, and an order in which some of their points join the others."""
    rng = np.random.default_rng([seed, 5])
    X, _, likelihood = crp_mixture(rng, 90)
    weights = rng.uniform(0.5, 2.0, 90) if seed % 3 == 1 else None
    if seed % 4 == 3:
        X, likelihood = with_gaps(X, 0.1, seed=seed), Skipping(likelihood, X.shape[1])
    prior = partition_prior(2.0, 0.3 * (seed % 2))
    problem = Problem.of(Model(likelihood, prior, X, weights), BACKENDS["c"], None)
    state = problem.from_labels(np.append(np.arange(6), rng.integers(0, 6, 84)))
    slots = rng.permutation(6)[:3].astype(np.int64)
    points = points_of(state, slots)
    n_order = int(rng.integers(0, len(points) - 3))
    order = rng.permutation(len(points))[:n_order].astype(np.int64)
    labels = rng.integers(0, 3, len(points))
    labels[order] = -1
    return problem, state, slots, points, order, labels


@pytest.mark.parametrize("kernels", complete_but(["c"], BACKENDS))
def test_c_clusters_anew_as_the_twin_does(kernels):
    for seed in range(40 if kernels == "c" else 8):
        problem, state, _, points, order, labels = case(seed)
        found = []
        for recluster in (problem.backend.recluster, BACKENDS[kernels].recluster):
            anew = problem.empty(0, 4)._replace(labels=labels.copy())
            if kernels == "c" and found:
                gained = parts.recluster(problem.backend, problem.model, state, points, anew, order, 5)
            else:
                gained = recluster(problem.model, state, points, anew, order, 5)
            found.append((anew, gained))
        (ours, mine), (theirs, expected) = found
        np.testing.assert_array_equal(ours.labels, theirs.labels)
        np.testing.assert_array_equal(ours.counts, theirs.counts)
        assert kernels != "c" or ours.rows.tobytes() == theirs.rows.tobytes()
        np.testing.assert_allclose(mine, expected, rtol=1e-9, atol=1e-9 * abs(expected[1]))


def test_the_gain_is_that_of_all_points():
    for seed in range(40):
        problem, state, slots, points, order, labels = case(seed)
        anew = problem.empty(0, 4)._replace(labels=labels)
        before = state.copy()
        gain, _ = problem.backend.recluster(problem.model, state, points, anew, order, 5)
        for mine, expected in zip(state[:3], before[:3], strict=True):
            np.testing.assert_array_equal(mine, expected)
        after = problem.put_back(state.copy(), slots, points, anew)
        problem.refresh(after)
        assert problem.log_joint(after) - problem.log_joint(state) == pytest.approx(gain, rel=1e-8, abs=1e-8)


def test_a_part_is_what_the_other_clusters_leave():
    X = np.arange(6.0)[:, None]
    weights = np.arange(1.0, 7.0)
    part = parts.part_of(
        Model(NormalGamma(0.0, 1.0, 1.0, 1.0), partition_prior(2.0, 0.5), X, weights), np.array([1, 4]), 3
    )
    assert part.prior == partition_prior(2.0 + 3 * 0.5, 0.5)
    assert (point_set(part.data).n_points, part.data.ravel().tolist(), part.weights.tolist()) == (
        2,
        [1.0, 4.0],
        [2.0, 5.0],
    )
