"""Surprise is a tail probability: against draws from the predictive, and on streams of the model."""

import zlib

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaincc
from scipy.stats import t as student

from mapdpm import NormalGamma, NormalKnownVariance, OnlineMAPDPM
from mapdpm.files.errors import ModelFileError
from oracle.surprise import Counts
from tests.marks import complete_but

LEVELS = (0.5, 0.1, 0.01, 0.001)


def separated(rng, D, n=1200, spread=10.0):
    """A stream of some normal clusters, far apart."""
    centres = spread * rng.normal(size=(rng.integers(2, 7), D))
    return centres[rng.integers(0, len(centres), n)] + rng.normal(size=(n, D))


def deviations(surprises, levels=LEVELS):
    """For each level the count at or below it, in standard errors of a binomial count."""
    n = len(surprises)
    return [(np.sum(surprises <= p) - n * p) / np.sqrt(n * p * (1 - p)) for p in levels]


# ---- the tail of the predictive, before there are counts -------------------------------------------------------------


def inserted(likelihood, clusters, **settings):
    """A learner that holds clusters, and has counted nothing: its surprise is the tail of its predictive."""
    D = len(clusters[0][1])
    model = OnlineMAPDPM(8, likelihood=likelihood, n_features=D, **settings)
    for weight, mean, variance in clusters:
        model.ready_learner().insert(weight, np.asarray(mean, float), np.asarray(variance, float))
    return model


def draws(likelihood, clusters, n, rng):
    """n draws from the posterior predictives of clusters, by their parameters: precision, mean, point.

    With Normal-Gamma data the mean has a flat prior here: how far a cluster is from m0 says nothing of its width.
    """
    D, weights = len(clusters[0][1]), np.array([weight for weight, _, _ in clusters])
    points = np.empty((n, D))
    for k, rows in enumerate(np.split(rng.permutation(n), np.cumsum(rng.multinomial(n, weights / weights.sum()))[:-1])):
        weight, mean, variance = (np.asarray(each, float) for each in clusters[k])
        if isinstance(likelihood, NormalGamma):
            shape, rate = likelihood.a0 + (weight - 1) / 2, likelihood.b0 + weight * variance / 2
            precision = rng.gamma(shape, 1.0, (len(rows), D)) / rate
            points[rows] = rng.normal(rng.normal(mean, (weight * precision) ** -0.5), precision**-0.5)
        else:
            ratio = 1 / likelihood.prior_variance + weight / likelihood.variance
            centre = (likelihood.m0 / likelihood.prior_variance + weight * mean / likelihood.variance) / ratio
            points[rows] = rng.normal(rng.normal(centre, ratio**-0.5, (len(rows), D)), likelihood.variance**0.5)
    return points


@pytest.mark.parametrize("D", [1, 2, 3, 8, 31, 32, 33, 40])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_with_known_variances_the_tail_is_exact(D, dtype):
    """Maths (116) by scipy, down to e^-35: off by 1e-6, above 32 features by the saddlepoint's 0.2 %.

    The depth is a difference of logs of size |f| + D, and each of a few roundings moves it by an eps of them.
    """
    n, means, ones = np.array([60.0, 9.0, 700.0]), np.array([-40.0, 0.0, 40.0]), np.ones(D)
    prior = NormalKnownVariance(0.0 * ones, 400.0 * ones, ones)
    model = inserted(prior, [(w, m * ones, ones) for w, m in zip(n, means, strict=True)], dtype=dtype, rare=0.0)
    posterior = 1.0 / (1.0 / 400.0 + n)
    centres = n * posterior * means
    steps = np.sqrt(2.0 * np.linspace(0.0, 35.0, 71) / D)[:, None] * ones
    found = model.assess_many(np.concatenate([centre + steps for centre in centres]))
    f = found.log_density.astype(float) + np.log(n.sum() + model.alpha)
    highest = np.log(n) - 0.5 * D * np.log(2.0 * np.pi * (1.0 + posterior))
    tail = gammaincc(0.5 * D, np.maximum(highest - f[:, None], 0.0)) @ n / n.sum()
    rounding = 8.0 * np.finfo(dtype).eps * (np.abs(f) + D)
    assert np.all(np.abs(found.surprise / tail - 1.0) <= (1e-6 if D <= 32 else 2e-3) + rounding)


@pytest.mark.parametrize("D", [1, 2, 3, 8, 31, 40])
@pytest.mark.parametrize("known", [False, True], ids=["gamma", "known variance"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_it_is_the_tail_of_the_predictive(D, known, dtype):
    """Against 40,000 draws. Five standard errors, and what Bartlett's and the saddlepoint's approximations may err."""
    rng = np.random.default_rng(D)
    ones = np.ones(D)
    prior = (
        NormalKnownVariance(0.0 * ones, 400.0 * ones, ones) if known else NormalGamma(0.0 * ones, 0.01, 2.0, 2 * ones)
    )
    clusters = [(60.0, -30 * ones, ones), (90.0, 0 * ones, ones if known else 4 * ones), (30.0, 30 * ones, ones)]
    model = inserted(prior, clusters, dtype=dtype, rare=0.0)
    values = model.score_samples(draws(prior, clusters, 40_000, rng))
    asked = draws(prior, clusters, 300, rng)
    found = model.assess_many(asked)
    expected = np.mean(values[:, None] <= found.log_density, axis=0)
    error = np.sqrt(expected * (1 - expected) / len(values)) + 1 / len(values)
    np.testing.assert_array_less(np.abs(found.surprise - expected), 5 * error + 0.03 * expected)


@pytest.mark.parametrize("n", [8.0, 20.0, 40.0, 200.0])
def test_a_young_cluster_has_the_tail_of_student(n):
    """The tail of one feature, of a cluster at the prior mean, is known; maths (115) is off by less than 3 a^-2."""
    model = inserted(NormalGamma(0.0, 0.01, 2.0, 2.0), [(n, [0.0], [1.0])], alpha=1e-9, rare=0.0)
    a, b = 2.0 + (n - 1.0) / 2.0, 2.0 + n / 2.0
    tails = np.array([0.5, 0.1, 0.01, 0.001])
    x = np.sqrt((1.0 + 1.0 / n) * b / a) * student.isf(tails / 2.0, 2.0 * a)
    np.testing.assert_allclose(model.assess_many(x[:, None]).surprise, tails, rtol=3.0 * a**-2)


def test_missing_values_are_left_out():
    """A point without its second feature is as surprising as in a learner of the first alone."""
    prior = NormalGamma(0.0, 0.01, 2.0, 2.0)
    both = inserted(prior, [(60.0, [0, 5], [1, 3]), (40.0, [30, 5], [2, 1])], missing="skip")
    first = inserted(prior, [(60.0, [0], [1]), (40.0, [30], [2])])
    for x in (0.3, 2.0, -4.0, 33.0, 15.0):
        assert both.assess_one([x, np.nan]).surprise == pytest.approx(first.assess_one([x]).surprise, rel=1e-9)


def test_far_points_keep_their_order():
    model = inserted(NormalKnownVariance(0.0, 1e4, 1.0), [(100.0, [0.0, 0.0], [1.0, 1.0])])
    found = model.assess_many([[float(x), 0.0] for x in range(2, 60, 2)]).surprise
    assert np.all(np.diff(found[:18]) < 0)  # until exp underflows
    assert np.all(np.diff(found) <= 0)


# ---- the rank among the points so far --------------------------------------------------------------------------------


def test_it_is_ranked_like_the_oracle():
    """A known cluster in two features: E is the squared distance from its centre over twice the variance."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(6000, 2))
    X[2000:2003] = [4.0, 4.0]  # an episode; then a change that lasts longer than an episode may
    X[3000:3150] = [5.0, -3.5]
    prior = NormalKnownVariance(0.0, 1e4, 1.0)
    model = OnlineMAPDPM(1, likelihood=prior, n_features=2, alpha=1e-9, rare=0.0)
    found = model.learn_many_assessed(X).surprise
    counts, expected = Counts(1), []
    n, total, longest = 0, np.zeros(2), 0
    for x in X:
        spread = 1.0 / (1e-4 + n)
        log_cluster = -np.sum((x - spread * total) ** 2) / (2 * (1 + spread)) - np.log(2 * np.pi * (1 + spread))
        log_new = -np.sum(x**2) / (2 * 10001.0) - np.log(2 * np.pi * 10001.0)
        if n == 0:  # the tail of the prior
            E = np.sum(x**2) / (2 * 10001.0)
        else:
            highest = np.log(n) - np.log(2 * np.pi * (1 + spread))
            E = max(highest - np.logaddexp(np.log(n) + log_cluster, np.log(1e-9) + log_new), 0.0)
        surprise = counts.rank(E)
        counts.add(np.array([E]), surprise)
        expected.append(surprise[0])
        n, total, longest = n + 1, total + x, max(longest, counts.left_out[0])
    np.testing.assert_allclose(found, expected, rtol=1e-8)  # E is a difference of logarithms near 10: 1e-14 of it
    assert longest == 64  # the change was counted in the end


@pytest.mark.slow
def test_the_rank_is_calibrated_for_exponentials():
    """2,000 streams of 1,000: within four standard errors, and 3 % for what the end of the lower half costs."""
    E = np.random.default_rng(0).exponential(size=(1000, 2000))
    counts, found = Counts(2000), []
    for values in E:
        surprise = counts.rank(values)
        counts.add(values, surprise)
        found.append(surprise)
    surprises = np.concatenate(found)
    for p in LEVELS:
        count, n = np.sum(surprises <= p), len(surprises)
        assert abs(count - n * p) < 4 * np.sqrt(n * p * (1 - p)) + 0.03 * n * p


# ---- calibration -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("half_life", complete_but([500.0], [None, 500.0]))
@pytest.mark.parametrize("D", complete_but([1, 8], [1, 2, 8]))
@pytest.mark.parametrize("spread", complete_but([10.0], [10.0, 100.0]))
def test_it_is_calibrated(D, spread, half_life):
    """60 streams in units from 1e-6 to 1e6: within four standard errors of a binomial count.

    At 100 deviations the distance from the prior mean makes the densities of young clusters far too wide.
    """
    rng = np.random.default_rng(D)
    found = []
    for unit in 10.0 ** rng.uniform(-6, 6, 60):
        X = unit * separated(rng, D, spread=spread)
        found.append(OnlineMAPDPM(half_life=half_life).learn_many_assessed(X).surprise[200:])
    assert np.max(np.abs(deviations(np.concatenate(found)))) < 4.0


@pytest.mark.slow
@pytest.mark.parametrize("half_life", [None, 1000.0])
@pytest.mark.parametrize(("D", "spread"), [(2, 10.0), (3, 10.0), (8, 10.0), (1, 100.0), (3, 100.0), (8, 100.0)])
def test_a_thousand_streams(D, spread, half_life):
    """10^6 points, p down to 1e-4: within four standard errors, and what bench/calibration.py shows to remain."""
    rng = np.random.default_rng(100 + D)
    found = [
        OnlineMAPDPM(half_life=half_life).learn_many_assessed(separated(rng, D, spread=spread)).surprise[200:]
        for _ in range(1000)
    ]
    surprises = np.concatenate(found)
    for p, remains in ((0.5, 0.01), (0.1, 0.01), (0.01, 0.05), (0.001, 0.1), (1e-4, 0.45)):
        count, n = np.sum(surprises <= p), len(surprises)
        assert abs(count - n * p) < 4 * np.sqrt(n * p * (1 - p)) + remains * n * p


@pytest.mark.parametrize("freedom", [3, 5])
def test_heavy_tails_are_learned(freedom):
    """Student's t is no normal cluster: the tail of the predictive is far too light, and the counts mend it.

    The promise: p within a tenth at 0.1, a third at 0.01, a factor of two at 0.001, where hardly any counts are left.
    """
    X = np.random.default_rng(1).standard_t(freedom, size=(20_000, 2))
    model = OnlineMAPDPM().partial_fit(X[:2000])
    found = model.learn_many_assessed(X[2000:]).surprise
    assert 0.09 < np.mean(found <= 0.1) < 0.11
    assert 0.0067 < np.mean(found <= 0.01) < 0.0133
    assert 0.0005 < np.mean(found <= 0.001) < 0.002


# ---- rare clusters ---------------------------------------------------------------------------------------------------


def attacks(rng):
    """Normal points; then the same attack again and again: five bursts of 40 in 10,000 points."""
    X = rng.normal(size=(12_000, 2))
    is_attack = np.zeros(len(X), bool)
    for start in range(2000, 12_000, 2000):
        is_attack[start : start + 40] = True
    X[is_attack] = [9.0, 9.0] + 0.1 * rng.normal(size=(is_attack.sum(), 2))
    return X, is_attack


def test_what_is_rare_does_not_become_normal_by_repetition():
    X, is_attack = attacks(np.random.default_rng(0))
    model = OnlineMAPDPM()
    found = model.learn_many_assessed(X)
    assert model.n_clusters == 2  # the attack has a cluster of its own
    assert found.log_density[is_attack][-1] > found.log_density[2000] + 10.0
    assert np.max(found.surprise[is_attack]) < 1e-3  # though one in sixty points was an attack
    assert np.mean(found.surprise[200:][~is_attack[200:]] <= 1e-3) < 0.002
    careless = OnlineMAPDPM(rare=0.0).learn_many_assessed(X).surprise
    assert np.median(careless[is_attack]) > 0.1


@pytest.mark.parametrize("every", [100, 350, 1000, 5000])
@pytest.mark.parametrize("kinds", [1, 2, None])
def test_each_of_many_glitches_is_extreme(every, kinds):
    """A rounded, slow sensor with a wrong reading now and then: always the same, one of two, or any."""
    rng = np.random.default_rng(16)
    x = np.round((20.0 + 3.0 * np.sin(np.arange(15_000) / 200.0) + 0.1 * rng.normal(size=15_000)) * 16.0) / 16.0
    at = np.arange(500, len(x), every)
    x[at] = (
        rng.uniform(-200.0, -50.0, len(at))
        if kinds is None
        else np.array([-127.0, 85.0])[rng.integers(0, kinds, len(at))]
    )
    model = OnlineMAPDPM()
    surprises = model.learn_many_assessed(x[:, None]).surprise
    assert np.max(surprises[at]) < 1e-6
    assert model.assess_one([60.0]).surprise < 1e-8  # another fault is not masked by them
    usual = surprises[np.setdiff1d(np.arange(1000, len(x)), at)]
    episodes = np.count_nonzero(np.diff(np.flatnonzero(usual <= 1e-6), prepend=-1000) > 100)
    assert episodes <= 1  # points of a wave are not independent: one of its crests may become a cluster, rare at first


def test_a_change_for_good_becomes_normal():
    """A run of extreme points is counted after 64 of them; its cluster is not rare after 2 % of all points."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8000, 2))
    X[4000:] += 9.0
    found = OnlineMAPDPM(half_life=500.0).learn_many_assessed(X).surprise
    assert np.max(found[4000:4030]) < 1e-3
    assert abs(np.mean(found[6000:] <= 0.1) - 0.1) < 0.05


def test_several_incidents_are_each_extreme():
    """Eight single far points in a thousand: each has the surprise of the first."""
    X = np.random.default_rng(3).normal(size=(1200, 2))
    far = np.arange(300, 1200, 110)
    X[far] = 1e3 * np.array([[1, 0], [0, -2], [4, 4], [-5, 0], [9, 1], [-8, -8], [20, 0], [30, 30], [0, 60]])
    found = OnlineMAPDPM().learn_many_assessed(X).surprise
    assert np.max(found[far]) < 1e-5


# ---- which columns ---------------------------------------------------------------------------------------------------


def slow_contributions(model, x):
    """scipy's densities of each column under the nearest cluster that is not rare, at their peak and at x."""
    p, scores, nats = model.likelihood_, [], []
    for n, mean, variance in zip(model.weights, model.means, model.variances, strict=True):
        if n < 0.02 * sum(model.weights):
            continue
        if isinstance(p, NormalKnownVariance):
            spread = p.variance + n * p.prior_variance
            law = stats.norm(
                p.m0 + n * p.prior_variance / spread * (mean - p.m0),
                np.sqrt(p.variance * (1 + p.prior_variance / spread)),
            )
        else:
            a, c = p.a0 + n / 2, p.c0 + n
            b = p.b0 + n * variance / 2 + p.c0 * n * (mean - p.m0) ** 2 / (2 * c)
            law = stats.t(2 * a, (p.c0 * p.m0 + n * mean) / c, np.sqrt(b * (c + 1) / (a * c)))
        there = ~np.isnan(x)
        scores.append(np.log(n) + np.sum(law.logpdf(x)[there]))
        nats.append(np.where(there, law.logpdf(law.mean()) - law.logpdf(x), 0.0))
    return nats[int(np.argmax(scores))]


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_contributions_are_those_of_scipy(known, dtype):
    rng = np.random.default_rng(6)
    X = 9.0 * rng.integers(0, 2, (800, 1)) + rng.normal(size=(800, 3))
    options = {"likelihood": NormalKnownVariance(4.0, 30.0, 1.0), "n_features": 3} if known else {}
    model = OnlineMAPDPM(8, dtype=dtype, **options).partial_fit(X)
    asked = np.concatenate([X[:50], X[:50] + 8.0 * np.eye(3)[rng.integers(0, 3, 50)]])
    found = model.assess_many(asked)
    unusual = found.surprise <= 0.01
    assert unusual[50:].all()
    assert np.isnan(found.contributions[~unusual]).all()
    expected = [slow_contributions(model, x) for x in asked[unusual]]
    rtol = 1e-6 if dtype == "float64" else 2e-3
    np.testing.assert_allclose(found.contributions[unusual], expected, rtol=rtol, atol=1e-5)
    assert np.mean(np.argmax(expected[-50:], axis=1) == np.argmax(np.abs(asked[50:] - X[:50]), axis=1)) > 0.9


def test_contributions_of_one_and_of_many_and_of_missing_values():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(600, 2))
    X[500] = [9.0, np.nan]
    one, many = OnlineMAPDPM(missing="skip"), OnlineMAPDPM(missing="skip")
    each = [one.learn_assessed(x) for x in X]
    found = many.learn_many_assessed(X)
    for assessment, nats in zip(each, found.contributions, strict=True):
        expected = np.full(2, np.nan) if assessment.contributions is None else assessment.contributions
        np.testing.assert_array_equal(expected, nats)
    assert each[500].contributions[0] > 10.0
    assert each[500].contributions[1] == 0.0
    assert each[10].contributions is None
    far = [9.0, np.nan]
    np.testing.assert_allclose(one.assess_one(far).contributions, slow_contributions(one, np.array(far)), rtol=1e-6)
    assert OnlineMAPDPM(surprise=False).partial_fit(X[:300]).assess_one([99.0, 0.0]).contributions is None


# ---- one call or another, files, gateways ----------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"half_life": 300.0}, {"missing": "skip"}, {"dtype": "float32"}])
def test_assess_then_learn_is_learn_assessed(settings):
    X = separated(np.random.default_rng(3), 3, 600)
    if settings.get("missing"):
        X[::5, 1] = np.nan
    one, other, many = (OnlineMAPDPM(**settings) for _ in range(3))
    found = many.learn_many_assessed(X)
    for i, x in enumerate(X):
        before = one.to_bytes() if i else b""
        first = one.assess_one(x)
        assert i == 0 or one.to_bytes() == before
        number = one.learn_one(x)
        second = other.learn_assessed(x)
        np.testing.assert_array_equal(first[1:], second[1:])
        np.testing.assert_array_equal(second, [each[i] for each in found])
        assert second.id == number
    assert one.to_bytes() == other.to_bytes() == many.to_bytes()


def test_times():
    X, t = separated(np.random.default_rng(3), 2, 600), np.cumsum(np.random.default_rng(0).exponential(size=600))
    model = OnlineMAPDPM(half_life=100.0)
    model.learn_many(X[:500], t[:500])
    later = model.assess_many(X[500:501].repeat(3, axis=0), [t[499], t[500], t[500] + 500.0])
    assert later.novelty[0] < later.novelty[1] < later.novelty[2]
    np.testing.assert_array_equal(model.assess_one(X[500])[1:], [each[0] for each in later[1:]])
    second = model.learn_assessed(X[500], t[500])
    np.testing.assert_array_equal(second[1:], [each[1] for each in later[1:]])
    with pytest.raises(ValueError, match="time"):
        model.assess_one(X[501], t[0])
    untimed = OnlineMAPDPM(half_life=100.0).partial_fit(X)
    with pytest.raises(ValueError, match="time"):
        untimed.assess_one(X[0], 5.0)


def test_before_there_are_clusters():
    model = OnlineMAPDPM(n_features=2)
    assert model.assess_one([0.0, 1.0])[:1] == (-1,)
    first = model.learn_assessed([0.0, 1.0])
    assert first.id == 0
    assert np.all(np.isnan(first[1:]))
    stated = OnlineMAPDPM(likelihood=NormalGamma(0.0, 0.1, 2.0, 2.0), n_features=1)
    near, far = stated.assess_one([0.0]), stated.assess_one([1e6])
    assert (near.id, near.novelty) == (-1, 1.0)
    assert far.surprise < 1e-3 < near.surprise


@pytest.mark.parametrize("kind", [list, tuple, np.array, np.float32])
def test_points_of_any_type(kind):
    """Those that have the fast path and those that have not: an assessment with a time never has it."""
    X = separated(np.random.default_rng(3), 2, 600)
    model, timed = OnlineMAPDPM().partial_fit(X), OnlineMAPDPM()
    timed.learn_many(X, np.arange(600))
    x = kind([0.5, -1.0])
    assert model.assess_one(x) == timed.assess_one(x, 600.0)
    assert model.learn_assessed(x) == timed.learn_assessed(x, 600.0)


@pytest.mark.parametrize("x", [[1.0], [1.0, 2.0, 3.0], ["a", 1.0], [np.nan, 1.0], [1e300, 1.0], 7.0, None])
def test_what_is_no_point_changes_nothing(x):
    model = OnlineMAPDPM().partial_fit(separated(np.random.default_rng(3), 2, 600))
    before = model.to_bytes()
    for ask in (model.assess_one, model.learn_assessed):
        with pytest.raises(ValueError, match=r"feature|numbers|finite|NaN|far"):
            ask(x)
    assert model.to_bytes() == before


def test_files_and_settings():
    X = separated(np.random.default_rng(5), 2, 1500)
    model = OnlineMAPDPM(8, rare=0.05).partial_fit(X[:900])
    again = OnlineMAPDPM.from_bytes(model.to_bytes())
    assert (again.surprise, again.rare) == (True, 0.05)
    np.testing.assert_array_equal(model.learn_many_assessed(X[900:]), again.learn_many_assessed(X[900:]))
    assert model.to_bytes() == again.to_bytes()
    plain = OnlineMAPDPM(8, surprise=False).partial_fit(X)
    assert len(model.to_bytes()) - len(plain.to_bytes()) <= 400
    assert np.isnan(plain.assess_one(X[0]).surprise)
    assert plain.assess_one(X[0]).log_density == plain.score_one(X[0])
    with pytest.raises(ValueError, match="rare must be a share of all points"):
        OnlineMAPDPM(rare=1.0)


def test_damaged_counts_are_refused():
    """The last count of surprises is no number of points; a free slot has points, or counts as rare."""
    model = OnlineMAPDPM(4, likelihood=NormalGamma(0.0, 0.1, 2.0, 2.0), n_features=1).partial_fit([[0.0], [9.0]])
    whole = model.to_bytes()
    standing = len(whole) - 4 - 4 * (4 + 5)
    counts = [(standing - 8, np.float64(value)) for value in (-1.0, np.nan, np.inf)]
    points = [(standing + 4 * slot, np.uint32(value)) for slot in (2, 3) for value in (1, 2**31)]
    for at, value in (*counts, *points):
        data = bytearray(whole)
        assert value.tobytes() != data[at : at + value.nbytes]
        data[at : at + value.nbytes] = value.tobytes()
        data[-4:] = zlib.crc32(data[:-4]).to_bytes(4, "little")
        with pytest.raises(ModelFileError):
            OnlineMAPDPM.from_bytes(bytes(data))


def test_a_gateway_adds_the_counts_of_its_devices():
    """Heavy tails that two devices have learned are known to the gateway."""
    X = np.random.default_rng(1).standard_t(3, size=(20_000, 2))
    devices = [OnlineMAPDPM().partial_fit(part) for part in np.split(X[:10_000], 2)]
    gateway = OnlineMAPDPM.merged(devices)
    assert gateway.to_bytes() == OnlineMAPDPM.merged(devices[::-1]).to_bytes()
    assert gateway.to_bytes() == OnlineMAPDPM.merged([gateway]).to_bytes()
    found = gateway.learn_many_assessed(X[10_000:]).surprise
    alone = OnlineMAPDPM().learn_many_assessed(X[10_000:]).surprise[200:1000]  # begins without counts
    assert np.mean(found[200:1000] <= 0.001) < np.mean(alone <= 0.001)
    assert 0.0003 < np.mean(found <= 0.001) < 0.003
