"""Samplers of states: weights against ratios of joints, exact matrices over labels and tables, planted faults."""

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


def lag_of(sequences, kappa, n_nodes=3):
    sampler = HDPHMMDirectAssignment(ALPHA, GAMMA, kappa)
    return lag_of_states(sampler, FAMILY, X[: len(sequences)], sequences, rng=QuadratureRng(n_nodes))


# ---- the state space, and the weights of a step ----------------------------------------------------------------------


@pytest.mark.parametrize("kappa", [0.0, 2.0])
@pytest.mark.parametrize("begins", [[0, 5], [0, 2, 5]])
def test_the_oracle_is_a_distribution(begins, kappa):
    found = states_with_tables(5, begins, ALPHA, GAMMA, kappa)
    assert math.fsum(math.exp(joint) for _, joint in found) == pytest.approx(1.0, abs=1e-12)
    for z in franchise.partitions(5):
        joint = math.fsum(math.exp(p) for (labels, _), p in found if labels == z)
        assert math.log(joint) == pytest.approx(hdp_hmm.log_partition(z, begins, ALPHA, GAMMA, kappa), abs=1e-12)


def log_given_shares(z, begins, weights, kappa):
    """log p(z | beta) of states with weights alpha beta, last the rest: rising factorials of all rows."""
    table, total = hdp_hmm.table_of(z, begins), 0.0
    for (v, k), n in np.ndenumerate(table):
        total += franchise.log_rising(weights[k] + (kappa if v == k + 1 else 0.0), n)
    for v, row in enumerate(table):
        total -= franchise.log_rising(ALPHA + (kappa if v > 0 else 0.0), row.sum())
    return total


def rows_of(z, begins, weights, kappa):
    """The argument of kernels, for labels 0..K-1 in as many slots."""
    table, starts = hdp_hmm.table_of(z, begins), set(begins)
    counts = np.vstack([table[1:], table[:1]])
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

    monkeypatch.setattr(_states, "weight_of_step", weight_of_step)
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


@pytest.mark.slow
def test_four_times():
    """With two nodes, whose error at three times is 3e-4; without kappa it is 1e-3, and 3e-5 with three nodes."""
    assert lag_of([0, 0, 0, 0], 2.0, 2) < FAULT


# ---- planted faults --------------------------------------------------------------------------------------------------


def all_tables(rows, tables, rng):
    """Tables that kappa opened count as well."""
    for k in range(len(tables)):
        tables[k] = 0
        for v in range(len(tables) + 1):
            a = rows.weights[k] + (rows.kappa if v == k else 0.0)
            tables[k] += sum(1 if i == 0 else int(rng.chance(a / (a + i))) for i in range(rows.counts[v, k]))


def test_a_kappa_halved_shows(monkeypatch):
    right = module.SequenceChain.rows
    monkeypatch.setattr(module.SequenceChain, "rows", lambda chain: right(chain)._replace(kappa=1.0))
    assert lag_of([0, 0, 0], 2.0, 2) > FAULT


def test_tables_of_kappa_show(monkeypatch):
    monkeypatch.setattr(HDPHMMDirectAssignment, "_draw_tables", staticmethod(all_tables))
    assert lag_of([0, 0, 0], 2.0, 2) > FAULT


def test_a_rest_that_stays_whole_shows(monkeypatch):
    right = _states.open_state

    def fault(rows, k, rng):
        rest = rows.weights[-1]
        right(rows, k, rng)
        rows.weights[-1] = rest

    monkeypatch.setattr(_states, "open_state", fault)
    assert lag_of([0, 0, 0], 0.0, 2) > FAULT


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
    begins, concentrations = given.sequences.begins.tolist(), tuple(sampler.target.prior)
    joints = {
        z: hdp_hmm.log_partition(z, begins, *concentrations) + log_likelihood(FAMILY, X[:n], z)
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


# ---- concentrations --------------------------------------------------------------------------------------------------


def test_alpha_keeps_its_distribution():
    """Joint draws of alpha, labels and tables from the prior, then a step: alpha still has its prior (odds 1e-5)."""
    prior, kappa, n = GammaPrior(2.0, 1.0), 1.5, 12
    sampler = HDPHMMDirectAssignment(1.0, 1.0, kappa, alpha_prior=prior)
    given = sampler.check_given(Given(sequences=[0] * 8 + [1] * 4), n)
    generator, rng, found = np.random.default_rng(0), seeded(1), []
    data = ChainData(FAMILY, np.zeros((n, 1)), given)
    for _ in range(3000):
        alpha = generator.gamma(prior.shape) / prior.rate
        labels, tables = from_the_prior(alpha, 1.0, kappa, given.sequences.begins, generator)
        chain = sampler.chain(data, labels, rng)
        chain.prior = chain.prior._replace(alpha=alpha)
        chain.tables[:] = 0
        chain.tables[: len(tables)] = tables
        sampler.draw_concentrations(chain, rng)
        found.append(chain.prior.alpha)
    assert stats.kstest(found, stats.gamma(prior.shape, scale=1.0 / prior.rate).cdf).pvalue > 1e-5


def from_the_prior(alpha, gamma, kappa, begins, rng):
    """Labels in order of appearance, and the tables of each state that the shares have opened: customer by customer."""
    rows, tables, labels = {}, [], []
    for i in range(begins[-1]):
        v = -1 if i in begins[:-1] else labels[-1]
        row, own = rows.setdefault(v, []), kappa if v >= 0 else 0.0
        weights = [*(n for _, n in row), alpha, own]
        seat = rng.choice(len(weights), p=np.array(weights) / sum(weights))
        if seat < len(row):
            row[seat][1] += 1
            labels.append(row[seat][0])
            continue
        if seat == len(row) + 1:
            state = v
        else:
            dishes = [*tables, gamma]
            state = rng.choice(len(dishes), p=np.array(dishes) / sum(dishes))
            if state == len(tables):
                tables.append(0)
            tables[state] += 1
        row.append([state, 1])
        labels.append(state)
    return np.array(labels), tables


# ---- chains ----------------------------------------------------------------------------------------------------------


def machine(n=150, seed=0):
    """Three states that stay for a while, in two recordings."""
    rng = np.random.default_rng(seed)
    z = np.repeat(rng.integers(0, 3, n // 10 + 1), 10)[:n]
    return 4.0 * z[:, None] + rng.normal(size=(n, 2)), np.repeat(["a", "b"], [n // 3, n - n // 3]), z


@pytest.mark.parametrize("kind", [HDPHMMDirectAssignment, HDPHMMBeam])
def test_compiled_and_plain_draw_the_same(kind):
    X, sequences, _ = machine(40)
    likelihood = NormalKnownVariance(4.0, 25.0, 1.0).for_data(X)
    sampler = kind(1.0, 1.0, 3.0, likelihood=likelihood, alpha_prior=GammaPrior(1, 1), gamma_prior=GammaPrior(1, 1))
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
    for n, sequences in ((1, None), (4, [0, 1, 2, 3]), (30, None)):
        trace = sample(np.zeros((n, 1)), kind(kappa=1.0, likelihood=FAMILY), sequences=sequences, draws=3)
        assert np.all(np.isfinite(trace.log_joint))
