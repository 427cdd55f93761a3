"""The picture of surprises: each point in the colour of its cluster, and each episode as a span."""

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

from mapdpm import Alarm, OnlineMAPDPM, plots
from mapdpm.plots.canvas import colour
from mapdpm.stream import Assessment


def made(n=60, D=1):
    rng = np.random.default_rng(0)
    values = rng.random(n)
    values[:10], values[[30, 31, 50]] = np.nan, 1e-6
    return rng.normal(size=(n, D)), Assessment(np.arange(n) % 3 + 200, np.zeros(n), np.zeros(n), values)


def dots(ax):
    return [each for each in ax.collections if type(each) is PathCollection]


def alarm_of(found, t=None):
    alarm = Alarm(1e-3, hold=5)
    for i, value in enumerate(found.surprise.tolist()):
        alarm.update(value, None if t is None else t[i])
    return alarm


def spans(ax):
    return [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in ax.patches]


@pytest.mark.parametrize("timed", [False, True])
def test_points_surprises_and_episodes(timed):
    X, found = made()
    t = np.arange(60) * 2.0 + 1e6 if timed else None
    alarm = alarm_of(found, t)
    upper, lower = plots.surprise(t, X, found, alarm)
    times = np.arange(1, 61) if t is None else t
    (series,) = dots(upper)
    np.testing.assert_array_equal(series.get_offsets(), np.column_stack([times, X[:, 0]]))
    np.testing.assert_allclose(series.get_facecolors()[:, :3], [colour(i % 3, 3)[:3] for i in range(60)])
    (below,) = dots(lower)
    np.testing.assert_array_equal(below.get_offsets(), np.column_stack([times, found.surprise])[10:])
    assert lower.get_yscale() == "log"
    assert [line.get_ydata()[0] for line in lower.lines] == [1e-3]
    expected = [(times[30], times[31]), (times[50], times[50])]
    assert spans(upper) == spans(lower) == expected
    assert upper.get_ylabel() == "feature 0"


def test_features_have_bands_and_values_may_be_missing():
    X, found = made(D=4)
    X[5, 1] = np.nan
    figure = Figure()
    panels = figure.subplots(2, 1)
    upper, _ = plots.surprise(None, X, found, ax=panels)
    assert upper is panels[0]
    heights = [np.asarray(each.get_offsets())[:, 1] for each in dots(upper)]
    assert [len(each) for each in heights] == [60, 59, 60]
    assert [(round(each.min(), 9), round(each.max(), 9)) for each in heights] == [(2.1, 2.9), (1.1, 1.9), (0.1, 0.9)]


def test_refusals():
    X, found = made()
    with pytest.raises(ValueError, match="assessments must have one entry a point"):
        plots.surprise(None, X[:50], found)
    with pytest.raises(ValueError, match="t must be finite and never fall"):
        plots.surprise(np.arange(60)[::-1], X, found)
    with pytest.raises(ValueError, match="the alarm took no times"):
        plots.surprise(np.arange(60.0), X, found, alarm_of(found))


def test_points_of_the_warmup_are_grey():
    """Each has a provisional id of its own, which is no cluster."""
    X = np.random.default_rng(0).normal(size=(300, 1))
    found = OnlineMAPDPM(n_features=1).learn_many_assessed(X)
    upper, _ = plots.surprise(None, X, found)
    (series,) = dots(upper)
    shades = np.unique(series.get_facecolors()[:200], axis=0)
    assert len(shades) == 1
    assert len(np.unique(series.get_facecolors(), axis=0)) == 1 + len(np.unique(found.id[200:]))
