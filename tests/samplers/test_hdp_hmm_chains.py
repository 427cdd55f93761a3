"""Chains of states: concentrations, their log joint, files, bad input."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import adjusted_mutual_info_score

from mapdpm import NormalKnownVariance
from mapdpm.rng import seeded
from mapdpm.samplers import GammaPrior, Given, HDPHMMBeam, HDPHMMDirectAssignment, sample
from mapdpm.samplers.chain_data import ChainData
from tests.marks import complete_but
from tests.oracle import franchise, hdp_hmm
from tests.samplers.same_draws import assert_compiled_is_plain, assert_resumes
from tests.samplers.sequence_states import ALPHA, FAMILY, log_given_shares, sampler_of

# ---- concentrations --------------------------------------------------------------------------------------------------


@pytest.mark.complete
@pytest.mark.parametrize("transitions", ["shared", "own"])
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


@pytest.mark.complete
@pytest.mark.parametrize("kind", [HDPHMMDirectAssignment, HDPHMMBeam])
@pytest.mark.parametrize("transitions", ["shared", "own"])
def test_compiled_and_plain_draw_the_same(kind, transitions):
    X, sequences, _ = machine(40)
    likelihood = NormalKnownVariance(4.0, 25.0, 1.0).for_data(X)
    sampler = kind(1.0, 1.0, 3.0, likelihood=likelihood, transitions=transitions, **PRIORS)
    assert_compiled_is_plain(sampler, X, likelihood, rtol=1e-9, sequences=sequences)


@pytest.mark.complete
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


@pytest.mark.parametrize("kind", complete_but([HDPHMMDirectAssignment], [HDPHMMDirectAssignment, HDPHMMBeam]))
def test_sequences_have_transitions_of_their_own(kind):
    """Two machines with the same states, one of which goes around the other way."""
    rng, turns = np.random.default_rng(0), np.arange(120)
    z = np.concatenate([turns % 3, -turns % 3])
    X, sequences = 8.0 * z[:, None] + rng.normal(size=(240, 1)), np.repeat(["a", "b"], 120)
    sampler = kind(likelihood=NormalKnownVariance(8.0, 100.0, 1.0), transitions="own", **PRIORS)
    trace = sample(X, sampler, sequences=sequences, draws=20, burn_in=50, random_state=0)
    # Centres are eight standard deviations apart: states do not mix, but an outlier may have one of its own.
    assert adjusted_mutual_info_score(z, trace.binder_estimate()) > 0.9
    shared = sample(X, kind(likelihood=sampler.target.likelihood, **PRIORS), sequences=sequences, draws=2)
    assert trace.extra["m"].shape == (1, 20, 4, trace.n_clusters.max())
    assert trace.extra["beta"].shape == (1, 20, 3, trace.n_clusters.max() + 1)
    np.testing.assert_allclose(np.nansum(trace.extra["beta"], axis=-1), 1.0, rtol=1e-9)
    assert (trace.alpha.shape, shared.alpha.shape) == ((1, 20, 2), (1, 2))
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
