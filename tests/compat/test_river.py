"""mapdpm.compat.river: every check that river has, and the same bits as OnlineMAPDPM on arrays."""

import copy
import functools
import itertools
import math
import pickle
import random
import subprocess
import sys
from unittest import mock

import numpy as np
import pytest

pytest.importorskip("river", reason="river is not installed; try: pip install 'mapdpm[river]'")

from river import anomaly, checks, datasets, evaluate, metrics, preprocessing, stream

from mapdpm import NormalGamma, NormalKnownVariance
from mapdpm.compat.river import OnlineMAPDPMAnomaly, OnlineMAPDPMClusterer
from mapdpm.stream import OnlineMAPDPM, StreamFullError

ADAPTERS = (OnlineMAPDPMClusterer, OnlineMAPDPMAnomaly)
TEN = {
    "check_learn_one",
    "check_pickling",
    "check_shuffle_features_no_impact",
    "check_emerging_features",
    "check_disappearing_features",
    "check_radically_disappearing_features",
    "check_predict_one_pure",
    "check_predict_one_before_any_learn",
    "check_no_state_aliasing_with_input",
    "check_clone_is_independent",
}
PRIOR = NormalKnownVariance(0.0, 100.0, 1.0)
NAN = math.nan
LOWEST = -math.log(sys.float_info.max)


def blobs(n_points, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_points, n_features)) + 9.0 * rng.integers(3, size=(n_points, 1))


def dicts(X):
    return [dict(zip("abcdefgh", row, strict=False)) for row in X.tolist()]


# ---- river's checks --------------------------------------------------------------------------------------------------


@functools.cache
def frauds():
    """A stream as that of river's CreditCard, which is 150 MB to download: 30 names, and a few points far off."""
    rng = np.random.default_rng(0)
    y = rng.random(10_000) < 0.02
    X = blobs(len(y), 30) + 3.0 * y[:, None] * rng.normal(size=(len(y), 30))
    names = ["Time", *(f"V{i}" for i in range(1, 29)), "Amount"]
    return [(dict(zip(names, row, strict=True)), int(label)) for row, label in zip(X.tolist(), y, strict=True)]


@functools.cache
def shuttle():
    """NASA's shuttle data, which comes with river from 0.26 on."""
    return list(datasets.Shuttle().take(10_000))


@functools.cache
def local(name):
    return list(getattr(datasets, name)())


def sources(model):
    """river has one data set for anomaly detectors, and none for clusterers: these are for both."""
    if isinstance(model, OnlineMAPDPMClusterer) and not hasattr(checks.common, "_learn"):
        return  # before river 0.26 its data checks would call learn_one(x, y) of a clusterer
    yield frauds
    if hasattr(datasets, "Shuttle"):
        yield shuttle
    if isinstance(model, OnlineMAPDPMClusterer):
        for name in ("Phishing", "ImageSegments", "TrumpApproval"):
            yield functools.partial(local, name)


def streamed(source, n_points):
    yield from source()[:n_points]  # not made before it is asked for: tests are listed often


def streams(model, scale=1):
    for source in sources(model):
        yield streamed(source, 1000 * scale)


def checks_of(model):
    with mock.patch.object(checks, "_yield_datasets", streams):
        return list(checks.yield_checks(model))


def all_checks():
    for kind in ADAPTERS:
        for i, parameters in enumerate(kind._unit_test_params()):
            seen = {"check_bounded_memory_growth"}  # a second
            for j, check in enumerate(checks_of(kind(**parameters))):
                name = check.__name__
                marks = pytest.mark.complete if i > 0 or name in seen else ()  # a check comes again for each data set
                seen.add(name)
                yield pytest.param(kind, parameters, j, id=f"{kind.__name__}-{i}-{j}-{name}", marks=marks)


@pytest.mark.parametrize(("kind", "parameters", "which"), list(all_checks()))
def test_check_of_river(kind, parameters, which):
    model = kind(**parameters)
    random.seed(0)  # some checks shuffle or drop features
    checks_of(model)[which](model.clone())


@pytest.mark.parametrize("kind", ADAPTERS)
def test_no_check_is_skipped_and_the_data_checks_are_among_them(kind):
    model = kind()
    assert model._unit_test_skips() == set()
    wanted = {name for name in TEN if hasattr(checks.common, name)} if list(sources(model)) else set()
    assert wanted <= {check.__name__ for check in checks_of(model)}
    if hasattr(checks.common, "_learn"):
        assert wanted == TEN


def test_predicting_leaves_the_point_and_the_model_alone():  # river looks at no clusterer here
    clusterer = OnlineMAPDPMClusterer(warmup=20)
    for x in dicts(blobs(50)):
        before, given = pickle.dumps(clusterer), dict(x)
        clusterer.predict_one(x)
        assert x == given
        assert pickle.dumps(clusterer) == before
        clusterer.learn_one(x)


# ---- the same bits as on arrays --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("missing", ["skip", "error"])
@pytest.mark.parametrize("parameters", [{"warmup": 30}, {"likelihood": PRIOR}, {"warmup": 30, "half_life": 40.0}])
def test_same_ids_and_scores_as_on_arrays(parameters, missing, dtype):
    X = blobs(300)
    if missing == "skip":
        X[1:][np.random.default_rng(1).random(X[1:].shape) < 0.2] = NAN  # the first one says which features there are
        X = X[~np.isnan(X).all(axis=1)]
    parameters = parameters | {"missing": missing, "dtype": dtype, "max_clusters": 8}
    model = OnlineMAPDPM(**parameters, n_features=3)
    clusterer, detector = (kind(**parameters) for kind in ADAPTERS)
    assert clusterer.predict_one({"a": 1.0, "b": 1.0, "c": 1.0}) == 0
    assert detector.score_one({"a": 1.0, "b": 1.0, "c": 1.0}) == 3 * LOWEST
    order = random.Random(0)
    for row in X.tolist():
        model.learn_one(row)
        x = list({name: value for name, value in zip("abc", row, strict=True) if not math.isnan(value)}.items())
        order.shuffle(x)
        assert clusterer.learn_one(dict(x)) is detector.learn_one(dict(x)) is None
        score = model.score_one(row)
        assert detector.score_one(dict(x)) == (3 * LOWEST - model.n_seen if math.isnan(score) else -score)
        assert clusterer.predict_one(dict(x)) == (model.predict_one(row) if model.n_clusters else 0)
    assert model.n_clusters > 2
    assert clusterer.features == detector.features == ("a", "b", "c")
    assert clusterer.model.to_bytes() == detector.model.to_bytes() == model.to_bytes()
    centers = [[center[name] for name in "abc"] for center in clusterer.centers.values()]
    assert list(clusterer.centers) == model.ids.tolist()
    assert clusterer.n_clusters == len(clusterer.centers) > 0
    assert centers == model.means.tolist()


def test_time_is_passed_on():
    model = OnlineMAPDPM(likelihood=PRIOR, n_features=1, half_life=2.0)
    clusterer = OnlineMAPDPMClusterer(likelihood=PRIOR, half_life=2.0, missing="error")
    for t, value in enumerate([0.0, 30.0, 0.5, 31.0]):
        model.learn_one([value], 3.0 * t)
        clusterer.learn_one({"a": value}, t=3.0 * t)
    assert clusterer.model.to_bytes() == model.to_bytes()


# ---- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "expected"),
    [((10, 2, 1), (1, 2, 10)), (("b", "a"), ("a", "b")), (("b", 1, "a"), (1, "a", "b"))],
)
def test_features_are_sorted_whatever_their_order(names, expected):
    for order in itertools.permutations(names):
        clusterer = OnlineMAPDPMClusterer(likelihood=PRIOR)
        clusterer.learn_one(dict.fromkeys(order, 1.0))
        assert clusterer.features == expected


def test_names_that_come_later_are_ignored_where_there_is_no_room():
    few, many = (OnlineMAPDPMAnomaly(warmup=10) for _ in range(2))
    for x in dicts(blobs(30)):
        few.learn_one(x)
        many.learn_one(x | ({"new": 5.0} if many.features else {}))
    assert pickle.dumps(few) == pickle.dumps(many)
    assert few.score_one(x) == few.score_one(x | {"new": "text, even"})


def test_names_that_come_later_take_the_places_there_are():
    clusterer = OnlineMAPDPMClusterer(warmup=10, n_features=3)
    model = OnlineMAPDPM(warmup=10, n_features=3, missing="skip")
    for i, (x, row) in enumerate(zip(dicts(blobs(60, 2)), blobs(60, 2).tolist(), strict=True)):
        point = {"b": x["b"]} | ({"a": x["a"]} if i > 20 else {}) | ({"c": 1.0, "d": 1.0} if i > 30 else {})
        clusterer.learn_one(point)
        model.learn_one([row[1], row[0] if i > 20 else NAN, 1.0 if i > 30 else NAN])
    assert clusterer.features == ("b", "a", "c")
    assert clusterer.model.to_bytes() == model.to_bytes()
    assert clusterer.predict_one(point) == model.predict_one([row[1], row[0], 1.0])


def test_a_likelihood_says_how_many_features_there_are():
    clusterer = OnlineMAPDPMClusterer(likelihood=NormalGamma([0.0, 0.0], 0.1, 1.0, 1.0))
    for x in ({"b": 1.0}, {"c": 1.0, "a": 2.0}, {"d": 1.0, "b": 0.5}):
        clusterer.learn_one(x)
    assert clusterer.features == ("b", "a")
    assert clusterer.model.n_features_in_ == 2


def test_centers_have_the_names_there_are():
    clusterer = OnlineMAPDPMClusterer(likelihood=PRIOR, n_features=3)
    assert clusterer.centers == {}
    assert clusterer.n_clusters == 0
    clusterer.learn_one({"a": 2.0})
    assert clusterer.centers == {0: {"a": 2.0}}


@pytest.mark.parametrize("nothing", [{}, {"a": None, "b": NAN}, {"unseen": 3.0}])
def test_a_point_that_says_nothing_is_passed_over(nothing):
    clusterer, detector = (kind(likelihood=PRIOR) for kind in ADAPTERS)
    for model in (clusterer, detector):
        for value in (0.0, 50.0, 51.0):
            model.learn_one({"a": value, "b": value})
    before = pickle.dumps(clusterer)
    clusterer.learn_one(nothing)
    assert pickle.dumps(clusterer) == before
    assert clusterer.predict_one(nothing) == 1  # the heaviest
    assert detector.score_one(nothing) == 0.0  # log 1: the density of nothing


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("size", [1e-18, 1e-6, 1.0, 1e12])
def test_no_point_of_the_warm_up_ranks_above_an_ordinary_one(size, dtype):
    X = size * blobs(400)
    detector = OnlineMAPDPMAnomaly(warmup=100, dtype=dtype)
    scores = []
    for x in dicts(X):
        scores.append(detector.score_one(x))
        detector.learn_one(x)
    warming, later = scores[:100], scores[100:]
    assert max(warming) < min(later)
    assert warming == sorted(set(warming), reverse=True)
    assert np.isfinite(scores).all()
    assert (min(later) < 0.0) == (size < 1.0)  # densities above 1, below 0 that score would have been the strangest
    partial = OnlineMAPDPMAnomaly(warmup=100)
    partial.learn_one({"a": 1.0, "b": 2.0})
    for nothing_much in ({}, {"a": 1.0}, {"unseen": 3.0}):
        assert 2 * LOWEST - 1 <= partial.score_one(nothing_much) < 2 * LOWEST


@pytest.mark.parametrize("size", [1e-6, 1.0])
def test_a_filter_by_quantiles_learns_through_the_warm_up(size):
    points = dicts(size * blobs(2000))
    quantile = anomaly.QuantileFilter(OnlineMAPDPMAnomaly(warmup=100, n_features=3), q=0.95)
    for nothing in ({"a": None}, {}):
        quantile.learn_one(nothing)
    flagged = []
    for x in points:
        flagged.append(quantile.classify(quantile.score_one(x)))
        quantile.learn_one(x)
    assert not any(flagged[:100])
    assert 0.02 < np.mean(flagged[500:]) < 0.1  # one in twenty is what it was asked for
    assert quantile.anomaly_detector.model.n_seen > 1700


def test_a_metric_of_ranks_is_not_hurt_by_the_warm_up():
    X, anomalous = 1e-6 * blobs(600), np.arange(600) % 20 == 19
    X[anomalous] += 1e-3
    labels = anomalous & (np.arange(600) >= 100)
    metric = metrics.RollingROCAUC(window_size=600)
    stream_of = zip(dicts(X), labels.tolist(), strict=True)
    assert evaluate.progressive_val_score(stream_of, OnlineMAPDPMAnomaly(warmup=100), metric).get() > 0.9


@pytest.mark.parametrize("kind", ADAPTERS)
def test_none_and_nan_are_missing_values(kind):
    models = [kind(warmup=10) for _ in range(3)]
    for i, x in enumerate(dicts(blobs(40))):
        for model, lost in zip(models, ({}, {"b": None}, {"b": NAN}), strict=True):
            model.learn_one(({"a": x["a"], "c": x["c"]} | lost) if i % 3 == 1 else x)
    assert len({pickle.dumps(model) for model in models}) == 1


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learned", [0, 1, 40])
@pytest.mark.parametrize("missing", ["skip", "error"])
@pytest.mark.parametrize(
    ("x", "problem"),
    [
        ({"a": 1.0, "b": "2.5"}, r"'b' is '2\.5'"),
        ({"a": 1.0, "b": 2j}, r"'b' is 2j"),
        ({"a": math.inf, "b": 1.0}, r"'a' is inf"),
        ({"a": 1.0, "b": 10**400}, r"'b' is 1000"),
        ({"a": [1.0], "b": 1.0}, r"'a' is \[1\.0\]"),
        ([1.0, 2.0], r"dict of numbers.*got \[1\.0, 2\.0\]"),
        ({"a": 1e200, "b": 1.0}, r"too far"),
    ],
)
def test_bad_values_are_refused_by_name_and_change_nothing(x, problem, missing, learned):
    for kind, verb in zip(ADAPTERS, ("predict_one", "score_one"), strict=True):
        model = kind(warmup=10, missing=missing)
        for point in dicts(blobs(learned, 2)):
            model.learn_one(point)
        before = pickle.dumps(model)
        if not (problem == "too far" and learned < 10):  # nobody knows yet what is far
            with pytest.raises(ValueError, match=problem):
                model.learn_one(x)
        if problem != "too far":
            with pytest.raises(ValueError, match=problem):
                getattr(model, verb)(x)
        if problem != "too far" or learned >= 10:
            assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    ("x", "problem"),
    [
        ({"a": 1.0}, "no value for 'b'"),
        ({"a": 1.0, "b": None}, "no value for 'b'"),
        ({"a": NAN, "b": NAN}, "no value for 'a', 'b'"),
        ({"a": 1.0, "c": 1.0}, "no value for 'b'"),
        ({"a": 1.0, "b": 1.0, "d": 1.0, "c": 1.0}, "unseen features: 'd', 'c'"),
    ],
)
def test_without_skipping_points_must_be_complete(x, problem):
    for kind, verb in zip(ADAPTERS, ("predict_one", "score_one"), strict=True):
        model = kind(likelihood=PRIOR, missing="error")
        model.learn_one({"b": 1.0, "a": 1.0})
        for method in (model.learn_one, getattr(model, verb)):
            with pytest.raises(ValueError, match=problem + ".*missing='skip'"):
                method(x)
        assert model.model.n_seen == 1


@pytest.mark.parametrize(("x", "problem"), [({"a": 1.0}, "1 features.*expecting 3"), ({}, "0 features.*expecting 3")])
def test_without_skipping_the_first_point_must_be_complete_too(x, problem):
    clusterer = OnlineMAPDPMClusterer(n_features=3, missing="error")
    with pytest.raises(ValueError, match=problem):
        clusterer.learn_one(x)
    with pytest.raises(ValueError, match=r"0 features.*expecting some"):
        OnlineMAPDPMClusterer(missing="error").learn_one({})
    assert clusterer.features == ()


def test_parameters_are_checked_when_made_and_errors_pass_through():
    with pytest.raises(ValueError, match="alpha must be > 0"):
        OnlineMAPDPMClusterer(alpha=0.0)
    clusterer = OnlineMAPDPMClusterer(1, likelihood=PRIOR, when_full="error")
    clusterer.learn_one({"a": 0.0})
    with pytest.raises(StreamFullError):
        clusterer.learn_one({"a": 90.0})
    assert clusterer.model.n_seen == 1


def test_without_river_one_line_says_what_to_install():
    code = (
        "import sys, mapdpm, mapdpm.stream.online; assert 'river' not in sys.modules; sys.modules['river'] = None\n"
        "import mapdpm.compat.river"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    wanted = "ImportError: mapdpm.compat.river needs river, which is not installed; try: pip install 'mapdpm[river]'"
    assert run.stderr.splitlines()[-1] == wanted


# ---- copies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ADAPTERS)
@pytest.mark.parametrize("copied", [lambda model: pickle.loads(pickle.dumps(model)), copy.deepcopy])
@pytest.mark.parametrize("when", [0, 10, 100])
def test_a_copy_midway_goes_on_with_the_same_bits(when, copied, kind):
    points = dicts(blobs(150))
    model = kind(warmup=30, n_features=4)
    for x in points[:when]:
        model.learn_one(x)
    twin = copied(model)
    for x in points[when:]:
        model.learn_one(x)
        twin.learn_one(x)
    assert twin.features == model.features
    assert twin.model.to_bytes() == model.model.to_bytes()


@pytest.mark.parametrize("kind", ADAPTERS)
def test_a_clone_is_fresh_and_has_the_parameters(kind):
    model = kind(5, likelihood=NormalGamma([0.0, 1.0], 0.1, 1.0, 1.0), half_life=9.0, when_full="evict", alpha=2.0)
    for x in dicts(blobs(20, 2)):
        model.learn_one(x)
    fresh = model.clone()
    assert fresh._get_params() == model._get_params()
    assert (fresh.features, fresh.model.n_seen, fresh.model.max_clusters) == ((), 0, 5)
    assert fresh.model.likelihood == model.likelihood
    assert model.clone({"alpha": 3.0}).model.alpha == 3.0
    assert model.clone(include_attributes=True).model.to_bytes() == model.model.to_bytes()


# ---- in river's company ----------------------------------------------------------------------------------------------


def test_pipelines_and_metrics_of_clusterings():
    scaler, clusterer = preprocessing.StandardScaler(), OnlineMAPDPMClusterer(warmup=50)
    pipeline, ratio, rand = scaler | clusterer, metrics.Silhouette(), metrics.AdjustedRand()
    X = blobs(600)
    for x, _ in stream.iter_array(X):
        pipeline.learn_one(x)
        ratio.update(scaler.transform_one(x), pipeline.predict_one(x), clusterer.centers)  # also in the warm-up
    assert 0.0 < ratio.get() < 0.5  # river's is the ratio of distances: low is good
    for (x, _), middle in zip(stream.iter_array(X), X.mean(axis=1), strict=True):
        rand.update(round(middle / 9.0), pipeline.predict_one(x))
    assert rand.get() > 0.95


@pytest.mark.skipif(not hasattr(checks.common, "_learn"), reason="river scores clusterers so from 0.26 on")
def test_progressive_validation_of_a_clusterer():
    metric = evaluate.progressive_val_score(
        stream.iter_array(blobs(600)), OnlineMAPDPMClusterer(warmup=50), metrics.Silhouette()
    )
    assert 0.0 < metric.get() < 0.5


def test_anomalies_are_ranked_and_filtered():
    points = frauds()[:2000]
    model = preprocessing.StandardScaler() | OnlineMAPDPMAnomaly(warmup=100)
    assert evaluate.progressive_val_score(points, model, metrics.RollingROCAUC(window_size=2000)).get() > 0.9
    quantile = anomaly.QuantileFilter(OnlineMAPDPMAnomaly(warmup=100), q=0.95)
    for x, _ in points:
        quantile.learn_one(x)
    far, near = ({name: value + step for name, value in points[0][0].items()} for step in (50.0, 0.0))
    assert quantile.classify(quantile.score_one(far))
    assert not quantile.classify(quantile.score_one(near))
