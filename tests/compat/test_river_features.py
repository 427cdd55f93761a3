"""mapdpm.compat.river.Features: each point counts once in river's pipelines, with the bits of mapdpm.features."""

import copy
import datetime as dt
import math
import pickle

import numpy as np
import pytest

pytest.importorskip("river", reason="river is not installed; try: pip install 'mapdpm[river]'")

from river import checks, compose, preprocessing, stats

from mapdpm import NormalKnownVariance, features
from mapdpm.compat.river import Features, OnlineMAPDPMAnomaly, OnlineMAPDPMClusterer
from mapdpm.features.transformer import KINDS

PRIOR = NormalKnownVariance(0.0, 100.0, 1.0)
TEXT = "Lag(2) | Centre(7)"
X = np.random.default_rng(0).normal(size=(60, 2))
POINTS = [{"b": b, "a": a} for a, b in X.tolist()]
ROWS = features.parse(TEXT).transform_many(X).tolist()


def test_rivers_checks():
    found = list(checks.yield_checks(Features(TEXT)))
    for check in found:
        check(Features(TEXT))
    assert len(found) >= 5


def test_learned_points_have_the_bits_of_python():
    adapter = Features(TEXT)
    for x, row in zip(POINTS, ROWS, strict=True):
        assert list(adapter.transform_one(x).values()) == row  # a look ahead, which changes nothing
        adapter.learn_one(x)
        assert list(adapter.transform_one(x).values()) == row == list(adapter.transform_one(x).values())
    assert adapter.features == ("a", "b")
    assert list(adapter.transform_one(x))[:3] == ["a centred", "b centred", "a lag 1 centred"]


@pytest.mark.parametrize("text", [kind.example for kind in KINDS.values()])
def test_each_kind_has_the_bits_of_python_or_gives_too_few_results(text):
    each, t = features.parse(text), 3600.0 * np.arange(len(X))
    if each.every > 1 or each.waits:
        with pytest.raises(ValueError, match="a warm-up, have none" if each.waits else "gives one in"):
            Features(text)
        return
    adapter = Features(text)
    for x, row, when in zip(POINTS, each.transform_many(X, t).tolist(), t.tolist(), strict=True):
        adapter.learn_one(x, t=when)
        assert list(adapter._last[2].values()) == row


@pytest.mark.parametrize("predicts", [True, False])
def test_a_pipeline_takes_each_point_once(predicts):
    """Of river's pipelines, learn_one calls learn_one and transform_one, and predict_one calls transform_one."""
    pipeline = Features(TEXT) | OnlineMAPDPMClusterer(likelihood=PRIOR)
    alone = OnlineMAPDPMClusterer(likelihood=PRIOR)
    names = features.parse(TEXT).get_feature_names_out(["a", "b"]).tolist()
    for x, row in zip(POINTS, ROWS, strict=True):
        named = dict(zip(names, row, strict=True))
        if predicts:
            assert pipeline.predict_one(x) == alone.predict_one(named)
        pipeline.learn_one(x)
        alone.learn_one(named)
    assert pipeline["OnlineMAPDPMClusterer"].model.to_bytes() == alone.model.to_bytes()


def test_learning_during_prediction_takes_each_point_once():
    pipeline = Features(TEXT) | OnlineMAPDPMAnomaly(likelihood=PRIOR)
    with compose.learn_during_predict():
        for x in POINTS:
            pipeline.score_one(x)
            pipeline.learn_one(x)
    assert pipeline["OnlineMAPDPMAnomaly"].model.n_seen == len(POINTS)
    seen = features.parse(TEXT)
    seen.transform_many(X)
    assert pipeline["Features"]._own.to_bytes() == seen.to_bytes()


def test_with_scalers_unions_and_stats():
    scaled = preprocessing.StandardScaler() | Features("Difference()")
    both = Features("Lag(1)") + (compose.Select("a") | preprocessing.MinMaxScaler())
    mean = stats.Mean()
    for x in POINTS:
        scaled.learn_one(x)
        both.learn_one(x)
        mean.update(scaled.transform_one(x)["a difference 1"])
    assert math.isfinite(mean.get())
    assert {"a", "b", "a lag 1"} <= set(both.transform_one(POINTS[-1]))


def test_times_by_name_and_by_keyword():
    start = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    named, given = Features("Seasonal('hour')", time="when"), Features(features.Seasonal("hour"))
    for hours, value in ((0, 1.0), (12, 5.0), (24, 2.0)):
        x, when = {"v": value}, start + dt.timedelta(hours=hours)
        named.learn_one(x | {"when": when})
        given.learn_one(x, t=when.timestamp())
    assert named._last[2] == given._last[2] == {"v seasonal hour": 1.0}
    assert named.transform_one({"v": 3.0, "when": start + dt.timedelta(hours=48)}) == {"v seasonal hour": 1.5}
    with pytest.raises(ValueError, match="t is needed"):
        Features("Seasonal('hour')").learn_one({"v": 1.0})


def test_missing_values_and_refusals():
    adapter = Features("Lag(1)")
    adapter.learn_one({"a": 1.0, "b": None})
    assert math.isnan(adapter.transform_one({"a": 2.0})["b"])
    for x, says in (({"a": "x"}, "the feature 'a' is 'x'"), ({"a": math.inf}, "is inf"), ({"a": 1e200}, "beyond")):
        with pytest.raises(ValueError, match=says):
            adapter.learn_one(x)
    with pytest.raises(ValueError, match="must be a dict"):
        Features("Lag(1)").learn_one({})
    with pytest.raises(ValueError, match=r"RMS\(window=8\) gives one in 8"):
        Features("RMS(8)")
    adapter.learn_one({"a": 1.0, "b": 2.0})
    for other in (copy.deepcopy(adapter), pickle.loads(pickle.dumps(adapter))):
        assert other.transform_one({"a": 3.0, "b": 4.0}) == adapter.transform_one({"a": 3.0, "b": 4.0})
    assert adapter.clone().features == ()
