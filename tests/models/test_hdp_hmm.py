"""HDPHMM as users meet it: states, paths and filters, files, scikit-learn's tools, bad input."""

import copy
import itertools
import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import stats
from sklearn.base import clone, is_clusterer
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mapdpm
from mapdpm import (
    HDPHMM,
    MAPDPM,
    BetaBernoulli,
    Categorical,
    DirichletMultinomial,
    HDPMixture,
    NormalGamma,
    NormalInverseWishart,
    NormalKnownVariance,
)
from mapdpm.files import container
from mapdpm.files.c_export import as_stream
from mapdpm.files.errors import ModelFileError
from mapdpm.likelihoods import FAMILY_NUMBERS
from mapdpm.likelihoods._template import GammaExponential
from mapdpm.names import HMM_MOVES
from mapdpm.partition_priors.hyperpriors import GammaPrior, InverseGammaPrior
from tests.families import FAMILIES, as_array, example
from tests.marks import complete_but
from tests.oracle import franchise
from tests.oracle import hdp_hmm as oracle
from tests.search.test_states import PRIOR, machine

SIZES = (60, 1, 59)
NAMES = ("morning", "noon", "evening")
FALSE_ALARM = 1e-7  # of one comparison of a random number; there are some 100


@pytest.fixture(scope="module")
def data():
    return machine(0, sum(SIZES), 4, apart=8.0, dwell=8)[0], np.repeat(NAMES, SIZES)


@pytest.fixture(scope="module")
def model(data):
    return HDPHMM(1.5, 2.0, kappa=3.0, likelihood=PRIOR).fit(*data)


def begins_of(ids):
    """Where sequences begin, and last the number of points."""
    changes = [i for i in range(1, len(ids)) if ids[i] != ids[i - 1]]
    return [0, *changes, len(ids)]


def chain_of(model, ids):
    """The start and the steps of the posterior means, recounted from the labels."""
    return oracle.hidden_markov_model(model.labels_.tolist(), begins_of(ids), model.shares_, model.alpha_, model.kappa)


def quickly(X, ids=None, **parameters):
    """A fit from one state for all points, without moves: for tests of what comes after the search."""
    return HDPHMM(**{"likelihood": PRIOR, "init": np.zeros(len(X), int), "moves": (), **parameters}).fit(X, ids)


# ---- what a fit says -------------------------------------------------------------------------------------------------


def attributes_fit_together(model, X, ids):
    start, steps = chain_of(model, ids)
    K = model.n_states_
    assert K == model.n_clusters_ == model.labels_.max() + 1
    assert model.transitions_.shape == (K, K + 1)
    np.testing.assert_allclose(model.transitions_, steps[:-1], rtol=1e-12)
    np.testing.assert_allclose(model.start_, start, rtol=1e-12)
    np.testing.assert_allclose(model.transitions_.sum(axis=1), 1.0, rtol=1e-12)
    assert model.start_.sum() == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(model.durations_, 1.0 / (1.0 - np.diag(steps)[:-1]), rtol=1e-9)
    assert model.shares_.shape == (K + 1,)
    assert model.shares_.sum() == pytest.approx(1.0, rel=1e-12)
    assert model.shares_.min() > 0.0
    np.testing.assert_array_equal(np.bincount(model.labels_), model.cluster_sizes_)
    np.testing.assert_allclose(model.means_, [X[model.labels_ == k].mean(axis=0) for k in range(K)], atol=1e-12)
    np.testing.assert_allclose(model.variances_, [X[model.labels_ == k].var(axis=0) for k in range(K)], atol=1e-12)
    first = [model.labels_.tolist().index(k) for k in range(K)]
    assert first == sorted(first)
    assert model.history_[-1] == model.log_joint_
    assert np.all(np.diff(model.history_) >= 0.0)


def test_attributes_fit_together(model, data):
    attributes_fit_together(model, *data)
    assert model.n_states_ > 1
    assert model.converged_
    assert model.n_sweeps_ < len(model.history_)
    assert (model.alpha_, model.gamma_, model.kappa_) == (1.5, 2.0, 3.0)


def test_log_joint_is_that_of_the_raw_points(model, data):
    """Exact p(z) by convolution; the objective promises 0.03 nats."""
    X, ids = data
    exact = oracle.log_partition(model.labels_.tolist(), begins_of(ids), 1.5, 2.0, 3.0)
    exact += sum(franchise.log_marginal(X[model.labels_ == k], model.likelihood_) for k in range(model.n_states_))
    assert model.log_joint_ == pytest.approx(exact, abs=0.03)


def test_a_state_that_is_never_left_and_one_that_nothing_follows():
    """Their expected durations are finite; what follows the second is known by the shares alone."""
    X = np.r_[np.zeros((20, 2)), [[50.0, 50.0]]]
    for kappa in (0.0, 3.0):
        fitted = quickly(X, init=np.repeat([0, 1], [20, 1]), kappa=kappa)
        assert fitted.n_states_ == 2
        attributes_fit_together(fitted, X, np.zeros(21))
        alone = quickly(X[:20], kappa=kappa)
        assert alone.n_states_ == 1
        attributes_fit_together(alone, X[:20], np.zeros(20))
        assert np.isfinite(alone.durations_[0])
        if kappa == 0.0:
            np.testing.assert_allclose(fitted.transitions_[1], fitted.shares_, rtol=1e-12)


def test_a_kappa_of_any_size_has_finite_durations():
    """1 - transitions_[k, k] is rounded to 0 here; the duration is that of the other columns."""
    for kappa in (1e12, 1e30):
        fitted = quickly(np.zeros((20, 2)), kappa=kappa)
        assert fitted.durations_[0] == pytest.approx(kappa / fitted.shares_[-1], rel=1e-9)


def test_one_point():
    fitted = HDPHMM(likelihood=PRIOR).fit([[1.0, 2.0]])
    attributes_fit_together(fitted, np.array([[1.0, 2.0]]), [0])
    assert fitted.predict([[1.0, 2.0]]).tolist() == [0]


def test_sequences_of_one_point_are_a_mixture(data):
    """There are no transitions, so J is that of a hierarchical Dirichlet process of one group with these labels."""
    X, _ = data
    each = quickly(X, np.arange(len(X)), alpha=1.5, gamma=2.0, kappa=3.0, init=np.arange(len(X)) % 5)
    attributes_fit_together(each, X, np.arange(len(X)))
    group = HDPMixture(1.5, 2.0, likelihood=PRIOR, init=each.labels_, moves=(), max_sweeps=1, n_restarts=1)
    # the first promises 0.03 nats, the second 0.01
    assert each.log_joint_ == pytest.approx(group.fit(X, np.zeros(len(X))).history_[0], abs=0.04)
    np.testing.assert_allclose(each.predict_proba(X, np.arange(len(X))), each.filter_proba(X, np.arange(len(X))))


# ---- paths, filters, scores ------------------------------------------------------------------------------------------


def follows_the_oracle(model, X, ids, past, past_ids):
    """Paths, probabilities and densities of the sequences of ``X``, by enumeration of all paths."""
    start, steps = chain_of(model, past_ids)
    scores = oracle.log_predictives(as_array(X), as_array(past), model.labels_.tolist(), model.likelihood_)
    parts = [slice(a, b) for a, b in itertools.pairwise(begins_of(ids))]

    def each(found, n=None):
        return np.concatenate([found(start[:n], steps[:n, :n], scores[part, :n]) for part in parts])

    np.testing.assert_array_equal(model.predict(X, ids), each(oracle.best_path, -1))
    novel = each(oracle.best_path)
    np.testing.assert_array_equal(model.predict(X, ids, novelty=True), np.where(novel == model.n_states_, -1, novel))
    np.testing.assert_allclose(model.predict_proba(X, ids), each(oracle.smoothed), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(model.filter_proba(X, ids), each(oracle.filtered), rtol=1e-8, atol=1e-12)
    total = sum(oracle.log_density(start, steps, scores[part]) for part in parts)
    assert model.score(X, ids) == pytest.approx(total, rel=1e-9)
    return novel


@pytest.fixture(scope="module")
def new(data):
    """Points that were not fitted, some far out, in sequences of 5, 1 and 4."""
    X = data[0][5:15] + 0.3
    X[[2, 7]] += 25.0
    return X, ["x"] * 5 + ["morning"] + [3.0] * 4


def test_paths_and_filters_are_those_of_the_raw_points(model, data, new):
    novel = follows_the_oracle(model, *new, *data)
    assert np.any(novel == model.n_states_)  # a far point is of a new state
    assert np.any(novel != model.n_states_)


@pytest.mark.parametrize("kappa", [0.0, 0.5, 40.0])
def test_a_new_state_leads_on_by_the_shares(kappa, data, new):
    X, ids = data
    follows_the_oracle(quickly(X, ids, init=(X[:, 0] > 0).astype(int), kappa=kappa), *new, *data)


def test_one_point_after_the_other_is_the_filter(model, new):
    X, ids = new
    found, belief = [], None
    for i, x in enumerate(X):
        belief = model.filter_one(x, belief if i and ids[i] == ids[i - 1] else None)
        found.append(belief)
    np.testing.assert_allclose(found, model.filter_proba(X, ids), rtol=0.0, atol=1e-12)
    before = model.to_bytes()
    model.filter_one(X[0].tolist(), belief.tolist())
    assert model.to_bytes() == before


@pytest.mark.parametrize("D", complete_but([1], [1, 2]))
def test_densities_of_all_sequences_sum_to_one(D):
    rng = np.random.default_rng(1)
    X = (rng.random((40, D)) < np.repeat([[0.1], [0.9]], 20, axis=0)).astype(int)
    init = np.repeat([0, 1], 20)
    fitted = quickly(X, likelihood=BetaBernoulli(0.5, 0.5), backend="python", init=init, max_sweeps=1)
    assert fitted.n_states_ == 2
    points = np.array(list(itertools.product([0, 1], repeat=3 * D))).reshape(-1, 3, D)
    total = sum(np.exp(fitted.score(each)) for each in points)
    assert total == pytest.approx(1.0, rel=1e-12)


def test_scores_of_sequences_add_up(model, new):
    X, ids = new
    alone = [model.score(X[a:b]) for a, b in itertools.pairwise(begins_of(ids))]
    assert model.score(X, ids) == pytest.approx(sum(alone), rel=1e-12)
    assert model.score(X, sequences=ids) == model.score(X, None, ids) == model.score(X, ids)
    assert model.score(X) != pytest.approx(model.score(X, ids), rel=1e-6)


def test_time_is_worth_something():
    """Two states that overlap, but last: the path errs less than points without their order."""
    rng = np.random.default_rng(3)
    z = np.arange(600) // 30 % 2
    X = rng.normal(2.0 * z, 1.0)[:, None]
    likelihood = NormalKnownVariance(1.0, 9.0, 1.0)
    fitted = quickly(X, likelihood=likelihood, init=z)
    pooled = MAPDPM(likelihood=likelihood, init=z, moves=()).fit(X)
    right = [max(np.mean(m.labels_ == z), np.mean(m.labels_ != z)) for m in (fitted, pooled)]
    # one point alone is right in Phi(1) = 84 % at most, to 5 standard errors 0.92; the path errs at the borders
    assert right[0] > 0.95 > right[1]


# ---- families, offsets, backends -------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", complete_but(["python"], ["python", "auto"]))  # numba compiles each
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family(family, backend):
    likelihood, points = example(family, np.random.default_rng(4), n=12, D=2)
    ids = np.repeat([0, 1, 2], 4)
    fitted = quickly(points, ids, likelihood=likelihood, backend=backend, kappa=1.0, init=np.arange(12) // 3 % 2)
    assert np.all(np.diff(fitted.history_) >= 0.0)
    assert hasattr(fitted, "means_") == hasattr(family, "moments")
    if family is not GammaExponential:  # of which the oracle knows nothing
        follows_the_oracle(fitted, points, ids, points, ids)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(points, ids), fitted.predict_proba(points, ids))
    if family in FAMILY_NUMBERS:
        read = HDPHMM.from_bytes(fitted.to_bytes())
        np.testing.assert_allclose(read.predict_proba(points, ids), fitted.predict_proba(points, ids), rtol=1e-9)
    else:
        with pytest.raises(ValueError, match=f"{family.__name__} has no number in the model format"):
            fitted.to_bytes()


WITH_OFFSET = {
    NormalKnownVariance: lambda offset: NormalKnownVariance(offset, 9.0, 1.0),
    NormalGamma: lambda offset: NormalGamma(offset, 0.05, 2.0, 1.0),
    NormalInverseWishart: lambda offset: NormalInverseWishart(np.full(2, offset), 0.05, 4.0, np.eye(2)),
}


@pytest.mark.parametrize("family", complete_but([NormalKnownVariance], WITH_OFFSET))  # numba compiles the last
def test_no_family_sees_an_offset(family, data):
    X, ids = data
    X = np.round(X * 2**20) / 2**20  # so that X + 1e8 has all digits
    near, far = (
        HDPHMM(likelihood=WITH_OFFSET[family](offset)).fit((X + offset)[40:70], ids[40:70]) for offset in (0.0, 1e8)
    )
    np.testing.assert_array_equal(near.labels_, far.labels_)
    assert near.log_joint_ == pytest.approx(far.log_joint_, rel=1e-9)
    np.testing.assert_array_equal(near.predict(X, ids), far.predict(X + 1e8, ids))
    np.testing.assert_allclose(near.predict_proba(X, ids), far.predict_proba(X + 1e8, ids), atol=1e-9)
    ours, theirs = near.sample_path(9, 1), far.sample_path(9, 1)
    np.testing.assert_array_equal(ours.states, theirs.states)
    np.testing.assert_allclose(ours.points, theirs.points - 1e8, atol=1e-6)  # 1e8 has steps of 1.5e-8


@pytest.mark.parametrize("backend", complete_but(["python"], ["python", "numba"]))
def test_backends_give_the_same_labels(backend, data):
    X, ids = data
    ours, theirs = (
        HDPHMM(likelihood=PRIOR, backend=name, init=np.arange(30) % 3).fit(X[40:70], ids[40:70])
        for name in ("c", backend)
    )
    assert (ours.backend_, theirs.backend_) == ("c", backend)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.history_[-1], theirs.history_[-1], rtol=1e-9)
    np.testing.assert_array_equal(ours.predict(X, ids), theirs.predict(X, ids))
    np.testing.assert_allclose(ours.predict_proba(X, ids), theirs.predict_proba(X, ids), atol=1e-9)
    assert ours.score(X, ids) == pytest.approx(theirs.score(X, ids), rel=1e-9)


@pytest.mark.parametrize("n_jobs", complete_but([2], [2, 3]))
def test_threads_do_not_matter(model, data, n_jobs):
    X, ids = data
    many = HDPHMM(1.5, 2.0, 3.0, likelihood=PRIOR, n_jobs=n_jobs).fit(X, ids)
    np.testing.assert_array_equal(model.labels_, many.labels_)
    np.testing.assert_array_equal(model.history_, many.history_)
    for method in ("predict", "predict_proba", "filter_proba", "score"):
        np.testing.assert_array_equal(getattr(model, method)(X, ids), getattr(many, method)(X, ids))


@pytest.mark.parametrize("random_state", complete_but([None], [None, 4]))
def test_two_fits_are_the_same(data, random_state):
    one, two = (HDPHMM(likelihood=PRIOR, random_state=random_state).fit(data[0][:25]) for _ in range(2))
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.history_, two.history_)


def test_input_is_not_changed(data):
    X, ids = (each.copy() for each in data)
    init = np.zeros(len(X), int)
    quickly(X, ids, init=init).predict_proba(X, ids)
    np.testing.assert_array_equal(X, data[0])
    np.testing.assert_array_equal(ids, data[1])
    assert not init.any()


# ---- the search ------------------------------------------------------------------------------------------------------


def test_max_states_is_a_cap(model, data):
    X, ids = data
    for cap in range(1, model.n_states_):
        assert HDPHMM(1.5, 2.0, 3.0, likelihood=PRIOR, max_states=cap).fit(X[40:80], ids[40:80]).n_states_ <= cap


def test_labels_to_start_from(model, data):
    """A start at a mode stays there, whatever labels are called; too many states for the cap are refused."""
    X, ids = data
    common = {"likelihood": PRIOR, "n_restarts": 1}
    again = HDPHMM(1.5, 2.0, 3.0, init=7 - 3 * model.labels_, **common).fit(X, ids)
    assert again.history_[0] == pytest.approx(model.log_joint_, rel=1e-12)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    worse = HDPHMM(1.5, 2.0, 3.0, init=np.arange(len(X)) % 2, max_sweeps=1, moves=(), **common).fit(X, ids)
    assert worse.history_[0] < model.log_joint_ - 10.0
    K = model.n_states_
    with pytest.raises(ValueError, match=f"init has {K} states, and max_states is {K - 1}"):
        HDPHMM(init=model.labels_, max_states=K - 1).fit(X, ids)
    assert HDPHMM(init=model.labels_ * 5, max_states=K, **common).fit(X, ids).n_states_ <= K


def test_a_callback_ends_runs_and_time_is_limited(data, capsys):
    X = data[0][:60]
    seen = []
    stopped = HDPHMM(likelihood=PRIOR, callback=lambda p: seen.append(p) or True).fit(X)
    assert not stopped.converged_
    runs = {p.restart for p in seen}
    assert runs == set(range(len(runs)))
    assert len(runs) >= 3  # two starts, one restart
    assert not HDPHMM(likelihood=PRIOR, time_limit=1e-9).fit(X).converged_
    assert not capsys.readouterr().out


def test_verbose_prints_what_a_callback_gets(data, capsys):
    seen = []
    HDPHMM(likelihood=PRIOR, verbose=1, callback=seen.append, init=np.arange(60) % 3).fit(data[0][:60])
    assert capsys.readouterr().out.splitlines() == [str(each) for each in seen]
    assert "sweep" in {each.move for each in seen} <= {"sweep", *HMM_MOVES}
    assert len(seen) > 1


# ---- concentrations --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", complete_but([0], range(4)))
@pytest.mark.parametrize("kappa", complete_but([0.0], [0.0, 2.0]))
def test_concentrations_at_their_mode(seed, kappa):
    """Exact p(z) by convolution: no point of a wide grid beats the mode by more than the two errors of 0.03 nats.

    States overlap, so that labels change with the concentrations.
    """
    X, ids = machine(seed, sum(SIZES), 3)[0], np.repeat(NAMES, SIZES)
    priors = GammaPrior(2.0, 1.0), GammaPrior(1.0, 0.1)
    both = {"alpha_prior": priors[0], "gamma_prior": priors[1]}
    fitted = HDPHMM(30.0, 0.1, kappa, likelihood=PRIOR, **both).fit(X, ids)
    assert np.all(np.diff(fitted.history_) >= 0.0)
    attributes_fit_together(fitted, X, ids)
    assert (fitted.alpha, fitted.gamma, fitted.kappa_) == (30.0, 0.1, kappa)

    def density(alpha, gamma):
        logs = [np.log(x) + prior.log_density(x) for x, prior in zip((alpha, gamma), priors, strict=True)]
        return oracle.log_partition(fitted.labels_.tolist(), begins_of(ids), alpha, gamma, kappa) + sum(logs)

    best = density(fitted.alpha_, fitted.gamma_)
    factors = (0.05, 0.3, 0.8, 1.25, 3.0, 20.0)
    grid = [density(a * fitted.alpha_, g * fitted.gamma_) for a in (*factors, 1.0) for g in (*factors, 1.0)]
    assert max(grid) < best + 0.06
    for alpha, gamma in ((30.0, 0.1), (30.0, fitted.gamma_), (fitted.alpha_, 0.1)):
        assert density(alpha, gamma) < best - 0.06  # one that stayed where it began would be noticed


@pytest.mark.parametrize("name", ["alpha", "gamma"])
def test_one_concentration_may_stay(name, data):
    fitted = quickly(data[0][:60], alpha=3.0, gamma=0.5, **{f"{name}_prior": GammaPrior(2.0, 1.0)})
    assert (fitted.alpha_ == 3.0, fitted.gamma_ == 0.5) == (name != "alpha", name != "gamma")


@pytest.mark.complete
@pytest.mark.parametrize("start", [1e-30, 1e-10, 1e10, 1e30])
def test_concentrations_come_from_far(start, data):
    """A mode near 1, whatever the start; a file keeps the result."""
    X, ids = data
    prior = GammaPrior(1.0, 1.0)
    for alpha, gamma in ((start, 1.0), (1.0, start), (start, start)):
        fitted = HDPHMM(alpha, gamma, 2.0, likelihood=PRIOR, alpha_prior=prior, gamma_prior=prior).fit(X, ids)
        assert 0.01 < fitted.alpha_ < 10.0
        assert 0.01 < fitted.gamma_ < 100.0
        assert HDPHMM.from_bytes(fitted.to_bytes()).alpha_ == fitted.alpha_


# ---- sequences of all kinds ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "named",
    [
        list,
        np.asarray,
        lambda s: s.astype(np.float64),
        lambda s: [f"n{j}" for j in s],
        lambda s: [("run", int(j)) for j in s],
        lambda s: pd.Series([f"n{j}" for j in s]).astype("category"),
        lambda s: pd.Series(s, index=s + 100),
        lambda s: pl.Series([f"n{j}" for j in s]),
        lambda s: np.datetime64("2026-01-01") - s,
    ],
)
def test_sequences_may_be_anything_hashable(named, data):
    X, _ = data
    numbers = np.repeat([2, 0, 1], SIZES)
    plain, other = quickly(X, numbers), quickly(X, named(numbers))
    np.testing.assert_array_equal(plain.transitions_, other.transitions_)
    np.testing.assert_array_equal(plain.predict_proba(X, numbers), other.predict_proba(X, named(numbers)))


def test_sequences_by_position_and_by_name(data):
    X, ids = data
    fitted = quickly(X, ids)
    for other in (HDPHMM(**fitted.get_params(deep=False)).fit(X, sequences=ids), quickly(X, ids)):
        np.testing.assert_array_equal(other.transitions_, fitted.transitions_)
    np.testing.assert_array_equal(clone(fitted).fit_predict(X, ids), fitted.labels_)
    np.testing.assert_array_equal(clone(fitted).fit_predict(X, sequences=ids), fitted.labels_)
    for shown in (clone(fitted).fit_transform(X, ids), clone(fitted).fit_transform(X, sequences=ids)):
        np.testing.assert_array_equal(shown, fitted.predict_proba(X, ids))
    assert np.any(fitted.transform(X) != fitted.transform(X, ids))


def test_without_sequences_it_is_one(data):
    X, _ = data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain, same = quickly(X), quickly(X, np.zeros(len(X)))
    np.testing.assert_array_equal(plain.transitions_, same.transitions_)
    np.testing.assert_array_equal(plain.predict(X), same.predict(X, np.zeros(len(X))))
    assert plain.score(X) == same.score(X, ["one"] * len(X))


@pytest.mark.parametrize(
    ("sequences", "words"),
    [
        (["a"] * 119, r"sequences must have one label a point, shape \(120,\), got shape \(119,\)"),
        (np.repeat([0, 1, 0], 40), r"sequences\[80\] is 0 again, after another sequence: .*sort them by sequence"),
        (["a"] * 119 + [None], r"sequences\[119\] is None: each point needs one"),
        (np.append(np.zeros(119), np.nan), r"sequences\[119\] is nan"),
        ([{"a"}] * 120, "sequences must be hashable labels"),
        ("abc", "sequences must be one label a point.* got str"),
        (3, "got int"),
    ],
)
def test_bad_sequences_are_refused(sequences, words, data, model):
    X, _ = data
    with pytest.raises(ValueError, match=words):
        HDPHMM().fit(X, sequences)
    for method in (model.predict, model.predict_proba, model.filter_proba, model.score, model.transform):
        with pytest.raises(ValueError, match=words):
            method(X, sequences)


# ---- files, copies, parameters ---------------------------------------------------------------------------------------


def all_is_kept(again, model, X, ids):
    for name, mine in vars(model).items():
        if name.startswith("_") or name in {"init", "callback"}:
            continue
        theirs = getattr(again, name)
        assert np.array_equal(mine, theirs) if isinstance(mine, np.ndarray) else mine == theirs, name
    for method in ("predict", "predict_proba", "filter_proba", "score"):
        np.testing.assert_array_equal(getattr(again, method)(X, ids), getattr(model, method)(X, ids))
    np.testing.assert_array_equal(again.sample_path(20, 5).points, model.sample_path(20, 5).points)
    np.testing.assert_array_equal(again.filter_one(X[0]), model.filter_one(X[0]))


@pytest.mark.parametrize("parameters", [{}, {"kappa": 0.0, "moves": (), "max_states": 9, "random_state": 3}])
def test_files_keep_everything(parameters, data, new, tmp_path):
    X, ids = (each[40:80] for each in data)
    prior = GammaPrior(2.0, 1.0)
    common = {"kappa": 3.0, "init": np.arange(len(X)) % 2, "alpha_prior": prior, "gamma_prior": prior}
    fitted = HDPHMM(1.5, 2.0, likelihood=PRIOR.for_data(X), **{**common, **parameters}).fit(X, ids)
    fitted.save(tmp_path / "a.mdpm")
    mapdpm.save(fitted, tmp_path / "b.mdpm")
    assert (tmp_path / "a.mdpm").read_bytes() == (tmp_path / "b.mdpm").read_bytes() == fitted.to_bytes()
    joblib.dump(fitted, tmp_path / "c.joblib")
    copies = [
        mapdpm.load(tmp_path / "a.mdpm"),
        HDPHMM.from_bytes(fitted.to_bytes()),
        joblib.load(tmp_path / "c.joblib"),
        pickle.loads(pickle.dumps(fitted)),
        copy.deepcopy(fitted),
        copy.copy(fitted),
    ]
    for again in copies:
        assert type(again) is HDPHMM
        all_is_kept(again, fitted, *new)
        assert again.to_bytes() == fitted.to_bytes()


def test_a_model_with_names_is_kept_and_an_unfitted_one(data):
    frame = pd.DataFrame(data[0], columns=["a", "b"])
    fitted = quickly(frame, likelihood=None)
    again = HDPHMM.from_bytes(fitted.to_bytes())
    assert again.feature_names_in_.tolist() == ["a", "b"]
    assert again.likelihood is None
    np.testing.assert_array_equal(again.predict_proba(frame), fitted.predict_proba(frame))
    assert pickle.loads(pickle.dumps(HDPHMM(kappa=2.0))).kappa == 2.0
    with pytest.raises(ValueError, match="not fitted"):
        HDPHMM().to_bytes()


def test_parameters_set_after_a_fit_wait_for_the_next(model, data):
    """What was fitted stays what it was, in a file, too."""
    changed = copy.copy(model).set_params(alpha=50.0, gamma=9.0, kappa=50.0)
    for again in (changed, HDPHMM.from_bytes(changed.to_bytes()), pickle.loads(pickle.dumps(changed))):
        assert (again.alpha, again.gamma, again.kappa) == (50.0, 9.0, 50.0)
        assert (again.alpha_, again.gamma_, again.kappa_) == (1.5, 2.0, 3.0)
        np.testing.assert_array_equal(again.transitions_, model.transitions_)
        np.testing.assert_array_equal(again.predict_proba(*data), model.predict_proba(*data))
    with pytest.raises(ValueError, match="kappa must be from 0"):
        copy.copy(model).set_params(kappa=-1.0).to_bytes()


def test_files_of_other_kinds_say_so(model, data):
    X = data[0]
    with pytest.raises(ModelFileError, match="a model of states in time, which HDPHMM reads"):
        MAPDPM.from_bytes(model.to_bytes())
    with pytest.raises(ModelFileError, match="a model of states in time, which HDPHMM reads"):
        HDPMixture.from_bytes(model.to_bytes())
    with pytest.raises(ModelFileError, match="a batch model, which MAPDPM reads"):
        HDPHMM.from_bytes(MAPDPM().fit(X).to_bytes())
    with pytest.raises(ModelFileError, match="a model of groups, which HDPMixture reads"):
        HDPHMM.from_bytes(HDPMixture().fit(X, np.zeros(len(X))).to_bytes())
    with pytest.raises(ValueError, match="a model of states in time has no C code yet"):
        as_stream(model)


def test_truncated_and_damaged_files_are_refused(model, tmp_path):
    data = model.to_bytes()
    path = tmp_path / "m.mdpm"
    for bad in (*(data[:n] for n in range(0, len(data), 61)), data[:-1], data[:300] + b"??" + data[302:], data + b"0"):
        path.write_bytes(bad)
        for read in (lambda: HDPHMM.from_bytes(path.read_bytes()), lambda: mapdpm.load(path)):
            with pytest.raises(ModelFileError):
                read()


def moved(model):
    """A table of which a count is in another column."""
    table = model._table.copy()
    table[0, :2] += [1, -1]
    return table.ravel()


def wrapped(model):
    """A table of huge counts, whose sums over rows and columns are right by overflow."""
    table = model._table.copy()
    table[:4, :4] += 2**62
    return table.ravel()


DAMAGES = {
    "a count in another column": (lambda m: {"table": moved(m)}, "table"),
    "a table that is too short": (lambda m: {"table": m._table.ravel()[1:]}, "table"),
    "a table of reals": (lambda m: {"table": m._table.ravel().astype(float)}, "table"),
    "a negative count": (lambda m: {"table": m._table.ravel() - np.eye(m._table.size, dtype=int)[-1] * 10**6}, "table"),
    "more after a state than there are points": (lambda m: {"table": np.roll(m._table, 1, axis=0).ravel()}, "table"),
    "counts whose sums wrap around": (lambda m: {"table": wrapped(m)}, "table"),
    "a table that is no array": (lambda m: {"table": [1, 2]}, ""),
    "shares that do not sum to one": (lambda m: {"shares_": m.shares_ * 1.001}, "shares_"),
    "a share of zero": (lambda m: {"shares_": np.append(0.0, m.shares_[1:] + m.shares_[0] / m.n_states_)}, "shares_"),
    "a share that is none": (lambda m: {"shares_": m.shares_ * np.nan}, "shares_"),
    "a share that is a NaN that signals": (
        lambda m: {"shares_": np.append(m.shares_[1:], np.frombuffer(bytes.fromhex("010000000000f07f")))},
        "shares_",
    ),
    "shares of fewer states": (lambda m: {"shares_": m.shares_[:-1] / m.shares_[:-1].sum()}, "shares_"),
    "a negative kappa": (lambda m: {"kappa": -1.0}, "kappa must be from 0"),
    "a kappa that is none": (lambda m: {"kappa": "x"}, "kappa must be a number"),
    "a negative kappa of the fit": (lambda m: {"kappa_": -1.0}, "kappa must be from 0"),
    "a kappa of the fit that is none": (lambda m: {"kappa_": None}, "kappa must be a number"),
    "an alpha of zero": (lambda m: {"alpha": 0.0}, "alpha must be > 0"),
    "alphas of levels": (lambda m: {"alpha": [1.0, 2.0]}, "alpha must be a number"),
    "a prior of no density": (lambda m: {"alpha_prior": [1.0, -1.0]}, "alpha_prior"),
    "no states": (lambda m: {"max_states": 0}, "max_states"),
    "an unknown move": (lambda m: {"moves": ["cell"]}, "moves must be names"),
    "other labels": (lambda m: {"labels_": np.zeros_like(m.labels_)}, "labels"),
    "a log joint that is not the last": (lambda m: {"log_joint_": 0.0}, "history"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_extras_are_refused(damage, model):
    change, words = DAMAGES[damage]
    _, extras = container.unpack(model.to_bytes(), container.STATES)
    assert HDPHMM.from_bytes(container.pack(model._mixture, extras, kind=container.STATES)).n_states_ > 1
    bad = container.pack(model._mixture, extras | change(model), kind=container.STATES)
    with pytest.raises(ModelFileError, match=f"damaged: its extras do not fit.*{words}"):
        HDPHMM.from_bytes(bad)


@pytest.mark.parametrize("name", ["table", "shares_", "kappa", "kappa_", "alpha", "max_states", "likelihood_"])
def test_extras_that_lack_something_are_refused(name, model):
    _, extras = container.unpack(model.to_bytes(), container.STATES)
    del extras[name]
    with pytest.raises(ModelFileError, match="damaged: its extras do not fit"):
        HDPHMM.from_bytes(container.pack(model._mixture, extras, kind=container.STATES))


# ---- paths that are drawn --------------------------------------------------------------------------------------------


def few_points():
    """A model of few points and large concentrations: means are not well known, and new states are frequent."""
    rng = np.random.default_rng(2)
    X, ids = rng.normal(0.0, 3.0, (12, 2)), np.repeat([0, 1], [7, 5])
    fitted = quickly(X, ids, alpha=4.0, gamma=4.0, kappa=1.0, init=np.arange(12) // 3, max_sweeps=1)
    return fitted, X, ids


def test_the_same_seed_draws_the_same_path(model):
    one, two, other = (model.sample_path(50, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.states, two.states)
    np.testing.assert_array_equal(one.points, two.points)
    assert np.any(one.points != other.points)
    states, points = model.sample_path(50, np.random.default_rng(1))
    np.testing.assert_array_equal(states, one.states)
    assert (states.shape, points.shape) == ((50,), (50, 2))
    assert model.sample_path(50).points.shape == (50, 2)
    assert np.isfinite(model.score(points))


def test_states_of_a_path_follow_the_transitions():
    """Binomial tests of the first state and of each transition; frequencies near those of the stationary law."""
    fitted, _, ids = few_points()
    start, steps = chain_of(fitted, ids)
    firsts = np.bincount([fitted.sample_path(1, seed).states[0] for seed in range(1000)], minlength=len(start))
    for n, p in zip(firsts.tolist(), start, strict=True):
        assert stats.binomtest(n, 1000, p).pvalue > FALSE_ALARM
    states = fitted.sample_path(20_000, 0).states
    counts = np.zeros(steps.shape, dtype=int)
    np.add.at(counts, (states[:-1], states[1:]), 1)
    for (v, k), n in np.ndenumerate(counts):
        assert stats.binomtest(int(n), int(counts[v].sum()), steps[v, k]).pvalue > FALSE_ALARM
    # the variance of a mean over a chain, by its fundamental matrix Z: 2 <f, Z f> - <f, f>
    values, vectors = np.linalg.eig(steps.T)
    stationary = np.real(vectors[:, np.argmax(values.real)])
    stationary /= stationary.sum()
    Z = np.linalg.inv(np.eye(len(start)) - steps + stationary)
    for k, share in enumerate(stationary):
        f = (np.arange(len(start)) == k) - share
        error = np.sqrt(stationary @ (f * (2.0 * Z @ f - f)) / len(states))
        assert abs(np.mean(states == k) - share) < 6 * error  # 2e-9 for a normal


def test_points_of_a_path_have_the_density_of_their_state():
    """A state has one mean a path, drawn from its posterior, or of a new state from the prior: exact laws of both.

    The mean of n points of a state is normal with variance v + 1 / n, v that of the posterior; n variances are chi^2.
    """
    fitted, X, _ = few_points()
    scores, squares, freedom, new = [], 0.0, 0, 0
    for seed in range(300):
        states, points = fitted.sample_path(30, seed)
        for k in np.unique(states).tolist():
            own, past = points[states == k], X[fitted.labels_ == k]
            v = 1.0 / (1.0 / 9.0 + len(past))
            scores += ((own.mean(axis=0) - v * past.sum(axis=0)) / np.sqrt(v + 1.0 / len(own))).tolist()
            squares += ((own - own.mean(axis=0)) ** 2).sum()
            freedom += 2 * (len(own) - 1)
            new += k == fitted.n_states_
    assert new > 100
    assert stats.kstest(scores, stats.norm.cdf).pvalue > FALSE_ALARM
    tail = stats.chi2(freedom).cdf(squares)
    assert FALSE_ALARM < tail < 1.0 - FALSE_ALARM


def test_points_of_symbols_are_symbols():
    symbols = np.array([0, 1, 2, 1] * 10)
    fitted = quickly(symbols, likelihood=Categorical(np.full(3, 0.5)), backend="python")
    states, points = fitted.sample_path(30, 0)
    assert points.shape == states.shape == (30,)
    assert points.dtype == np.int64
    assert set(points.tolist()) <= {0, 1, 2}
    assert np.isfinite(fitted.score(points))


def test_a_family_that_cannot_draw_points_is_refused():
    counts = np.array([[3, 0], [2, 1], [0, 4]])
    fitted = quickly(counts, likelihood=DirichletMultinomial(0.5), backend="python")
    with pytest.raises(ValueError, match="DirichletMultinomial has no draw_points, so no path can be drawn"):
        fitted.sample_path(3)


# ---- scikit-learn ----------------------------------------------------------------------------------------------------


def test_parameters_by_name():
    estimator = HDPHMM(2.0, 3.0, 4.0, likelihood=PRIOR, max_states=5)
    copied = clone(estimator)
    assert repr(copied) == repr(estimator)
    assert is_clusterer(estimator)
    assert estimator.get_params()["likelihood__variance"] == 1.0
    assert estimator.get_params(deep=False).keys() == HDPHMM().get_params().keys()
    changed = copied.set_params(kappa=9.0, likelihood__prior_variance=4.0)
    assert (changed.kappa, changed.likelihood.prior_variance) == (9.0, 4.0)
    assert estimator.kappa == 4.0
    with pytest.raises(ValueError, match="Invalid parameter 'stickiness'"):
        estimator.set_params(stickiness=1.0)


def test_tools_of_scikit_learn(data):
    X, ids = data[0][:24], np.repeat(np.arange(6), 4)
    estimator = HDPHMM(likelihood=PRIOR, moves=(), max_sweeps=2)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = clone(estimator).set_fit_request(sequences=True).set_score_request(sequences=True)
        whole = {"sequences": ids, "groups": ids}
        folds = cross_validate(asking, X, params=whole, cv=GroupKFold(2))
        asking.set_predict_request(sequences=True).set_predict_proba_request(sequences=True)
        asking.set_transform_request(sequences=True)
        pipeline = make_pipeline(StandardScaler(), asking.set_params(likelihood=None)).fit(X, sequences=ids)
        assert pipeline.predict(X, sequences=ids).shape == (24,)
        assert pipeline.predict_proba(X, sequences=ids).shape == (24, pipeline[-1].n_states_ + 1)
        assert pipeline.transform(X, sequences=ids).shape == (24, pipeline[-1].n_states_ + 1)
        with pytest.raises(TypeError, match="set_fit_request takes sequences, got groups"):
            asking.set_fit_request(groups=True)
    assert np.all(np.isfinite(folds["test_score"]))
    assert pipeline[-1]._table[-1].sum() == 6  # starts
    assert pipeline.fit_predict(X, ids).shape == (24,)


@pytest.mark.parametrize("container_of", [pd.DataFrame, pl.DataFrame])
def test_frames_in_and_out(container_of, data):
    X, ids = data
    frame = container_of(dict(zip("ab", X.T, strict=True)))
    name = "pandas" if container_of is pd.DataFrame else "polars"
    fitted = quickly(X, ids)
    framed = clone(fitted).set_output(transform=name)
    shown = framed.fit_transform(frame, ids)
    assert isinstance(shown, container_of)
    names = [*(f"hdphmm{k}" for k in range(fitted.n_states_)), "hdphmm_new"]
    assert list(shown.columns) == fitted.get_feature_names_out().tolist() == names
    np.testing.assert_array_equal(shown.to_numpy(), fitted.transform(X, ids))
    np.testing.assert_array_equal(framed.predict(frame, ids), fitted.predict(X, ids))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # one point alone has no names
        np.testing.assert_array_equal(framed.filter_one(X[0]), fitted.filter_one(X[0]))
    with pytest.raises(ValueError, match="feature names should match"):
        framed.predict(frame.rename(columns={"a": "c"}) if name == "pandas" else frame.rename({"a": "c"}), ids)


# ---- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"alpha": 0.0}, "alpha must be > 0"),
        ({"alpha": -1.0}, "alpha must be > 0"),
        ({"alpha": [1.0, 2.0]}, "alpha must be a number"),
        ({"gamma": float("nan")}, "gamma"),
        ({"gamma": "x"}, "gamma must be a number"),
        ({"kappa": -1.0}, r"kappa must be from 0 to 1e\+30, got -1.0"),
        ({"kappa": float("inf")}, "kappa must be a finite number"),
        ({"kappa": None}, "kappa must be a number"),
        ({"moves": ("merge", "cell")}, "'merge', 'path', 'split', 'delete', got 'cell'"),
        ({"moves": "merge"}, "moves must be a tuple"),
        ({"max_states": 0}, "max_states must be an integer >= 1"),
        ({"n_restarts": 0}, "n_restarts"),
        ({"max_sweeps": 0}, "max_sweeps"),
        ({"alpha_prior": InverseGammaPrior()}, "alpha_prior must be a GammaPrior"),
        ({"gamma_prior": GammaPrior(1.0, 0.0)}, "gamma_prior must be a GammaPrior of rate > 0"),
        ({"backend": "gpu"}, "backend"),
        ({"likelihood": NormalGamma}, "likelihood"),
        ({"init": [0, 1]}, r"init must have one label a point, shape \(120,\), got shape \(2,\)"),
        ({"init": np.zeros(120)}, "init must hold integer labels"),
        ({"init": "sequential"}, "init must be"),
        ({"time_limit": 0.0}, "time_limit must be > 0"),
        ({"callback": 3}, "callback must be callable"),
        ({"random_state": -1}, "random_state"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_bad_parameters_are_refused(parameters, words, data):
    with pytest.raises(ValueError, match=words):
        HDPHMM(**parameters).fit(*data)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "filter_proba", "score", "transform", "fit"])
def test_bad_points_are_refused(method, model):
    call = getattr(model if method != "fit" else HDPHMM(), method)
    for X, words in (
        ([[0.0, 1.0], [np.nan, 0.0]], "X contains NaN at row 1, column 0"),
        ([[0.0, np.inf]], "X contains infinity at row 0, column 1"),
        ([0.0, 1.0], "X must be a 2-D array"),
        (np.empty((0, 2)), r"X has 0 sample\(s\)"),
        ([["a", "b"]], "X must hold numbers only"),
    ):
        with pytest.raises(ValueError, match=words):
            call(X)
    if method != "fit":
        with pytest.raises(ValueError, match="X has 1 features, but HDPHMM is expecting 2"):
            call([[0.0]])


@pytest.mark.parametrize(
    ("belief", "words"),
    [
        (lambda K: [1.0], "belief must be {} probabilities that sum to 1"),
        (lambda K: np.full((1, K + 1), 1.0 / (K + 1)), "belief must be {} probabilities"),
        (lambda K: np.full(K + 1, 0.5), "belief must be {} probabilities"),
        (lambda K: np.full(K + 1, np.nan), "belief must be {} probabilities"),
        (lambda K: np.eye(K + 1)[0] * 3.0 - np.eye(K + 1)[1] * 2.0, "belief must be {} probabilities"),
        (lambda K: "x", "belief must be {} probabilities.*got 'x'"),
    ],
)
def test_bad_beliefs_are_refused(belief, words, model):
    K = model.n_states_
    with pytest.raises(ValueError, match=words.format(K + 1)):
        model.filter_one([0.0, 0.0], belief(K))


def test_bad_single_points_are_refused(model):
    for x, words in (([0.0], "X has 1 features"), ([0.0, np.nan], "X contains NaN"), (3.0, "X must be a 2-D array")):
        with pytest.raises(ValueError, match=words):
            model.filter_one(x)


@pytest.mark.parametrize("n_points", [0, -1, 2.5, None])
def test_bad_lengths_of_paths_are_refused(n_points, model):
    with pytest.raises(ValueError, match="n_points must be an integer >= 1"):
        model.sample_path(n_points)


def test_not_fitted(tmp_path):
    X = [[0.0]]
    calls = [
        *(lambda name=name: getattr(HDPHMM(), name)(X) for name in ("predict", "predict_proba", "filter_proba")),
        lambda: HDPHMM().filter_one([0.0]),
        lambda: HDPHMM().score(X),
        lambda: HDPHMM().transform(X),
        lambda: HDPHMM().sample_path(3),
        lambda: HDPHMM().save(tmp_path / "m.mdpm"),
        lambda: HDPHMM().get_feature_names_out(),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="this HDPHMM is not fitted yet; call fit first"):
            call()
    assert not list(tmp_path.iterdir())
