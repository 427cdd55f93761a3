"""Each sweep raises the log joint, by itself and without the help of whoever reports it."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapdpm import MAPDPM, NormalGamma
from mapdpm import state as states
from mapdpm.backends import resolve
from mapdpm.objective import best_slot
from mapdpm.partition_priors import partition_prior
from mapdpm.protocol import Model
from mapdpm.search.problem import Problem
from mapdpm.testing.data import hostile
from tests.marks import a_share, complete_but

SEEDS = st.integers(0, 2**32 - 1)


def problem_of(case, backend="c", max_clusters=None):
    likelihood = (case.likelihood or NormalGamma.empirical(case.X)).for_data(case.X)
    prior = partition_prior(case.alpha, case.discount)
    return Problem.of(Model(likelihood, prior, case.X, case.weights), resolve(backend, likelihood), max_clusters)


@a_share(0.4)
@given(SEEDS)
def test_a_sweep_never_lowers_the_joint(seed):
    rng = np.random.default_rng(seed)
    case = hostile(rng)
    problem = problem_of(case._replace(X=case.X - np.median(case.X, axis=0)))
    state = problem.from_labels(np.unique(rng.integers(0, 9, len(case.X)), return_inverse=True)[1])
    for _ in range(4):
        before = problem.log_joint(state)
        sizes = np.abs(problem.backend.log_marginals(problem.model.likelihood, state)).sum()
        state, moved = problem.swept(state)
        states.check(problem.model.likelihood, problem.model.data, problem.model.weights, state, tolerance=1e-6)
        problem.refresh(state)
        # rounding of the two sums: some N D additions each, of terms of that size in all
        assert problem.log_joint(state) >= before - 1e-13 * case.X.size * (1.0 + sizes)
        if moved == 0:
            return


@pytest.mark.parametrize("backend", complete_but(["c", "python"], ["c", "numba", "python"]))
def test_a_second_sweep_of_a_mode_changes_no_bit(backend):
    case = hostile(np.random.default_rng(12))
    problem = problem_of(case, backend)
    state = problem.sequential(np.arange(len(case.X)))
    moved = 1
    while moved:
        state, moved = problem.swept(state)
    before = state.rows.copy()
    state, moved = problem.swept(state)
    assert moved == 0
    np.testing.assert_array_equal(state.rows, before)


def test_best_slot_breaks_ties_alike():
    inf = np.inf
    cases = [
        ([-3.0, -1.0, -1.0, -inf], 3, -1, 1),  # the lowest of two equals
        ([-3.0, -1.0, -1.0, -inf], 3, 2, 2),  # no gain, no move
        ([-3.0, -1.0, -1.0 + 1e-11, -inf], 3, -1, 1),  # within the tolerance is equal
        ([-3.0, -1.0, -1.0 + 1e-9, -inf], 3, 1, 2),  # beyond it is not
        ([-1.0, -2.0, -1.0, -3.0], 0, -1, 2),  # a new cluster comes last, whichever slot is free
        ([-1.0, -2.0, -1.5, -3.0], 0, 1, 0),
        ([-2e6, -2e6 - 1e-5, -3e6, -inf], 3, 1, 1),  # the tolerance grows with the scores
    ]
    for scores, free, stay, expected in cases:
        assert best_slot(np.array(scores), free, stay) == expected


def test_state_grows_and_compacts():
    likelihood = NormalGamma(0.0, 1.0, 1.0, 1.0)
    X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])
    state = states.empty(likelihood, 5, 6)
    state.labels[:] = [4, 1, 4, 2, 1]
    states.statistics(likelihood, X, None, state)
    compact = states.compacted(likelihood, state)
    assert compact.labels.tolist() == [0, 1, 0, 2, 1]
    assert (compact.capacity, compact.n_clusters) == (4, 3)
    states.check(likelihood, X, None, compact)
    larger = states.resized(likelihood, state, 12)
    assert larger.labels is state.labels
    states.check(likelihood, X, None, larger)
    larger.counts[1] += 1
    with pytest.raises(AssertionError):
        states.check(likelihood, X, None, larger)


def test_assign_and_unassign_are_inverse():
    likelihood = NormalGamma(0.0, 1.0, 1.0, 1.0)
    X = np.array([[0.0], [1.0], [1e9], [3.0], [4.0]])
    state = states.empty(likelihood, 5, 3)
    for i in range(5):
        states.assign(likelihood, X, None, state, i, 0)
    assert states.unassign(likelihood, X, None, state, 2) == 0
    assert state.labels.tolist() == [0, 0, -1, 0, 0]
    fresh = states.empty(likelihood, 5, 3)
    for i in (0, 1, 3, 4):
        states.assign(likelihood, X, None, fresh, i, 0)
    np.testing.assert_allclose(state.rows, fresh.rows, rtol=1e-12)  # made anew: 1e18 had eaten all digits
    for i in (0, 1, 3, 4):
        states.unassign(likelihood, X, None, state, i)
    np.testing.assert_array_equal(state.rows[0], state.rows[1])


@pytest.mark.parametrize("alpha", [0.1, 10.0, 100.0])
@pytest.mark.parametrize("seed", complete_but([0], range(4)))
@pytest.mark.parametrize("init", ["sequential", "random-order"])
def test_a_search_starts_no_worse_than_from_one_cluster(alpha, seed, init):
    rng = np.random.default_rng([7, seed])
    X = rng.normal(size=(5, 2))[rng.integers(0, 5, 100)] * 4.0 + rng.normal(size=(100, 2))
    model = MAPDPM(alpha, init=init, random_state=seed).fit(X)
    one = MAPDPM(alpha, init=np.zeros(100, int), moves=()).fit(X).history_[0]
    assert model.history_[0] >= one


@pytest.mark.parametrize("alpha", [0.1, 10.0, 100.0])
def test_labels_that_were_given_are_started_from_whatever_they_are_worth(alpha):
    rng = np.random.default_rng([7, 0])
    X = rng.normal(size=(5, 2))[rng.integers(0, 5, 100)] * 4.0 + rng.normal(size=(100, 2))
    labels = np.arange(100)
    assert MAPDPM(alpha, init=labels).fit(X).history_[0] == MAPDPM(alpha, init=labels, moves=()).fit(X).history_[0]


def test_a_time_limit_holds_for_any_number_of_restarts():
    X = np.random.default_rng(0).normal(size=(50, 2))
    started = time.monotonic()
    model = MAPDPM(n_restarts=10**15, time_limit=0.3).fit(X)
    # Seconds of a busy machine, against the years, and the memory, of so many runs.
    assert time.monotonic() - started < 60.0
    assert model.n_clusters_ >= 1
