"""The search for states: kernels against raw points and enumeration, moves, and the best of all partitions."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp

from mapdpm import HDPHMM, NormalKnownVariance, names
from mapdpm.backends import BACKENDS, resolve
from mapdpm.data.sequences import read_sequences
from mapdpm.objective import is_gain
from mapdpm.partition_priors import partition_prior
from mapdpm.partition_priors.transitions import Transitions
from mapdpm.protocol import Model
from mapdpm.search import sharing
from mapdpm.search.moves import catalogue
from mapdpm.search.moves import sequences as moves
from mapdpm.search.problem import Problem
from mapdpm.search.sequences import SequenceProblem
from tests.marks import complete_but, ends_early
from tests.oracle import franchise, hdp_hmm
from tests.search.test_grouped import marginals_of

MOVES = catalogue.MOVES[names.HMM_MOVES]
PRIOR = NormalKnownVariance(0.0, 9.0, 1.0)
EACH = complete_but(["c", "python"], ["c", "numba", "python"])


def machine(seed, n=300, K=4, D=2, apart=4.0, dwell=15):
    """Points of a machine that stays in a state for a while: centres in random directions, ``apart`` on average."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(0.0, apart / math.sqrt(2 * D), (K, D))
    z = np.zeros(n, dtype=np.int64)
    for t in range(1, n):
        z[t] = z[t - 1] if rng.random() > 1.0 / dwell else rng.integers(K)
    return centres[z] + rng.normal(size=(n, D)), z


def problem_of(X, sequences=None, backend="python", alpha=1.5, gamma=2.0, kappa=0.0, likelihood=PRIOR):
    family = likelihood.for_data(X)
    flat = Problem.of(Model(family, partition_prior(gamma), X), resolve(backend, family), None)
    return SequenceProblem.of(flat, read_sequences(sequences, len(X)), Transitions(alpha, gamma, kappa))


def log_given_shares(problem, z, weights):
    """log p(z | shares): rising factorials of all rows; the last of ``weights`` is that of new states."""
    alpha, _, kappa = problem.prior
    table = problem.table_of(z, len(weights) - 1)
    total = 0.0
    for (v, k), n in np.ndenumerate(table):
        total += franchise.log_rising(weights[k] + (kappa if v == k else 0.0), n) if n else 0.0
    for v, n in enumerate(table.sum(axis=1)):
        total -= franchise.log_rising(alpha + (kappa if v < len(weights) - 1 else 0.0), n)
    return total


# ---- kernels ---------------------------------------------------------------------------------------------------------


def best_by_hand(problem, marginal, z, weights, i):
    """The slot of the highest joint of all points given the shares; the first free one for a new state."""
    K = len(weights) - 1
    used = np.unique(np.delete(z, i))
    free = next(k for k in range(K) if k not in used)
    scores = np.full(K, -math.inf)
    for k in (*used, free):
        trial, held = z.copy(), weights.copy()
        trial[i] = k
        past = np.flatnonzero((z == k) & (np.arange(len(z)) != i))
        gain = marginal([*past, i]) - (marginal(past) if len(past) else 0.0)
        if k == free:
            held[k] = held[-1]  # all new states as one
        scores[k] = log_given_shares(problem, trial, held) + gain
    best = int(np.argmax(scores))
    stay = free if np.count_nonzero(z == z[i]) == 1 else z[i]
    return (z[i] if best == stay else best), best == free


@pytest.mark.parametrize("first", complete_but([0], [0, 6]))
@pytest.mark.parametrize("kappa", complete_but([3.0], [0.0, 3.0]))
@pytest.mark.parametrize("backend", EACH)
def test_a_sweep_moves_each_point_to_its_best_state(backend, kappa, first):
    """Point by point, by the joint of all points given the shares that the sweep holds; some points are alone."""
    opened = 0
    for seed in range(first, first + 6):
        X, _ = machine(seed, 24, 3, apart=2.5)
        X[[3, 17]] += 9.0
        rng = np.random.default_rng(seed)
        labels = rng.integers(0, 3, len(X))
        labels[::6] = 3 + np.arange(4)
        labels = np.unique(labels, return_inverse=True)[1]
        problem = problem_of(X, np.repeat([0, 1, 2], [1, 10, 13]), backend, kappa=kappa)
        state = problem.state_of(problem.flat.from_labels(labels))
        z, weights = labels.copy(), state.weights[0].copy()
        marginal = marginals_of(problem.flat.model.data, problem.flat.model.likelihood)
        for i in range(len(X)):
            held = weights.copy()
            if np.count_nonzero(z == z[i]) == 1:
                held[-1] += held[z[i]]
                held[z[i]] = 0.0
            to, is_new = best_by_hand(problem, marginal, z, held, i)
            if to == z[i]:
                continue
            if is_new:
                held[to] = held[-1] / (1.0 + problem.prior.gamma)
                held[-1] -= held[to]
                opened += 1
            z[i], weights = to, held
        end, moved = problem.sweep_from(state, 0, False)
        assert end == len(X)
        assert moved > 0
        np.testing.assert_array_equal(state.labels, z)
        np.testing.assert_allclose(state.weights[0], weights, rtol=1e-12, atol=1e-15)
        np.testing.assert_array_equal(state.table, problem.table_of(z, state.clusters.capacity))
    assert opened > 0


@pytest.mark.parametrize("backend", EACH)
def test_points_join_one_after_the_other(backend):
    """A start, and points of a state that is deleted: the same labels by C as by Python, and a table that is theirs."""
    X, _ = machine(3, 400, 5)
    problem, reference = (problem_of(X, backend=name) for name in (backend, "python"))
    state, expected = problem.sequential(), reference.sequential()
    np.testing.assert_array_equal(state.labels, expected.labels)
    assert state.n_clusters > 1
    for each in (state, expected):
        points = np.flatnonzero(each.labels == 0)
        each.labels[points], each.clusters.counts[0] = -1, 0
        problem.flat.model.likelihood.init(each.clusters.rows[0])
        each.table[:] = problem.table_of(each.labels, each.clusters.capacity)
        each.weights[:, [0, -1]] = 0.0
    assert problem.seat(state, points, False) == len(points)
    reference.seat(expected, points, False)
    np.testing.assert_array_equal(state.labels, expected.labels)
    np.testing.assert_array_equal(state.table, problem.table_of(state.labels, state.clusters.capacity))


def chain_of(seed, n=7, K=3):
    """A hidden Markov model of K states and scores of n points in two sequences."""
    rng = np.random.default_rng(seed)
    start, steps = rng.dirichlet(np.ones(K)), rng.dirichlet(np.full(K, 0.7), K)
    return start, steps, rng.normal(0.0, 2.0, (n, K)), np.array([0, 3, n])


def paths_of(start, steps, scores):
    """All paths of a sequence, and the log joint of each."""
    every = np.array(list(itertools.product(range(len(start)), repeat=len(scores))))
    joints = np.log(start[every[:, 0]]) + scores[np.arange(len(scores)), every].sum(axis=1)
    return every, joints + np.log(steps[every[:, :-1], every[:, 1:]]).sum(axis=1)


@pytest.mark.parametrize("backend", EACH)
def test_paths_are_those_of_enumeration(backend):
    backend = BACKENDS[backend]
    for seed in range(5):
        start, steps, scores, begins = chain_of(seed)
        came_from, path = np.zeros(scores.shape, dtype=np.int64), np.zeros(len(scores), dtype=np.int64)
        filtered = np.empty_like(scores)
        total = backend.viterbi(start, steps, scores, begins, came_from, path)
        totals = backend.forward(start, steps, scores, begins, filtered)
        smoothed, drawn = filtered.copy(), np.zeros_like(path)
        backend.backward(steps, begins, smoothed)
        uniforms = np.random.default_rng(seed).random(len(scores))
        backend.draw_path(steps, begins, filtered, uniforms, drawn)
        best = 0.0
        for s, (a, b) in enumerate(itertools.pairwise(begins)):
            every, joints = paths_of(start, steps, scores[a:b])
            best += joints.max()
            np.testing.assert_array_equal(path[a:b], every[np.argmax(joints)])
            assert totals[s] == pytest.approx(logsumexp(joints), abs=1e-12)
            later = np.ones(len(every), dtype=bool)
            for t in range(b - a - 1, -1, -1):
                so_far, joints_so_far = paths_of(start, steps, scores[a : a + t + 1])
                for found, labels, logs in ((filtered, so_far, joints_so_far), (smoothed, every, joints)):
                    p = np.bincount(labels[:, t], np.exp(logs - logsumexp(logs)), len(start))
                    np.testing.assert_allclose(found[a + t], p, atol=1e-12)
                p = np.bincount(every[later, t], np.exp(joints[later] - joints.max()), len(start))
                wanted = int(np.searchsorted(np.cumsum(p) / p.sum(), uniforms[a + t], side="right"))
                assert drawn[a + t] == wanted
                later &= every[:, t] == wanted
        assert total == pytest.approx(best, abs=1e-12)


def test_of_equal_paths_the_lowest_states_win():
    for backend in BACKENDS.values():
        path = np.ones(4, dtype=np.int64)
        came_from = np.ones((4, 2), dtype=np.int64)
        backend.viterbi(np.full(2, 0.5), np.full((2, 2), 0.5), np.zeros((4, 2)), np.array([0, 4]), came_from, path)
        np.testing.assert_array_equal(path, 0)


# ---- the problem -----------------------------------------------------------------------------------------------------


def test_tables_of_merged_states_and_of_some_points():
    X, z = machine(1, 60, 5)
    ids = np.repeat([0, 1, 2], [20, 1, 39])
    problem = problem_of(X, ids)
    K = int(z.max()) + 1
    table = problem.table_of(z, K)
    merged = np.where(z == 3, 1, np.where(z == 4, 3, z))
    np.testing.assert_array_equal(problem.merged(table, 1, 3), problem.table_of(merged, K - 1))
    np.testing.assert_array_equal(problem.of_slots(problem.table_of(z, 9), np.arange(K)), table)
    points = np.flatnonzero(z != 2)
    part = problem.of_points(points)
    follows = [i > 0 and p - 1 == points[i - 1] and ids[p] == ids[p - 1] for i, p in enumerate(points)]
    np.testing.assert_array_equal(part.previous, [i - 1 if each else -1 for i, each in enumerate(follows)])
    np.testing.assert_array_equal(part.following, [*(i + 1 if each else -1 for i, each in enumerate(follows[1:])), -1])
    np.testing.assert_array_equal(part.begins, [*np.flatnonzero(~np.array(follows)), len(points)])


@pytest.mark.parametrize("name", complete_but(set(MOVES) - {"split"}, MOVES))
def test_a_move_raises_j_and_keeps_the_state_whole(name):
    gained = 0
    for seed in range(12):
        X, z = machine(seed, 150, 3, apart=3.0)
        rng = np.random.default_rng(seed)
        labels = {"merge": 2 * z + rng.integers(2, size=len(z)), "delete": np.where(rng.random(len(z)) < 0.05, 9, z)}
        labels = labels.get(name, z if name == "path" else z // 2)
        labels = np.where(rng.random(len(z)) < 0.1, rng.choice(labels, len(z)), labels)
        problem = problem_of(X, np.arange(len(X)) // 50, kappa=float(seed % 2))
        state = problem.state_of(problem.flat.from_labels(np.unique(labels, return_inverse=True)[1]))
        before, held = problem.log_joint(state), state.labels.copy()
        found, n = MOVES[name](problem, rng, lambda: False)(state)
        problem.refresh(found)
        after = problem.log_joint(found)
        fresh = problem.state_of(problem.flat.from_labels(found.labels))
        assert problem.log_joint(fresh) == pytest.approx(after, abs=1e-8 * abs(after))
        assert (n == 0 and np.array_equal(found.labels, held)) or is_gain(after - before, before)
        gained += n
    assert gained > 0


# ---- fits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_fits", complete_but([6], [60]))
def test_the_log_joint_never_falls(n_fits):
    """It is that of the labels, by convolution over all tables and marginals of raw points."""
    for seed in range(n_fits):
        rng = np.random.default_rng([2, seed])
        X, _ = machine(seed, int(rng.integers(30, 120)), 4, apart=rng.uniform(1.0, 6.0), dwell=rng.uniform(1.0, 20.0))
        ids = np.sort(rng.integers(0, rng.integers(1, 5), len(X)))
        alpha, gamma = 10.0 ** rng.uniform(-1.0, 1.3, 2)
        kappa = float(rng.choice([0.0, 10.0 ** rng.uniform(-1.0, 1.5)]))
        model = HDPHMM(alpha, gamma, kappa, likelihood=PRIOR).fit(X, ids)
        assert np.all(np.diff(model.history_) >= 0.0)
        begins = [0, *(np.flatnonzero(np.diff(ids)) + 1), len(X)]
        exact = hdp_hmm.log_partition(model.labels_.tolist(), begins, alpha, gamma, kappa)
        exact += sum(franchise.log_marginal(X[model.labels_ == k], model.likelihood_) for k in range(model.n_states_))
        assert model.log_joint_ == pytest.approx(exact, abs=0.03)


@pytest.mark.parametrize("sizes", complete_but([(5, 6)], [(5, 6), (5, 20), (6, 60), (7, 30)]))
def test_the_best_of_all_states_of_a_few_times(sizes, monkeypatch):
    """Brute force over all partitions by exact p(z). Without the look at all of them, most fits reach the best, too."""
    (n, n_problems), reached = sizes, 0
    for seed in range(n_problems):
        rng = np.random.default_rng([n, seed])
        X = rng.normal(0.0, rng.uniform(0.5, 4.0), (n, 1))
        ids = np.sort(rng.integers(0, 1 + seed % 2, n))
        alpha, gamma = 10.0 ** rng.uniform(-0.7, 1.0, 2)
        kappa = float(rng.choice([0.0, 2.0]))
        begins = [0, *(np.flatnonzero(np.diff(ids)) + 1), n]
        family = PRIOR.for_data(X)
        members = [tuple(np.flatnonzero(of)) for of in itertools.product([0, 1], repeat=n)][1:]
        marginals = {points: franchise.log_marginal(X[list(points)], family) for points in members}
        best = max(
            hdp_hmm.log_partition(z, begins, alpha, gamma, kappa)
            + sum(marginals[tuple(np.flatnonzero(np.array(z) == k))] for k in range(max(z) + 1))
            for z in franchise.partitions(n)
        )
        model = HDPHMM(alpha, gamma, kappa, likelihood=PRIOR).fit(X, ids)
        assert model.log_joint_ >= best - 0.06  # both values of p(z) are within 0.03
        with monkeypatch.context() as without:
            without.setattr(sharing.SharingProblem, "few", 1)
            alone = HDPHMM(alpha, gamma, kappa, likelihood=PRIOR).fit(X, ids)
        reached += alone.log_joint_ >= best - 0.06
    assert reached >= 0.8 * n_problems


@pytest.mark.complete
@ends_early
def test_overlapping_states_are_found_in_time(monkeypatch):
    """At one and a half deviations MAPDPM sees one cluster. J is above that of the true states, if splits know time."""
    X, z = machine(0, 4000, 6, 6, apart=1.5, dwell=50)
    truth = HDPHMM(init=z, moves=(), max_sweeps=0).fit(X).log_joint_
    model = HDPHMM(n_restarts=4).fit(X)
    assert model.n_states_ >= 4
    assert model.log_joint_ > truth
    monkeypatch.setattr(moves, "halves_in_time", lambda part, rng: iter(()))
    assert HDPHMM(n_restarts=4).fit(X).log_joint_ < truth


@pytest.mark.parametrize("kappa", [0.0, 3.0])
def test_c_draws_states_as_python_does(kappa):
    """The same paths by the same uniforms; afterwards table and shares are those of the last path."""
    for seed in range(4):
        X, _ = machine(seed, 60)
        found = []
        for backend in ("c", "python"):
            problem = problem_of(X, np.repeat([0, 1], 30), backend, kappa=kappa)
            state = problem.from_labels(np.random.default_rng(seed).integers(0, 5, 60))
            rows, uniforms = problem.rows(state), np.random.default_rng(seed).random((6, 60))
            problem.flat.backend.draw_states(problem.flat.model, state.clusters, rows, problem.begins, uniforms)
            np.testing.assert_array_equal(state.table, problem.table_of(state.labels, state.clusters.capacity))
            np.testing.assert_array_equal(rows.sizes, state.table.sum(axis=1))
            drawn = state.weights.copy()
            state.stale = True
            problem.refresh(state)
            np.testing.assert_allclose(drawn, state.weights, rtol=1e-9)
            found.append(state.labels)
        np.testing.assert_array_equal(*found)
        assert len(np.unique(found[0])) > 1


def test_concentrations_change_the_problem_alone():
    X, _ = machine(0, 50)
    problem = problem_of(X, kappa=2.0)
    other = problem.with_numbers((0.5, 3.0))
    assert other.prior == Transitions(0.5, 3.0, 2.0)
    assert replace(other, prior=problem.prior) == problem


def test_c_refuses_a_state_that_it_cannot_write():
    problem = problem_of(machine(0, 20)[0], backend="c")
    state = problem.from_labels(np.zeros(20, dtype=np.int64))
    state.labels.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        problem.flat.swept(state.clusters)
