"""The search with groups in sections: sweeps against raw points, backends, J, and the best of all partitions."""

import math
from dataclasses import replace

import numpy as np
import pytest

from mapdpm import HDPMixture, names
from mapdpm.backends import grouped, resolve
from mapdpm.data.group_tree import read_tree
from mapdpm.partition_priors import partition_prior
from mapdpm.partition_priors.hierarchy import Hierarchy
from mapdpm.protocol import Model
from mapdpm.search.groups import GroupedProblem
from mapdpm.search.moves import catalogue
from mapdpm.search.problem import Problem
from tests.marks import complete_but
from tests.oracle import franchise as oracle
from tests.search.test_grouped import KNOWN, PRIOR, marginals_of

MOVES = catalogue.MOVES[names.HDP_MOVES]


def sectioned_points(seed, n_sections=3, n_groups=3, size=8, K=5, apart=4.0):
    """Points in two dimensions, their paths, and labels: shares of groups vary around those of their section."""
    rng = np.random.default_rng(seed)
    centres, common = rng.normal(0.0, apart, (K, 2)), rng.dirichlet(np.ones(K))
    paths, z = [], []
    for section in range(n_sections):
        shares = rng.dirichlet(2.0 * common + 1e-3)
        for group in range(n_groups):
            z.append(rng.choice(K, size, p=rng.dirichlet(2.0 * shares + 1e-3)))
            paths += [[section, group]] * size
    z = np.concatenate(z)
    return centres[z] + rng.normal(size=(len(z), 2)), np.array(paths), np.unique(z, return_inverse=True)[1]


def problem_of(X, paths, backend="python", likelihood=PRIOR):
    family, tree = likelihood.for_data(X), read_tree(paths, len(X))
    flat = Problem.of(Model(family, partition_prior(1.5), X), resolve(backend, family), None)
    return GroupedProblem(flat, tree.of_points, tree.parents, tree.n_groups, Hierarchy((1.2, 0.8), 1.5))


def opened(weights, parents, j, slot, gamma):
    """Weights after a point of group ``j`` opens ``slot``: the means of the Betas of maths (72), parents first."""
    weights, v = weights.copy(), parents[len(weights) + j]
    path = {0}
    while v > 0:
        path.add(v)
        v = parents[v]
    for u in range(len(weights)):
        a, b = (1.0, gamma) if u == 0 else (weights[parents[u], slot] + (u in path), weights[parents[u], -1])
        rest = weights[u, -1]
        weights[u, slot], weights[u, -1] = rest * a / (a + b), rest * b / (a + b)
    return weights


@pytest.mark.parametrize("backend", complete_but(["c", "python"], ["c", "numba", "python"]))
def test_a_sweep_moves_each_point_to_its_best_cluster(backend):
    """Point by point, from the raw points and the shares of the section; some points are alone, some open clusters."""
    births = 0
    for seed in range(10):
        X, paths, _ = sectioned_points(seed, 3, 2, 4, 8, apart=5.0)
        labels = np.zeros(len(X), dtype=np.int64)
        labels[::12] = [1, 2]
        problem = problem_of(X, paths, backend, KNOWN)
        state = problem.grown(problem.state_of(problem.flat.from_labels(labels)))
        z, weights, groups, parents = labels.copy(), state.weights.copy(), problem.groups, problem.parents
        marginal, K = marginals_of(X, problem.flat.model.likelihood), state.clusters.capacity
        for i in range(len(X)):
            others = np.where(np.arange(len(z)) == i, -1, z)
            alone = np.count_nonzero(z == z[i]) == 1
            held = weights.copy()
            if alone:
                held[:, -1] += held[:, z[i]]
                held[:, z[i]] = 0.0
            own = held[parents[problem.n_inner + groups[i]]]
            scores = np.full(K + 1, -math.inf)
            for k in np.unique(others[others >= 0]):
                n = np.count_nonzero((others == k) & (groups == groups[i]))
                past = np.flatnonzero(others == k)
                gain = marginal([*past, i]) - marginal(past)
                scores[k] = math.log(n + own[k]) + gain
            scores[K] = math.log(own[-1]) + marginal([i])
            best = int(np.argmax(scores))
            if best == z[i] or (best == K and alone):
                continue
            if best == K:
                best = next(k for k in range(K) if not np.any(others == k))
                held = opened(held, parents, groups[i], best, problem.prior.gamma)
                births += 1
            z[i], weights = best, held
        problem.flat.backend.grouped_sweep(problem.flat.model, state.clusters, problem.counts(state), 0, False)
        np.testing.assert_array_equal(state.labels, z)
        np.testing.assert_allclose(state.weights, weights, rtol=1e-12, atol=1e-15)
    assert births > 10


@pytest.mark.complete
@pytest.mark.parametrize("other", ["numba", "python"])
def test_backends_agree(other):
    """Fits, and Gibbs sweeps, whose births split all shares; points that are not sorted by group, too."""
    for seed in range(4):
        X, paths, z = sectioned_points(seed, size=10, apart=(2.0, 6.0)[seed % 2])
        order = np.random.default_rng(seed).permutation(len(X))
        fits = [HDPMixture(1.0, 2.0, likelihood=PRIOR, backend=b).fit(X[order], paths[order]) for b in ("c", other)]
        np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)
        np.testing.assert_allclose(fits[0].history_, fits[1].history_, rtol=1e-10, atol=1e-8)
        states = []
        for name in ("c", other):
            problem = problem_of(X, paths, name)
            state = problem.grown(problem.state_of(problem.flat.from_labels(z)))
            uniforms = np.random.default_rng(seed).random(len(X))
            problem.flat.backend.grouped_perturb(problem.flat.model, state.clusters, problem.counts(state), uniforms)
            states.append(state)
        np.testing.assert_array_equal(states[0].labels, states[1].labels)
        np.testing.assert_allclose(states[0].weights, states[1].weights, rtol=1e-12)


@pytest.mark.parametrize("n_fits", [8, pytest.param(80, marks=pytest.mark.slow)])
def test_the_log_joint_never_falls(n_fits):
    """It is that of the labels alone, too; and each move keeps the state whole."""
    for seed in range(n_fits):
        rng = np.random.default_rng([3, seed])
        X, paths, _ = sectioned_points(seed, *rng.integers(1, 6, 3), apart=rng.uniform(1.0, 8.0))
        alphas, gamma = 10.0 ** rng.uniform(-1.0, 1.3, 2), float(10.0 ** rng.uniform(-1.0, 1.3))
        model = HDPMixture(alphas, gamma, likelihood=PRIOR).fit(X, paths)
        assert np.all(np.diff(model.history_) >= 0.0)
        problem = replace(problem_of(X, paths), prior=Hierarchy(tuple(alphas), gamma))
        again = problem.state_of(problem.flat.from_labels(model.labels_))
        assert problem.log_joint(again) == pytest.approx(model.log_joint_, rel=1e-11, abs=1e-8)


@pytest.mark.parametrize("name", MOVES)
def test_moves_raise_the_log_joint(name):
    gained = 0
    for seed in range(4):
        X, paths, z = sectioned_points(seed, apart=3.0)
        rng = np.random.default_rng(seed)
        start = np.where(rng.random(len(z)) < 0.3, 0, z) if name == "split" else z * 3 + paths[:, 1] % 3
        problem = problem_of(X, paths, "c")
        state = problem.state_of(problem.flat.from_labels(np.unique(start, return_inverse=True)[1]))
        before = problem.log_joint(state)
        state, n = MOVES[name](problem, rng, lambda: False)(state)
        gained += n
        assert problem.log_joint(state) >= before
        fresh = problem.state_of(problem.flat.from_labels(np.unique(state.labels, return_inverse=True)[1]))
        assert problem.log_joint(fresh) == pytest.approx(problem.log_joint(state), rel=1e-11, abs=1e-8)
    assert gained > 0


@pytest.mark.parametrize("n_sets", [4, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("alphas", "gamma"),
    [
        ((3.0, 1.0), 1.0),
        pytest.param((0.5, 0.5), 1.0, marks=pytest.mark.complete),
        pytest.param((1.0, 20.0), 2.0, marks=pytest.mark.complete),
    ],
)
def test_few_points_end_in_the_exact_mode(n_sets, alphas, gamma):
    """The mode of p(z | x) over all partitions of five or six points in two sections, by convolution and raw points."""
    found = 0
    for seed in range(n_sets):
        rng = np.random.default_rng([8, seed])
        n = int(rng.integers(5, 7))
        X = (rng.normal(0.0, 3.0, 3)[rng.integers(0, 3, n)] + rng.normal(size=n))[:, None]
        paths = np.column_stack([np.arange(n) * 2 // n, rng.integers(0, 2, n)])
        tree, family = read_tree(paths, n), KNOWN.for_data(X)
        sections = tree.parents[tree.n_inner :] - 1
        joints, marginal = {}, marginals_of(X, family)
        for z in oracle.partitions(n):
            table = oracle.table_of(z, tree.of_points.tolist())
            prior = oracle.log_partition_of_sections([table[sections == s] for s in (0, 1)], alphas, gamma)
            labels = np.array(z)
            joints[z] = prior + math.fsum(marginal(np.flatnonzero(labels == k)) for k in range(max(z) + 1))
        labels = HDPMixture(alphas, gamma, likelihood=KNOWN).fit(X, paths).labels_
        # Where two partitions are closer than the error of log p(z), either will do.
        found += joints[tuple(labels.tolist())] >= max(joints.values()) - 0.05
    assert found >= 0.99 * n_sets


def test_one_column_is_a_vector_and_names_do_not_matter():
    X, paths, _ = sectioned_points(5)
    one = HDPMixture(likelihood=PRIOR).fit(X, paths[:, 1])
    two = HDPMixture(likelihood=PRIOR).fit(X, paths[:, 1:])
    assert one.log_joint_ == two.log_joint_
    named = HDPMixture(likelihood=PRIOR).fit(X, [[f"s{9 - s}", f"g{7 - g}"] for s, g in paths.tolist()])
    assert named.log_joint_ == HDPMixture(likelihood=PRIOR).fit(X, paths).log_joint_


def test_a_birth_forgotten_on_the_path_changes_a_sweep(monkeypatch):
    """Without the one point that the nodes above it have seen (maths (72))."""

    def weights():
        X, paths, _ = sectioned_points(3)
        X[0] = 300.0
        problem = problem_of(X, paths)
        state = problem.grown(problem.state_of(problem.flat.from_labels(np.zeros(len(X), dtype=np.int64))))
        problem.flat.backend.grouped_sweep(problem.flat.model, state.clusters, problem.counts(state), 0, False)
        assert state.n_clusters > 1
        return state.weights

    right = weights()
    monkeypatch.setattr(grouped, "is_above", lambda counts, node, j: False)
    assert np.abs(weights() - right).max() > 1e-3
