"""Features in scikit-learn's pipelines: clones, names, containers of output, times by the index."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed; try: pip install 'mapdpm[sklearn]'")

from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from mapdpm import MAPDPM, features
from mapdpm.features import RMS, Centre, Lag, Seasonal

X = np.random.default_rng(0).normal(size=(120, 2)) + 9.0 * (np.arange(120) % 40 < 20)[:, None]


def test_a_pipeline_clusters_the_features():
    pipeline = make_pipeline(Lag(2) | Centre(30), MAPDPM(random_state=0))
    labels = pipeline.fit_predict(X)
    rows = (Lag(2) | Centre(30)).transform_many(X)
    assert labels.tolist() == MAPDPM(random_state=0).fit_predict(rows).tolist()
    assert len(make_pipeline(RMS(10) + features.CrestFactor(10), MAPDPM()).fit(X)[-1].labels_) == 12
    assert clone(pipeline).fit_predict(X).tolist() == labels.tolist()
    assert pipeline.predict(X[:50]).shape == (50,)
    names = pipeline[:-1].get_feature_names_out(["a", "b"])
    assert names.tolist()[:3] == ["a centred", "b centred", "a lag 1 centred"]


def test_transform_forgets_what_came_before():
    each = Lag(1) | Centre(5)
    first = each.fit_transform(X)
    each.transform_many(X)
    state = each.to_bytes()
    np.testing.assert_array_equal(each.transform(X), first)
    assert each.to_bytes() == state
    fresh = clone(each)
    np.testing.assert_array_equal(fresh.transform(X), first)  # nothing has to be fitted
    assert each.fit(X).to_bytes() == fresh.fit(X).to_bytes() != state


def test_clones_and_parameters():
    for each in (Lag(2), Seasonal("day", 3.0), RMS(4, centred=False) + RMS(4), Lag(1) | Centre(4)):
        assert repr(clone(each)) == repr(each)
        assert get_tags(each).input_tags.allow_nan
    centre = Centre(5).fit(X)
    assert centre.set_params(window=7).get_params() == {"window": 7, "dtype": "float64"}
    with pytest.raises(ValueError, match="window must be an integer"):
        centre.set_params(window=0)
    with pytest.raises(ValueError, match="Invalid parameter 'n'"):
        centre.set_params(n=3)
    assert centre.window == 7
    with pytest.raises(AttributeError):
        _ = centre.n_features_in_
    pipeline = Lag(1) | Centre(4)
    assert pipeline.set_params(steps=(Lag(3),)).transform(X).shape == (120, 8)


def test_frames_have_names_and_times():
    index = pd.date_range("2024-01-01", periods=120, freq="h", tz="Europe/Berlin")
    frame = pd.DataFrame(X, columns=["a", "b"], index=index)
    each = (Seasonal("hour") + Lag(1)).set_output(transform="pandas")
    found = each.fit_transform(frame)
    assert found.columns.tolist() == ["a seasonal hour", "b seasonal hour", "a", "b", "a lag 1", "b lag 1"]
    assert found.index.equals(index)
    seconds = (index - pd.Timestamp(0, tz="UTC")).total_seconds().to_numpy()
    np.testing.assert_array_equal(found.to_numpy(), each.transform_many(X, seconds))
    dates = index.tz_convert("UTC").tz_localize(None).to_numpy()
    np.testing.assert_array_equal(each.transform(X, dates), found.to_numpy())
    assert each.transform_one([1.0, 2.0], index[-1]) is not None
    assert each.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="feature names should match"):
        each.transform(frame.rename(columns={"a": "c"}))
    with pytest.raises(ValueError, match="t is needed"):
        each.transform(X)
    blocks = RMS(50).set_output(transform="pandas").fit_transform(frame)
    assert blocks.shape == (2, 2)
