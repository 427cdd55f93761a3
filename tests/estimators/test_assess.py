"""``MAPDPM.assess``: densities of raw points without themselves, ranks by definition, rates on points of any law."""

import copy
import functools
import math
import pickle

import numpy as np
import pytest
from scipy.special import logsumexp

from mapdpm import MAPDPM, Mixed, NormalGamma
from mapdpm.estimators.calibration import Calibration, rare_clusters
from mapdpm.files.errors import ModelFileError
from tests.marks import complete_but
from tests.oracle import raw

PRIOR = NormalGamma([0.0, 0.0], 0.02, 2.0, [2.0, 1.0])


def with_knot(rng, n=160):
    """Three clusters, a knot of six points and two points alone."""
    z = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 2)) + 9.0 * np.array([[0, 0], [1, 0], [0, 1]])[z]
    X[:6] = [20.0, 20.0] + 0.3 * rng.normal(size=(6, 2))
    X[6], X[7] = [-15.0, 4.0], [2.0, -18.0]
    return X


@functools.cache
def marginal(points, prior):
    """The log density of raw points in two columns, as bytes: that of a cluster is asked for again and again."""
    return math.fsum(raw.log_marginal_terms(np.frombuffer(points).reshape(-1, 2), prior))


def log_joints(x, X, labels, prior, alpha):
    """Log p(z = k) p(x | the points of cluster k), and of a new cluster, from raw points."""

    def density(own):
        both = marginal(np.vstack([own, x[None]]).tobytes(), prior)
        return both - (marginal(own.tobytes(), prior) if len(own) else 0.0)

    members = [X[labels == k] for k in range(labels.max() + 1)]
    logs = [math.log(len(own)) + density(own) if len(own) else -math.inf for own in members]
    return np.array([*logs, math.log(alpha) + density(X[:0])]) - math.log(len(X) + alpha)


@functools.cache
def without_themselves(labels):
    """``log_joints`` of each of the points ``with_knot`` from the others."""
    X, labels = with_knot(np.random.default_rng(0)), np.array(labels)
    return [log_joints(X[i], np.delete(X, i, 0), np.delete(labels, i), PRIOR, 1.5) for i in range(len(X))]


def rank_of(depth, others):
    """Maths, section 30, word by word."""
    rising = np.sort(others)
    n, m = len(rising), min(16, (len(rising) - 1) // 2)
    start = rising[n - m - 1]
    if depth <= start:
        return (np.count_nonzero(rising >= depth) + 1) / (n + 1)
    excesses = rising[n - m :] - start
    r = math.ceil(m / 2)
    S = excesses[:r].sum() + (m - r) * excesses[r - 1]
    c = (depth - start) / (1 + S)
    return (m + 1) / (n + 1) * math.exp(-c) * (1 + c) ** -r


@pytest.mark.parametrize("backend", ["c", "python"])
def test_densities_and_ranks_are_those_of_raw_points(backend):
    X = with_knot(np.random.default_rng(0))
    model = MAPDPM(1.5, likelihood=PRIOR, backend=backend).fit(X)
    labels, sizes = model.labels_, model.cluster_sizes_
    assert sizes.min() == 1
    rare = rare_clusters(sizes.astype(float))
    assert rare.tolist() == (sizes < 10).tolist()
    without = without_themselves(tuple(labels.tolist()))
    found, usual = model.assess(X), np.append(~rare, False)
    np.testing.assert_array_equal(found.id, labels)
    np.testing.assert_allclose(found.log_density, [logsumexp(each) for each in without], rtol=1e-9)
    np.testing.assert_allclose(found.novelty, [np.exp(each[-1] - logsumexp(each)) for each in without], rtol=1e-8)
    depths = -np.array([logsumexp(each[usual[: len(each)]]) for each in without])
    ordinary = np.flatnonzero(~rare[labels])
    expected = [rank_of(depths[i], depths[ordinary]) for i in range(len(X))]
    for i in ordinary:  # of ordinary points, among the others in the bulk
        expected[i] = min(expected[i], 1.0)
    tail = np.array([each < 17.0 / (len(ordinary) + 1) for each in expected])
    np.testing.assert_allclose(
        found.surprise[tail], np.array(expected)[tail] * (len(ordinary) + 1) / len(ordinary), rtol=1e-6
    )
    bulk = ordinary[~tail[ordinary]]
    others = [np.count_nonzero(depths[ordinary] >= depths[i]) for i in bulk]
    np.testing.assert_allclose(found.surprise[bulk], np.array(others) / len(ordinary), rtol=1e-6)
    new = np.array([[0.0, 0.5], [20.0, 20.0], [60.0, -60.0]])
    again = model.assess(new)
    joints = [log_joints(x, X, labels, PRIOR, 1.5) for x in new]
    np.testing.assert_array_equal(again.id, model.predict(new))
    np.testing.assert_array_equal(again.log_density, model.score_samples(new))
    np.testing.assert_allclose(again.novelty, model.predict_proba(new)[:, -1], rtol=1e-8)
    expected = [rank_of(-logsumexp(each[usual]), depths[ordinary]) for each in joints]
    np.testing.assert_allclose(again.surprise[1:], expected[1:], rtol=1e-6)
    assert again.surprise[0] == pytest.approx(expected[0], abs=1.0 / len(ordinary))  # between two ranks
    assert again.surprise[1] < 1e-6  # it lies in the knot
    np.testing.assert_allclose(model.log_surprises(new), np.log(again.surprise), rtol=1e-12)


def test_a_knot_of_outliers_is_found_in_any_unit():
    """Their own cluster makes them usual for the density, and not for the surprise."""
    for seed, scale in ((0, 1.0), (1, 1e-6), (2, 1e5)):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(300, 8))
        X[:12] = 4.0 + 0.2 * rng.normal(size=(12, 8))
        model = MAPDPM().fit(scale * X)
        assert model.assess(scale * X).surprise[:12].max() < 1e-4
        assert set(np.flatnonzero(model.outlier_labels(1e-3))) == set(range(12))
        assert model.score_samples(scale * X)[:12].mean() > model.score_samples(scale * X)[12:].mean()


LAWS = {
    "normal": lambda rng, n: rng.normal(size=(n, 3)),
    "noise": lambda rng, n: np.column_stack(
        [5.0 * rng.integers(0, 3, n) + rng.normal(size=n), rng.normal(size=(n, 4))]
    ),
    "stretched": lambda rng, n: rng.normal(size=(n, 3)) @ np.array([[3.0, 2.9, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 1.0]]),
    "uniform": lambda rng, n: rng.uniform(size=(n, 2)),
    "rounded": lambda rng, n: np.round(2.0 * rng.normal(size=(n, 2)) + 20.0 * rng.integers(0, 2, (n, 1)), 1),
    "counts": lambda rng, n: rng.poisson(20.0, (n, 2)),
}


@pytest.mark.parametrize("law", complete_but(["normal", "rounded", "counts"], LAWS))
def test_rates_of_new_points_are_those_that_are_named(law):
    """Over 12 fits to 400 points. The rank of a new point varies by that of the fit: sd sqrt(p (1 - p) / 400 / 12)."""
    shares = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        surprises = MAPDPM().fit(LAWS[law](rng, 400)).assess(LAWS[law](rng, 2000)).surprise
        shares.append([np.mean(surprises <= p) for p in (0.5, 0.1, 0.02)])
    for share, p in zip(np.mean(shares, axis=0), (0.5, 0.1, 0.02), strict=True):
        assert abs(share - p) < 5.0 * math.sqrt(p * (1.0 - p) / 4800.0) + 0.1 * p


def test_files_and_pickles_rank_alike_and_leave_the_points():
    X = with_knot(np.random.default_rng(3))
    new = X[::7] + 0.5
    model = MAPDPM().fit(X)
    for again in (MAPDPM.from_bytes(model.to_bytes()), pickle.loads(pickle.dumps(model)), copy.copy(model)):
        np.testing.assert_array_equal(again.assess(new).surprise, model.assess(new).surprise)
        np.testing.assert_array_equal(again.assess(X).surprise, model.assess(X).surprise)
        np.testing.assert_array_equal(again.outlier_labels(0.01, X), model.outlier_labels(0.01))
        with pytest.raises(ValueError, match=r"the points of the fit are not here .*: give X"):
            again.outlier_labels(0.01)
    model._calibration = model._calibration._replace(depths=model._calibration.depths[::-1].copy())  # forged
    with pytest.raises(ModelFileError, match="depths"):
        MAPDPM.from_bytes(model.to_bytes())


def test_a_model_without_the_points_of_its_fit_takes_them_once():
    X = with_knot(np.random.default_rng(4))
    model = MAPDPM().fit(X)
    expected = model.assess(X[:9]).surprise
    model._points_of_fit = model._calibration = None  # as a fit on Dask leaves it
    with pytest.raises(ValueError, match="does not know the points of its fit"):
        model.assess(X[:9])
    model.assess(X)
    np.testing.assert_array_equal(model.assess(X[:9]).surprise, expected)


def test_many_points_are_ranked_by_some():
    rng = np.random.default_rng(5)
    depths = rng.gumbel(size=20_000)
    thin, places = Calibration.of(depths), np.linspace(-2.0, 14.0, 400)
    assert len(thin.depths) == 1024
    at_places = np.exp(thin.log_surprises(places, own=False))
    whole = np.array([(np.count_nonzero(depths >= each) + 1) / 20_001 for each in places])
    bulk = whole > 17 / 20_001
    np.testing.assert_allclose(at_places[bulk], whole[bulk], rtol=0.02, atol=2e-3 * 0.5)
    assert np.all(np.diff(at_places) <= 0.0)
    model = MAPDPM().fit(rng.normal(size=(40_000, 2)))
    assert len(model.assess([[0.0, 0.0]]).surprise) == 1
    assert len(model._calibration.depths) == 1024


def test_weights_missing_values_and_columns_of_kinds():
    rng = np.random.default_rng(6)
    X = with_knot(rng)
    w = rng.uniform(0.5, 2.0, len(X))
    w[20:30] = 0.0
    model = MAPDPM().fit(X, sample_weight=w)
    found = model.assess(X, w)
    assert found.surprise[:6].max() < 0.01 < np.median(found.surprise[30:])
    np.testing.assert_array_equal(model.outlier_labels(0.01), found.surprise <= 0.01)
    assert set(found.id[20:30]) == {-1}
    gaps = X.copy()
    gaps[::5, 0] = np.nan
    assert np.all(np.isfinite(MAPDPM(missing="skip").fit(gaps).assess(gaps).surprise))
    table = np.column_stack([X, rng.integers(0, 2, len(X)), np.full(len(X), 3.0)])
    mixed = MAPDPM().fit(table)
    assert isinstance(mixed.likelihood_, Mixed)
    assert mixed.assess(table).surprise[:6].max() < 0.01
    other = mixed.assess([[*table[40, :3], 4.0]])  # a new value of a constant column
    assert other.novelty.tolist() == [1.0]


@pytest.mark.parametrize("gaps", complete_but([True], [False, True]))
def test_ranks_know_no_unit(gaps):
    """Spikes have a probability and numbers a density, missing values neither: a small unit must change no rank."""
    rng = np.random.default_rng(7)
    z = rng.integers(0, 3, 600)
    X = np.column_stack([6.0 * z + rng.normal(size=600), 3.0 * z + rng.gamma(2.0, 1.0, 600), rng.normal(size=600)])
    X[rng.uniform(size=600) < 0.3, 1] = 0.0
    X[:5] = rng.normal([40.0, 30.0, 9.0], 1.0, (5, 3))
    if gaps:
        X[rng.uniform(size=X.shape) < 0.1] = np.nan
        X = X[~np.isnan(X).all(axis=1)]
    missing = "skip" if gaps else "error"
    one, small = (MAPDPM(missing=missing).fit(scale * X).assess(scale * X).surprise for scale in (1.0, 2.0**-20))
    deep = one < 0.05
    np.testing.assert_allclose(np.log(small[deep]), np.log(one[deep]), rtol=0.1)  # the prior's search ends nearby
    assert np.corrcoef(one, small)[0, 1] > 0.995


def test_few_points_and_wrong_calls():
    assert MAPDPM().fit([[1.0]]).assess([[1.0]]).surprise.tolist() == [1.0]
    model = MAPDPM().fit(np.random.default_rng(0).normal(size=(30, 1)))
    for rate in (-0.1, 1.5, "much"):
        with pytest.raises(ValueError, match="rate must be"):
            model.outlier_labels(rate)
    with pytest.raises(ValueError, match="expecting 1 features"):
        model.assess([[1.0, 2.0]])


def test_clusters_of_one_size_are_not_rare():
    assert not rare_clusters(np.full(40, 25.0) + np.arange(40) % 5).any()
    assert rare_clusters(np.array([500.0, 20.0, 400.0, 30.0, 60.0])).tolist() == [False, True, False, True, False]
