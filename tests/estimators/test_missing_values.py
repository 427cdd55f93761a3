"""``MAPDPM(missing="skip")`` as an estimator: predictions, files, trees, searches, refusals."""

import pickle
import struct

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import mapdpm
from mapdpm import (
    MAPDPM,
    BetaBernoulli,
    DPMeans,
    GammaPoisson,
    NormalGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    OnlineMAPDPM,
    select_alpha,
)
from mapdpm.backends import _c64
from mapdpm.files import container
from mapdpm.files.c_export import as_stream
from mapdpm.files.errors import ModelFileError
from tests.families import example
from tests.files.test_container import forged
from tests.missing_values import SKIPPING, with_gaps
from tests.oracle import missing as oracle

PRIOR = NormalGamma(50.0, 0.02, 1.0, 1.0)
NAN = float("nan")


def blobs(n=90, share=0.3, D=3, seed=0):
    rng = np.random.default_rng(seed)
    return with_gaps(50.0 + rng.normal(0.0, 8.0, (4, D))[rng.integers(0, 4, n)] + rng.normal(size=(n, D)), share, seed)


@pytest.fixture(scope="module")
def points():
    return blobs()


@pytest.fixture(scope="module")
def model(points):
    return MAPDPM(1.5, likelihood=PRIOR, missing="skip").fit(points)


@pytest.mark.parametrize("family", SKIPPING)
def test_densities_are_sums_over_clusters_of_raw_data(family):
    """Sums of some hundred terms of scipy, each to 1e-13 of a nat: 1e-9."""
    likelihood, X = example(family, np.random.default_rng(4), 24)
    X, new = with_gaps(X[:20], 0.4), with_gaps(X[20:], 0.4, 1)
    model = MAPDPM(1.5, likelihood=likelihood, missing="skip", backend="python").fit(X)
    expected = oracle.log_densities(new, X, model.labels_, likelihood, 1.5)
    np.testing.assert_allclose(model.score_samples(new), expected, rtol=1e-9)
    assert model.score(new) == pytest.approx(expected.mean(), rel=1e-9)
    proba = model.predict_proba(new)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    # The share of a new cluster is alpha p(x) of the whole.
    alone = [np.log(1.5) + oracle.log_marginal(x[None], likelihood) - np.log(21.5) for x in new]
    np.testing.assert_allclose(np.log(proba[:, -1]), alone - expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(model.predict(new), proba[:, :-1].argmax(axis=1))


def test_a_density_of_more_features_is_lower_by_what_they_say(model):
    """p(x_1, x_2) sums to p(x_1): by the trapezium rule over 4000 places of the second feature."""
    places = np.linspace(-400.0, 500.0, 40001)
    whole = np.column_stack([np.full(40001, 48.0), places, np.full(40001, NAN)])
    density = np.exp(model.score_samples(whole))
    total = density[1:-1].sum() * (places[1] - places[0])
    assert np.log(total) == pytest.approx(model.score_samples([[48.0, NAN, NAN]])[0], abs=1e-3)  # tails beyond


def test_means_of_a_feature_that_nobody_has_are_the_priors():
    X = np.array([[50.0, 51.0], [50.5, 51.5], [90.0, NAN], [90.5, NAN]])
    model = MAPDPM(likelihood=PRIOR, missing="skip").fit(X)
    assert model.labels_.tolist() == [0, 0, 1, 1]
    np.testing.assert_allclose(model.means_, [[50.25, 51.25], [90.25, 50.0]], rtol=1e-12)
    np.testing.assert_allclose(model.variances_, [[0.0625, 0.0625], [0.0625, 0.0]], rtol=1e-9)
    stream = OnlineMAPDPM(likelihood=PRIOR, missing="skip").partial_fit(X)
    np.testing.assert_allclose(stream.means, model.means_, rtol=1e-12)
    np.testing.assert_allclose(stream.variances, model.variances_, rtol=1e-9, atol=1e-12)


def test_data_without_gaps_makes_a_model_that_reads_gaps():
    X = blobs(share=0.0)
    model = MAPDPM(likelihood=PRIOR, missing="skip").fit(X)
    np.testing.assert_array_equal(model.predict(X), MAPDPM(likelihood=PRIOR).fit(X).predict(X))
    expected = oracle.log_densities(blobs(5), X, model.labels_, PRIOR.for_data(X), 1.0)
    np.testing.assert_allclose(model.score_samples(blobs(5)), expected, rtol=1e-9)


def test_frames_names_and_float32(points):
    frame = pd.DataFrame(points, columns=list("abc"))
    model = MAPDPM(likelihood=PRIOR, missing="skip").fit(frame)
    assert model.feature_names_in_.tolist() == list("abc")
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
    half = MAPDPM(likelihood=PRIOR, missing="skip").fit(points.astype(np.float32))
    np.testing.assert_array_equal(half.labels_, model.labels_)


@pytest.mark.parametrize("cap", [1, 3])
def test_caps_and_starts(points, cap):
    model = MAPDPM(likelihood=PRIOR, missing="skip", max_clusters=cap, init="single").fit(points)
    assert model.n_clusters_ <= cap
    expected = oracle.log_joint(points, model.labels_, PRIOR.for_data(points), 1.0)
    assert model.log_joint_ == pytest.approx(expected, rel=1e-9)


def test_groups_and_trees(model, points):
    tree = model.merge_tree()
    first = tree.labels(model.n_clusters_ - 1)
    lost = model.log_joint_ - oracle.log_joint(points, first, model.likelihood_, 1.5)
    assert tree.losses[0] == pytest.approx(lost, rel=1e-8)
    wide = PRIOR._replace(b0=30.0)
    under = oracle.log_joint(points, model.labels_, wide.for_data(points), 1.5)
    other = model.merge_tree(prior=wide)
    merged = oracle.log_joint(points, other.labels(model.n_clusters_ - 1), wide.for_data(points), 1.5)
    assert other.losses[0] == pytest.approx(under - merged, rel=1e-8)
    assert len(model.merge_tree("overlap", X=points).losses) == model.n_clusters_ - 1
    np.testing.assert_array_equal(model.predict(points, merged=2), tree.groups(2)[model.predict(points)])


def test_overlap_by_statistics_is_that_of_whole_points():
    X = blobs(share=0.0)
    trees = [MAPDPM(likelihood=PRIOR, missing=each).fit(X).merge_tree("overlap") for each in ("skip", "error")]
    np.testing.assert_allclose(trees[0].losses, trees[1].losses, rtol=1e-9)


@pytest.mark.parametrize("family", [NormalGamma, NormalKnownVariance])
def test_files_keep_every_bit(tmp_path, points, family):
    likelihood = PRIOR if family is NormalGamma else NormalKnownVariance(50.0, 60.0, 1.0)
    model = MAPDPM(1.5, likelihood=likelihood, missing="skip", discount=0.1).fit(points)
    model.save(tmp_path / "a.mdpm")
    back = mapdpm.load(tmp_path / "a.mdpm")
    assert back.to_bytes() == model.to_bytes()
    assert back.get_params() == model.get_params()
    np.testing.assert_array_equal(back.score_samples(points), model.score_samples(points))
    np.testing.assert_array_equal(back._mixture.statistics, model._mixture.statistics)
    for name in ("labels_", "means_", "variances_", "history_"):
        np.testing.assert_array_equal(getattr(back, name), getattr(model, name))
    np.testing.assert_array_equal(back.fit(points).labels_, model.labels_)
    small = MAPDPM.from_bytes(model.to_bytes("float32"))
    np.testing.assert_allclose(small.score_samples(points), model.score_samples(points), rtol=1e-4)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_file_of_a_feature_that_nobody_has(dtype):
    """The anchor is rounded to float32, and means follow it; there is none of such a feature."""
    X = np.array([[50.1, 51.3], [50.5, 51.57], [90.2, NAN], [90.5, NAN]])
    model = MAPDPM(likelihood=PRIOR, missing="skip").fit(X)
    back = MAPDPM.from_bytes(model.to_bytes(dtype))
    np.testing.assert_allclose(back.score_samples(X), model.score_samples(X), rtol=1e-5)
    np.testing.assert_allclose(back.means_, model.means_, rtol=1e-6)


def test_a_file_says_that_it_counts_features(model, points):
    data = model.to_bytes()
    flags, n_statistics = struct.unpack_from("<H", data, 10)[0], struct.unpack_from("<I", data, 24)[0]
    assert (flags, n_statistics) == (1, 1 + 3 * 3)
    assert MAPDPM(likelihood=PRIOR).fit(blobs(share=0.0)).to_bytes()[10:12] == b"\0\0"
    weights = np.array(
        [np.count_nonzero(~np.isnan(points[model.labels_ == k]), axis=0) for k in range(model.n_clusters_)]
    )
    np.testing.assert_array_equal(container.unpack(data)[0].statistics[:, 1:4], weights)


def test_c_refuses_what_it_does_not_know(model):
    """Whatever the flags say: rows are longer than those that it knows."""
    lib, ffi = _c64.lib, _c64.ffi
    data = model.to_bytes()
    assert lib.mapdpm_model_shape(data, len(data), ffi.new("mapdpm_model *")) == lib.MAPDPM_E_DAMAGED


@pytest.mark.parametrize(
    ("at", "new", "says"),
    [
        (10, struct.pack("<H", 2), "field of flags is 2"),
        (10, struct.pack("<H", 0), "length of its statistics is wrong"),
        (6, b"\x03", "field of flags is 1"),
    ],
)
def test_other_flags_are_refused(model, at, new, says):
    with pytest.raises(ModelFileError, match=says):
        MAPDPM.from_bytes(forged(model.to_bytes(), at, new))


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        (1, -1.0, "weights of features do not fit"),
        (1, 1e9, "weights of features do not fit"),
        (1, 0.0, "a feature without points has moments"),
        (7, -1.0, "sums of squares are negative"),
        (slice(1, 4), 0.0, "a cluster is empty"),
        (4, 1e60, "the model file is damaged"),
    ],
)
def test_statistics_of_no_data_are_refused(model, place, value, says):
    mixture = pickle.loads(pickle.dumps(model))._mixture
    mixture.state.rows[0, place] = value
    with pytest.raises(ModelFileError, match=says):
        MAPDPM.from_bytes(container.pack(mixture, {}))


def test_a_file_without_extras_reads_gaps(model, points):
    bare = MAPDPM.from_bytes(container.pack(model._mixture, {}))
    assert bare.missing == "skip"
    np.testing.assert_array_equal(bare.score_samples(points), model.score_samples(points))


@pytest.mark.parametrize("family", SKIPPING)
def test_pickle_and_joblib(tmp_path, family):
    likelihood, X = example(family, np.random.default_rng(4), 20)
    X = with_gaps(X, 0.4)
    model = MAPDPM(likelihood=likelihood, missing="skip", backend="python").fit(X)
    joblib.dump(model, tmp_path / "model")
    for back in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        np.testing.assert_array_equal(back.score_samples(X), model.score_samples(X))
    assert MAPDPM.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()


def test_scikit_learn(points):
    model = MAPDPM(likelihood=PRIOR, missing="skip")
    assert clone(model).missing == "skip"
    assert model.__sklearn_tags__().input_tags.allow_nan
    assert not MAPDPM().__sklearn_tags__().input_tags.allow_nan
    assert not DPMeans().__sklearn_tags__().input_tags.allow_nan
    search = GridSearchCV(model, {"alpha": [0.1, 10.0]}, cv=2).fit(points)
    assert np.isfinite(search.best_score_)


@pytest.mark.parametrize("method", ["cv", "nll", "map", "empirical-bayes", "prequential"])
def test_select_alpha(points, method):
    likelihood = PRIOR if method in {"map", "prequential"} else None
    found = select_alpha(points, [0.5, 2.0], method=method, likelihood=likelihood, folds=2, missing="skip")
    assert found.model.missing == "skip"
    assert np.all(np.isfinite(found.scores))
    if method == "empirical-bayes":
        joint = oracle.log_joint(points, found.model.labels_, found.model.likelihood_, found.alpha)
        assert found.model.log_joint_ == pytest.approx(joint, rel=1e-9)


def test_a_grid_of_widths_and_a_fitted_prior(points):
    found = select_alpha(points, [{"b0_scale": 1e-3}, {"b0_scale": 1.0}], method="nll", missing="skip")
    assert found.params == {"b0_scale": 1e-3}
    assert select_alpha(points, [0.5, 2.0], method="nll", missing="skip").model.likelihood_ is not None


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([[1.0, np.inf], [1.0, 2.0]], "X contains infinity at row 0, column 1"),
        ([[1.0, 2.0], [NAN, NAN]], "X has no value at all in row 1"),
    ],
)
def test_values_that_are_refused(model, values, says):
    with pytest.raises(ValueError, match=says):
        MAPDPM(missing="skip").fit(values)
    with pytest.raises(ValueError, match=says):
        model.predict(np.column_stack([values, np.array(values)[:, 0]]))


def test_gaps_are_an_error_unless_they_are_skipped(points):
    with pytest.raises(ValueError, match="or set missing='skip' for NaN"):
        MAPDPM().fit(points)
    for other in (DPMeans(), MAPDPM(likelihood=NormalInverseWishart)):
        with pytest.raises(ValueError, match=r"impute such points$"):
            other.fit(points)
    whole = MAPDPM(likelihood=PRIOR).fit(blobs(share=0.0)).set_params(missing="skip")
    with pytest.raises(ValueError, match="X contains NaN"):  # the fit did not skip
        whole.predict(points)


def test_refusals(points, model):
    with pytest.raises(ValueError, match="missing must be one of 'error', 'skip', got 'mean'"):
        MAPDPM(missing="mean").fit(points)
    with pytest.raises(ValueError, match="which NormalInverseWishart is not; use NormalGamma"):
        MAPDPM(likelihood=NormalInverseWishart, missing="skip").fit(points)
    with pytest.raises(ValueError, match="which NormalInverseWishart is not"):
        select_alpha(points, likelihood=NormalInverseWishart, missing="skip")


def test_it_goes_on_in_c_with_its_missing_values(points, model):
    stream = as_stream(model, dtype="float64")
    assert stream.missing == "skip"
    np.testing.assert_allclose(stream.score_samples(points), model.score_samples(points), atol=1e-9)


def test_whole_numbers_and_domains():
    common = {"missing": "skip", "backend": "python"}
    with pytest.raises(ValueError, match=r"whole numbers from 0 to 1e9, but there is 1.5 at row 1, column 0"):
        MAPDPM(likelihood=GammaPoisson(1.0, 1.0), **common).fit([[1.0, NAN], [1.5, 2.0]])
    with pytest.raises(ValueError, match="zeros and ones, but there is 2 at row 1, column 1"):
        MAPDPM(likelihood=BetaBernoulli, **common).fit([[1.0, NAN], [1.0, 2.0]])
    with pytest.raises(ValueError, match=r"column 1 reaches .* prior scales"):
        MAPDPM(likelihood=NormalGamma(0.0, 1.0, 1.0, 1.0), **common).fit([[1.0, NAN], [1.0, 1e40]])


def test_missing_values_of_pandas():
    """Nullable columns hold pandas.NA, which is no number."""
    frame = pd.DataFrame({"a": pd.array([1, 2, None, 8], dtype="Int64"), "b": [1.0, None, 1.5, 9.0]})
    plain = np.array([[1.0, 1.0], [2.0, NAN], [NAN, 1.5], [8.0, 9.0]])
    models = [MAPDPM(missing="skip").fit(X) for X in (frame, frame.astype(object), plain)]
    assert len({model.log_joint_ for model in models}) == 1
    with pytest.raises(ValueError, match=r"X contains NaN at row 1, column 1 \('b'\)"):
        MAPDPM().fit(frame)


@pytest.mark.parametrize("backend", ["c", "python"])
def test_a_point_that_is_nearly_all_of_a_cluster_leaves_the_others_their_weight(backend):
    X, weights = np.array([[0.0, NAN], [NAN, 0.1], [NAN, 0.1], [NAN, 0.1]]), [1e9, 1e-8, 1e-8, 1e-8]
    model = MAPDPM(
        1e-10, likelihood=NormalGamma([0, 0], 0.1, 1, [1, 1]), missing="skip", moves=(), init=[0] * 4, backend=backend
    )
    assert model.fit(X, sample_weight=weights).converged_
