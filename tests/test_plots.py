"""Pictures: the points are all there, and the ellipses are the covariances."""

import io
import sys

import numpy as np
import pytest
from matplotlib import image, patches
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import mapdpm
from mapdpm import plots


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0, 1e6], [30.0, 0.0, 1e6], [0.0, 40.0, 1e6]])
    return np.concatenate([centre + rng.normal(size=(40, 3)) * [1.0, 2.0, 0.5] for centre in centres])


@pytest.fixture(scope="module")
def model(points):
    prior = mapdpm.NormalGamma(m0=points.mean(axis=0), c0=0.1, a0=1.0, b0=1.0)
    return mapdpm.MAPDPM(likelihood=prior).fit(points)


def drawn(ax):
    return np.concatenate([np.asarray(collection.get_offsets()) for collection in ax.collections])


def distances(points):
    return np.linalg.norm(points[:, None] - points[None], axis=2)


def test_every_point_is_drawn_on_the_principal_plane(model, points):
    plane = drawn(plots.clusters(model, points))
    assert plane.shape == (120, 2)
    # The two principal directions by another road: eigenvectors of the covariance. Signs are free.
    _, directions = np.linalg.eigh(np.cov(points.T))
    expected = (points - points.mean(axis=0)) @ directions[:, [2, 1]]
    # Of order 40, at an offset of 1e6: rounding of the mean alone is 1e-10.
    assert np.allclose(np.abs(plane), np.abs(expected), atol=1e-7)


def test_two_features_keep_their_distances(points):
    plane = drawn(plots.clusters(None, points[:, :2], labels=np.zeros(120, int)))
    assert np.allclose(distances(plane), distances(points[:, :2]), atol=1e-10)


def test_ellipses_are_the_sample_covariances(points):
    labels = np.repeat([0, 1, 2], 40)
    ax = plots.clusters(None, points, labels=labels)
    ellipses = [p for p in ax.patches if isinstance(p, patches.Ellipse)][1::2]  # each has a white one below
    plane = drawn(ax)
    assert len(ellipses) == 3
    for label, ellipse in enumerate(ellipses):
        turn = np.deg2rad(ellipse.angle)
        axes = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        covariance = axes @ np.diag([ellipse.width**2 / 4, ellipse.height**2 / 4]) @ axes.T
        assert np.allclose(covariance, np.cov(plane[labels == label].T), rtol=1e-9, atol=1e-9)
        assert np.allclose(ellipse.center, plane[labels == label].mean(axis=0))


def test_colours_are_clusters_and_markers_classes(model, points):
    classes = np.where(np.arange(120) % 2, "odd", "even")
    ax = plots.clusters(model, points, labels=model.labels_, classes=classes)
    assert [len(c.get_offsets()) for c in ax.collections] == [60, 60]
    colours = np.concatenate([c.get_facecolors() for c in ax.collections])
    assert len(np.unique(colours, axis=0)) == model.n_clusters_
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[-2:] == ["even", "odd"]
    assert texts[0].startswith("cluster 0 (")


def test_points_without_a_cluster_are_grey(points):
    ax = plots.clusters(None, points, labels=np.full(120, -1))
    assert "none (120 points)" in [text.get_text() for text in ax.get_legend().get_texts()]
    assert not ax.patches


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (2, 2), (5, 1)])
def test_few_points_or_features(shape):
    X = np.arange(np.prod(shape), dtype=float).reshape(shape)
    assert drawn(plots.clusters(None, X, labels=np.zeros(shape[0], int))).shape == (shape[0], 2)


def test_many_clusters_have_colours_of_their_own_and_a_short_legend(points):
    ax = plots.clusters(None, points, labels=np.arange(120) // 2)
    assert len(np.unique(ax.collections[0].get_facecolors(), axis=0)) == 60
    assert len(ax.get_legend().get_texts()) == 13


def test_draws_where_it_is_told_and_leaves_pyplot_alone(model, points):
    ax = Figure().add_subplot()
    assert plots.clusters(model, points, ax=ax) is ax
    plots.clusters(model, points)
    assert plt.get_fignums() == []


def test_the_picture_is_not_trivial(model, points):
    file = io.BytesIO()
    plots.clusters(model, points).figure.savefig(file, format="png")
    file.seek(0)
    pixels = image.imread(file)
    assert pixels.shape[0] > 300
    assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 100


@pytest.mark.parametrize("wrong", [{"labels": [0, 1]}, {"classes": ["a"]}])
def test_lengths_must_agree(model, points, wrong):
    with pytest.raises(ValueError, match="must have one entry a point"):
        plots.clusters(model, points, **wrong)


def test_says_how_to_get_matplotlib(model, points, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ValueError, match=r"pip install 'mapdpm\[plot\]'") as caught:
        plots.clusters(model, points)
    assert isinstance(caught.value, ImportError)
