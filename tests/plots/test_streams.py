"""The picture of a stream: ellipses and names from its statistics alone, points in the colours of ``predict``."""

import numpy as np
import pytest
from matplotlib import patches
from matplotlib.collections import PathCollection

import mapdpm
from mapdpm import plots
from mapdpm.plots.canvas import colour

PRIOR = mapdpm.NormalGamma(m0=0.0, c0=0.01, a0=1.0, b0=1.0)


def stream(D, n=300, **more):
    rng = np.random.default_rng(1)
    X = (
        rng.normal(size=(n, D)) * np.arange(1, D + 1)
        + 40.0 * (np.arange(n)[:, None] % 3) * np.eye(3, D)[np.arange(n) % 3]
    )
    model = mapdpm.OnlineMAPDPM(8, likelihood=PRIOR, **more)
    model.learn_many(X)
    assert model.n_clusters >= 2
    return model, X


def ellipses(ax):
    return [patch for patch in ax.patches if isinstance(patch, patches.Ellipse)]


def names(ax):
    return [text.get_text() for text in ax.texts]


def dots(ax):
    return [each for each in ax.collections if type(each) is PathCollection]


@pytest.mark.parametrize("features", [None, (1, 0)])
def test_ellipses_are_the_standard_deviations(features):
    model, X = stream(2)
    model.learn_one([500.0, 500.0])
    ax = plots.clusters(model, features=features)
    order = [0, 1] if features is None else list(features)
    found = ellipses(ax)
    assert len(found) == model.n_clusters
    assert not dots(ax)
    for k, ellipse in enumerate(found):
        np.testing.assert_allclose(ellipse.center, model.means[k][order])
        turn = np.radians(ellipse.angle)
        rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        half = np.diag([ellipse.width, ellipse.height]) / 2.0
        np.testing.assert_allclose(rotation @ half**2 @ rotation.T, np.diag(model.variances[k][order]), atol=1e-9)
        assert ellipse.get_edgecolor() == colour(k, model.n_clusters)
    assert names(ax) == [str(number) for number in model.ids]
    assert ax.get_xlabel() == f"feature {order[0]}"
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[-2:] == [f"cluster {model.ids[-1]} (1 point)", "one standard deviation"]
    assert ax.get_xlim()[1] > 500.0
    assert len(X) == 300


def test_many_features_have_the_principal_plane_of_the_mixture():
    model, X = stream(4)
    ax = plots.clusters(model, X)
    # By another road: the correlations of the points themselves, which are those of the mixture.
    _, directions = np.linalg.eigh(np.corrcoef(X.T))
    expected = (X - X.mean(axis=0)) / X.std(axis=0) @ directions[:, [3, 2]]
    drawn = np.concatenate([np.asarray(each.get_offsets()) for each in dots(ax)])
    assert np.corrcoef(np.abs(drawn[:, 0]), np.abs(expected[:, 0]))[0, 1] > 0.999
    assert "% of the standardised variance" in ax.get_xlabel()
    assert len(ellipses(ax)) == model.n_clusters


def test_points_have_the_colours_of_predict_and_of_given_ids():
    model, X = stream(2, missing="skip")
    X = X.copy()
    X[::7, 1] = np.nan
    places = np.searchsorted(model.ids, model.predict(X))
    (found,) = dots(plots.clusters(model, X))
    expected = [colour(k, model.n_clusters)[:3] for k in places]
    np.testing.assert_allclose(found.get_facecolors()[:, :3], expected)
    ax = plots.clusters(model, X, labels=np.full(len(X), 10**6))
    np.testing.assert_allclose(dots(ax)[0].get_facecolors()[:, :3], [colour(-1, 1)[:3]] * len(X))
    assert "none (300 points)" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_one_feature_is_drawn_against_the_weight_or_the_rows():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=100), rng.normal(30.0, 2.0, size=50)])[:, None]
    model = mapdpm.OnlineMAPDPM(8, likelihood=PRIOR).partial_fit(X)
    ax = plots.clusters(model)
    for k, line in enumerate(ax.lines[: model.n_clusters]):
        deviation = np.sqrt(model.variances[k, 0])
        np.testing.assert_allclose(line.get_xdata(), model.means[k, 0] + np.array([-1.0, 1.0]) * deviation)
        assert list(line.get_ydata()) == [model.weights[k]] * 2
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("feature 0", "weight (points)")
    ax = plots.clusters(model, X)
    assert len(ax.patches) == model.n_clusters
    assert ax.get_ylabel() == "row"
    assert len(dots(ax)[0].get_offsets()) == 150


def test_refusals():
    model, X = stream(2)
    with pytest.raises(ValueError, match="this OnlineMAPDPM has no clusters yet"):
        plots.clusters(mapdpm.OnlineMAPDPM())
    with pytest.raises(ValueError, match="labels must be ids of clusters"):
        plots.clusters(model, X, labels=[1, 2])
    with pytest.raises(ValueError, match="two different columns"):
        plots.clusters(model, features=(1, 1))
    with pytest.raises(ValueError, match="X is missing: only a stream is drawn without points"):
        plots.clusters(mapdpm.MAPDPM(likelihood=PRIOR).fit(X))
