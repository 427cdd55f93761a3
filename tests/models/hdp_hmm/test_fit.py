"""HDPHMM: what a fit says, families and backends, the search, concentrations."""

import pickle

import numpy as np
import pytest

from mapdpm import HDPHMM, HDPMixture, NormalGamma, NormalInverseWishart, NormalKnownVariance, metrics
from mapdpm.likelihoods._template import GammaExponential
from mapdpm.names import HMM_MOVES
from mapdpm.partition_priors.hyperpriors import GammaPrior
from tests.families import FAMILIES, example
from tests.marks import complete_but, ends_early
from tests.models.hdp_hmm.fits import NAMES, SIZES, attributes_fit_together, begins_of, follows_the_oracle, quickly
from tests.oracle import franchise
from tests.oracle import hdp_hmm as oracle
from tests.search.test_states import PRIOR, machine

# ---- what a fit says -------------------------------------------------------------------------------------------------


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


# ---- families, offsets, backends -------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["python", "c"])
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
    if family.name:
        read = HDPHMM.from_bytes(fitted.to_bytes())
        np.testing.assert_allclose(read.predict_proba(points, ids), fitted.predict_proba(points, ids), rtol=1e-9)
    else:
        with pytest.raises(ValueError, match=f"{family.__name__} has no name"):
            fitted.to_bytes()


WITH_OFFSET = {
    NormalKnownVariance: lambda offset: NormalKnownVariance(offset, 9.0, 1.0),
    NormalGamma: lambda offset: NormalGamma(offset, 0.05, 2.0, 1.0),
    NormalInverseWishart: lambda offset: NormalInverseWishart(np.full(2, offset), 0.05, 4.0, np.eye(2)),
}


@pytest.mark.parametrize("family", complete_but([NormalKnownVariance], WITH_OFFSET))
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


@pytest.mark.parametrize("n_states", [5, 20])
def test_the_states_of_a_cycle_are_found(n_states):
    """Each comes after the one before it, far from all others."""
    cycle = np.tile(np.arange(n_states), 40)
    X = 60.0 * cycle[:, None] + np.random.default_rng(n_states).normal(size=(len(cycle), 1))
    assert metrics.adjusted_mutual_info(cycle, HDPHMM().fit(X).labels_) == pytest.approx(1.0)


@pytest.mark.parametrize("decimals", [1, 15])
def test_held_values_are_named(decimals, recwarn):
    """Each reading three times in a row makes small states, but no narrower prior; what meets by chance does not."""
    rng = np.random.default_rng(0)
    states = np.repeat(rng.integers(0, 3, 20), 10)
    X = np.c_[6.0 * states + rng.normal(size=200), 5.0 * (states == 1) + rng.normal(size=200)]
    once, whole = HDPHMM().fit(X.round(decimals)), HDPHMM().fit(X.round())
    assert once.n_states_ == whole.n_states_ == 3
    assert not recwarn.list
    with pytest.warns(UserWarning, match="of 600 points are copies of others, as of a sensor that holds its values"):
        held = HDPHMM().fit(np.repeat(X.round(decimals), 3, axis=0))
    assert held.n_states_ <= 12
    # Without copies the prior is fitted once more, to the points in their order: it moves a little, and not by halves.
    np.testing.assert_allclose(held.likelihood_.b0, once.likelihood_.b0, rtol=0.5)


@ends_early
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
    with pytest.raises(ValueError, match=f"init has {K} states, more than max_states={K - 1}"):
        HDPHMM(init=model.labels_, max_states=K - 1).fit(X, ids)
    assert HDPHMM(init=model.labels_ * 5, max_states=K, **common).fit(X, ids).n_states_ <= K


@ends_early
def test_a_callback_ends_runs_and_time_is_limited(data, capsys):
    X = data[0][:60]
    seen = []
    stopped = HDPHMM(likelihood=PRIOR, n_restarts=3, callback=lambda p: seen.append(p) or True).fit(X)
    assert not stopped.converged_
    assert {p.restart for p in seen} == {0, 1, 2}
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
