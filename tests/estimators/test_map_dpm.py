"""MAPDPM does what it says."""

import copy
import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapdpm import MAPDPM, NormalGamma, NormalKnownVariance, metrics
from mapdpm import state as states
from mapdpm.backends import resolve
from mapdpm.likelihoods._template import GammaExponential
from mapdpm.partition_priors import partition_prior
from mapdpm.protocol import Model
from mapdpm.testing.data import crp_mixture, hostile
from mapdpm.testing.exact import partitions
from tests.families import example
from tests.marks import QUICK_BACKENDS, a_share, complete_but, ends_early
from tests.oracle import raw

SEEDS = st.integers(0, 2**32 - 1)
BACKENDS = ("c", "numba", "python")


def blobs(seed=0, n=120, D=2, K=4, offset=0.0):
    rng = np.random.default_rng(seed)
    return rng.normal(0.0, 8.0, (K, D))[rng.integers(0, K, n)] + rng.normal(size=(n, D)) + offset


def prior(D=2, offset=0.0):
    return NormalGamma(np.full(D, offset), 0.05, 1.0, np.ones(D))


@pytest.mark.parametrize("family", [NormalGamma, NormalKnownVariance])
@given(seed=SEEDS, discount=st.sampled_from([0.0, 0.4]))
def test_log_joint_is_the_definition(family, seed, discount):
    likelihood, X = example(family, np.random.default_rng(seed), n=25, D=2)
    model = MAPDPM(1.3, likelihood=likelihood, discount=discount).fit(X)
    terms = raw.log_joint_terms(X, model.labels_, likelihood, 1.3, discount)
    assert abs(model.log_joint_ - math.fsum(terms)) <= 1e-10 * sum(map(abs, terms))


@given(SEEDS)
def test_log_joint_is_the_formula(seed):
    rng = np.random.default_rng(seed)
    X, likelihood = blobs(seed, n=300, D=3), prior(3)
    weights = rng.uniform(0.2, 4.0, 300) if seed % 2 else None
    model = MAPDPM(2.0, likelihood=likelihood).fit(X, sample_weight=weights)
    terms = raw.formula_terms(X, model.labels_, likelihood, 2.0, weights)
    assert abs(model.log_joint_ - math.fsum(terms)) <= 1e-10 * sum(map(abs, terms))
    assert model.history_[-1] == model.log_joint_


@a_share(0.4)
@given(SEEDS)
def test_history_never_falls(seed):
    case = hostile(np.random.default_rng(seed))
    parameters = case._asdict()
    X, weights = parameters.pop("X"), parameters.pop("weights")
    model = MAPDPM(**parameters).fit(X, sample_weight=weights)
    assert np.all(np.diff(model.history_) >= 0.0)  # test_search.py has it of the joint itself
    assert len(model.history_) > model.n_sweeps_
    plain = MAPDPM(moves=(), **parameters).fit(X, sample_weight=weights)
    assert np.all(np.diff(plain.history_) >= 0.0)
    assert len(plain.history_) == plain.n_sweeps_ + 1


@pytest.mark.complete
@given(SEEDS)
def test_is_a_local_mode_and_never_above_the_global_one(seed):
    """Brute force over all 203 partitions of 6 points."""
    likelihood, X = example(NormalGamma, np.random.default_rng(seed), n=6, D=1)
    joints = {z: raw.log_joint(X, z, likelihood, 0.8) for z in partitions(6)}
    best = max(joints.values())
    for backend in BACKENDS:
        model = MAPDPM(0.8, likelihood=likelihood, backend=backend).fit(X)
        tolerance = 1e-9 * (1.0 + abs(model.log_joint_))
        assert model.log_joint_ <= best + tolerance
        assert model.log_joint_ == pytest.approx(joints[tuple(model.labels_)], rel=1e-9)
        neighbours = [z for z in joints if _differ_by_one(z, model.labels_)]
        assert all(joints[z] <= model.log_joint_ + tolerance for z in neighbours)


def _differ_by_one(z, labels):
    """Whether moving one point turns one partition into the other."""
    n = len(z)
    same = [(np.equal.outer(a, a)) for a in (np.asarray(z), labels)]
    apart = same[0] != same[1]
    return any(not np.delete(np.delete(apart, i, 0), i, 1).any() for i in range(n))


@pytest.mark.parametrize("backend", complete_but(["c"], ["c", "numba"]))
def test_offset_is_free(backend):
    """At an offset of 1e8 and unit variance the joint is right to 1e-8 of its size; in fact to rounding."""
    X = blobs(3, n=500) + 1e8
    near = X - 1e8  # what remains of the data there
    here = MAPDPM(likelihood=prior()).fit(near)
    there = MAPDPM(likelihood=prior(offset=1e8), backend=backend).fit(X)
    np.testing.assert_array_equal(there.labels_, here.labels_)
    assert there.log_joint_ == pytest.approx(here.log_joint_, rel=1e-12)
    terms = raw.formula_terms(near, here.labels_, prior(), 1.0)
    assert there.log_joint_ == pytest.approx(math.fsum(terms), rel=1e-10)


def test_offset_is_free_with_a_fitted_prior():
    near = blobs(3, n=500) + 1e8 - 1e8
    empirical = [MAPDPM().fit(data).log_joint_ for data in (near, near + 1e8)]
    assert empirical[1] == pytest.approx(empirical[0], rel=1e-8)


def test_labels_come_in_order_of_appearance():
    model = MAPDPM(likelihood=prior()).fit(blobs(1))
    _, first = np.unique(model.labels_, return_index=True)
    assert np.all(np.diff(first) > 0)
    assert model.labels_[0] == 0
    np.testing.assert_array_equal(np.bincount(model.labels_), model.cluster_sizes_)
    assert model.n_clusters_ == len(model.cluster_sizes_)
    assert model.labels_.dtype == np.int64


@given(SEEDS)
def test_moments_are_the_samples(seed):
    X = blobs(seed, offset=100.0)
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, len(X))
    model = MAPDPM(likelihood=prior(offset=100.0)).fit(X, sample_weight=weights)
    for k in range(model.n_clusters_):
        x, w = X[model.labels_ == k], weights[model.labels_ == k]
        mean = np.average(x, axis=0, weights=w)
        np.testing.assert_allclose(model.means_[k], mean, rtol=1e-12)
        np.testing.assert_allclose(model.variances_[k], np.average((x - mean) ** 2, axis=0, weights=w), atol=1e-10)


@pytest.mark.parametrize("discount", [0.0, 0.3])
@pytest.mark.parametrize("family", [NormalGamma, NormalKnownVariance])
def test_scores_are_quotients_of_joints(family, discount):
    rng = np.random.default_rng(11)
    likelihood, X = example(family, rng, n=15, D=2)
    model = MAPDPM(1.5, likelihood=likelihood, discount=discount).fit(X)
    for x in rng.normal(0.0, 4.0, (5, 2)):
        options = raw.log_density(X, model.labels_, likelihood, 1.5, x, discount)
        total = np.logaddexp.reduce(options)
        assert model.score_samples([x])[0] == pytest.approx(total, rel=1e-9)
        np.testing.assert_allclose(model.predict_proba([x])[0], np.exp(options - total), rtol=1e-7, atol=1e-12)
        assert model.predict([x])[0] == options[:-1].argmax()
        novel = options.argmax() == len(options) - 1
        assert model.predict([x], novelty=True)[0] == (-1 if novel else options.argmax())
    assert model.score(X) == pytest.approx(model.score_samples(X).mean())


def test_density_integrates_to_one():
    from scipy.integrate import quad

    X = np.random.default_rng(5).normal(size=(30, 1))
    for backend in BACKENDS:
        model = MAPDPM(likelihood=NormalGamma(0.0, 0.1, 1.0, 1.0), backend=backend).fit(X)

        def density(u, model=model):
            return math.exp(model.score_samples([[math.sinh(u)]])[0]) * math.cosh(u)

        integral, error = quad(density, -20.0, 20.0, limit=200)
        assert abs(integral - 1.0) <= 1e-6 + error


def test_novelty_and_probabilities():
    model = MAPDPM(likelihood=prior()).fit(blobs(2))
    X = np.array([[500.0, 500.0], model.means_[1]])
    assert model.predict(X, novelty=True).tolist() == [-1, 1]
    assert model.predict(X).min() >= 0
    proba = model.predict_proba(X)
    assert proba.shape == (2, model.n_clusters_ + 1)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)
    assert proba[0, -1] > 0.5


@pytest.mark.parametrize("backend", complete_but(QUICK_BACKENDS, BACKENDS))
def test_integer_weight_is_repetition_in_the_joint(backend):
    """Holds for a given partition; in a fit, copies may part. Here one sweep finds it, for blobs are far apart."""
    X = blobs(4, n=40)
    times = np.random.default_rng(4).integers(1, 4, 40)
    heavy = MAPDPM(likelihood=prior(), backend=backend).fit(X, sample_weight=times)
    copies = MAPDPM(likelihood=prior(), init=np.repeat(heavy.labels_, times), max_sweeps=1, backend=backend)
    copies.fit(np.repeat(X, times, axis=0))
    assert copies.history_[0] == pytest.approx(heavy.log_joint_, rel=1e-11)


@pytest.mark.parametrize("backend", complete_but(QUICK_BACKENDS, BACKENDS))
def test_starts(backend):
    X = blobs(6, n=60)
    fits = {
        name: MAPDPM(likelihood=prior(), init=init, backend=backend, random_state=3).fit(X)
        for name, init in (
            ("sequential", "sequential"),
            ("random", "random-order"),
            ("single", "single"),
            ("labels", np.arange(60) % 7 - 3),
        )
    }
    again = MAPDPM(likelihood=prior(), init="random-order", backend=backend, random_state=3).fit(X)
    np.testing.assert_array_equal(again.labels_, fits["random"].labels_)
    assert all(model.converged_ for model in fits.values())
    assert fits["single"].history_[0] == pytest.approx(raw.log_joint(X, np.zeros(60, int), prior(), 1.0), rel=1e-10)


@pytest.mark.complete
def test_restarts_keep_the_best_whatever_the_threads():
    X, _, likelihood = crp_mixture(np.random.default_rng(9), 300)
    one = MAPDPM(3.0, likelihood=likelihood, n_restarts=8, random_state=1).fit(X)
    two = MAPDPM(3.0, likelihood=likelihood, n_restarts=8, random_state=1, n_jobs=2).fit(X)
    first = MAPDPM(3.0, likelihood=likelihood).fit(X)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert one.log_joint_ >= first.log_joint_
    assert one.history_[-1] == one.log_joint_


def test_restarts_start_differently():
    X, _, likelihood = crp_mixture(np.random.default_rng(9), 300)
    first = {}

    def note(progress):
        first.setdefault(progress.restart, progress.log_joint)

    MAPDPM(3.0, likelihood=likelihood, n_restarts=6, random_state=1, callback=note).fit(X)
    assert sorted(first) == list(range(6))
    assert len(set(first.values())) >= 5  # two random orders of 300 points may meet, six hardly


def test_predict_breaks_ties_like_the_fit():
    """Two clusters that mirror each other; 1e-13 to the right of the middle is within the tolerance of both."""
    X = np.array([[-1.0], [-1.1], [1.0], [1.1]])
    model = MAPDPM(likelihood=NormalKnownVariance(0.0, 100.0, 0.01), init=[0, 0, 1, 1]).fit(X)
    assert model.predict([[-0.1], [1e-13], [-1e-13], [0.1]]).tolist() == [0, 0, 0, 1]
    assert model.predict([[1e-13]], novelty=True).tolist() in ([0], [-1])


def test_weights_of_any_ratio():
    """The heaviest outweighs the others by 1e18: removing it leaves nothing, and a cap leaves it nowhere to go."""
    X = np.array([[0.0], [0.1], [50.0]])
    for weights in ([1e-9, 1e9, 1e-9], [1e9, 1e-9, 1.0]):
        for cap in (1, 2, None):
            fits = [
                MAPDPM(likelihood=NormalGamma(0.0, 0.1, 1.0, 1.0), init="single", max_clusters=cap, backend=name).fit(
                    X, sample_weight=weights
                )
                for name in BACKENDS
            ]
            assert all(np.array_equal(model.labels_, fits[0].labels_) for model in fits)
            assert all(model.n_clusters_ <= (cap or 3) for model in fits)
            assert all(np.isfinite(model.log_joint_) for model in fits)


@pytest.mark.parametrize("backend", complete_but(QUICK_BACKENDS, BACKENDS))
def test_many_outliers_leave_no_trace(backend):
    """Each a thirtieth of the one before: no removal alone costs four digits, seven of them cost all."""
    likelihood, prior = NormalGamma([0.0], 0.1, 1.0, [1.0]), partition_prior(1.0)
    chosen = resolve(backend, likelihood)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        far = rng.uniform(2.0, 4.0, (7, 1)) * 30.0 ** np.arange(7.0, 0.0, -1.0)[:, None]
        X = np.vstack([far, rng.normal(size=(100, 1))])
        state = states.empty(likelihood, len(X), 16)
        state.labels[:] = 0
        chosen.statistics(Model(likelihood, prior, X), state)
        chosen.sweep(Model(likelihood, prior, X), state, 0, True)
        assert state.n_clusters > 1
        states.check(likelihood, X, None, state, tolerance=1e-9)


@pytest.mark.parametrize("backend", complete_but(QUICK_BACKENDS, BACKENDS))
def test_capacity_grows_and_a_cap_holds(backend):
    X = 100.0 * np.arange(70.0)[:, None]
    likelihood = NormalKnownVariance(0.0, 1e6, 1.0)  # a neighbour at 100 deviations: -2,500 nats; a new cluster: -32
    free = MAPDPM(50.0, likelihood=likelihood, backend=backend).fit(X)
    assert free.n_clusters_ == 70
    capped = MAPDPM(50.0, likelihood=likelihood, max_clusters=5, backend=backend).fit(X)
    assert capped.n_clusters_ <= 5
    assert len(capped.labels_) == 70
    assert np.all(np.diff(capped.history_) >= 0.0)
    assert MAPDPM(max_clusters=1, likelihood=likelihood, backend=backend).fit(X).n_clusters_ == 1


def test_one_point_is_valid():
    for backend in BACKENDS:
        model = MAPDPM(backend=backend).fit([[3.0, 4.0]])
        assert model.labels_.tolist() == [0]
        assert model.means_.tolist() == [[3.0, 4.0]]
        assert math.isfinite(model.score([[3.0, 4.0]]))


def test_kinds_of_arrays():
    X = np.round(blobs(7, n=50)).astype(np.int64)
    model = MAPDPM(likelihood=prior()).fit(X)
    frozen = X.astype(float)
    frozen.flags.writeable = False
    wide = np.zeros((100, 4))
    wide[::2, ::2] = X
    for same in (
        X.tolist(),
        X.astype(np.float32),
        np.asfortranarray(X, dtype=float),
        frozen,
        wide[::2, ::2],
        X.astype("i2"),
    ):
        np.testing.assert_array_equal(MAPDPM(likelihood=prior()).fit(same).labels_, model.labels_)
        np.testing.assert_array_equal(model.predict(same), model.predict(X))
    assert np.array_equal(frozen, X)


def test_input_is_not_changed():
    X = blobs(8)
    before = X.copy()
    MAPDPM(likelihood=prior()).fit(X).score_samples(X)
    np.testing.assert_array_equal(X, before)


@ends_early
def test_callback_reports_and_stops(capsys):
    seen = []
    start = np.arange(120) % 7
    MAPDPM(likelihood=prior(), init=start, callback=seen.append, verbose=1).fit(blobs(1))
    sweeps = [p for p in seen if p.move == "sweep"]
    assert [p.sweep for p in sweeps] == list(range(1, len(sweeps) + 1))
    assert {p.move for p in seen} == {"sweep", "split"}
    assert seen[-1].moved == 0
    assert all(p.moved > 0 for p in seen if p.move != "sweep")
    assert np.all(np.diff([p.log_joint for p in seen]) >= 0.0)
    assert capsys.readouterr().out.count("\n") == len(seen)
    stopped = MAPDPM(likelihood=prior(), init=start, callback=lambda _: True).fit(blobs(1))
    assert stopped.n_sweeps_ == 1
    assert not stopped.converged_
    limited = MAPDPM(likelihood=prior(), init=start, max_sweeps=1).fit(blobs(1))
    assert not limited.converged_


@pytest.mark.complete
def test_foreign_family():
    X = np.random.default_rng(3).exponential(size=(60, 2)) * np.repeat([[1.0, 9.0], [40.0, 0.5]], 30, axis=0)
    model = MAPDPM(likelihood=GammaExponential(1.0, 1.0)).fit(X)
    assert model.backend_ == "c"
    assert not hasattr(model, "means_")
    assert metrics.normalized_mutual_info(model.labels_, np.repeat([0, 1], 30)) > 0.5
    with pytest.raises(ValueError, match="GammaExponential has no name"):
        model.to_bytes()
    with pytest.raises(ValueError, match="waiting times must be >= 0"):
        MAPDPM(likelihood=GammaExponential(1.0, 1.0)).fit(-X)


def test_copies_and_pickles():
    X = blobs(5)
    model = MAPDPM(likelihood=prior()).fit(X)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(twin.score_samples(X), model.score_samples(X))


def test_section_4_1_of_the_paper():
    """Raykov2014 Table 1: NMI .71, dK -6.94 over 100 data sets; the issue's bands are four standard errors wide."""
    nmi, dk, sweeps = [], [], []
    for seed in range(100):
        X, labels, likelihood = crp_mixture(np.random.default_rng([41, seed]))
        model = MAPDPM(3.0, likelihood=likelihood, moves=()).fit(X)
        nmi.append(metrics.normalized_mutual_info(labels, model.labels_))
        dk.append(model.n_clusters_ - len(np.unique(labels)))
        sweeps.append(model.n_sweeps_)
    print(f"NMI {np.mean(nmi):.3f}, dK {np.mean(dk):.2f}, sweeps {np.mean(sweeps):.1f}")
    assert abs(np.mean(nmi) - 0.72) <= 0.04
    assert abs(np.mean(dk) + 6.7) <= 0.8
    assert np.mean(sweeps) < 10


def test_equal_points_under_an_alpha_above_their_number():
    """One sweep from either start finds the one cluster: only the sequential start itself takes long."""
    X = np.zeros((2000, 2))
    for init in ("sequential", "single"):
        model = MAPDPM(alpha=1e6, likelihood=None, init=init).fit(X)
        assert (model.n_clusters_, model.n_sweeps_) == (1, 1)


def test_threads_may_read_a_fitted_model():
    """Calls that only read have the same answers from several threads at once."""
    X = blobs(n=400)
    model, alone = (MAPDPM(likelihood=prior()).fit(X) for _ in range(2))
    wanted = alone.predict(X), alone.score_samples(X), alone.predict_proba(X)
    with ThreadPoolExecutor(4) as pool:
        found = [
            pool.submit(lambda: (model.predict(X), model.score_samples(X), model.predict_proba(X))) for _ in range(16)
        ]
    for each in found:
        for one, expected in zip(each.result(), wanted, strict=True):
            np.testing.assert_array_equal(one, expected)
