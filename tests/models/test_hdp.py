"""HDPMixture as users meet it: groups, scores, files, scikit-learn's tools, bad input."""

import copy
import pickle
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone, is_clusterer
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mapdpm
from mapdpm import (
    MAPDPM,
    BetaBernoulli,
    DirichletMultinomial,
    GammaPoisson,
    HDPMixture,
    NormalGamma,
    NormalInverseWishart,
    metrics,
)
from mapdpm.files import container
from mapdpm.files.errors import ModelFileError
from mapdpm.partition_priors.hierarchy import Hierarchy
from mapdpm.partition_priors.hyperpriors import GammaPrior, InverseGammaPrior
from tests.marks import complete_but, ends_early
from tests.oracle import franchise as oracle
from tests.search.test_grouped import PRIOR, grouped_points


@pytest.fixture(scope="module")
def data():
    return grouped_points(0)[:2]


@pytest.fixture(scope="module")
def model(data):
    X, groups = data
    return HDPMixture(1.5, 2.0, likelihood=PRIOR).fit(X, [f"g{j}" for j in groups])


# ---- what a fit says -------------------------------------------------------------------------------------------------


def test_attributes_fit_together(model, data):
    X, groups = data
    K, names = model.n_clusters_, [f"g{j}" for j in range(8)]
    assert model.group_names_.tolist() == names
    assert model.weights_.shape == (8, K + 1)
    np.testing.assert_allclose(model.weights_.sum(axis=1), 1.0, rtol=1e-12)
    assert model.shares_.sum() == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_array_equal(np.bincount(model.labels_), model.cluster_sizes_)
    for j, name in enumerate(names):
        counts = np.bincount(model.labels_[groups == j], minlength=K + 1)
        np.testing.assert_allclose(
            model.weights_[j], (counts + 1.5 * model.shares_) / (counts.sum() + 1.5), err_msg=name
        )
    np.testing.assert_allclose(model.means_, [X[model.labels_ == k].mean(axis=0) for k in range(K)])
    assert model.history_[-1] == model.log_joint_
    assert model.converged_
    assert (model.alpha_, model.gamma_) == (1.5, 2.0)


def test_log_joint_is_that_of_the_raw_points(model, data):
    """Exact p(z) by convolution; the objective promises 0.01 nats."""
    X, groups = data
    exact = oracle.log_joint(X, model.labels_, groups, model.likelihood_, 1.5, 2.0)
    assert model.log_joint_ == pytest.approx(exact, abs=0.01)


def test_groups_are_worth_something():
    """Two pairs of clusters that touch, one pair a group: only the groups can tell which of a pair a point is of."""
    rng = np.random.default_rng(5)
    groups, far = np.repeat([0, 1], 150), np.tile([0.0, 30.0], 150)
    X = (far + np.where(groups == 0, 0.0, 3.0) + rng.normal(size=300))[:, None]
    truth = 2 * (far > 0) + groups
    likelihood = NormalGamma(15.0, 0.01, 3.0, 3.0)
    known = HDPMixture(likelihood=likelihood).fit(X, groups)
    pooled = MAPDPM(likelihood=likelihood).fit(X)
    with_groups, without = (metrics.normalized_mutual_info(truth, m.labels_) for m in (known, pooled))
    assert with_groups > without + 0.1
    assert known.score(X, groups) > pooled.score(X) + 0.3


def test_scores_are_those_of_the_raw_points(model, data):
    X, groups = data
    fitted = [f"g{j}" for j in groups]
    new = np.vstack([X[:6] + 0.3, [[40.0, -40.0]]])
    of_new = ["g0", "g3", "g7", "unseen", "g0", "other", "g2"]
    exact = oracle.log_densities(new, of_new, model, X, fitted)
    np.testing.assert_allclose(model.score_samples(new, of_new), exact, rtol=1e-9)
    assert model.score(new, groups=of_new) == model.score(new, of_new) == pytest.approx(exact.mean(), rel=1e-9)
    shares = model.predict_proba(new, of_new)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(new, of_new), shares[:, :-1].argmax(axis=1))
    assert model.predict(new, of_new, novelty=True)[-1] == -1
    np.testing.assert_array_equal(model.score_samples(new), model.score_samples(new, ["unseen"] * 7))
    for n_jobs in (2, 3):
        many = copy.copy(model).set_params(n_jobs=n_jobs)
        np.testing.assert_array_equal(many.score_samples(new, of_new), model.score_samples(new, of_new))


FAMILIES = {
    "NormalInverseWishart": (NormalInverseWishart.empirical, lambda X: X),
    "GammaPoisson": (lambda X: GammaPoisson(1.0, 0.1), lambda X: np.abs(X).astype(int)),
    "BetaBernoulli": (lambda X: BetaBernoulli(0.5, 0.5), lambda X: (X > 0).astype(int)),
    "DirichletMultinomial": (lambda X: DirichletMultinomial(0.5), lambda X: np.abs(X).astype(int)),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family(name, data):
    X, groups = data
    family, transformed = FAMILIES[name]
    X = transformed(X)
    fitted = HDPMixture(likelihood=family(X)).fit(X, groups)
    assert np.all(np.diff(fitted.history_) >= 0.0)
    assert np.all(np.isfinite(fitted.score_samples(X, groups)))
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X, groups), fitted.predict_proba(X, groups))


def test_no_family_sees_an_offset(data):
    X, groups = data
    near = HDPMixture(likelihood=NormalGamma(0.0, 0.05, 2.0, 1.0)).fit(X, groups)
    far = HDPMixture(likelihood=NormalGamma(1e7, 0.05, 2.0, 1.0)).fit(X + 1e7, groups)
    np.testing.assert_array_equal(near.labels_, far.labels_)
    # X + 1e7 is rounded to 2e-9, which a density feels as 1e-8 a point and 120 points have
    assert near.log_joint_ == pytest.approx(far.log_joint_, abs=1e-5)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_do_not_matter(data, n_jobs):
    X, groups = data
    one = HDPMixture(likelihood=PRIOR, n_restarts=2).fit(X, groups)
    many = HDPMixture(likelihood=PRIOR, n_restarts=2, n_jobs=n_jobs).fit(X, groups)
    np.testing.assert_array_equal(one.labels_, many.labels_)
    np.testing.assert_array_equal(one.history_, many.history_)


def test_max_clusters_is_a_cap(data):
    X, groups = data
    for cap in (1, 2, 3):
        assert HDPMixture(likelihood=PRIOR, max_clusters=cap).fit(X, groups).n_clusters_ <= cap


@ends_early
def test_a_callback_ends_runs_and_time_is_limited(data):
    X, groups = data
    seen = []
    stopped = HDPMixture(likelihood=PRIOR, n_restarts=3, callback=lambda p: seen.append(p) or True).fit(X, groups)
    assert not stopped.converged_
    assert {p.restart for p in seen} == {0, 1, 2}
    assert not HDPMixture(likelihood=PRIOR, time_limit=1e-9).fit(X, groups).converged_


# ---- concentrations --------------------------------------------------------------------------------------------------


def test_concentrations_at_their_mode(data):
    """No value within 2 % has a higher posterior density of the logarithm, given the partition."""
    X, groups = data
    priors = {"alpha": GammaPrior(2.0, 1.0), "gamma": GammaPrior(1.0, 0.1)}
    fitted = HDPMixture(3.0, 0.5, likelihood=PRIOR, alpha_prior=priors["alpha"], gamma_prior=priors["gamma"]).fit(
        X, groups
    )
    table = oracle.table_of(fitted.labels_.tolist(), groups.tolist())

    def density(alpha, gamma):
        logs = (np.log(alpha) + priors["alpha"].log_density(alpha)) + (
            np.log(gamma) + priors["gamma"].log_density(gamma)
        )
        return Hierarchy((alpha,), gamma).log_partition(table) + logs

    best = density(fitted.alpha_, fitted.gamma_)
    for a, g in ((1.02, 1.0), (0.98, 1.0), (1.0, 1.02), (1.0, 0.98)):
        assert density(a * fitted.alpha_, g * fitted.gamma_) < best
    assert (fitted.alpha, fitted.gamma) == (3.0, 0.5)
    only = HDPMixture(3.0, 0.5, likelihood=PRIOR, gamma_prior=priors["gamma"]).fit(X, groups)
    assert only.alpha_ == 3.0
    assert np.all(np.diff(only.history_) >= 0.0)


@pytest.mark.parametrize("start", complete_but([1e-10], [1e-30, 1e-10, 1e8, 1e30]))
def test_concentrations_come_from_far(start, data):
    """The same mode as from 1, whatever the start; a file keeps the result."""
    X, groups = data
    prior = GammaPrior(1.0, 1.0)
    for alpha, gamma in ((start, 1.0), (1.0, start), (start, start)):
        fitted = HDPMixture(alpha, gamma, likelihood=PRIOR, alpha_prior=prior, gamma_prior=prior).fit(X, groups)
        assert 0.01 < fitted.alpha_ < 10.0
        assert 0.01 < fitted.gamma_ < 100.0
        assert HDPMixture.from_bytes(fitted.to_bytes()).alpha_ == fitted.alpha_
    flat = GammaPrior(1.0, 1e-300)
    far = HDPMixture(1e30, likelihood=PRIOR, alpha_prior=flat).fit(X, groups)
    assert HDPMixture.from_bytes(far.to_bytes()).alpha_ == far.alpha_


# ---- groups of all kinds ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "named",
    [
        list,
        np.asarray,
        lambda g: g.astype(np.float64),
        lambda g: [f"n{j}" for j in g],
        lambda g: np.array([f"n{j}" for j in g]),
        lambda g: [("site", int(j)) for j in g],
        lambda g: pd.Series([f"n{j}" for j in g]).astype("category"),
        lambda g: pd.Series(g, index=g + 100),
        lambda g: pl.Series([f"n{j}" for j in g]),
        lambda g: np.datetime64("2026-01-01") + g,
        lambda g: [np.int64(j) for j in g],
        lambda g: np.timedelta64(1, "D") * g,
        lambda g: [(j,) * (1 + j % 2) for j in g.tolist()],
    ],
)
def test_groups_may_be_anything_hashable(named, data):
    X, groups = data
    fitted = HDPMixture(likelihood=PRIOR).fit(X, named(groups))
    np.testing.assert_array_equal(fitted.labels_, HDPMixture(likelihood=PRIOR).fit(X, groups).labels_)
    np.testing.assert_array_equal(
        fitted.predict_proba(X, named(groups)), HDPMixture(likelihood=PRIOR).fit(X, groups).predict_proba(X, groups)
    )


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (["a"] * 119, r"one label a point, shape \(120,\), got shape \(119,\)"),
        ([{"a"}] * 120, "hashable"),
        (np.zeros((120, 1, 1)), r"got shape \(120, 1, 1\)"),
        (["a"] * 119 + [None], r"groups\[119\] is None"),
        (np.append(np.zeros(119), np.nan), r"groups\[119\] is nan"),
        (pd.Series(["a"] * 119 + [pd.NA]), r"groups\[119\]"),
        (np.append(np.zeros(119, "M8[s]"), np.datetime64("NaT")), r"groups\[119\]"),
        ("abc", "got str"),
        (np.array(3), "got ndarray"),
        (np.ma.masked_array(np.zeros(120), np.arange(120) == 3), "masked"),
        ([Decimal("sNaN")] * 120, r"groups\[0\]|hashable"),
        (3, "got int"),
    ],
)
def test_bad_groups_are_refused(groups, words, data, model):
    X, _ = data
    with pytest.raises(ValueError, match=words):
        HDPMixture().fit(X, groups)
    with pytest.raises(ValueError, match=words):
        model.predict(X, groups)


@pytest.mark.parametrize("seed", range(3))
def test_many_clusters_in_groups_are_found(seed):
    """25 clusters far apart: under the wide prior of all points some ten of them are one with others."""
    rng = np.random.default_rng(seed)
    which = rng.integers(0, 25, 1500)
    X = rng.uniform(-60.0, 60.0, (25, 3))[which] + rng.normal(size=(1500, 3))
    groups = rng.integers(0, 5, 1500)
    model = HDPMixture().fit(X, groups)
    assert metrics.adjusted_mutual_info(which, model.labels_) >= 0.99
    wide = HDPMixture(likelihood=None).fit(X, groups)
    assert metrics.adjusted_mutual_info(which, wide.labels_) < 0.99


def test_without_groups_it_is_one_group_and_says_so(data):
    X, _ = data
    with pytest.warns(UserWarning, match="no groups were given"):
        fitted = HDPMixture(likelihood=PRIOR).fit(X)
    assert fitted.group_names_.tolist() == [None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same = HDPMixture(likelihood=PRIOR).fit(X, np.zeros(len(X)))
        np.testing.assert_array_equal(same.labels_, fitted.labels_)
        np.testing.assert_array_equal(same.score_samples(X, np.zeros(len(X))), fitted.score_samples(X))
    assert mapdpm.HDPMixture.from_bytes(fitted.to_bytes()).group_names_.tolist() == [None]


def test_a_group_of_one_point_and_many_groups():
    X, _, _ = grouped_points(6)
    lonely = HDPMixture(likelihood=PRIOR).fit(X, ["last" if i == 119 else "rest" for i in range(120)])
    assert lonely.weights_.shape[0] == 2
    each = HDPMixture(likelihood=PRIOR).fit(X, np.arange(120))
    assert each.weights_.shape[0] == 120
    # Each cell has one point, so each point has one table: a Dirichlet process of all points with gamma.
    pooled = MAPDPM(1.0, likelihood=PRIOR).fit(X)
    assert each.log_joint_ == pytest.approx(pooled.log_joint_, abs=0.01)


@pytest.mark.complete
def test_a_hundred_thousand_groups():
    rng = np.random.default_rng(0)
    X = rng.normal(0.0, 10.0, (5, 2))[rng.integers(0, 5, 300_000)] + rng.normal(size=(300_000, 2))
    fitted = HDPMixture(max_clusters=8, n_restarts=1).fit(X, rng.integers(0, 100_000, 300_000))
    assert 4 <= fitted.n_clusters_ <= 8
    assert np.all(np.diff(fitted.history_) >= 0.0)


# ---- files, copies, parameters ---------------------------------------------------------------------------------------


def test_files_keep_everything(model, data, tmp_path):
    X, groups = data
    of_points = [f"g{j}" for j in groups]
    model.save(tmp_path / "m.mdpm")
    for again in (mapdpm.load(tmp_path / "m.mdpm"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        for name in ("labels_", "weights_", "shares_", "group_names_", "history_", "cluster_sizes_"):
            np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
        assert (again.log_joint_, again.converged_, again.alpha_) == (model.log_joint_, True, 1.5)
        shuffled = np.random.default_rng(1).permutation(len(X))
        chosen = [of_points[i] for i in shuffled]
        np.testing.assert_array_equal(
            again.score_samples(X[shuffled], chosen), model.score_samples(X[shuffled], chosen)
        )
    ours, theirs = (each.get_params(deep=False) for each in (model, mapdpm.load(tmp_path / "m.mdpm")))
    assert {**ours, "likelihood": None} == {**theirs, "likelihood": None}


def test_files_of_other_kinds_say_so(model, data):
    with pytest.raises(ModelFileError, match="a model of groups, which HDPMixture reads"):
        MAPDPM.from_bytes(model.to_bytes())
    with pytest.raises(ModelFileError, match="a batch model, which MAPDPM reads"):
        HDPMixture.from_bytes(MAPDPM().fit(data[0]).to_bytes())


def negative(table):
    """``table`` with a count below 0, whose sums are right."""
    more = table[0, 0] + 1
    table = table.copy()
    table[:2, :2] += [[-more, more], [more, -more]]
    return table


def emptied(table):
    """``table`` with all points of the last group in the first."""
    table = table.copy()
    table[0] += table[-1]
    table[-1] = 0
    return table


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda m: {"table": negative(m._table).ravel()}, "table"),
        (lambda m: {"table": emptied(m._table).ravel()}, "table"),
        (lambda m: {"table": np.roll(m._table, 1, axis=1).ravel()}, "table"),
        (lambda m: {"table": m._table.ravel()[1:]}, "table"),
        (lambda m: {"table": m._table.ravel().astype(float)}, "table"),
        (lambda m: {"shares_": m.shares_ * 1.001}, "shares_"),
        (lambda m: {"shares_": m.shares_ * np.nan}, "shares_"),
        (lambda m: {"shares_": np.append(0.0, m.shares_[1:] + m.shares_[0] / m.n_clusters_)}, "shares_"),
        (
            lambda m: {"shares_": np.append(m.shares_[:-1] + 2.0 * m.shares_[-1] / m.n_clusters_, -m.shares_[-1])},
            "shares_",
        ),
        (lambda m: {"gamma": -1.0}, "gamma must be > 0"),
        (lambda m: {"labels_": np.zeros_like(m.labels_)}, "labels"),
    ],
)
def test_damaged_extras_are_refused(damage, words, model):
    mixture, extras = container.unpack(model.to_bytes(), container.GROUPED)
    bad = container.pack(mixture, extras | damage(model), kind=container.GROUPED)
    with pytest.raises(ModelFileError, match=f"damaged: its extras do not fit.*{words}"):
        HDPMixture.from_bytes(bad)


def test_names_that_json_does_not_have_are_refused_in_a_file(data):
    X, groups = data
    odd = HDPMixture(likelihood=PRIOR).fit(X, [(1, int(j)) for j in groups])
    with pytest.raises(ValueError, match="str, int, float or bool"):
        odd.to_bytes()
    assert pickle.loads(pickle.dumps(odd)).group_names_.tolist()[0] == (1, 0)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"alpha": 0.0}, "alpha must be > 0"),
        ({"gamma": float("nan")}, "gamma"),
        ({"gamma": "x"}, "gamma must be a number"),
        ({"moves": ("merge", "regroup")}, "'merge', 'cell', 'split', 'delete'"),
        ({"max_clusters": 0}, "max_clusters"),
        ({"n_restarts": 0}, "n_restarts"),
        ({"alpha_prior": InverseGammaPrior()}, "alpha_prior must be a GammaPrior"),
        ({"gamma_prior": GammaPrior(1.0, 0.0)}, "gamma_prior must be a GammaPrior of rate > 0"),
        ({"backend": "gpu"}, "backend"),
        ({"likelihood": "normal"}, "likelihood"),
    ],
)
def test_bad_parameters_are_refused(parameters, words, data):
    with pytest.raises(ValueError, match=words):
        HDPMixture(**parameters).fit(*data)


def test_not_fitted():
    with pytest.raises(ValueError, match="not fitted"):
        HDPMixture().predict([[0.0]])


# ---- scikit-learn ----------------------------------------------------------------------------------------------------


def test_tools_of_scikit_learn(data):
    X, groups = data
    estimator = clone(HDPMixture(2.0, likelihood=PRIOR))
    assert is_clusterer(estimator)
    assert estimator.get_params()["likelihood__c0"] == 0.05
    with sklearn.config_context(enable_metadata_routing=True):
        asking = estimator.set_fit_request(groups=True).set_score_request(groups=True)
        folds = cross_validate(asking, X, params={"groups": groups}, cv=GroupKFold(4))
        asking.set_predict_proba_request(groups=True)
        pipeline = make_pipeline(StandardScaler(), asking.set_params(likelihood=None)).fit(X, groups=groups)
        assert pipeline.predict_proba(X, groups=groups).shape[0] == 120
    assert np.all(np.isfinite(folds["test_score"]))
    assert pipeline[-1].group_names_.tolist() == list(range(8))
    assert pipeline.fit_predict(X, groups).shape == (120,)
    frame = pd.DataFrame(X, columns=["a", "b"])
    shown = HDPMixture(likelihood=PRIOR).set_output(transform="pandas").fit_transform(frame, groups)
    assert shown.columns[-1] == "hdpmixture_new"
    assert shown.shape[0] == 120


@ends_early
def test_labels_to_start_from():
    """A start at a mode stays there; a start by labels of any names; too many clusters for the cap."""
    rng = np.random.default_rng(0)
    X, groups = np.r_[rng.normal(0, 1, (40, 1)), rng.normal(9, 1, (40, 1))], np.arange(80) % 3
    prior = NormalGamma(4.0, 0.01, 2.0, 1.0)
    first = HDPMixture(likelihood=prior).fit(X, groups)
    again = HDPMixture(likelihood=prior, init=7 - 3 * first.labels_).fit(X, groups)
    assert again.history_[0] == pytest.approx(first.log_joint_, rel=1e-12)
    np.testing.assert_array_equal(again.labels_, first.labels_)
    worse = HDPMixture(likelihood=prior, init=np.arange(80) % 2, max_sweeps=1, moves=()).fit(X, groups)
    assert worse.history_[0] < first.log_joint_ - 10.0
    with pytest.raises(ValueError, match="init has 2 clusters, more than max_clusters=1"):
        HDPMixture(likelihood=prior, init=first.labels_, max_clusters=1).fit(X, groups)
    with pytest.raises(ValueError, match="init must have one label a point"):
        HDPMixture(likelihood=prior, init=[0, 1]).fit(X, groups)


def test_points_of_the_fit_are_predicted_into_their_clusters():
    rng = np.random.default_rng(3)
    X, groups = np.r_[rng.normal(0, 1, (40, 1)), rng.normal(30, 1, (40, 1))], np.arange(80) % 3
    model = HDPMixture(likelihood=NormalGamma(15.0, 0.01, 2.0, 1.0)).fit(X, groups)
    assert model.n_clusters_ == 2
    for novelty in (False, True):
        np.testing.assert_array_equal(model.predict(X, groups, novelty=novelty), model.labels_)
    assert model.predict([[900.0]], [0], novelty=True).tolist() == [-1]
