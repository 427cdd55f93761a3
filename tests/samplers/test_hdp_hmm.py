"""Samplers of states: weights against ratios of joints, exact matrices over labels and tables, planted faults."""

import functools
import itertools
import math

import numpy as np
import pytest

from mapdpm.backends import states
from mapdpm.rng import seeded
from mapdpm.samplers import Given, HDPHMMBeam, HDPHMMDirectAssignment, _beam, _transitions
from mapdpm.samplers import sequence_sampler as module
from mapdpm.samplers.chain_data import ChainData
from mapdpm.testing import kernels
from mapdpm.testing.enumerating_rng import EnumeratingRng
from mapdpm.testing.enumeration import canonical
from mapdpm.testing.quadrature import QuadratureRng
from tests.marks import slow_but
from tests.oracle import franchise, hdp_hmm
from tests.samplers.grouped_states import log_likelihood
from tests.samplers.sequence_states import (
    ALPHA,
    FAMILY,
    GAMMA,
    OWN,
    lag_of_states,
    log_given_shares,
    sampler_of,
    states_with_tables,
)

X = np.array([[-0.6], [0.9], [0.4], [-0.2], [0.7]])

FAULT = 1e-3
"""The size of a planted fault; the error of quadrature is far below it, and falls with the nodes."""


def lag_of(sequences, kappa, n_nodes=3, transitions="shared"):
    sampler = sampler_of(HDPHMMDirectAssignment, kappa, transitions)
    return lag_of_states(sampler, FAMILY, X[: len(sequences)], sequences, rng=QuadratureRng(n_nodes))


# ---- the state space, and the weights of a step ----------------------------------------------------------------------


@pytest.mark.parametrize("kappa", [0.0, 2.0])
@pytest.mark.parametrize("begins", [[0, 5], [0, 2, 5]])
def test_the_oracle_is_a_distribution(begins, kappa):
    found = states_with_tables(5, begins, (ALPHA,), GAMMA, kappa)
    assert math.fsum(math.exp(joint) for _, joint in found) == pytest.approx(1.0, abs=1e-12)
    for z in franchise.partitions(5):
        joint = math.fsum(math.exp(p) for (labels, _), p in found if labels == z)
        assert math.log(joint) == pytest.approx(hdp_hmm.log_partition(z, begins, ALPHA, GAMMA, kappa), abs=1e-12)


@pytest.mark.parametrize("kappa", [0.0, 2.0])
@pytest.mark.parametrize("begins", [[0, 4], [0, 2, 4]])
def test_the_oracle_of_own_machines_is_a_distribution(begins, kappa):
    found = states_with_tables(4, begins, OWN, GAMMA, kappa)
    assert math.fsum(math.exp(joint) for _, joint in found) == pytest.approx(1.0, abs=1e-12)


def rows_of(z, begins, weights, kappa):
    """The argument of kernels, for labels 0..K-1 in as many slots."""
    counts, starts = hdp_hmm.table_of(z, begins), set(begins)
    previous = np.array([-1 if i in starts else i - 1 for i in range(len(z))])
    following = np.array([-1 if i + 1 in starts else i + 1 for i in range(len(z))])
    return states.Rows(previous, following, counts, counts.sum(axis=1), weights, ALPHA, kappa, GAMMA)


def worst_weight(kappa, begins):
    """The largest error of a conditional of one state given all others and the shares, over all 52 partitions."""
    worst = 0.0
    for z in franchise.partitions(5):
        K = max(z) + 1
        weights = ALPHA * np.random.default_rng(K).dirichlet(np.ones(K + 1))
        for i in range(5):
            others = [k for k in range(K) if k in (*z[:i], *z[i + 1 :])]
            joints, found = [], []
            rows = rows_of(z, begins, weights, kappa)
            v = z[i - 1] if rows.previous[i] >= 0 else K
            w = z[i + 1] if rows.following[i] >= 0 else -1
            states.count_step(rows, v, z[i], w, -1)
            for k in others:
                joints.append(log_given_shares((*z[:i], k, *z[i + 1 :]), begins, weights, kappa))
                found.append(states.weight_of_step(rows, v, k, w))
            joints, found = np.exp(np.array(joints) - max(joints)), np.array(found)
            worst = max(worst, np.abs(found / found.sum() - joints / joints.sum()).max())
    return worst


@pytest.mark.parametrize("begins", [[0, 5], [0, 2, 5]])
@pytest.mark.parametrize("kappa", [0.0, 2.0])
def test_weights_are_ratios_of_joints(kappa, begins):
    assert worst_weight(kappa, begins) < 1e-12


@pytest.mark.parametrize("which", ["of the transition out", "of the row"])
@pytest.mark.parametrize("kappa", [0.0, 2.0])
def test_the_indicators_are_needed(which, kappa, monkeypatch):
    """A point between two of one state is counted twice in its row."""

    def weight_of_step(rows, v, k, w):
        weight = states.weight_between(rows, v, k)
        if w < 0:
            return weight
        again = 1.0 if v == k else 0.0
        out = states.weight_between(rows, k, w) + (again if k == w and which == "of the row" else 0.0)
        row = rows.sizes[k] + rows.alpha + rows.kappa
        return weight * out / (row + again if which == "of the transition out" else row)

    monkeypatch.setattr(states, "weight_of_step", weight_of_step)
    assert worst_weight(kappa, [0, 5]) > 1e-2


# ---- exact matrices --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kappa", [0.0, 2.0])
@pytest.mark.parametrize("sequences", [[0, 0], [0, 1]])
def test_two_times(sequences, kappa):
    assert lag_of(sequences, kappa, 4) < 1e-10


@pytest.mark.complete
@pytest.mark.parametrize("kappa", slow_but([2.0], [0.0, 2.0]))
@pytest.mark.parametrize("sequences", [[0, 0, 0], [0, 0, 1]])
def test_three_times(sequences, kappa):
    assert lag_of(sequences, kappa, 3) < FAULT / 10


@pytest.mark.parametrize("kappa", [0.0, 2.0])
@pytest.mark.parametrize("sequences", [[0, 0], pytest.param([0, 1], marks=pytest.mark.complete)])
def test_two_times_in_machines_of_their_own(sequences, kappa):
    assert lag_of(sequences, kappa, 2, "own") < FAULT / 4


@pytest.mark.slow
def test_four_times():
    """With two nodes, whose error at three times is 3e-4; without kappa it is 1e-3, and 3e-5 with three nodes."""
    assert lag_of([0, 0, 0, 0], 2.0, 2) < FAULT


# ---- planted faults --------------------------------------------------------------------------------------------------


def all_tables(machines, tables, rng):
    """Tables that kappa opened count as well."""
    weights, capacity = machines.restaurants.weights[0], tables.shape[1]
    for k in range(capacity):
        tables[0, k] = 0
        for v in range(capacity + 1):
            a = weights[k] + (machines.kappa if v == k else 0.0)
            tables[0, k] += sum(1 if i == 0 else int(rng.chance(a / (a + i))) for i in range(machines.counts[0, v, k]))


@pytest.mark.complete
def test_a_kappa_halved_shows(monkeypatch):
    right = module.SequenceChain.machines
    monkeypatch.setattr(module.SequenceChain, "machines", lambda chain: right(chain)._replace(kappa=1.0))
    assert lag_of([0, 0, 0], 2.0, 2) > FAULT


@pytest.mark.complete
def test_tables_of_kappa_show(monkeypatch):
    monkeypatch.setattr(HDPHMMDirectAssignment, "_draw_tables", staticmethod(all_tables))
    assert lag_of([0, 0, 0], 2.0, 2) > FAULT


@pytest.mark.complete
def test_a_rest_that_stays_whole_shows(monkeypatch):
    right = _transitions.open_slot

    def fault(tree, j, k, rng):
        rest = tree.weights[:, -1].copy()
        right(tree, j, k, rng)
        tree.weights[:, -1] = rest

    monkeypatch.setattr(_transitions, "open_slot", fault)
    assert lag_of([0, 0, 0], 0.0, 2) > FAULT


def tables_of_rows_alone(right, machines, tables, rng):
    """Each table of a machine is one of its node, too."""
    right(machines, tables, rng)
    tables[: len(tables) // 2] = tables[len(tables) // 2 :]


def levels_swapped(right, chain):
    found = right(chain)
    tree = found.restaurants
    alphas = tree.concentrations[::-1].copy()
    weights = tree.weights * (alphas / tree.concentrations)[:, None]
    return found._replace(restaurants=tree._replace(concentrations=alphas, weights=weights))


@pytest.mark.complete
@pytest.mark.parametrize("fault", [tables_of_rows_alone, levels_swapped])
def test_faults_of_own_machines_show(fault, monkeypatch):
    if fault is levels_swapped:
        right = module.SequenceChain.machines
        monkeypatch.setattr(module.SequenceChain, "machines", lambda chain: fault(right, chain))
    else:
        draws = functools.partial(fault, _transitions.draw_state_tables)
        monkeypatch.setattr(HDPHMMDirectAssignment, "_draw_tables", staticmethod(draws))
    assert lag_of([0, 0], 0.0, 2, "own") > FAULT


# ---- the beam --------------------------------------------------------------------------------------------------------


def paths(logs, shares, slices):
    """The probability of each path, by enumeration: those whose transitions are all above the slices."""
    n, K = logs.shape
    found = {}
    for z in itertools.product(range(K), repeat=n):
        rows = [0, *(k + 1 for k in z)]
        if all(shares[rows[t], z[t]] >= slices[t] for t in range(n)):
            found[z] = math.fsum(logs[t, z[t]] for t in range(n))
    top = max(found.values())
    total = math.fsum(math.exp(value - top) for value in found.values())
    return {z: math.exp(value - top) / total for z, value in found.items()}


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_paths_are_drawn_from_their_conditional(scale):
    """Given transitions and slices; with log likelihoods so far apart, too, that sums of exponentials are 0."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        K, n = int(rng.integers(1, 4)), int(rng.integers(1, 5))
        shares, logs = rng.dirichlet(np.ones(K + 1), K + 1)[:, :K], scale * rng.normal(size=(n, K))
        z = rng.integers(0, K, n)
        slices = rng.random(n) * shares[np.append(0, z[:-1] + 1), z]
        found, walk, labels = {}, EnumeratingRng(), np.empty(n, dtype=np.int64)
        for _ in walk.paths():
            _beam._draw_path(logs.copy(), shares, slices, labels, walk)
            found[tuple(labels.tolist())] = found.get(tuple(labels.tolist()), 0.0) + walk.probability
        exact = paths(logs, shares, slices)
        for path in {*found, *exact}:
            assert found.get(path, 0.0) == pytest.approx(exact.get(path, 0.0), abs=1e-12)


def batch_scores(sampler, n, sequences, n_steps):
    """How far the frequency of each partition is from its exact probability, in standard errors of 50 batches."""
    given = sampler.check_given(Given(sequences=sequences), n)
    found = states_with_tables(n, given.sequences.begins.tolist(), *sampler.target.prior)
    joints = {
        z: np.logaddexp.reduce([p for (labels, _), p in found if labels == z]) + log_likelihood(FAMILY, X[:n], z)
        for z in franchise.partitions(n)
    }
    exact = np.exp(np.array(list(joints.values())) - np.logaddexp.reduce(list(joints.values())))
    place = {z: i for i, z in enumerate(joints)}
    chain, rng = sampler.chain(ChainData(FAMILY, X[:n], given), "single", seeded(0)), seeded(1)
    found = np.zeros((n_steps, len(exact)))
    for row in found:
        sampler.move(chain, rng)
        row[place[canonical(chain.state.labels)]] = 1.0
    means = found.reshape(50, -1, len(exact)).mean(axis=1)
    return (means.mean(axis=0) - exact) / (means.std(axis=0, ddof=1) / math.sqrt(50))


LARGEST_SCORE = 5.5
"""Some 60 scores have 49 degrees of freedom: a false alarm has odds of 1e-4, if batches do not depend."""


@pytest.mark.complete
@pytest.mark.parametrize("kappa", slow_but([2.0], [0.0, 2.0]))
def test_frequencies_of_the_beam(kappa):
    """All partitions of three times, in two sequences; ``-m slow`` has four times and more steps."""
    scores = batch_scores(HDPHMMBeam(ALPHA, GAMMA, kappa), 3, [0, 0, 1], 10_000)
    assert np.abs(scores).max() < LARGEST_SCORE


@pytest.mark.complete
@pytest.mark.parametrize("kind", [HDPHMMBeam, HDPHMMDirectAssignment])
@pytest.mark.parametrize("kappa", slow_but([2.0], [0.0, 2.0]))
def test_frequencies_in_machines_of_their_own(kind, kappa):
    """All partitions of four times, in two machines."""
    scores = batch_scores(sampler_of(kind, kappa, "own"), 4, [0, 0, 1, 1], 20_000)
    assert np.abs(scores).max() < LARGEST_SCORE


@pytest.mark.slow
@pytest.mark.parametrize("kind", [HDPHMMBeam, HDPHMMDirectAssignment])
@pytest.mark.parametrize("kappa", [0.0, 2.0])
def test_frequencies_of_four_times(kind, kappa):
    assert np.abs(batch_scores(kind(ALPHA, GAMMA, kappa), 4, [0, 0, 0, 0], 200_000)).max() < LARGEST_SCORE


@pytest.mark.complete
def test_slices_of_another_state_show(monkeypatch):
    """A slice between 0 and 1 instead of the share, which cuts off the path that the chain is on."""
    right = _beam._draw_path

    def fault(logs, shares, slices, labels, rng):
        right(logs, shares, 0.5 * slices, labels, rng)

    monkeypatch.setattr(_beam, "_draw_path", fault)
    scores = batch_scores(kernels.uncompiled(HDPHMMBeam(ALPHA, GAMMA, 2.0)), 3, [0, 0, 0], 5000)
    assert np.abs(scores).max() > LARGEST_SCORE


@pytest.mark.complete
def test_transitions_by_the_shares_of_the_root_show(monkeypatch):
    """Those of machines of their own go by the node above them."""
    right = _beam._draw_transitions

    def fault(machines, weights, rng):
        tree = machines.restaurants
        return right(machines._replace(restaurants=tree._replace(parents=0 * tree.parents)), weights, rng)

    monkeypatch.setattr(_beam, "_draw_transitions", fault)
    scores = batch_scores(kernels.uncompiled(sampler_of(HDPHMMBeam, 0.0, "own")), 4, [0, 0, 1, 1], 5000)
    assert np.abs(scores).max() > LARGEST_SCORE
