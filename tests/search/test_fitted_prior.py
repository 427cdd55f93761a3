"""The prior of ``likelihood="auto"``: at the largest evidence, for clusters that are found under it."""

import time
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.metrics import adjusted_mutual_info_score

from mapdpm import (
    MAPDPM,
    BetaBernoulli,
    Categorical,
    DirichletMultinomial,
    DriftingNormal,
    GammaPoisson,
    NormalGamma,
    NormalKnownVariance,
    load,
    select_alpha,
)
from mapdpm.backends.evidence import Box, largest
from mapdpm.likelihoods import FAMILIES
from mapdpm.likelihoods._template import GammaExponential
from mapdpm.search import fitted_prior, widths
from mapdpm.search.widths import Widths
from tests.marks import complete_but
from tests.oracle import raw


def blobs(n_clusters, each, seed=0):
    """Clusters of variance 1 on a grid of distance 12, in two features, in random order; and their labels."""
    rng = np.random.default_rng([seed, n_clusters])
    side = int(np.ceil(np.sqrt(n_clusters)))
    labels = rng.permutation(np.repeat(np.arange(n_clusters), each))
    return 12.0 * np.column_stack(np.divmod(labels, side)) + rng.normal(size=(len(labels), 2)), labels


def counts(seed=0):
    """Counts of three kinds of points."""
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(0.5, 10.0, (3, 6))[rng.integers(0, 3, 120)]).astype(float)


FITTED = [family for family in FAMILIES if family.widths and family is not Categorical]  # a word says little alone


def points_for(family):
    X = counts()
    if family is BetaBernoulli:
        return (X > 4.0).astype(float)
    if family in {DirichletMultinomial, GammaPoisson, GammaExponential}:
        return X
    return blobs(6, 20)[0]


# ---- the search for the largest evidence -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_the_largest_is_found_along_ridges(seed):
    """A quadratic with a ridge a hundred times as long as it is wide, at any angle, far from the edges."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    shape = turn @ np.diag([1.0, 1e2, 1e4]) @ turn.T
    peak = rng.uniform(-4.0, 4.0, 3)
    box = Box(np.full(3, -50.0), np.full(3, 50.0), 1e-6, 1e-12)
    found = largest(lambda t: -0.5 * (t - peak) @ shape @ (t - peak), np.zeros(3), box)
    # the last cycle gains at most 1e-12, so what is left is small along each of the directions searched
    np.testing.assert_allclose(found, peak, atol=1e-4)


def test_a_wall_of_the_box_does_not_end_the_search():
    """Directions that a search has found may all lead out of the box; then the axes are tried again.

    So no axis is left to gain by: at most what a search along it leaves, which ends within 0.03 of its peak, and what
    the last cycle may gain, 1e-5 (1 + |value|). Without the axes, some of these 600 quadratics end far below.
    """
    box = Box(np.full(3, -6.0), np.full(3, 6.0), 0.03, 1e-5)
    for seed in range(600):
        rng = np.random.default_rng(seed)
        A, peak = rng.normal(size=(3, 3)), rng.uniform(-5.0, 5.0, 3)
        shape = A @ A.T + 0.05 * np.eye(3)

        def value(place, shape=shape, peak=peak):
            return -float((place - peak) @ shape @ (place - peak))

        found = largest(value, rng.uniform(-6.0, 6.0, 3), box)
        for axis, bend in zip(np.eye(3), np.diag(shape), strict=True):
            uphill = -float(axis @ shape @ (found - peak)) / bend
            best = np.clip(found + uphill * axis, -6.0, 6.0)
            assert value(best) - value(found) <= bend * 0.03**2 + 1e-5 * (1.0 - value(found))


def test_the_largest_stays_in_the_box():
    box = Box(np.array([-1.0, -2.0]), np.array([1.0, 2.0]), 1e-6, 1e-12)
    found = largest(lambda t: float(t @ [1.0, -3.0]), np.zeros(2), box)
    np.testing.assert_allclose(found, [1.0, -2.0], atol=1e-5)


@pytest.mark.parametrize("family", complete_but([NormalGamma], FITTED))
def test_evidence_is_that_of_raw_data(family):
    """Against a simplex search on log joints of raw data, at the same partition: within the gain that ends a search."""
    X = points_for(family)
    model = MAPDPM(likelihood=family.empirical(X)).fit(X)
    empirical = family.empirical(X).for_data(X)
    fitted = Widths(empirical)
    start = fitted.at(None)
    place, gain = fitted.largest(model._mixture, model.backend_, start)

    def joint(there):
        return raw.log_joint(X, model.labels_, fitted.prior(there), 1.0)

    assert joint(place) - joint(start) == pytest.approx(gain, rel=1e-8, abs=1e-8)
    best = minimize(lambda t: -joint(np.clip(t, *fitted._widths.box[:2])), place, method="Nelder-Mead")
    assert -best.fun - joint(place) <= 3.0 * widths._GAIN_OF_CYCLE * (1.0 + abs(best.fun))


# ---- what a fit finds ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_clusters", "each"), [(30, 30), (50, 20), (50, 10)])
def test_many_narrow_clusters_are_found(n_clusters, each):
    X, labels = blobs(n_clusters, each)
    model = MAPDPM(likelihood="auto").fit(X)
    assert model.n_clusters_ == n_clusters
    assert adjusted_mutual_info_score(labels, model.labels_) == pytest.approx(1.0)
    assert MAPDPM(likelihood=None).fit(X).n_clusters_ < n_clusters / 2


def test_one_cluster_stays_one():
    X = np.random.default_rng(0).normal(size=(300, 3))
    assert MAPDPM(likelihood="auto").fit(X).n_clusters_ == 1


def test_the_result_is_that_of_its_prior():
    """The prior is chosen, and then all is as if the user had given it."""
    X, _ = blobs(12, 15)
    auto = MAPDPM(likelihood="auto", n_restarts=2).fit(X)
    given = MAPDPM(likelihood=auto.likelihood_, n_restarts=2).fit(X)
    assert np.array_equal(auto.labels_, given.labels_)
    assert auto.history_.tobytes() == given.history_.tobytes()
    assert auto.likelihood_ != NormalGamma.empirical(X)


def test_the_joint_is_never_below_that_of_the_empirical_prior():
    for seed in range(5):
        X, _ = blobs(8, 8, seed)
        assert MAPDPM(likelihood="auto").fit(X).log_joint_ >= MAPDPM(likelihood=None).fit(X).log_joint_


def test_units_and_offsets_do_not_matter():
    """Powers of two change no digit; the same clusters, and the same prior in other units."""
    X, _ = blobs(15, 12)
    one, other = MAPDPM(covariance="diagonal").fit(X), MAPDPM(covariance="diagonal").fit(1024.0 * X)
    assert np.array_equal(one.labels_, other.labels_)
    assert one.likelihood_.c0 == pytest.approx(other.likelihood_.c0, rel=1e-9)
    np.testing.assert_allclose(other.likelihood_.b0, 2.0**20 * one.likelihood_.b0, rtol=1e-9)
    far = MAPDPM(covariance="diagonal").fit(X + 2.0**20)
    assert np.array_equal(one.labels_, far.labels_)


def test_points_of_weight_0_do_not_count():
    X, _ = blobs(10, 12)
    w = np.ones(len(X))
    w[::3] = 0.0
    whole, part = MAPDPM(likelihood="auto").fit(X, sample_weight=w), MAPDPM(likelihood="auto").fit(X[w > 0.0])
    assert whole.likelihood_ == part.likelihood_
    assert np.array_equal(whole.labels_[w > 0.0], part.labels_)


@pytest.mark.parametrize("family", complete_but([NormalKnownVariance, GammaExponential], [*FITTED, GammaExponential]))
def test_a_family_stands_for_its_fitted_prior(family):
    X = points_for(family)
    auto, empirical = MAPDPM(likelihood=family).fit(X), MAPDPM(likelihood=family.empirical(X)).fit(X)
    assert type(auto.likelihood_) is family
    assert auto.log_joint_ >= empirical.log_joint_
    assert type(MAPDPM(likelihood=family).fit(X, sample_weight=np.arange(len(X)) % 3).likelihood_) is family


def test_a_family_says_what_its_empirical_prior_does_not_take():
    class Plain(GammaExponential):
        @classmethod
        def empirical(cls, X):
            return super().empirical(X)

    X = counts()
    with pytest.raises(ValueError, match=r"Plain\.empirical takes no sample_weight, so no prior is fitted with it"):
        MAPDPM(likelihood=Plain).fit(X, sample_weight=np.arange(len(X)))
    with pytest.raises(ValueError, match=r"Plain\.empirical takes no missing, so no prior is fitted with it"):
        MAPDPM(likelihood=Plain, missing="skip").fit(np.where(X > 30.0, np.nan, X))


# ---- samples ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [400, 80])
def test_many_points_are_searched_by_a_sample(size, monkeypatch):
    """All points are fitted once; or again, if the sample has too few points of each cluster to see how wide they are.

    A sample of 80 has two points of each of 40 clusters. It sees few clusters, and those in one column, so it is not
    made larger.
    """
    X, labels = blobs(40, 60)
    monkeypatch.setattr(fitted_prior, "_MANY", 100)
    monkeypatch.setattr(fitted_prior, "_FEWER", size)
    sizes, fit = [], fitted_prior.fit

    def noted(settings, points, *rest):
        sizes.append(len(points))
        return fit(settings, points, *rest)

    monkeypatch.setattr(fitted_prior, "fit", noted)
    model = MAPDPM(likelihood="auto").fit(X)
    assert sizes[0] == size
    assert sizes.count(len(X)) == {400: 1, 80: 3}[size]
    assert model.n_clusters_ == 40
    assert adjusted_mutual_info_score(labels, model.labels_) == pytest.approx(1.0)


def test_the_sample_does_not_depend_on_threads_or_order_of_calls():
    X, _ = blobs(9, 20)
    one, two = (MAPDPM(likelihood="auto", n_jobs=n, n_restarts=3).fit(X) for n in (1, 2))
    assert one.likelihood_ == two.likelihood_
    assert np.array_equal(one.labels_, two.labels_)


def test_a_time_limit_holds_for_both():
    X, _ = blobs(300, 10)
    before = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MAPDPM(likelihood="auto", time_limit=1e-3).fit(X)
    assert model.n_clusters_ >= 1
    assert time.monotonic() - before < 20.0  # one fit to a sample, and one sweep


# ---- at the border ---------------------------------------------------------------------------------------------------


def test_other_names_are_refused():
    X, _ = blobs(3, 5)
    with pytest.raises(
        ValueError, match="likelihood must be 'auto', None, a family, or one with its prior, got 'wide'"
    ):
        MAPDPM(likelihood="wide").fit(X)
    for kind in (DriftingNormal, int):
        with pytest.raises(ValueError, match=f"there is no rule to fit the prior of {kind.__name__}"):
            MAPDPM(likelihood=kind).fit(X)


@pytest.mark.parametrize("likelihood", ["auto", NormalKnownVariance])
def test_files_and_clones_keep_the_parameter(likelihood, tmp_path):
    X, _ = blobs(5, 8)
    model = MAPDPM(likelihood=likelihood).fit(X)
    model.save(tmp_path / "model.mdpm")
    again = load(tmp_path / "model.mdpm")
    assert again.likelihood == likelihood == clone(again).likelihood
    assert again.likelihood_ == model.likelihood_
    assert np.array_equal(again.predict(X), model.predict(X))


def test_select_alpha_fits_the_prior_once_a_fold():
    X, _ = blobs(12, 12)
    found = select_alpha(X, [0.3, 3.0], likelihood="auto", folds=2)
    assert found.model.n_clusters_ == 12
    assert found.mean_scores.min() > select_alpha(X, [0.3, 3.0], likelihood=None, folds=2).mean_scores.max()
    for method in ("nll", "map", "empirical-bayes"):
        assert select_alpha(X, [0.3, 3.0], method=method, likelihood="auto").model.n_clusters_ == 12


def test_a_grid_of_the_prior_is_one_of_the_empirical_prior():
    X, _ = blobs(6, 12)
    grid = [{"b0_scale": 0.1}, {"b0_scale": 0.01}]
    auto, none = (select_alpha(X, grid, likelihood=given, folds=3) for given in ("auto", None))
    assert np.array_equal(auto.scores, none.scores)


def test_streams_take_the_prior_of_their_warm_up():
    X, _ = blobs(4, 150)
    auto = select_alpha(X, [1.0, 3.0], method="prequential", folds=2)
    with pytest.warns(FutureWarning, match="write that"):
        none = select_alpha(X, [1.0, 3.0], method="prequential", likelihood=None, folds=2)
    assert np.array_equal(auto.scores, none.scores)
    with pytest.raises(ValueError, match="a stream fits the prior of normal data only"):
        select_alpha(X, [1.0, 3.0], method="prequential", likelihood=NormalKnownVariance)


def test_tiny_units_stay_within_what_a_parameter_may_be():
    X, _ = blobs(3, 10)
    for small in (X * 1e-49, np.column_stack([X[:, 0], X[:, 1] * 1e-49])):
        assert MAPDPM().fit(small).n_clusters_ >= 1


def test_what_is_no_data_of_the_family_is_said():
    with pytest.raises(ValueError, match="zeros and ones"):
        MAPDPM(likelihood=BetaBernoulli).fit([[0.5, 1.0], [0.0, 1.0]])


def test_a_sequence_of_numbers_of_one_cluster_is_fine():
    """Points that are all alike, one point, two points: no width is best, and nothing fails."""
    for X in (np.zeros((20, 2)), [[3.0]], [[1.0, 2.0], [1.0, 2.5]]):
        model = MAPDPM(likelihood="auto").fit(X)
        assert np.all(np.isfinite(model.score_samples(X)))
