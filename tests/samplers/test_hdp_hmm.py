"""Samplers of states: weights against ratios of joints, exact matrices over labels and tables, planted faults."""

import functools
import itertools
import math

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import adjusted_mutual_info_score

from mapdpm import NormalKnownVariance
from mapdpm.backends import states
from mapdpm.rng import seeded
from mapdpm.samplers import GammaPrior, Given, HDPHMMBeam, HDPHMMDirectAssignment, _beam, _states, sample
from mapdpm.samplers import sequences as module
from mapdpm.samplers.given import ChainData
from mapdpm.testing import kernels
from mapdpm.testing.enumerating_rng import EnumeratingRng
from mapdpm.testing.enumeration import canonical
from mapdpm.testing.quadrature import QuadratureRng
from tests.marks import complete_but
from tests.oracle import franchise, hdp_hmm
from tests.samplers.grouped_states import log_likelihood
from tests.samplers.same_draws import assert_compiled_is_plain, assert_resumes
from tests.samplers.sequence_states import lag_of_states, states_with_tables

ALPHA, GAMMA = 1.5, 2.2
FAMILY = NormalKnownVariance(0.0, 2.0, 1.0).for_data(np.zeros((1, 1)))
X = np.array([[-0.6], [0.9], [0.4], [-0.2], [0.7]])
ONE, TWO = [0, 0, 0, 0, 0], [0, 0, 1, 1, 1]

FAULT = 1e-3
"""The size of a planted fault; the error of quadrature is far below it, and falls with the nodes."""


OWN = (0.9, ALPHA)
"""The concentrations of machines of their own: of nodes, and of rows."""


def sampler_of(kind, kappa, transitions="shared"):
    return kind(ALPHA if transitions == "shared" else OWN, GAMMA, kappa, transitions=transitions)


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


def log_given_shares(z, begins, weights, kappa):
    """log p(z | beta) of states with weights alpha beta, last the rest: rising factorials of all rows."""
    table, total = hdp_hmm.table_of(z, begins), 0.0
    for (v, k), n in np.ndenumerate(table):
        total += franchise.log_rising(weights[k] + (kappa if v == k else 0.0), n)
    for v, row in enumerate(table):
        total -= franchise.log_rising(ALPHA + (kappa if v < max(z) + 1 else 0.0), row.sum())
    return total


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
@pytest.mark.parametrize("kappa", [0.0, 2.0])
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


def test_a_kappa_halved_shows(monkeypatch):
    right = module.SequenceChain.machines
    monkeypatch.setattr(module.SequenceChain, "machines", lambda chain: right(chain)._replace(kappa=1.0))
    assert lag_of([0, 0, 0], 2.0, 2) > FAULT


def test_tables_of_kappa_show(monkeypatch):
    monkeypatch.setattr(HDPHMMDirectAssignment, "_draw_tables", staticmethod(all_tables))
    assert lag_of([0, 0, 0], 2.0, 2) > FAULT


def test_a_rest_that_stays_whole_shows(monkeypatch):
    right = _states.open_slot

    def fault(tree, j, k, rng):
        rest = tree.weights[:, -1].copy()
        right(tree, j, k, rng)
        tree.weights[:, -1] = rest

    monkeypatch.setattr(_states, "open_slot", fault)
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


@pytest.mark.parametrize("fault", [tables_of_rows_alone, levels_swapped])
def test_faults_of_own_machines_show(fault, monkeypatch):
    if fault is levels_swapped:
        right = module.SequenceChain.machines
        monkeypatch.setattr(module.SequenceChain, "machines", lambda chain: fault(right, chain))
    else:
        draws = functools.partial(fault, _states.draw_state_tables)
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
@pytest.mark.parametrize("kappa", [0.0, 2.0])
def test_frequencies_of_the_beam(kappa):
    """All partitions of three times, in two sequences; ``-m slow`` has four times and more steps."""
    scores = batch_scores(HDPHMMBeam(ALPHA, GAMMA, kappa), 3, [0, 0, 1], 10_000)
    assert np.abs(scores).max() < LARGEST_SCORE


@pytest.mark.complete
@pytest.mark.parametrize("kind", [HDPHMMBeam, HDPHMMDirectAssignment])
@pytest.mark.parametrize("kappa", [0.0, 2.0])
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


# ---- concentrations --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transitions", complete_but(["own"], ["shared", "own"]))
def test_alpha_keeps_its_distribution(transitions):
    """Joint draws of alphas, labels and tables from the prior, then a step: alphas have their priors (odds 1e-5)."""
    prior, kappa, n = GammaPrior(2.0, 1.0), 1.5, 12
    sampler = HDPHMMDirectAssignment(1.0, 1.0, kappa, alpha_prior=prior, transitions=transitions)
    given = sampler.check_given(Given(sequences=[0] * 8 + [1] * 4), n)
    generator, rng, found = np.random.default_rng(0), seeded(1), []
    data = ChainData(FAMILY, np.zeros((n, 1)), given)
    for _ in range(3000):
        alphas = tuple((generator.gamma(prior.shape, size=len(sampler.target.prior.alphas)) / prior.rate).tolist())
        labels, tables = from_the_prior(alphas, 1.0, kappa, given.sequences.begins, generator)
        chain = sampler.chain(data, labels, rng)
        chain.prior = chain.prior._replace(alphas=alphas)
        chain.tables[:] = 0
        chain.tables[:, : tables.shape[1]] = tables
        sampler.draw_concentrations(chain, rng)
        found.append(chain.prior.alphas)
    for drawn in np.transpose(found):
        assert stats.kstest(drawn, stats.gamma(prior.shape, scale=1.0 / prior.rate).cdf).pvalue > 1e-5


def from_the_prior(alphas, gamma, kappa, begins, rng):
    """Labels in order of appearance, and the tables of each state: customer by customer, from rows up to the root."""
    own, labels = len(alphas) > 1, []
    n_machines = len(begins) - 1 if own else 1
    rows, nodes, root = {}, [[] for _ in range(n_machines)], []
    tables = np.zeros((len(alphas) * n_machines, begins[-1]), dtype=np.int64)

    def seat(weights):
        return rng.choice(len(weights), p=np.array(weights) / sum(weights))

    def dish_of_root(machine):
        k = seat([*root, gamma])
        if k == len(root):
            root.append(0)
        root[k] += 1
        tables[machine, k] += 1
        return k

    def dish_of_node(machine):
        node = nodes[machine]
        at = seat([*(n for _, n in node), alphas[0]])
        if at == len(node):
            node.append([dish_of_root(machine), 0])
        node[at][1] += 1
        tables[n_machines + machine, node[at][0]] += 1
        return node[at][0]

    for i in range(begins[-1]):
        machine = int(np.searchsorted(begins, i, side="right")) - 1 if own else 0
        v = -1 if i in begins[:-1] else labels[-1]
        row = rows.setdefault((machine, v), [])
        at = seat([*(n for _, n in row), alphas[-1], kappa if v >= 0 else 0.0])
        if at < len(row):
            row[at][1] += 1
            labels.append(row[at][0])
            continue
        if at > len(row):
            labels.append(v)
        else:
            labels.append(dish_of_node(machine) if own else dish_of_root(machine))
        row.append([labels[-1], 1])
    return np.array(labels), tables[:, : len(root)]


# ---- chains ----------------------------------------------------------------------------------------------------------


def machine(n=150, seed=0):
    """Three states that stay for a while, in two recordings."""
    rng = np.random.default_rng(seed)
    z = np.repeat(rng.integers(0, 3, n // 10 + 1), 10)[:n]
    return 4.0 * z[:, None] + rng.normal(size=(n, 2)), np.repeat(["a", "b"], [n // 3, n - n // 3]), z


PRIORS = {"alpha_prior": GammaPrior(1, 1), "gamma_prior": GammaPrior(1, 1)}


@pytest.mark.parametrize("kind", complete_but([HDPHMMBeam], [HDPHMMDirectAssignment, HDPHMMBeam]))
@pytest.mark.parametrize("transitions", complete_but(["own"], ["shared", "own"]))
def test_compiled_and_plain_draw_the_same(kind, transitions):
    X, sequences, _ = machine(40)
    likelihood = NormalKnownVariance(4.0, 25.0, 1.0).for_data(X)
    sampler = kind(1.0, 1.0, 3.0, likelihood=likelihood, transitions=transitions, **PRIORS)
    assert_compiled_is_plain(sampler, X, likelihood, rtol=1e-9, sequences=sequences)


@pytest.mark.parametrize("kind", [HDPHMMDirectAssignment, HDPHMMBeam])
def test_states_that_stay_are_found(kind):
    X, sequences, z = machine()
    sampler = kind(1.0, 1.0, 5.0, likelihood=NormalKnownVariance(4.0, 25.0, 1.0), gamma_prior=GammaPrior(1, 1))
    trace = sample(X, sampler, sequences=sequences, draws=20, burn_in=100, random_state=0)
    # Centres are four standard deviations apart: 2 % of points look like another state, but stay with theirs.
    assert adjusted_mutual_info_score(z, trace.binder_estimate()) > 0.9
    K = trace.n_clusters.max()
    assert trace.extra["m"].shape == (1, 20, K)
    assert trace.extra["beta"].shape == (1, 20, K + 1)
    np.testing.assert_allclose(np.nansum(trace.extra["beta"], axis=-1), 1.0, rtol=1e-9)
    assert (trace.dims["m"], trace.dims["beta"]) == (("cluster",), ("cluster_or_new",))
    assert np.ptp(trace.gamma) > 0.0 == np.ptp(trace.alpha)


@pytest.mark.parametrize("kind", [HDPHMMDirectAssignment, HDPHMMBeam])
def test_sequences_have_transitions_of_their_own(kind):
    """Two machines with the same states, one of which goes around the other way."""
    rng, turns = np.random.default_rng(0), np.arange(120)
    z = np.concatenate([turns % 3, -turns % 3])
    X, sequences = 8.0 * z[:, None] + rng.normal(size=(240, 1)), np.repeat(["a", "b"], 120)
    sampler = kind(likelihood=NormalKnownVariance(8.0, 100.0, 1.0), transitions="own", **PRIORS)
    trace = sample(X, sampler, sequences=sequences, draws=20, burn_in=50, random_state=0)
    # Centres are eight standard deviations apart: states do not mix, but an outlier may have one of its own.
    assert adjusted_mutual_info_score(z, trace.binder_estimate()) > 0.9
    shared = sample(X, kind(likelihood=sampler.target.likelihood, **PRIORS), sequences=sequences, draws=20, burn_in=50)
    assert trace.extra["m"].shape == (1, 20, 4, trace.n_clusters.max())
    assert trace.extra["beta"].shape == (1, 20, 3, trace.n_clusters.max() + 1)
    np.testing.assert_allclose(np.nansum(trace.extra["beta"], axis=-1), 1.0, rtol=1e-9)
    assert (trace.alpha.shape, shared.alpha.shape) == ((1, 20, 2), (1, 20))
    assert trace.dims["m"] == ("group", "cluster")
    assert trace.dims["beta"] == ("inner_group", "cluster_or_new")


@pytest.mark.parametrize("kappa", [0.0, 2.0])
def test_the_log_joint_of_own_machines(kappa):
    """Given shares, two series of states differ by the rising factorials of their rows."""
    begins, rng = [0, 5, 9], np.random.default_rng(0)
    sampler = sampler_of(HDPHMMDirectAssignment, kappa, "own")
    given = sampler.check_given(Given(sequences=[0] * 5 + [1] * 4), 9)
    shares, found = rng.dirichlet(np.ones(3), 3), []
    for z in [(0, 1, 1, 0, 1, 1, 1, 0, 0), (0, 0, 0, 0, 1, 1, 0, 1, 0), (0, 1, 1, 1, 1, 0, 0, 0, 1)]:
        chain = sampler.chain(ChainData(FAMILY, np.zeros((9, 1)), given), np.array(z), seeded(0))
        weights = np.zeros((3, chain.state.capacity + 1))
        weights[:, [0, 1, -1]] = shares * chain.alphas_of_children[:, None]
        chain.take_weights(weights, chain.alphas_of_children)
        expected = [
            log_given_shares(z[a:b], [0, b - a], ALPHA * shares[j + 1], kappa)
            for j, (a, b) in enumerate(itertools.pairwise(begins))
        ]
        found.append(chain.log_partition(np.arange(2)) - math.fsum(expected))
    np.testing.assert_allclose(found, found[0], rtol=0, atol=1e-11)


def test_the_log_joint_is_that_of_the_raw_points():
    X, sequences, _ = machine(30)
    likelihood = NormalKnownVariance(4.0, 25.0, 1.0)
    trace = sample(X, HDPHMMBeam(1.2, 0.9, 3.0, likelihood=likelihood), sequences=sequences, draws=3, random_state=0)
    for z, joint in zip(trace.partitions[0], trace.log_joint[0], strict=True):
        prior = hdp_hmm.log_partition(tuple(z.tolist()), [0, 10, 30], 1.2, 0.9, 3.0)
        marginals = [franchise.log_marginal(X[z == k], likelihood.for_data(X)) for k in range(z.max() + 1)]
        assert joint == pytest.approx(prior + math.fsum(marginals), abs=0.03)  # log p(z) is promised to 0.03 nats


@pytest.mark.parametrize("kind", [HDPHMMDirectAssignment, HDPHMMBeam])
def test_resumed_chains_are_those_that_never_stopped(kind):
    X, sequences, _ = machine(60)
    model = {"kappa": 2.0, "likelihood": NormalKnownVariance(4.0, 25.0, 1.0)}
    sampler = kind(**model, alpha_prior=GammaPrior(1, 1), gamma_prior=GammaPrior(1, 0.1))
    assert_resumes(sampler, X, sequences=sequences, chains=2)
    assert_resumes(HDPHMMDirectAssignment(**model) + HDPHMMBeam(**model), X, sequences=sequences)
    assert_resumes(kind(**model, transitions="own", **PRIORS), X, sequences=sequences)


@pytest.mark.parametrize(
    ("message", "model", "sequences"),
    [
        ("alpha must be > 0", {"alpha": 0.0}, None),
        ("alpha must be a number", {"alpha": [1.0, 2.0]}, None),
        ("gamma must be > 0", {"gamma": -1.0}, None),
        ("kappa must be from 0 to", {"kappa": -1.0}, None),
        ("kappa must be from 0 to", {"kappa": 1e40}, None),
        ("alpha_prior must be a GammaPrior", {"alpha_prior": 1.0}, None),
        ("gamma_prior must be a GammaPrior of rate > 0", {"gamma_prior": GammaPrior(1, 0)}, None),
        ("transitions must be one of 'shared', 'own'", {"transitions": "mine"}, None),
        ("one for each level of groups: 2, got 3", {"alpha": [1.0, 2.0, 3.0], "transitions": "own"}, None),
        ("alpha_prior must be one, or one for each", {"alpha_prior": [GammaPrior(1, 1)] * 2}, None),
        (r"sequences\[2\] is 0 again", {}, [0, 1, 0]),
        (r"sequences\[1\] is None", {}, [0, None, 1]),
        ("one entry a point", {}, [0, 1]),
    ],
)
def test_bad_input(message, model, sequences):
    with pytest.raises(ValueError, match=message):
        sample(np.zeros((3, 1)), HDPHMMDirectAssignment(**model), sequences=sequences, draws=1)


@pytest.mark.parametrize("kind", [HDPHMMDirectAssignment, HDPHMMBeam])
def test_degenerate_sequences(kind):
    """One point, sequences of one point, and a state that is never left."""
    for transitions, (n, sequences) in itertools.product(["shared", "own"], [(1, None), (4, [0, 1, 2, 3]), (30, None)]):
        sampler = kind(kappa=1.0, likelihood=FAMILY, transitions=transitions)
        trace = sample(np.zeros((n, 1)), sampler, sequences=sequences, draws=3)
        assert np.all(np.isfinite(trace.log_joint))
