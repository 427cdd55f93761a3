"""The search with groups: sweeps and moves against raw points, J that never falls, the best of all partitions."""

import functools
import itertools
import math

import numpy as np
import pytest

from mapdpm import HDPMixture, NormalGamma, NormalKnownVariance, names
from mapdpm.backends import grouped, resolve
from mapdpm.objective import is_gain
from mapdpm.partition_priors import partition_prior
from mapdpm.partition_priors.hierarchy import Hierarchy
from mapdpm.protocol import Model
from mapdpm.search.groups import GroupedProblem
from mapdpm.search.moves import catalogue
from mapdpm.search.problem import Problem
from tests.marks import complete_but
from tests.oracle import franchise as oracle

MOVES = catalogue.MOVES[names.HDP_MOVES]
PRIOR = NormalGamma(0.0, 0.05, 2.0, 1.0)
KNOWN = NormalKnownVariance(0.0, 9.0, 1.0)


def grouped_points(seed, n_groups=8, size=15, K=5, D=2, apart=5.0, alpha=2.0):
    """Groups that mix the same clusters in shares of their own."""
    rng = np.random.default_rng(seed)
    centres, common = rng.normal(0.0, apart, (K, D)), rng.dirichlet(np.full(K, 1.0))
    groups = np.repeat(np.arange(n_groups), size)
    z = np.concatenate([rng.choice(K, size, p=rng.dirichlet(alpha * common + 1e-3)) for _ in range(n_groups)])
    return centres[z] + rng.normal(size=(len(z), D)), groups, z


def problem_of(X, groups, backend="python", alpha=1.0, gamma=1.5, likelihood=PRIOR):
    family = likelihood.for_data(X)
    flat = Problem.of(Model(family, partition_prior(gamma), X), resolve(backend, family), None)
    n_groups = int(groups.max()) + 1
    return GroupedProblem(flat, groups, one_level(n_groups), n_groups, Hierarchy((alpha,), gamma))


def one_level(n_groups):
    """The parents of a root and its groups."""
    return np.append(-1, np.zeros(n_groups, dtype=np.int64))


# ---- kernels ---------------------------------------------------------------------------------------------------------


def marginals_of(X, likelihood):
    """The log density of a cluster by the numbers of its points, from the raw points, once for each set."""
    found = functools.cache(lambda numbers: oracle.log_marginal(X[list(numbers)], likelihood))
    return lambda numbers: found(tuple(np.sort(numbers).tolist()))


def scores_by_hand(marginal, groups, labels, i, weights, K):
    """ln(n_jk + alpha beta_k) + ln p(x_i | cluster k without i) for each cluster, and for a new one."""
    labels = np.where(np.arange(len(labels)) == i, -1, labels)
    scores = []
    for k in range(K):
        past = np.flatnonzero(labels == k)
        n = np.count_nonzero((labels == k) & (groups == groups[i]))
        gain = marginal([*past, i]) - (marginal(past) if len(past) else 0.0)
        weight = n + weights[k]
        scores.append(-math.inf if weight == 0.0 or not len(past) else math.log(weight) + gain)
    scores.append(math.log(weights[-1]) + marginal([i]))
    return scores


@pytest.mark.parametrize("first", complete_but([0], [0, 8]))
@pytest.mark.parametrize("backend", complete_but(["c"], ["c", "numba", "python"]))
def test_a_sweep_moves_each_point_to_its_best_cluster(backend, first):
    """Point by point, from the raw points and the shares that the sweep holds; some points are alone."""
    for seed in range(first, first + 8):
        X, groups, _ = grouped_points(seed, 4, 5, 3, apart=2.0)
        labels = np.random.default_rng(seed).integers(0, 4, len(X))
        labels[::4] = 4 + np.arange(5)
        labels = np.unique(labels, return_inverse=True)[1]
        problem = problem_of(X, groups, backend)
        state = problem.state_of(problem.flat.from_labels(labels))
        z, weights = labels.copy(), state.weights[0].copy()
        marginal, K = marginals_of(X, problem.flat.model.likelihood), state.clusters.capacity
        for i in range(len(X)):
            k = z[i]
            alone = np.count_nonzero(z == k) == 1
            held = weights.copy()
            if alone:
                held[-1] += held[k]
                held[k] = 0.0
            scores = scores_by_hand(marginal, groups, z, i, held, K)
            best = int(np.argmax(scores))
            if best == k or (best == K and alone):
                continue
            if best == K:
                best = next(slot for slot in range(K) if not np.any((z == slot) & (np.arange(len(z)) != i)))
                held[best] = held[-1] / (1.0 + problem.prior.gamma)
                held[-1] -= held[best]
            z[i], weights = best, held
        _, moved = problem.flat.backend.grouped_sweep(
            problem.flat.model, state.clusters, problem.counts(state), 0, False
        )
        np.testing.assert_array_equal(state.labels, z)
        np.testing.assert_allclose(state.weights[0], weights, rtol=1e-12, atol=1e-15)
        np.testing.assert_array_equal(state.table, problem.table_of(z, K))
        assert moved > 0


@pytest.mark.parametrize("backend", complete_but(["c", "python"], ["c", "numba", "python"]))
def test_cells_move_where_they_gain(backend):
    """The sum of gains is that of log p(x, z) with the shares held: rising factorials and marginals of raw points."""
    moved = 0
    for seed in range(6):
        X, groups, z = grouped_points(seed, 6, 6, 4)
        labels = np.unique((z + (groups % 2)) % 4, return_inverse=True)[1]
        problem = problem_of(X, groups, backend)
        state = problem.state_of(problem.flat.from_labels(labels))
        family = problem.flat.model.likelihood
        for slot in range(labels.max() + 1):
            points = np.flatnonzero(state.labels == slot)
            if len(points) == 0:
                continue
            weights = state.weights[0].copy()
            before = value(X, groups, state.labels, weights, family)
            names, cell_of = np.unique(groups[points], return_inverse=True)
            cells = problem.flat.part(points, 0)
            rows = cells.empty(0, len(names))._replace(labels=cell_of.astype(np.int64))
            cells.refresh(rows)
            to = np.empty(len(names), dtype=np.int64)
            gained = problem.flat.backend.move_cells(
                family, state.clusters, problem.counts(state), slot, names, rows.rows, to
            )
            state.labels[points] = to[cell_of]
            opened = [k for k in set(to.tolist()) if weights[k] == 0.0]
            held = weights.copy()
            for k in sorted(opened):
                held[k] = held[-1] / (1.0 + problem.prior.gamma)
                held[-1] -= held[k]
            after = value(X, groups, state.labels, state.weights[0], family)
            if len(opened) <= 1:
                np.testing.assert_allclose(state.weights[0], held, rtol=1e-12)
                # Sums of some hundred terms of size up to a hundred: 1e-9 is a thousand roundings.
                assert after - before == pytest.approx(gained, abs=1e-9)
            assert gained >= 0.0
            moved += np.count_nonzero(to != slot)
            np.testing.assert_array_equal(state.table, problem.table_of(state.labels, state.clusters.capacity))
            problem.flat.refresh(state.clusters)
            problem.share_out(state)
    assert moved > 0


def value(X, groups, labels, weights, family):
    """sum of log rising factorials of alpha beta_k over cells, and of log marginals."""
    total = math.fsum(oracle.log_marginal(X[labels == k], family) for k in np.unique(labels))
    for j, k in itertools.product(np.unique(groups), np.unique(labels)):
        total += oracle.log_rising(weights[k], np.count_nonzero((groups == j) & (labels == k)))
    return total


@pytest.mark.parametrize("other", complete_but(["python"], ["numba", "python"]))
@pytest.mark.parametrize("likelihood", [PRIOR, KNOWN], ids=["gamma", "known"])
def test_backends_agree(other, likelihood):
    """The same labels, and J to the rounding of its sums; points that are not sorted by group, too."""
    for seed in range(4 if other == "python" else 30):
        n_groups, size = (12, 40) if other == "numba" else (5, 8)
        X, groups, _ = grouped_points(seed, n_groups, size, apart=(2.0, 6.0)[seed % 2])
        order = np.random.default_rng(seed).permutation(len(X))
        fits = [
            HDPMixture(1.0, 2.0, likelihood=likelihood, backend=name).fit(X[order], groups[order])
            for name in ("c", other)
        ]
        np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)
        np.testing.assert_allclose(fits[0].history_, fits[1].history_, rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("other", complete_but(["python"], ["numba", "python"]))
def test_gibbs_sweeps_draw_alike(other):
    for seed in range(5):
        X, groups, z = grouped_points(seed)
        uniforms = np.random.default_rng(seed).random(len(X))
        labels = []
        for name in ("c", other):
            problem = problem_of(X, groups, name)
            state = problem.state_of(problem.flat.from_labels(np.unique(z, return_inverse=True)[1]))
            problem.flat.backend.grouped_perturb(problem.flat.model, state.clusters, problem.counts(state), uniforms)
            labels.append(state.labels)
            np.testing.assert_array_equal(state.table, problem.table_of(state.labels, state.clusters.capacity))
        np.testing.assert_array_equal(*labels)


@pytest.mark.complete
def test_no_new_cluster_where_its_weight_is_zero():
    """Even for a point that is far from all clusters, and for one that is alone."""
    X, groups, z = grouped_points(1)
    X[0] = 1e6
    for name in ("c", "numba", "python"):
        problem = problem_of(X, groups, name)
        state = problem.state_of(problem.flat.from_labels(np.unique(z, return_inverse=True)[1]))
        K = state.n_clusters
        state.weights[:, -1] = 0.0
        problem.flat.backend.grouped_sweep(problem.flat.model, state.clusters, problem.counts(state), 0, False)
        assert state.n_clusters <= K


# ---- the search ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_fits", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_the_log_joint_never_falls(n_fits):
    """It is that of the labels alone, too."""
    for seed in range(n_fits):
        rng = np.random.default_rng([3, seed])
        X, groups, _ = grouped_points(
            seed, int(rng.integers(1, 30)), int(rng.integers(1, 30)), apart=rng.uniform(1.0, 8.0)
        )
        alpha, gamma = (float(10.0 ** rng.uniform(-1.0, 1.3)) for _ in range(2))
        seen = []
        model = HDPMixture(alpha, gamma, likelihood=PRIOR, callback=lambda p, seen=seen: seen.append(p)).fit(X, groups)
        assert np.all(np.diff(model.history_) >= 0.0)
        for run in range(3):
            of_run = [p.log_joint for p in seen if p.restart == run and not p.move.startswith("pooled")]
            assert np.all(np.diff(of_run) >= 0.0)
        problem = problem_of(X, groups, "c", alpha, gamma)
        again = problem.state_of(problem.flat.from_labels(model.labels_))
        assert problem.log_joint(again) == pytest.approx(model.log_joint_, rel=1e-11, abs=1e-8)


def argmax_is_found(n_sets, alpha, gamma):
    """How many small sets end in the exact mode of p(z | x), over all partitions of 5 to 7 points in 2 or 3 groups."""
    every, found = {n: oracle.partitions(n) for n in (5, 6, 7)}, 0
    priors, model = {}, HDPMixture(alpha, gamma, likelihood=KNOWN)
    for seed in range(n_sets):
        rng = np.random.default_rng([7, seed])
        n, n_groups = int(rng.integers(5, 8)), int(rng.integers(2, 4))
        groups = np.sort(np.append(np.arange(n_groups), rng.integers(0, n_groups, n - n_groups))).tolist()
        X = (rng.normal(0.0, 3.0, 3)[rng.integers(0, 3, n)] + rng.normal(size=n))[:, None]
        family = KNOWN.for_data(X)
        marginal = marginals_of(X, family)
        best, argmax = -math.inf, None
        for z in every[n]:
            table = oracle.table_of(z, groups)
            key = tuple(sorted(map(tuple, table.T.tolist())))
            if key not in priors:
                priors[key] = oracle.log_partition(table, alpha, gamma)
            clusters = [tuple(i for i in range(n) if z[i] == k) for k in range(max(z) + 1)]
            joint = priors[key] + math.fsum(map(marginal, clusters))
            if joint > best:
                best, argmax = joint, z
        found += tuple(model.fit(X, groups).labels_.tolist()) == argmax
    return found


@pytest.mark.parametrize("n_sets", [6, pytest.param(150, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("alpha", "gamma"),
    [(3.0, 1.0), *(pytest.param(*each, marks=pytest.mark.complete) for each in [(0.5, 1.0), (20.0, 2.0)])],
)
def test_few_points_end_in_the_exact_mode(n_sets, alpha, gamma):
    assert argmax_is_found(n_sets, alpha, gamma) >= 0.99 * n_sets


def test_names_and_order_of_groups_do_not_matter():
    X, groups, _ = grouped_points(4)
    one = HDPMixture(likelihood=PRIOR).fit(X, groups)
    two = HDPMixture(likelihood=PRIOR).fit(X, [f"group {9 - g}" for g in groups])
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert one.log_joint_ == two.log_joint_


def test_moves_raise_the_log_joint_and_keep_the_state_whole():
    for name, kind in MOVES.items():
        gained = 0
        for seed in range(4):
            X, groups, z = grouped_points(seed, apart=3.0)
            rng = np.random.default_rng(seed)
            start = np.unique(
                np.where(rng.random(len(z)) < 0.3, 0, z) if name == "split" else z * 3 + groups % 3, return_inverse=True
            )[1]
            problem = problem_of(X, groups, "c")
            state = problem.state_of(problem.flat.from_labels(start))
            before = problem.log_joint(state)
            state, n = kind(problem, rng, lambda: False)(state)
            gained += n
            after = problem.log_joint(state)
            assert after >= before
            assert (n > 0) == is_gain(after - before, before)
            fresh = problem.state_of(problem.flat.from_labels(np.unique(state.labels, return_inverse=True)[1]))
            assert problem.log_joint(fresh) == pytest.approx(after, rel=1e-11, abs=1e-8)
            problem.refresh(state)  # an ascent does, so that the rounding of moves does not add up
            live = np.flatnonzero(state.clusters.counts)
            np.testing.assert_array_equal(state.clusters.rows[live], fresh.clusters.rows[: len(live)])
        assert gained > 0, name


# ---- planted errors: each makes a fit end lower, or a test above fail ------------------------------------------------


def of_one_sweep(monkeypatch=None, **faults):
    """The labels after a sweep in plain Python from a bad start, with functions of the kernels replaced."""
    for name, function in faults.items():
        monkeypatch.setattr(grouped, name, function)
    X, groups, z = grouped_points(2, 6, 8, apart=2.0)
    problem = problem_of(X, groups, "python", 3.0)
    labels = np.random.default_rng(2).integers(0, 4, len(z))
    state = problem.state_of(problem.flat.from_labels(np.unique(labels, return_inverse=True)[1]))
    problem.flat.backend.grouped_sweep(problem.flat.model, state.clusters, problem.counts(state), 0, False)
    return state.labels.tolist()


def test_the_own_point_left_in_changes_a_sweep(monkeypatch):
    right = of_one_sweep()
    slot_weight = grouped.slot_weight
    assert of_one_sweep(monkeypatch, slot_weight=lambda t, w, j, k: slot_weight(t + 1, w, j, k)) != right


def test_the_share_of_a_new_cluster_must_leave_the_rest(monkeypatch):
    """Without it the shares of a state no longer sum to alpha."""

    def join(model, state, counts, log_weights, i, k):
        if state.counts[k] == 0:
            counts.weights[0, k] = counts.weights[0, -1] * counts.new_share
        grouped.assign(model.likelihood, model.data, None, state, i, k)
        counts.table[counts.groups[i], k] += 1
        log_weights[k] = grouped.slot_weight(counts.table, counts.weights[0], counts.groups[i], k)

    def total():
        X, groups, _ = grouped_points(3)
        X[0] = 300.0
        problem = problem_of(X, groups, "python", 3.0)
        state = problem.state_of(problem.flat.from_labels(np.zeros(len(X), dtype=np.int64)))
        problem.flat.backend.grouped_sweep(problem.flat.model, state.clusters, problem.counts(state), 0, False)
        assert state.n_clusters > 1
        return state.weights.sum()

    assert total() == pytest.approx(3.0, rel=1e-12)
    monkeypatch.setattr(grouped, "join", join)
    assert total() > 3.0 + 1e-3
