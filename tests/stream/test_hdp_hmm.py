"""OnlineHDPHMM: the filter and the smoother against raw sums, files, gaps, forgetting, and states that overlap."""

import copy
import math
import pickle

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import t as student
from sklearn.metrics import adjusted_mutual_info_score

import mapdpm
from mapdpm import NormalGamma, NormalKnownVariance, OnlineHDPHMM, OnlineMAPDPM
from mapdpm.files.errors import ModelFileError
from mapdpm.stream import StreamFullError
from tests.marks import complete_but
from tests.search.test_states import machine

PRIOR = NormalGamma(0.0, 0.05, 2.0, 1.0)
LAG = 4
EACH_STEP = 2 * LAG
"""Points that are learned at once, when 3 LAG wait."""


def far(seed, n=600, K=3, dwell=10):
    """States so far apart that no point leaves a doubt."""
    return machine(seed, n, K, apart=60.0, dwell=dwell)


# ---- the filter ------------------------------------------------------------------------------------------------------


def log_densities(model, x):
    """log p(x | state) of each state and of a new one, Student t by scipy, from the sample moments of the learner."""
    m0, c0, a0, b0, _ = model.likelihood_
    clusters = model.clusters()
    n = np.append(clusters.weights, 0.0)[:, None]  # the last row is the new state
    mean, variance = np.vstack([clusters.means, m0]), np.vstack([clusters.variances, np.zeros_like(m0)])
    c, a = c0 + n, a0 + n / 2.0
    b = b0 + 0.5 * n * (variance + c0 / c * (mean - m0) ** 2)
    centre, scale = (c0 * m0 + n * mean) / c, np.sqrt(b * (c + 1.0) / (a * c))
    return student.logpdf(x, 2.0 * a, centre, scale).sum(axis=1)


@pytest.mark.parametrize("n", complete_but([500], [500, 1500]))
@pytest.mark.parametrize("kappa", [0.0, 5.0])
def test_a_point_is_filtered_by_the_rows_of_transitions(kappa, n):
    """The score and the belief after each point that is not followed by learning: sums over states before and after."""
    X, _ = machine(0, n, 4, apart=2.0, dwell=20)
    model, compared = OnlineHDPHMM(8, kappa=kappa, lag=LAG, warmup=100), 0
    for i, x in enumerate(X):
        ready = i >= 100
        if ready:
            steps, start, belief, ids = model.transitions, model.start, model.belief, model.ids
            p = belief @ steps if belief.any() else start
            logs = np.log(p) + log_densities(model, x)
            weights, chosen = model.weights, model.predict_one(x)
            assert model.score_one(x) == pytest.approx(logsumexp(logs), abs=1e-8)
            assert chosen == ids[np.argmax(logs[:-1])]
        model.learn_one(x)
        if ready and np.array_equal(model.weights, weights):  # it waits: nothing was learned
            known = np.exp(logs[:-1] - logsumexp(logs[:-1]))
            np.testing.assert_allclose(model.belief, known, atol=1e-9)
            compared += 1
    assert compared > n / 3


def test_rows_are_means_of_counts():
    """In states without a doubt transitions are known: (n_vk + alpha beta_k + kappa) / (n_v + alpha + kappa)."""
    alpha, gamma, kappa = 0.7, 1.5, 3.0
    X, z = far(1)
    model = OnlineHDPHMM(8, alpha=alpha, gamma=gamma, kappa=kappa, likelihood=PRIOR, lag=LAG).partial_fit(X).gap()
    model.partial_fit(X[:200]).gap()
    rank = {label: i for i, label in enumerate(dict.fromkeys(z.tolist()))}
    labels = np.array([rank[label] for label in z])
    K = len(rank)
    assert model.ids.tolist() == list(range(K))
    counts = np.zeros((K + 1, K))
    for part in (labels, labels[:200]):
        np.add.at(counts, (np.append(K, part[:-1]), part), 1.0)
    rows = np.vstack([model.transitions, model.start])
    totals = counts.sum(axis=1) + alpha + np.append(np.full(K, kappa), 0.0)
    pseudo = rows[:, :K] * totals[:, None] - counts - kappa * np.eye(K + 1, K)
    np.testing.assert_allclose(pseudo, np.broadcast_to(pseudo[0], pseudo.shape), atol=1e-9)  # alpha beta_k in each row
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-12)
    shares = np.append(pseudo[0], rows[0, K] * totals[0]) / alpha
    tables = shares[:-1] / shares[-1] * gamma  # beta_k = M_k / (gamma + M), beta_u = gamma / (gamma + M)
    n = np.where(counts > 1, counts, 1.0)
    a, c = alpha * shares[:-1], kappa * np.eye(K + 1, K)
    expected = np.where(counts > 0, a / (a + c) + a * np.log((n + a + c - 0.5) / (a + c + 0.5)), 0.0).sum(axis=0)
    np.testing.assert_allclose(tables, expected, rtol=0.2)  # counted as they came, and anew now and then


def test_points_are_learned_by_their_smoothed_states():
    """Each time that points are learned, weights grow by the best states of a forward-backward pass in numpy."""
    X, _ = machine(2, 2000, 4, apart=2.0, dwell=20)
    model, waiting, checked = OnlineHDPHMM(8, lag=LAG, warmup=100).partial_fit(X[:100]), [], 0
    for x in X[100:]:
        before, steps, n_events = dict(zip(model.ids, model.weights, strict=True)), model.transitions, model.n_events
        ids, previous = model.ids, model.belief
        logs = np.log(previous @ steps if previous.any() else model.start) + log_densities(model, x)
        opens = np.argmax(logs) == len(ids)
        model.learn_one(x)
        if opens or model.n_events != n_events:  # states came or went
            waiting = []
            continue
        waiting.append(np.exp(logs[:-1] - logsumexp(logs[:-1])))
        after = dict(zip(model.ids, model.weights, strict=True))
        learned = sum(after.values()) - sum(before.values())
        if learned == EACH_STEP == len(waiting) - LAG:
            later, best = waiting[-1], []
            for now in waiting[-2::-1]:
                later = now * (steps[:, :-1] @ (later / (now @ steps[:, :-1])))
                best.append(ids[np.argmax(later)])
            chosen = best[::-1][:EACH_STEP]
            grown = {int(k): after[k] - before[k] for k in ids if after[k] != before[k]}
            assert grown == {int(k): float(chosen.count(k)) for k in set(chosen)}
            checked += 1
        if learned:
            waiting = waiting[-LAG:] if learned == EACH_STEP else []
    assert checked > 50


# ---- what it finds ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", complete_but([(3, 100), (6, 50)], [(3, 20), (3, 100), (6, 50), (12, 50), (12, 500)]))
def test_states_that_overlap_are_found(case):
    """At one and a half deviations OnlineMAPDPM sees one cluster: its agreement is 0."""
    K, dwell = case
    X, z = machine(K, 20_000, K, 6, apart=1.5, dwell=dwell)
    ours, theirs = (model.learn_many(X)[1000:] for model in (OnlineHDPHMM(), OnlineMAPDPM()))
    assert adjusted_mutual_info_score(z[1000:], ours) > adjusted_mutual_info_score(z[1000:], theirs) + 0.1


def test_it_is_no_worse_where_states_are_apart():
    X, z = machine(0, 10_000, 6, 6, apart=8.0, dwell=50)
    ours, theirs = (model.learn_many(X)[1000:] for model in (OnlineHDPHMM(), OnlineMAPDPM()))
    assert adjusted_mutual_info_score(z[1000:], ours) > adjusted_mutual_info_score(z[1000:], theirs)


def test_a_change_is_seen_at_once_where_states_are_apart():
    """run_length counts the points since the change; it is 1 at each."""
    X, z = far(3, 800)
    model, lengths = OnlineHDPHMM(8, likelihood=PRIOR), []
    for x in X:
        model.learn_one(x)
        lengths.append(model.run_length)
    since = np.ones(len(z))
    for i in range(1, len(z)):
        since[i] = since[i - 1] + 1 if z[i] == z[i - 1] else 1
    np.testing.assert_array_equal(lengths, since)


def test_it_forgets():
    """After eight half-lives in two other states, the old ones are gone."""
    (X, _), (Y, _) = far(4, 400, 2), far(12, 800, 2)
    model = OnlineHDPHMM(8, likelihood=PRIOR, half_life=100.0).partial_fit(X).partial_fit(Y)
    whole = OnlineHDPHMM(8, likelihood=PRIOR).partial_fit(Y)
    assert [event.kind for event in model.events].count("aged out") == 2
    np.testing.assert_allclose(model.means, whole.means, atol=1.0)
    np.testing.assert_allclose(model.transitions.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("policy", ["least-loss", "merge", "evict", "refuse"])
@pytest.mark.parametrize("max_states", [1, 2, 3])
def test_few_slots(policy, max_states):
    X, _ = far(5, 500, 5)
    model = OnlineHDPHMM(max_states, likelihood=PRIOR, when_full=policy, lag=LAG).partial_fit(X)
    assert 1 <= model.n_clusters <= max_states
    assert model.weights.sum() <= 500.0
    assert model.belief.sum() == pytest.approx(1.0, abs=1e-12)
    with pytest.raises(StreamFullError):
        OnlineHDPHMM(max_states, likelihood=PRIOR, when_full="error").partial_fit(X)


def test_missing_values():
    X, _ = machine(6, 4000, 4, 3, apart=8.0, dwell=30)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    model = OnlineHDPHMM(missing="skip")
    model.learn_many(X)
    assert model.n_clusters >= 3
    assert math.isfinite(model.score_one([math.nan, 0.0, 0.0]))


# ---- gaps, files, one by one -----------------------------------------------------------------------------------------


def test_a_gap_learns_what_waits_and_begins_a_sequence():
    X, _ = far(7, 203)
    model = OnlineHDPHMM(8, likelihood=PRIOR, lag=LAG).partial_fit(X)
    assert model.n_seen == 203 > model.weights.sum()
    start = model.start
    model.gap()
    assert model.weights.sum() == 203.0
    assert not model.belief.any()
    assert model.run_length == 0
    assert model.score_one(X[0]) == pytest.approx(logsumexp(np.log(model.start) + log_densities(model, X[0])), abs=1e-8)
    model.learn_one(X[0])
    model.gap()
    assert model.start.argmax() == start.argmax()  # a second sequence began there
    assert OnlineHDPHMM(8).gap().n_seen == 0


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("options", [{}, {"half_life": 300.0}, {"missing": "skip", "kappa": 2.0}])
def test_files_continue_to_the_last_bit(options, dtype, tmp_path):
    """At any point, with points that wait; one by one is the same as many."""
    X, _ = machine(8, 900, 4, apart=3.0, dwell=15)
    whole = OnlineHDPHMM(8, lag=LAG, dtype=dtype, **options)
    ids = whole.learn_many(X)
    parts = OnlineHDPHMM(8, lag=LAG, dtype=dtype, **options)
    found = []
    for begin in range(0, 900, 113):
        found += [parts.learn_one(x) for x in X[begin : begin + 113].tolist()]
        parts.save(tmp_path / "model")
        other = mapdpm.load(tmp_path / "model")
        assert other.to_bytes() == parts.to_bytes() == pickle.loads(pickle.dumps(parts)).to_bytes()
        assert repr(other.get_params()) == repr(parts.get_params() | {"n_features": 2})
        parts = other
    assert found == ids.tolist()
    assert parts.to_bytes() == OnlineHDPHMM.from_bytes(whole.to_bytes()).to_bytes()


def test_damaged_files_are_refused():
    X, _ = machine(9, 500, 3)
    data = OnlineHDPHMM(4, lag=LAG).partial_fit(X).to_bytes()
    rng = np.random.default_rng(0)
    for _ in range(200):
        broken = bytearray(data)
        broken[rng.integers(len(data))] ^= int(rng.integers(1, 256))
        with pytest.raises(ModelFileError):
            OnlineHDPHMM.from_bytes(bytes(broken))
    for end in (0, 5, 100, len(data) - 1):
        with pytest.raises(ModelFileError):
            OnlineHDPHMM.from_bytes(data[:end])
    with pytest.raises(ModelFileError, match="OnlineHDPHMM"):
        OnlineMAPDPM.from_bytes(data)


def test_an_error_changes_nothing():
    X, _ = machine(10, 300, 3)
    model = OnlineHDPHMM(8, likelihood=PRIOR).partial_fit(X)
    before = model.to_bytes()
    for x in ([1.0], [math.nan, 0.0], [math.inf, 0.0], "ab", [1e200, 0.0]):
        with pytest.raises(ValueError, match=r"x|point|NaN|far"):
            model.learn_one(x)
    model.predict_one(X[0])
    model.score_one(X[0])
    assert model.to_bytes() == before
    timed = OnlineHDPHMM(8, likelihood=PRIOR)
    timed.learn_one([0.0, 0.0], 5.0)
    with pytest.raises(ValueError, match=r"backwards|earlier|time"):
        timed.learn_one([0.0, 0.0], 4.0)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"max_states": 0}, "max_states"),
        ({"lag": 0}, "lag"),
        ({"lag": 2000}, "lag must be at most 1024"),
        ({"kappa": -1.0}, "kappa must be from 0"),
        ({"gamma": 0.0}, "gamma must be > 0"),
        ({"alpha": -1.0}, "alpha must be > 0"),
        ({"half_life": 0.0}, "half_life"),
        ({"warmup": 1}, "warmup"),
        ({"likelihood": "normal"}, "a stream knows"),
    ],
)
def test_bad_parameters_are_refused(parameters, words):
    with pytest.raises(ValueError, match=words):
        OnlineHDPHMM(**parameters)


def test_a_known_variance_and_copies():
    X, z = far(11, 400)
    model = OnlineHDPHMM(likelihood=NormalKnownVariance(0.0, 1e4, 1.0))
    ids = model.learn_many(X)
    assert adjusted_mutual_info_score(z, ids) == pytest.approx(1.0)
    twin = copy.deepcopy(model)
    twin.learn_many(X)
    assert twin.n_seen == 2 * model.n_seen == 800
    with pytest.raises(ValueError, match="keeps its parameters"):
        model.set_params(kappa=1.0)
