"""HDPHMM as users call it: sequences of all kinds, scikit-learn's tools, bad input."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone, is_clusterer
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mapdpm import HDPHMM
from mapdpm.partition_priors.hyperpriors import GammaPrior, InverseGammaPrior
from tests.models.hdp_hmm.fits import SIZES, quickly
from tests.search.test_states import PRIOR

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
    named = HDPHMM(**fitted.get_params(deep=False)).fit(X, sequences=ids)
    np.testing.assert_array_equal(named.transitions_, fitted.transitions_)
    assert fitted.transitions_.tolist() != quickly(X).transitions_.tolist()
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
        ({"max_sweeps": -1}, "max_sweeps"),
        ({"alpha_prior": InverseGammaPrior()}, "alpha_prior must be a GammaPrior"),
        ({"gamma_prior": GammaPrior(1.0, 0.0)}, "gamma_prior must be a GammaPrior of rate > 0"),
        ({"backend": "gpu"}, "backend"),
        ({"likelihood": "normal"}, "likelihood"),
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
