"""The behaviour that users of scikit-learn expect, on estimators that do not import it."""

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone, is_clusterer
from sklearn.exceptions import NotFittedError as TheirNotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

import mapdpm
from mapdpm import MAPDPM, DPMeans, NormalGamma, NormalKnownVariance
from mapdpm.validation import NotFittedError
from repository import ROOT
from tests.marks import ends_early
from tests.oracle import raw

BOTH = pytest.mark.parametrize("kind", [MAPDPM, DPMeans])


def prior():
    return NormalGamma(0.0, 0.05, 1.0, 1.0)


@pytest.fixture(scope="module")
def X():  # noqa: N802
    rng = np.random.default_rng(4)
    return rng.normal(0.0, 5.0, (5, 3))[rng.integers(0, 5, 150)] + rng.normal(size=(150, 3))


# ---- scikit-learn's own checks ---------------------------------------------------------------------------------------


@pytest.mark.complete
def test_all_checks_of_scikit_learn():
    # A process of its own: array API checks need an environment variable before scipy is imported.
    script = ROOT / "tests" / "estimators" / "contract_check.py"
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": paths}
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count(f"scikit-learn {sklearn.__version__}") == 8
    assert "skipped" not in run.stdout


def test_scikit_learn_pandas_and_polars_are_never_imported_unasked():
    code = """
import sys, pickle
import numpy as np, mapdpm

X = np.arange(12.0).reshape(6, 2)
for kind in (mapdpm.MAPDPM, mapdpm.DPMeans):
    model = kind().fit(X, sample_weight=[0, 1, 1, 2, 1, 1])
    model.set_params(**model.get_params()), repr(model), model._repr_html_(), model.fit_predict(X), model.predict(X)
    model.set_output(transform="default").fit_transform(X), pickle.loads(pickle.dumps(model)).predict(X)
    try:
        kind().predict(X)
    except ValueError as error:
        assert type(error).__module__ == "mapdpm.validation"
assert not {"sklearn", "pandas", "polars"} & set(sys.modules)
"""
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"PYTHONPATH": paths})


# ---- parameters ------------------------------------------------------------------------------------------------------


def test_parameters_of_the_likelihood_are_parameters():
    model = MAPDPM(2.0, likelihood=prior())
    params = model.get_params()
    assert params["alpha"] == 2.0
    fields = ("m0", "c0", "a0", "b0", "resolution")
    assert {name for name in params if "__" in name} == {f"likelihood__{name}" for name in fields}
    assert set(model.get_params(deep=False)) == {name for name in params if "__" not in name}
    before = model.likelihood
    assert model.set_params(alpha=3.0, likelihood__c0=0.5, likelihood__b0=[1.0, 2.0]) is model
    assert model.likelihood == NormalGamma(0.0, 0.5, 1.0, [1.0, 2.0])
    assert before == prior()  # an immutable one is replaced
    assert clone(model).get_params(deep=False) == model.get_params(deep=False)


def test_a_likelihood_and_its_parameter_may_be_set_at_once():
    model = MAPDPM().set_params(likelihood__variance=4.0, likelihood=NormalKnownVariance(0.0, 9.0, 1.0))
    assert model.likelihood == NormalKnownVariance(0.0, 9.0, 4.0)


def test_set_params_sets_all_or_none():
    model = MAPDPM(likelihood=prior())
    for wrong in ({"gamma": 1.0}, {"likelihood__c0": -1.0}, {"likelihood__k": 1.0}):
        with pytest.raises(ValueError, match=r"Invalid parameter|c0 must be"):
            model.set_params(alpha=7.0, **wrong)
        assert model.alpha == 1.0
        assert model.likelihood == prior()


def test_a_subclass_with_parameters_of_its_own():
    class Mine(MAPDPM):
        def __init__(self, alpha=1.0, scale=2.0):
            super().__init__(alpha)
            self.scale = scale

    assert Mine(scale=3.0).get_params() == {"alpha": 1.0, "scale": 3.0}
    assert repr(clone(Mine(scale=3.0))) == "Mine(scale=3.0)"


def test_repr_is_the_call_that_makes_it():
    assert repr(MAPDPM()) == "MAPDPM()"
    model = MAPDPM(2.5, moves=(), likelihood=prior())
    namespace = {"MAPDPM": MAPDPM, "NormalGamma": NormalGamma, "array": np.array}
    again = eval(repr(model), namespace)  # noqa: S307
    assert again.get_params(deep=False) == model.get_params(deep=False)
    assert repr(DPMeans(n_clusters=3)) == "DPMeans(n_clusters=3)"
    assert "\n" not in repr(MAPDPM(init=np.zeros((5000,), int)))


@BOTH
def test_html(kind, X):
    html = make_pipeline(StandardScaler(), kind())._repr_html_()
    assert kind.__name__ in html
    assert kind.__name__ in kind().fit(X)._repr_html_()
    assert kind()._repr_html_().startswith("<style>")


# ---- copies ----------------------------------------------------------------------------------------------------------


class Counts(NormalGamma):  # a family without a number in the model format
    pass


def assert_same(a, b, X):
    # Parameters and attributes, one by one; what begins with an underscore is shown by what it computes.
    assert set(vars(a)) == set(vars(b))
    for name, value in vars(a).items():
        if not name.startswith("_"):
            other = getattr(b, name)
            assert np.array_equal(value, other) if isinstance(value, np.ndarray) else value == other, name
    assert np.array_equal(a.transform(X), b.transform(X))
    assert np.array_equal(a.predict(X), b.predict(X))


@pytest.mark.parametrize(
    "make",
    [
        MAPDPM,
        lambda: MAPDPM(0.3, discount=0.2, likelihood=prior(), init=np.arange(150) % 4, random_state=3),
        lambda: MAPDPM(likelihood=NormalKnownVariance(0.0, 30.0, 1.0)),
        lambda: MAPDPM(likelihood=Counts(*prior()), backend="python", moves=()),
        DPMeans,
        lambda: DPMeans(n_clusters=4),
    ],
)
def test_pickle_deepcopy_joblib(make, X, tmp_path):
    model = make().fit(pd.DataFrame(X, columns=list("abc")))
    model.remark = "an attribute that a user added"
    joblib.dump(model, tmp_path / "model.joblib")
    frame = pd.DataFrame(X, columns=list("abc"))
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), joblib.load(tmp_path / "model.joblib")):
        assert_same(model, again, frame)
        again.fit(X)  # and it still is an estimator


def test_a_pickle_holds_the_bytes_of_a_model_file(X):
    state = MAPDPM().fit(X).__getstate__()
    assert state["_mixture"][:4] == b"MDPM"
    state["_mixture"] = state["_mixture"][:-1]
    with pytest.raises(ValueError, match="truncated"):
        MAPDPM().__setstate__(state)


@BOTH
def test_a_pipeline_round_trips_through_joblib(kind, X, tmp_path):
    frame = pd.DataFrame(X, columns=["x", "y", "z"])
    pipeline = make_pipeline(StandardScaler(), kind()).set_output(transform="pandas").fit(frame)
    joblib.dump(pipeline, tmp_path / "pipeline.joblib")
    again = joblib.load(tmp_path / "pipeline.joblib")
    assert np.array_equal(again.predict(frame), pipeline.predict(frame))
    assert again.transform(frame).equals(pipeline.transform(frame))
    assert again.score(frame) == pipeline.score(frame)
    assert list(again[-1].feature_names_in_) == ["x", "y", "z"]


# ---- searches --------------------------------------------------------------------------------------------------------


@pytest.mark.complete
def test_cross_val_score_is_the_mean_held_out_log_density(X):
    folds = list(KFold(4, shuffle=True, random_state=0).split(X))
    scores = cross_val_score(MAPDPM(likelihood=prior()), X, cv=folds)
    for score, (train, test) in zip(scores, folds, strict=True):
        # From the definition: the density of each point given the clusters of the others, by scipy on raw data.
        model = MAPDPM(likelihood=prior()).fit(X[train])
        family = prior().for_data(X)
        parts = [raw.log_density(X[train], model.labels_, family, 1.0, x) for x in X[test]]
        assert score == pytest.approx(np.mean(np.logaddexp.reduce(parts, axis=1)), rel=1e-9)


@pytest.mark.complete
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_grid_search_over_alpha_and_a_parameter_of_the_likelihood(X, n_jobs):
    grid = {"alpha": [0.1, 10.0], "likelihood__c0": [1e-3, 1.0, 100.0]}
    search = GridSearchCV(MAPDPM(likelihood=prior()), grid, cv=3, n_jobs=n_jobs).fit(X)
    expected = [
        cross_val_score(MAPDPM(a, likelihood=prior()._replace(c0=c)), X, cv=3).mean()
        for a in grid["alpha"]
        for c in grid["likelihood__c0"]
    ]
    assert search.cv_results_["mean_test_score"] == pytest.approx(expected)
    assert len(set(expected)) == 6
    best = search.best_estimator_
    assert (best.alpha, best.likelihood.c0) == (search.best_params_["alpha"], search.best_params_["likelihood__c0"])
    assert search.score(X) == best.score(X)


@pytest.mark.complete
def test_grid_search_through_a_pipeline(X):
    pipeline = make_pipeline(StandardScaler(), MAPDPM(likelihood=NormalGamma(0.0, 0.1, 1.0, 0.1)))
    grid = {"mapdpm__likelihood__b0": [0.01, 0.1, 1.0], "standardscaler__with_std": [True, False]}
    search = GridSearchCV(pipeline, grid, cv=3, n_jobs=2).fit(X)
    assert len({round(score, 6) for score in search.cv_results_["mean_test_score"]}) == 6


def test_sample_weight_is_routed(X):
    weights = np.arange(150) % 3
    expected = MAPDPM().fit(StandardScaler().fit_transform(X), sample_weight=weights).log_joint_
    plain = make_pipeline(StandardScaler(), MAPDPM())
    assert plain.fit(X, mapdpm__sample_weight=weights)[-1].log_joint_ == expected
    with sklearn.config_context(enable_metadata_routing=True):
        model = clone(MAPDPM().set_fit_request(sample_weight=True))
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        assert make_pipeline(scaler, model).fit(X, sample_weight=weights)[-1].log_joint_ == expected
        with pytest.raises(ValueError, match="sample_weight"):  # theirs: nobody asked for it
            make_pipeline(scaler, MAPDPM()).fit(X, sample_weight=weights)


# ---- frames ----------------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("frame", [pd.DataFrame, lambda X, columns: pl.DataFrame(X, schema=columns)])
def test_frames_in(kind, frame, X):
    names = ["x", "y", "z"]
    model = kind().fit(frame(X, columns=names))
    plain = kind().fit(X)
    assert list(model.feature_names_in_) == names
    assert np.array_equal(model.labels_, plain.labels_)
    assert np.array_equal(model.predict(frame(X, columns=names)), plain.predict(X))
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        model.predict(frame(X, columns=["y", "x", "z"]))
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- w\nFeature names seen .* missing:\n- z"):
        model.transform(frame(X, columns=["x", "y", "w"]))
    with pytest.warns(UserWarning, match="X does not have valid feature names, but .* was fitted with feature names"):
        model.predict(X)
    with pytest.warns(UserWarning, match="X has feature names, but .* was fitted without feature names"):
        plain.predict(frame(X, columns=names))
    assert not hasattr(model.fit(X), "feature_names_in_")


@BOTH
@pytest.mark.parametrize("fails", [lambda f: f.with_columns(y=pl.lit("low")), lambda f: f.with_columns(y=None)])
def test_a_bad_entry_of_a_frame_is_named_by_its_column(kind, fails, X):
    frame = fails(pl.DataFrame(X, schema=["x", "y", "z"]))
    given = {"likelihood": NormalGamma.empirical(X)} if kind is MAPDPM else {}  # else text is a category
    with pytest.raises(ValueError, match=r"X .* at row 0, column 1 \('y'\)"):
        kind(**given).fit(frame)
    with pytest.raises(ValueError, match=r"X .* at row 0, column 1 \('y'\)"):
        kind(**given).fit(pd.DataFrame(frame.to_dict(as_series=False)))


@BOTH
def test_dates_and_missing_numbers_of_pandas_are_refused(kind):
    with pytest.raises(ValueError, match="X must hold numbers only"):
        kind().fit(pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "2020-01-02"]), "x": [1.0, 2.0]}))
    missing = pd.DataFrame({"x": pd.array([1, None, 3], dtype="Int64"), "y": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match=r"at row 1, column 0 \('x'\)"):
        kind().fit(missing)


@BOTH
@pytest.mark.parametrize(
    ("container", "type_"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("default", np.ndarray)]
)
def test_set_output(kind, container, type_, X):
    model = clone(kind().set_output(transform=container)).fit(X)  # a clone keeps it
    out = model.transform(X)
    assert isinstance(out, type_)
    assert np.array_equal(np.asarray(out), clone(model).set_output(transform="default").fit_transform(X))
    if container != "default":
        assert list(out.columns) == list(model.get_feature_names_out())
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(kind().fit_transform(X), pd.DataFrame)
        assert isinstance(model.transform(X), type_)  # what was set wins


def test_the_index_of_a_frame_is_kept(X):
    frame = pd.DataFrame(X, columns=list("abc"), index=[f"point {i}" for i in range(150)])
    out = MAPDPM().set_output(transform="pandas").fit_transform(frame)
    assert out.index.equals(frame.index)
    assert list(out.columns) == [*(f"mapdpm{k}" for k in range(len(out.columns) - 1)), "mapdpm_new"]


def test_transform_is_what_it_says(X):
    model = MAPDPM().fit(X)
    assert np.array_equal(model.transform(X), model.predict_proba(X))
    means = DPMeans().fit(X)
    expected = np.linalg.norm(X[:, None] - means.cluster_centers_[None], axis=2)
    assert means.transform(X) == pytest.approx(expected)
    assert means.score(X) == pytest.approx(-(expected.min(axis=1) ** 2).sum())
    assert means.score(X) == pytest.approx(-(means.objective_ - means.lam_ * means.n_clusters_))


def test_names_survive_a_file(X, tmp_path):
    frame = pd.DataFrame(X, columns=["x", "höhe", "z, z"])
    MAPDPM().fit(frame).save(tmp_path / "model.mdpm")
    again = mapdpm.load(tmp_path / "model.mdpm")
    assert list(again.feature_names_in_) == list(frame.columns)
    assert len(again.predict(frame)) == 150


# ---- not fitted ------------------------------------------------------------------------------------------------------


@BOTH
def test_not_fitted_is_theirs_too(kind, X):
    assert is_clusterer(kind())
    for call in (kind().predict, kind().transform, kind().score):
        with pytest.raises(
            TheirNotFittedError, match=f"this {kind.__name__} is not fitted yet; call fit first"
        ) as caught:
            call(X)
        assert isinstance(caught.value, NotFittedError)
        again = pickle.loads(pickle.dumps(caught.value))  # it crosses processes
        assert isinstance(again, TheirNotFittedError)
        assert str(again) == str(caught.value)
    with pytest.raises(TheirNotFittedError):
        check_is_fitted(kind())
    check_is_fitted(kind().fit(X))


# ---- weights ---------------------------------------------------------------------------------------------------------


def repeated(X, labels, weights):
    return np.repeat(X, weights, axis=0), np.repeat(labels, weights)


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 0.9))
def test_an_integer_weight_is_repetition_in_the_log_joint_of_a_partition(seed, discount):
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(12, 2)) * 3.0, rng.integers(0, 3, 12)
    weights = rng.integers(0, 4, 12)
    weights[rng.integers(12)] = 1  # not all zero
    copies, their_labels = repeated(X, labels, weights)
    starts = []
    for likelihood in (None, prior(), NormalKnownVariance(0.0, 9.0, 1.0)):  # None: the empirical prior is weighted too
        for data, start, w in ((X, labels, weights), (copies, their_labels, None)):
            model = MAPDPM(0.7, discount=discount, likelihood=likelihood, init=start, moves=())
            starts.append(model.fit(data, sample_weight=w).history_[0])  # the joint of the partition it starts from
    # Sums of 12 to 36 terms of order 10, rounded: 1e-15 of 1e3.
    assert starts[::2] == pytest.approx(starts[1::2], rel=1e-9, abs=1e-9)


@given(st.integers(0, 2**32 - 1))
def test_dp_means_weighs_likewise(seed):
    rng = np.random.default_rng(seed)
    X, weights = rng.normal(size=(12, 2)), rng.integers(0, 4, 12)
    weights[rng.integers(12)] = 2
    copies = np.repeat(X, weights, axis=0)
    assert DPMeans().fit(X, sample_weight=weights).lam_ == pytest.approx(DPMeans().fit(copies).lam_)
    by_number = [DPMeans(n_clusters=1).fit(data, sample_weight=w).lam_ for data, w in ((X, weights), (copies, None))]
    assert by_number[0] == pytest.approx(by_number[1])


@BOTH
def test_a_point_of_weight_zero_takes_no_part(kind, X):
    weights = np.where(np.arange(150) % 5 == 2, 0.0, 1.0)
    outlier = X.copy()
    outlier[weights == 0.0] = 1e6
    model = kind().fit(outlier, sample_weight=weights)
    without = kind().fit(X[weights > 0.0])
    assert np.array_equal(model.labels_[weights > 0.0], without.labels_)
    assert set(model.labels_[weights == 0.0]) == {-1}
    assert np.array_equal(model.cluster_sizes_, without.cluster_sizes_)
    assert np.array_equal(model.history_, without.history_)
    assert np.array_equal(model.predict(X), without.predict(X))
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.labels_, model.labels_)


@ends_early
def test_labels_to_start_from_lose_absent_points_too(X):
    start = np.arange(150) % 7
    weights = np.where(start == 0, 0, 2)
    model = MAPDPM(init=start, moves=(), max_sweeps=1).fit(X, sample_weight=weights)
    kept = start != 0
    alone = MAPDPM(init=start[kept], moves=(), max_sweeps=1).fit(X[kept], sample_weight=weights[kept])
    assert np.array_equal(model.history_, alone.history_)
    restored = MAPDPM.from_bytes(model.to_bytes())
    assert np.array_equal(restored.labels_, model.labels_)


def test_an_empirical_prior_knows_nothing_of_points_of_weight_zero():
    X = np.array([[1e20], [1.0], [2.0]])
    assert NormalGamma.empirical(X, [0, 1, 1]) == NormalGamma.empirical(X[1:])
    assert NormalKnownVariance.empirical(X, [0, 2, 2]) == NormalKnownVariance.empirical(X[1:], [2, 2])


def test_a_cap_counts_labels_of_those_that_take_part():
    X, start = np.arange(6.0)[:, None], np.array([0, 0, 1, 1, 2, 2])
    model = MAPDPM(init=start, max_clusters=2, moves=()).fit(X, sample_weight=[1, 1, 1, 1, 0, 0])
    assert model.n_clusters_ <= 2


def test_a_wrong_discount_is_said_before_weights_are_judged_by_it(X):
    for wrong in ("a", None, 1.5, [0.1, 0.2]):
        with pytest.raises(ValueError, match="discount must be"):
            MAPDPM(discount=wrong).fit(X, sample_weight=np.ones(150))


# ---- corners ---------------------------------------------------------------------------------------------------------


def test_a_mixin_of_the_user_keeps_its_say():
    class Tagged:
        def __sklearn_tags__(self):
            return "mine"

        def get_params(self, deep=True):
            return {"deep": deep}

    class Mine(Tagged, MAPDPM):
        pass

    assert Mine().__sklearn_tags__() == "mine"
    assert Mine().get_params() == {"deep": True}


def test_a_parameter_that_is_not_kept_is_said():
    class Forgetful(MAPDPM):
        def __init__(self, alpha=1.0, depth=2, **others):
            super().__init__(alpha, **others)

    with pytest.raises(AttributeError, match=r"Forgetful.__init__ must keep its parameter 'depth'"):
        repr(Forgetful())


def test_a_failed_fit_leaves_the_model_as_it_was(X):
    model = DPMeans(lam=5.0).fit(X)
    with pytest.raises(ValueError, match="backend"):
        model.set_params(lam=50.0, backend="gpu").fit(X)
    assert model.lam_ == 5.0
    with pytest.raises(ValueError, match="backend"):
        DPMeans(backend="gpu").fit(X)


@BOTH
def test_warnings_point_at_the_caller(kind, X):
    model = kind().fit(pd.DataFrame(X, columns=list("abc")))
    for call in (model.predict, model.score):
        with pytest.warns(UserWarning, match="valid feature names") as caught:
            call(X)
        assert "mapdpm" not in Path(caught[0].filename).parent.name


@BOTH
def test_dates_of_polars_are_no_numbers(kind):
    frame = pl.DataFrame({"x": [1.0, 2.0], "when": ["2026-01-01", "2026-01-02"]}).with_columns(
        pl.col("when").str.to_date()
    )
    with pytest.raises(ValueError, match="column 'when' holds Date; convert it"):
        kind().fit(frame)
    with pytest.raises(ValueError, match=r"use X\.collect"):
        kind().fit(frame.lazy())


def test_set_fit_request_alone_changes_nothing():
    model = MAPDPM().set_fit_request(sample_weight=True)
    assert model.set_fit_request().get_metadata_routing().fit.requests == {"sample_weight": True}
    model.get_metadata_routing().fit.add_request(param="sample_weight", alias=False)
    assert model.get_metadata_routing().fit.requests == {"sample_weight": True}
