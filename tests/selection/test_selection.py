"""select_alpha: against scipy on raw data, against GridSearchCV, and that warm starts lead to modes."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold

from mapdpm import (
    MAPDPM,
    BetaBernoulli,
    DirichletMultinomial,
    GammaPoisson,
    NormalGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    OnlineMAPDPM,
    select_alpha,
)
from mapdpm.data import read_by
from mapdpm.partition_priors import partition_prior
from mapdpm.partition_priors.concentration_posterior import ConcentrationPosterior, NoInteriorModeError
from mapdpm.partition_priors.hyperpriors import GammaPrior, InverseGammaPrior
from mapdpm.search.moves.merge_split import Split
from mapdpm.selection import empirical_bayes
from mapdpm.selection.folds import folds_of
from mapdpm.selection.path import fit_path
from mapdpm.selection.result import simplest
from mapdpm.testing import laws
from tests.marks import complete_but
from tests.oracle import raw

ALPHAS = [0.3, 1.0, 3.0, 10.0]


def blobs(seed, n=60, D=2, K=3):
    rng = np.random.default_rng([8, seed])
    return rng.normal(0.0, 6.0, (K, D))[rng.integers(0, K, n)] + rng.normal(size=(n, D))


def empirical(X):
    return NormalGamma(X.mean(axis=0), 10.0 / len(X), 1.0, X.var(axis=0))


@pytest.mark.parametrize("seed", complete_but(range(4), range(20)))
def test_cv_is_the_naive_version(seed):
    """The density of each held-out point as quotients of joints on raw data, given the clusters of the others."""
    X = blobs(seed, 21)
    found = select_alpha(X, [0.5, 5.0], likelihood=None, folds=3, warm_start=False)
    for number, (train, test) in enumerate(folds_of(len(X), 3)):
        for row, alpha in enumerate((0.5, 5.0)):
            labels = MAPDPM(alpha, likelihood=None).fit(X[train]).labels_
            likelihood = empirical(X[train])
            densities = [logsumexp(raw.log_density(X[train], labels, likelihood, alpha, x)) for x in X[test]]
            assert found.scores[row, number] == pytest.approx(np.mean(densities), abs=1e-9)


@pytest.mark.parametrize("seed", complete_but([0], range(5)))
def test_grid_search_chooses_the_same(seed):
    X = blobs(seed)
    folds = KFold(4, shuffle=True, random_state=seed)
    theirs = GridSearchCV(MAPDPM(relevance="all", covariance="diagonal"), {"alpha": ALPHAS}, cv=folds).fit(X)
    found = select_alpha(X, ALPHAS, folds=folds, warm_start=False, relevance="all", covariance="diagonal")
    np.testing.assert_array_equal(found.mean_scores, theirs.cv_results_["mean_test_score"])
    assert found.alpha == theirs.best_params_["alpha"]
    np.testing.assert_array_equal(found.model.labels_, theirs.best_estimator_.labels_)


@pytest.mark.parametrize("discount", complete_but([0.3], [0.0, 0.3]))
def test_a_path_is_of_modes(discount):
    X = blobs(1, 200, K=8)
    for model in fit_path((MAPDPM(alpha, discount=discount) for alpha in (0.01, 1.0, 100.0, 0.1)), X):
        assert model.converged_
        again = MAPDPM(model.alpha, discount=discount, init=model.labels_, moves=("merge",)).fit(X)
        np.testing.assert_array_equal(again.labels_, model.labels_)
        np.testing.assert_allclose(again.log_joint_, model.log_joint_, rtol=1e-12)


def test_warm_starts_spare_splits(monkeypatch):
    """They are what a fit costs; on the way most clusters stay, and are known to be whole."""
    tried = []
    halves = Split._halves
    monkeypatch.setattr(Split, "_halves", lambda self, *args: tried.append(1) or halves(self, *args))
    X = blobs(2, 150, K=6)
    select_alpha(X, np.geomspace(0.1, 30.0, 6))
    warm = len(tried)
    select_alpha(X, np.geomspace(0.1, 30.0, 6), warm_start=False)
    assert 3 * warm < len(tried) - warm


def test_splits_in_vain_are_tried_again_where_alpha_lets_them_gain():
    """Two clumps that are one cluster for a small alpha, and two for a large one."""
    x = np.r_[np.linspace(-1.0, 1.0, 30), np.linspace(3.5, 5.5, 30)][:, None]
    prior = NormalGamma(2.25, 0.01, 1.0, 1.0)
    small, large = (
        model.n_clusters_ for model in fit_path([MAPDPM(1e-60, likelihood=prior), MAPDPM(1.0, likelihood=prior)], x)
    )
    assert (small, large) == (1, 2)


def test_threads_change_nothing():
    X = blobs(3, 120)
    one, two = select_alpha(X, ALPHAS), select_alpha(X, ALPHAS, n_jobs=2)
    np.testing.assert_array_equal(one.scores, two.scores)
    assert one.chosen == two.chosen


def test_threads_do_not_share_a_generator():
    X = blobs(3, 120)
    one = select_alpha(X, ALPHAS, random_state=np.random.default_rng(7))
    two = select_alpha(X, ALPHAS, random_state=np.random.default_rng(7), n_jobs=2)
    np.testing.assert_array_equal(one.scores, two.scores)


def test_grids_are_taken_in_any_order():
    X = blobs(4, 120)
    rising, falling = select_alpha(X, ALPHAS), select_alpha(X, ALPHAS[::-1])
    np.testing.assert_array_equal(rising.scores, falling.scores[::-1])


def test_nll_is_the_largest_log_joint():
    X = blobs(5, 120)
    found = select_alpha(X, ALPHAS, method="nll", warm_start=False)
    joints = [MAPDPM(alpha).fit(X).log_joint_ for alpha in ALPHAS]
    np.testing.assert_array_equal(found.scores[:, 0], np.array(joints) / len(X))
    assert found.model.log_joint_ == max(joints)
    assert found.alpha == ALPHAS[np.argmax(joints)]


def test_map_ends_where_neither_alpha_nor_the_partition_gains():
    X = blobs(6, 300, K=6)
    found = select_alpha(X, method="map")
    for setting, K in zip(found.settings, found.n_clusters[:, 0], strict=True):
        assert ConcentrationPosterior(len(X), int(K)).mode() == pytest.approx(setting["alpha"], rel=1e-12)
    assert found.model.alpha == found.alpha
    assert found.posterior().mode() == pytest.approx(found.alpha, rel=1e-12)
    with pytest.raises(NoInteriorModeError, match="K=1"):
        select_alpha(np.zeros((20, 1)), method="map", prior=GammaPrior(1.0, 1.0))


@pytest.mark.parametrize("family", complete_but([NormalKnownVariance], [NormalGamma, NormalKnownVariance]))
def test_empirical_bayes_is_the_largest_marginal(family):
    """A simplex search on joints of raw data, at the same partition: near a maximum both see it as flat.

    Log joints agree to 1e-8 of their size, where a search without slopes stops; so places agree to the root of that.
    """
    X = blobs(7, 150, K=12)
    found = select_alpha(X, [1.0], method="empirical-bayes", likelihood=family.empirical(X))
    base, names = family.empirical(X), empirical_bayes.searched(family)

    def negative(logs):
        scales = dict(zip(names, np.exp(logs), strict=True))
        likelihood = base._replace(
            **{n.removesuffix("_scale"): getattr(base, n.removesuffix("_scale")) * s for n, s in scales.items()}
        )
        return -raw.log_joint(X, found.model.labels_, likelihood, found.alpha)

    best = minimize(negative, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    reached = np.log([found.params[name] for name in names])
    assert negative(reached) == pytest.approx(best.fun, rel=1e-8)
    np.testing.assert_allclose(reached, best.x, atol=1e-3)
    assert found.model.likelihood_ != base
    assert ConcentrationPosterior(len(X), found.model.n_clusters_).mode() == pytest.approx(found.alpha, rel=1e-6)


def test_empirical_bayes_of_named_parameters():
    X = blobs(8, 100, K=5)
    found = select_alpha(
        X, [{"alpha": 2.0, "b0": 1.0}], method="empirical-bayes", likelihood=NormalGamma(0.0, 0.1, 1.0, 7.0)
    )
    assert set(found.params) == {"alpha", "b0"}
    assert found.model.likelihood_ == NormalGamma([0.0, 0.0], 0.1, 1.0, found.params["b0"])
    by_hand = found.model.log_joint_ + InverseGammaPrior().log_density(found.alpha)
    assert found.scores[0, 0] == pytest.approx(by_hand / len(X), rel=1e-12)


OTHERS = (NormalInverseWishart, DirichletMultinomial, GammaPoisson, BetaBernoulli)


@pytest.mark.complete
@pytest.mark.parametrize("family", OTHERS)
def test_empirical_bayes_of_every_family(family):
    """No prior near the result gives the points a higher probability, with the same clusters."""
    rng = np.random.default_rng(9)
    X = rng.poisson(rng.gamma(1.0, 3.0, (4, 3))[rng.integers(0, 4, 80)]).astype(float)
    X = {NormalInverseWishart: X + rng.normal(size=X.shape), BetaBernoulli: np.minimum(X, 1.0)}.get(family, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few clusters: some are not bounded
        found = select_alpha(X, [1.0], method="empirical-bayes", likelihood=family.empirical(X))
    best, z = found.model.likelihood_, found.model.labels_
    data = read_by(best, X)

    def log_marginal(likelihood):
        rows = [laws.row_of(likelihood, data, np.flatnonzero(z == k)) for k in range(max(z) + 1)]
        return sum(map(likelihood.log_marginal, rows))

    for name in empirical_bayes.searched(family):
        field = name.removesuffix("_scale")
        for factor in (0.98, 1.02):
            if abs(np.log(found.params[name])) < empirical_bayes.REACH - 0.1:
                near = best._replace(**{field: getattr(best, field) * factor})
                assert log_marginal(near) <= log_marginal(best)


def test_empirical_bayes_says_where_nothing_bounds_a_parameter():
    grid = [{"alpha": 1.0, "b0_scale": 1.0}]  # points that are all alike allow any width but 0
    with pytest.warns(UserWarning, match="b0_scale ended at 0.0001, the edge"):
        select_alpha(np.zeros((20, 1)), grid, method="empirical-bayes")


def test_prequential_is_scored_before_it_is_learned():
    X = blobs(7, 400)
    prior = NormalGamma.empirical(X)
    found = select_alpha(X, ALPHAS, method="prequential", likelihood=prior, folds=4)
    for row, alpha in enumerate(ALPHAS):
        model, scores = OnlineMAPDPM(64, alpha=alpha, likelihood=prior), []
        for x in X:
            scores.append(model.score_one(x))
            model.learn_one(x)
        assert found.scores[row].mean() == pytest.approx(np.mean(scores), abs=1e-12)
    assert found.model.n_seen == len(X)


def test_grids_of_dicts():
    X = blobs(8, 200)
    prior = NormalGamma.empirical(X)
    found = select_alpha(
        X, [{"b0_scale": 1.0}, {"b0_scale": 0.1}, {"c0": 0.5, "discount": 0.2}], method="nll", warm_start=False
    )
    likelihoods = [prior, prior._replace(b0=prior.b0 * 0.1), prior._replace(c0=0.5)]
    joints = [
        MAPDPM(1.0, likelihood=p, discount=d).fit(X).log_joint_
        for p, d in zip(likelihoods, (0.0, 0.0, 0.2), strict=True)
    ]
    np.testing.assert_allclose(found.scores[:, 0] * len(X), joints, rtol=1e-12)
    assert found.params == {"b0_scale": 0.1}
    streams = select_alpha(X, [{"half_life": 50.0}, {"alpha": 2.0}], method="prequential", likelihood=prior)
    assert streams.alphas.tolist() == [1.0, 2.0]


def test_one_standard_error():
    scores = np.array([[1.0, 2.0, 3.0], [1.5, 2.5, 3.5], [0.0, 0.0, 0.0], [1.4, 2.4, 3.4]])
    n_clusters = np.array([[9.0] * 3, [5.0] * 3, [1.0] * 3, [4.0] * 3])
    assert simplest(scores, n_clusters) == 3
    X = blobs(9, 100)
    found = select_alpha(X, ALPHAS, one_standard_error=True)
    best = found.mean_scores.argmax()
    assert found.mean_scores[found.chosen] >= found.mean_scores[best] - found.standard_errors[best]
    assert found.n_clusters[found.chosen].mean() <= found.n_clusters[best].mean()


def test_folds():
    blocks = folds_of(10, 3, blocked=True)
    assert [fold.test.tolist() for fold in blocks] == [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]
    groups = np.repeat([7, 3, 5, 1], [5, 3, 2, 2])
    for fold in folds_of(12, 2, groups=groups):
        assert not set(groups[fold.train]) & set(groups[fold.test])
    assert sorted(len(fold.test) for fold in folds_of(12, 2, groups=groups)) == [5, 7]
    dealt = folds_of(11, 4, random_state=3)
    assert sorted(np.concatenate([fold.test for fold in dealt]).tolist()) == list(range(11))
    assert all(len(fold.train) + len(fold.test) == 11 for fold in dealt)
    theirs = folds_of(12, GroupKFold(2), groups=groups)
    assert len(theirs) == 2
    assert folds_of(4, [(np.array([True, True, True, False]), [3])])[0].train.tolist() == [0, 1, 2]


def test_names_of_columns_are_kept():
    X = pd.DataFrame(blobs(1, 60), columns=["height", "width"])
    for method in ("cv", "nll", "map"):
        assert select_alpha(X, [0.5, 2.0], method=method).model.feature_names_in_.tolist() == ["height", "width"]


def test_steps_are_told():
    steps = []
    select_alpha(blobs(1), ALPHAS, folds=3, callback=steps.append)
    assert [step.done for step in steps] == list(range(1, 13))
    assert {step.total for step in steps} == {12}
    assert "1/12: alpha 0.3, fold 0" in str(steps[0])


def test_pictures():
    X = blobs(1)
    for found in (select_alpha(X, ALPHAS), select_alpha(X, [{"b0_scale": 1.0}, {"b0_scale": 0.2}], method="nll")):
        ax = found.plot()
        assert "nats" in ax.get_ylabel()
        assert ax.get_xlabel() == ("alpha" if found.method == "cv" else "number of the setting")


def test_constant_data():
    found = select_alpha(np.ones((12, 2)), [0.5, 5.0], folds=3)
    assert found.model.n_clusters_ == 1
    assert np.all(np.isfinite(found.scores))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"folds": 61}, "at most the number of points, got 61 folds of 60 points"),
        ({"folds": 1}, "folds must be an integer >= 2, got 1"),
        ({"alphas": [0.0, 1.0]}, "each of alphas must be > 0, got 0.0"),
        ({"alphas": [1.0, -2.0]}, "each of alphas must be > 0, got -2.0"),
        ({"alphas": [1.0, np.nan]}, "each of alphas must be a finite number, got nan"),
        ({"alphas": [1.0]}, "alphas must hold at least 2 to choose from, got 1"),
        ({"alphas": 1.0}, "alphas must be a sequence of numbers > 0"),
        ({"alphas": [{"gamma": 1.0}, {"alpha": 1.0}]}, "'gamma', which is no parameter to choose"),
        (
            {"alphas": [{"variance": 1.0}, {"alpha": 1.0}]},
            "NormalGamma has no parameter 'variance'; it has m0, c0, a0, b0",
        ),
        ({"alphas": [{"half_life": 9.0}, {"alpha": 1.0}]}, "'half_life', which is no parameter to choose"),
        ({"folds": [([], [1, 2])]}, "the training part of fold 0 is empty"),
        ({"folds": [([1, 2], [60])]}, "the test part of fold 0 has row 60, of 60 rows"),
        ({"folds": []}, "folds has no fold"),
        ({"folds": [3]}, "folds must be a number, a splitter, or pairs"),
        ({"groups": np.zeros(60)}, "got 5 folds of 1 groups"),
        ({"groups": np.zeros(59)}, r"groups must have one entry a point, shape \(60,\), got shape \(59,\)"),
        ({"method": "loo"}, "method must be one of 'cv', 'nll', 'map', 'empirical-bayes', 'prequential', got 'loo'"),
        ({"method": "prequential", "warmup": 50}, "lies in the warm-up"),
        ({"callback": 3}, "callback must be callable"),
        ({"method": "map", "prior": 2.0}, "prior must be a GammaPrior or an InverseGammaPrior, got 2.0"),
        ({"method": "map", "prior": GammaPrior(0.0, 1.0)}, "the shape of prior must be > 0, got 0.0"),
        ({"method": "empirical-bayes", "alphas": [{"c0": -1.0}]}, "c0 must be > 0 to be chosen by empirical Bayes"),
        ({"method": "empirical-bayes", "alphas": [{"m0": [1.0, 2.0]}]}, "m0 must be a number, got"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        select_alpha(blobs(0), arguments.pop("alphas", ALPHAS), **arguments)


def test_nan_is_refused():
    X = blobs(0)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN at row 3, column 1"):
        select_alpha(X)


@pytest.mark.parametrize("method", ["map", "empirical-bayes"])
def test_alpha_of_a_pitman_yor_process_is_at_its_own_mode(method):
    """Not at that of a Dirichlet process: no alpha within 1 % has a higher log joint and prior, given the clusters."""
    rng = np.random.default_rng(0)
    X = rng.normal(0.0, 10.0, (8, 2))[rng.integers(0, 8, 300)] + rng.normal(size=(300, 2))
    prior, found = InverseGammaPrior(), {}
    for d in (0.0, 0.3, 0.6):
        chosen = select_alpha(X, method=method, discount=d, likelihood=NormalGamma(0.0, 0.01, 1.0, 1.0))
        sizes = chosen.model.cluster_sizes_.astype(float)
        found[d] = chosen.alpha

        def density(alpha, d=d, sizes=sizes):
            return partition_prior(alpha, d).log_partition(sizes) + prior.log_density(alpha)

        assert density(chosen.alpha) > max(density(1.01 * chosen.alpha), density(0.99 * chosen.alpha))
        assert chosen.posterior().mode() == pytest.approx(chosen.alpha, rel=1e-9)
    assert found[0.0] > found[0.3] > found[0.6]


def test_a_start_that_ends_in_one_cluster_does_not_lose_the_others():
    """Under Gamma(1, 1) a single cluster has no mode of alpha; the other starts have."""
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(0.0, 1.0, (30, 1)), rng.normal(7.0, 1.0, (30, 1))])
    options = {"method": "map", "prior": GammaPrior(1.0, 1.0), "likelihood": NormalGamma(3.5, 0.1, 2.0, 2.0)}
    with pytest.raises(NoInteriorModeError, match="K=1"):
        select_alpha(X, [1e-30], **options)
    with pytest.warns(UserWarning, match="1 of 2 starts came to clusters without a mode of alpha"):
        found = select_alpha(X, [1e-30, 1.0], **options)
    assert found.model.n_clusters_ == 2
    assert len(found.settings) == 1


def alike(z, rng, n_columns):
    """Columns of noise: the same quantiles in each cluster, for a draw may be relevant by chance."""
    noise = np.empty((len(z), n_columns))
    for k in np.unique(z):
        values = norm.ppf((np.arange((z == k).sum()) + 0.5) / (z == k).sum())
        noise[z == k] = np.column_stack([rng.permutation(values) for _ in range(n_columns)])
    return noise


@pytest.mark.parametrize("method", complete_but(["cv", "empirical-bayes"], ["cv", "nll", "map", "empirical-bayes"]))
def test_columns_of_noise_have_no_part(method):
    """Scores are those of the column that carries the clusters; the model is a fit of the setting to all columns."""
    rng = np.random.default_rng(0)
    z = np.arange(120) % 3
    X = np.column_stack([alike(z, rng, 4), 7.0 * z + rng.normal(size=120), np.full(120, 2.0)])
    parameters = {"alphas": [0.1, 1.0], "method": method, "folds": 3}
    found, alone = select_alpha(X, **parameters), select_alpha(X[:, [4]], **parameters)
    np.testing.assert_allclose(found.scores, alone.scores, rtol=1e-12)
    assert found.params == alone.params
    assert found.model.n_features_in_ == 6
    assert found.model.relevant_.tolist() == [False] * 4 + [True, False]
    assert found.model.n_clusters_ == 3
    if method != "empirical-bayes":
        assert found.model.log_joint_ == MAPDPM(found.alpha).fit(X).log_joint_


def test_vectors_of_a_setting_are_those_of_the_columns_that_are_read():
    rng = np.random.default_rng(0)
    z = np.repeat([0, 1], 30)
    X = np.column_stack([alike(z, rng, 1), 9.0 * z + rng.normal(size=60)])
    grid, alone = ([{"b0": [*noise, b0]} for b0 in (0.5, 2.0)] for noise in ([7.0], []))
    found = select_alpha(X, grid, folds=3)
    np.testing.assert_allclose(found.scores, select_alpha(X[:, 1:], alone, folds=3).scores)
    assert found.settings == grid
    assert found.model.likelihood_.b0.tolist() == found.params["b0"]
    assert found.model.relevant_.tolist() == [False, True]


def test_a_table_with_columns_of_noise():
    rng = np.random.default_rng(0)
    z = np.arange(90) % 3
    noise, letters = alike(z, rng, 2).T, np.array(list("xyz"))
    table = {"noise": noise[0], "a": 7.0 * z + rng.normal(size=90), "kind": letters[z], "more": noise[1]}
    X = pd.DataFrame(table)
    found = select_alpha(X, [0.1, 1.0], folds=3)
    assert found.model.relevant_.tolist() == [False, True, True, False]
    assert found.model.n_clusters_ == 3
    np.testing.assert_allclose(found.scores, select_alpha(X[["a", "kind"]], [0.1, 1.0], folds=3).scores, rtol=1e-6)


@pytest.mark.parametrize("method", ["cv", "nll", "map"])
def test_the_model_of_rounded_columns_is_saved(method):
    X = np.round(blobs(1), 1)
    found = select_alpha(X, [0.5, 2.0], method=method)
    again = MAPDPM.from_bytes(found.model.to_bytes())
    assert (again.predict(X) == found.model.labels_).all()
    assert repr(again.likelihood) == repr(found.model.likelihood)
    assert (again.fit(X).labels_ == found.model.labels_).all()
