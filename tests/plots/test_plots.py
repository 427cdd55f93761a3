"""Pictures: what is drawn is what was asked for, checked against computations of another kind."""

import io
import sys

import numpy as np
import pytest
from matplotlib import image, patches
from matplotlib import pyplot as plt
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgba
from matplotlib.contour import ContourSet
from matplotlib.figure import Figure
from scipy.stats import norm

import mapdpm
from mapdpm import documents, plots
from mapdpm.files import container
from mapdpm.likelihoods._template import GammaExponential
from mapdpm.plots.canvas import colour

NAMES = ["width", "length", "price ($) of two ($)"]


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0, 1e6], [30.0, 0.0, 1e6], [0.0, 40.0, 1e6]])
    return np.concatenate([centre + rng.normal(size=(40, 3)) * [1.0, 2.0, 0.5] for centre in centres])


@pytest.fixture(scope="module")
def model(points):
    prior = mapdpm.NormalGamma(m0=points.mean(axis=0), c0=0.1, a0=1.0, b0=1.0)
    return mapdpm.MAPDPM(likelihood=prior).fit(points)


def normal_model(X):
    """A model of known variance 1, whose density is a mixture of Normals."""
    return mapdpm.MAPDPM(alpha=2.0, likelihood=mapdpm.NormalKnownVariance(0.0, 100.0, 1.0)).fit(X)


def normal_parts(model, x):
    """Weighted densities of the clusters and of a new one at ``x``, shape (n, K + 1), by textbook formulas."""
    counts = np.append(model.cluster_sizes_, 0.0)
    means = np.vstack([model.means_, np.zeros(x.shape[1])]) * (counts * 100.0 / (1.0 + counts * 100.0))[:, None]
    variances = 1.0 + 100.0 / (1.0 + counts * 100.0)
    weights = np.append(model.cluster_sizes_, 2.0) / (model.cluster_sizes_.sum() + 2.0)
    return weights * norm.pdf(x[:, None], means, np.sqrt(variances)[:, None]).prod(axis=2)


@pytest.fixture(scope="module")
def line():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(centre, 1.0, 60) for centre in (-9.0, 0.0, 11.0)])[:, None]
    return normal_model(X), X


@pytest.fixture(scope="module")
def square():
    rng = np.random.default_rng(2)
    X = np.concatenate([rng.normal(centre, 1.0, (80, 2)) for centre in ([-8.0, 0.0], [0.0, 9.0], [6.0, -3.0])])
    return normal_model(X), X


PICTURES = {
    "clusters": plots.clusters,
    "sizes": lambda model, _, ax=None: plots.sizes(model, ax=ax),
    "history": lambda model, _, ax=None: plots.history(model, ax=ax),
    "density": plots.density,
}
each_picture = pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)


def scatters(ax):
    return [collection for collection in ax.collections if type(collection) is PathCollection]


def drawn(ax):
    return np.concatenate([np.asarray(collection.get_offsets()) for collection in scatters(ax)])


def distances(points):
    return np.linalg.norm(points[:, None] - points[None], axis=2)


def titles(ax):
    return [ax.get_xlabel(), ax.get_ylabel()]


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


# ---- clusters --------------------------------------------------------------------------------------------------------


def test_every_point_is_drawn_on_the_principal_plane(model, points):
    plane = drawn(plots.clusters(model, points))
    assert plane.shape == (120, 2)
    # The two principal directions by another road: eigenvectors of the matrix of correlations. Signs are free.
    _, directions = np.linalg.eigh(np.corrcoef(points.T))
    expected = (points - points.mean(axis=0)) / points.std(axis=0) @ directions[:, [2, 1]]
    # Entries of order 1, from columns of order 1 at an offset of 1e6: rounding of the mean alone is 1e-10.
    assert np.allclose(np.abs(plane), np.abs(expected), atol=1e-7)


def test_units_do_not_change_the_picture(model, points):
    units = np.array([1e-3, 1.0, 1e4])
    labels = np.repeat([0, 1, 2], 40)
    one, two = (drawn(plots.clusters(None, X, labels=labels)) for X in (points, points * units))
    assert np.allclose(one, two, atol=1e-7)


def test_a_constant_column_does_not_become_noise(points):
    constant = np.column_stack([points, np.full(120, 1e9 / 3.0)])
    labels = np.zeros(120, int)
    one, two = (drawn(plots.clusters(None, X, labels=labels)) for X in (points, constant))
    assert np.allclose(one, two, atol=1e-7)


def test_a_single_feature_has_no_ellipses(points):
    assert not plots.clusters(None, points[:, :1], labels=np.zeros(120, int)).patches


def test_two_features_are_drawn_as_they_are(square):
    model, X = square
    ax = plots.clusters(model, X)
    assert np.array_equal(drawn(ax), X)
    assert titles(ax) == ["feature 0", "feature 1"]


def test_one_feature_is_drawn_against_the_row(line):
    model, X = line
    ax = plots.clusters(model, X)
    assert np.array_equal(drawn(ax), np.column_stack([X[:, 0], np.arange(180)]))
    assert titles(ax) == ["feature 0", "row"]


@pytest.mark.parametrize("features", [(2, 0), [-1, 0], np.array([2, 0]), (np.int32(2), -3)])
def test_features_are_chosen_by_index(model, points, features):
    ax = plots.clusters(model, points, features=features)
    assert np.array_equal(drawn(ax), points[:, [2, 0]])
    assert titles(ax) == ["feature 2", "feature 0"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("features", [(NAMES[2], "width"), (2, "width"), (-1, 0)])
def test_features_are_chosen_by_name(points, library, features):
    frame = pytest.importorskip(library).DataFrame(dict(zip(NAMES, points.T, strict=True)))
    fitted = mapdpm.MAPDPM().fit(frame)
    ax = plots.clusters(fitted, frame, features=features)
    assert np.array_equal(drawn(ax), points[:, [2, 0]])
    assert titles(ax) == [NAMES[2], "width"]
    assert not ax.xaxis.label.get_parse_math()
    # An array has no names of its own; those of fit then hold.
    ax = plots.clusters(fitted, points, features=features, labels=fitted.labels_)
    assert np.array_equal(drawn(ax), points[:, [2, 0]])


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (0, "features must be a pair of columns, such as"),
        ("ab", "features must be a pair of columns, such as .* got 'ab'"),
        ((0, 1, 2), "features must be a pair of columns"),
        ((0, 0), "features must be two different columns"),
        ((0, -3), "features must be two different columns"),
        ((0, 3), "features has the index 3, but X has 3 columns"),
        ((-4, 0), "features has the index -4, but X has 3 columns"),
        ((0, 1.0), "features must hold indices or names of columns, got 1.0"),
        ((0, True), "features must hold indices or names of columns, got True"),
        ((0, "width"), "features has the name 'width', but the columns have no names; give indices"),
    ],
)
def test_wrong_features_are_refused(model, points, features, message):
    with pytest.raises(ValueError, match=message):
        plots.clusters(model, points, features=features)


@pytest.mark.parametrize(
    ("name", "message"), [("height", "0 columns are called so: 'a', 'b', 'b'"), ("b", "2 columns")]
)
def test_names_must_be_those_of_one_column(points, name, message):
    frame = pytest.importorskip("pandas").DataFrame(points, columns=["a", "b", "b"])
    with pytest.raises(ValueError, match=message):
        plots.clusters(None, frame, features=("a", name), labels=np.zeros(120, int))


@pytest.mark.parametrize("features", [None, (2, 1)])
def test_ellipses_are_the_sample_covariances(points, features):
    labels = np.repeat([0, 1, 2], 40)
    ax = plots.clusters(None, points, features=features, labels=labels)
    ellipses = [p for p in ax.patches if isinstance(p, patches.Ellipse)]
    plane = drawn(ax)
    assert len(ellipses) == 3
    for label, ellipse in enumerate(ellipses):
        turn = np.deg2rad(ellipse.angle)
        axes = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        covariance = axes @ np.diag([ellipse.width**2 / 4, ellipse.height**2 / 4]) @ axes.T
        assert np.allclose(covariance, np.cov(plane[labels == label].T), rtol=1e-9, atol=1e-9)
        assert np.allclose(ellipse.center, plane[labels == label].mean(axis=0))
        assert ellipse.get_edgecolor() == colour(label, 3)


def test_colours_are_clusters_and_markers_classes(model, points):
    classes = np.where(np.arange(120) % 2, "odd", "even")
    ax = plots.clusters(model, points, labels=model.labels_, classes=classes)
    assert [len(c.get_offsets()) for c in ax.collections] == [60, 60]
    colours = np.concatenate([c.get_facecolors() for c in ax.collections])
    assert len(np.unique(colours, axis=0)) == model.n_clusters_
    assert legend_texts(ax)[-3:] == ["even", "odd", "one standard deviation"]
    assert legend_texts(ax)[0].startswith("cluster 0 (")


def test_points_without_a_cluster_are_grey(points):
    ax = plots.clusters(None, points, labels=np.full(120, -1))
    assert legend_texts(ax) == ["none (120 points)"]
    assert not ax.patches


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (2, 2), (5, 1)])
def test_few_points_or_features(shape):
    X = np.arange(np.prod(shape), dtype=float).reshape(shape)
    assert drawn(plots.clusters(None, X, labels=np.zeros(shape[0], int))).shape == (shape[0], 2)


def test_many_clusters_have_colours_of_their_own_and_a_short_legend(points):
    ax = plots.clusters(None, points, labels=np.arange(120) // 2)
    assert len(np.unique(ax.collections[0].get_facecolors(), axis=0)) == 60
    assert len(ax.get_legend().get_texts()) == 13


@pytest.mark.parametrize("wrong", [{"labels": [0, 1]}, {"classes": ["a"]}])
def test_lengths_must_agree(model, points, wrong):
    with pytest.raises(ValueError, match="must have one entry a point"):
        plots.clusters(model, points, **wrong)


def test_labels_must_be_integers(model, points):
    with pytest.raises(ValueError, match="labels must be integers, -1 for no cluster, got dtype float64"):
        plots.clusters(model, points, labels=np.zeros(120))


# ---- sizes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit", [lambda X: mapdpm.MAPDPM().fit(X), lambda X: mapdpm.DPMeans().fit(X)])
def test_bars_are_the_sizes_in_order_of_the_labels(points, fit):
    fitted = fit(points[25:110])  # 15, 40 and 30
    ax = plots.sizes(fitted)
    expected = np.bincount(fitted.labels_)
    assert [bar.get_height() for bar in ax.patches] == expected.tolist()
    assert [bar.get_x() + bar.get_width() / 2 for bar in ax.patches] == pytest.approx(range(len(expected)))
    assert [text.get_text() for text in ax.texts] == [str(size) for size in expected]


def test_pictures_are_of_groups(points):
    points = points[:, :2]
    model = mapdpm.MAPDPM(groups=2).fit(points)
    assert model.n_clusters_ > 2
    assert [bar.get_height() for bar in plots.sizes(model).patches] == np.bincount(model.labels_).tolist()
    names = [text.get_text() for text in plots.density(model, points).texts]
    assert names == [str(group) for group in model.groups_]
    curves = plots.density(mapdpm.MAPDPM(groups=2).fit(points[:, :1])).get_lines()
    assert len(curves) == 1 + 2 + 1  # the whole, each group, a new cluster


def test_hundreds_of_bars_have_no_numbers():
    ax = plots.sizes(mapdpm.DPMeans(lam=1e-6, moves=()).fit(np.arange(300.0)[:, None]))
    assert len(ax.patches) == 300
    assert not ax.texts
    assert len(ax.get_xticks()) < 20


# ---- history ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit", [lambda X: mapdpm.MAPDPM().fit(X), lambda X: mapdpm.DPMeans().fit(X)])
def test_the_line_is_the_history(points, fit):
    fitted = fit(points)
    ax = plots.history(fitted)
    (curve,) = ax.lines
    assert np.array_equal(curve.get_ydata(), fitted.history_)
    assert np.array_equal(curve.get_xdata(), np.arange(len(fitted.history_)))
    assert ax.texts[0].xy == (len(fitted.history_) - 1, fitted.history_[-1])
    assert ax.texts[0].get_text().replace("\N{MINUS SIGN}", "-").startswith(f"{fitted.history_[-1]:,.3f} ")
    assert ("nats" in ax.get_ylabel()) == isinstance(fitted, mapdpm.MAPDPM)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    "values",
    [[-7.5], [-7.5, -7.5], [-9e3, -2e3, -1.5e3, -1003.0, -1000.5, -1000.0], [-1e3 - 9e3 * 0.9**k for k in range(300)]],
)
def test_early_and_late_gains_are_seen(line, values, sign):
    fitted = mapdpm.MAPDPM().fit(line[1]) if sign > 0.0 else mapdpm.DPMeans().fit(line[1])
    fitted.history_ = sign * np.array(values)
    ax = plots.history(fitted)
    low, high = ax.transAxes.transform([[0.0, 0.0], [0.0, 1.0]])[:, 1]
    heights = (ax.transData.transform([[0.0, value] for value in fitted.history_])[:, 1] - low) / (high - low)
    assert np.all((heights > 0.02) & (heights < 0.98))
    assert np.all(sign * np.diff(heights) >= 0.0)
    if len(values) == 6:  # gains from 0.5 to 7000 nats: to halve the distance is at least 3 % of the picture
        assert np.abs(np.diff(heights)).min() > 0.03
    if len(values) > 6:
        assert np.abs(heights[-1] - heights[0]) > 0.6


def test_ticks_tell_the_distance_from_the_last_value(line):
    fitted = mapdpm.MAPDPM().fit(line[1])
    fitted.history_ = np.array([-9e3, -1200.0, -1000.5, -1000.0])
    ax = plots.history(fitted)
    texts = [label.get_text().replace(",", "").replace("\N{MINUS SIGN}", "-") for label in ax.get_yticklabels()]
    assert sorted(float(text) for text in texts) == [-1000.0, -100.0, -10.0, -1.0, -0.1, 0.0]
    assert [float(text) for text in texts] == pytest.approx(ax.get_yticks() + 1000.0)


def test_a_model_from_a_device_has_no_history(model, points):
    sent = mapdpm.MAPDPM.from_bytes(container.pack(model._mixture, {}))
    with pytest.raises(ValueError, match="this model has no history_: it is from a file that a device wrote"):
        plots.history(sent)
    assert [bar.get_height() for bar in plots.sizes(sent).patches] == model.cluster_sizes_.tolist()
    assert len(drawn(plots.clusters(sent, points))) == 120


# ---- density ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [True, False])
def test_curves_are_the_density_and_its_parts(line, given):
    model, X = line
    ax = plots.density(model, X if given else None)
    total, *parts = ax.lines
    x = total.get_xdata()
    expected = normal_parts(model, x[:, None])
    assert np.allclose(total.get_ydata(), expected.sum(axis=1), rtol=1e-9, atol=1e-12)
    assert len(parts) == model.n_clusters_ + 1
    for k, part in enumerate(parts):
        assert np.allclose(part.get_ydata(), expected[:, k], rtol=1e-9, atol=1e-12)
    assert np.allclose(sum(part.get_ydata() for part in parts), total.get_ydata(), rtol=1e-12)
    # At least 2.5 deviations beyond the outer means: 1 % is outside at most. The mesh is finer than 0.05 deviations.
    assert 0.99 < np.trapezoid(total.get_ydata(), x) < 1.0 + 1e-4
    assert parts[-1].get_linestyle() == "--"
    assert to_rgba(parts[-1].get_color()) == colour(-1, 3)


def test_the_range_is_that_of_the_points_or_the_clusters(line, square):
    for model, X in (line, square):
        ax = plots.density(model, X)
        for (low, high), column in zip((ax.get_xlim(), ax.get_ylim()), X.T, strict=False):
            width = np.ptp(column)
            assert column.min() - 0.3 * width < low < column.min() < column.max() < high < column.max() + 0.3 * width
        ax = plots.density(model)
        reach = 4.0 * np.sqrt(model.variances_)
        for k, (low, high) in enumerate((ax.get_xlim(), ax.get_ylim())[: X.shape[1]]):
            assert low < (model.means_ - reach)[:, k].min()
            assert high > (model.means_ + reach)[:, k].max()


@pytest.mark.parametrize("n_features", [1, 2])
def test_a_narrow_cluster_is_not_lost(n_features):
    rng = np.random.default_rng(3)
    centres = np.array([0.0, 1000.0 / np.pi, 1000.0])
    X = np.concatenate([rng.normal(centre, 1e-3, (50, n_features)) for centre in centres])
    prior = mapdpm.NormalGamma(m0=0.0, c0=1e-6, a0=2.0, b0=1e-6)
    model = mapdpm.MAPDPM(likelihood=prior).fit(X)
    assert model.n_clusters_ == 3
    peaks = model.score_samples(model.means_)
    ax = plots.density(model, X)
    if n_features == 1:
        assert np.log(ax.lines[0].get_ydata().max()) == pytest.approx(peaks.max(), abs=0.05)
        # A mesh of 800 steps of 1.4 would have none of it.
        assert np.trapezoid(ax.lines[0].get_ydata(), ax.lines[0].get_xdata()) == pytest.approx(1.0, abs=0.02)
    else:
        (contours,) = (c for c in ax.collections if isinstance(c, ContourSet))
        assert contours.zmax == pytest.approx(peaks.max(), abs=0.05)


def test_many_points_are_a_histogram_few_are_strokes(line):
    model, X = line
    bars = plots.density(model, X).patches
    assert sum(bar.get_height() * bar.get_width() for bar in bars) == pytest.approx(1.0)
    heights, edges = np.histogram(X, len(bars), density=True)
    assert [bar.get_x() for bar in bars] == pytest.approx(edges[:-1].tolist())
    assert [bar.get_height() for bar in bars] == pytest.approx(heights.tolist())
    ax = plots.density(model, X[:20])
    assert not ax.patches
    strokes = [each for each in ax.lines if each.get_marker() == "|"]
    assert np.array_equal(strokes[0].get_xdata(), X[:20, 0])


def test_contours_cover_the_mass(square):
    model, X = square
    ax = plots.density(model, X)
    (contours,) = (c for c in ax.collections if isinstance(c, ContourSet))
    x, y = np.linspace(*ax.get_xlim(), 400), np.linspace(*ax.get_ylim(), 400)
    mesh = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    values = normal_parts(model, mesh).sum(axis=1)
    # Levels are round numbers: the lowest is at or below that which 99 % exceed, the next above it. Squares of 0.06
    # deviations, and two meshes: half a percent for both.
    shares = [values[np.log(values) > level].sum() / values.sum() for level in contours.levels[:2]]
    assert shares[0] > 0.985
    assert shares[1] < 0.995
    assert contours.levels[-1] >= np.log(values.max()) - 1e-2
    assert 5 <= len(contours.levels) <= 13
    assert contours.zmax == pytest.approx(np.log(values.max()), abs=0.02)
    assert np.array_equal(drawn(ax), X)
    assert [text.get_text() for text in ax.texts] == ["0", "1", "2"]
    assert "nats" in ax.figure.axes[1].get_ylabel()


def test_contours_are_where_the_density_is(square):
    model, X = square
    ax = plots.density(model, X)
    (contours,) = (c for c in ax.collections if isinstance(c, ContourSet))
    # Points of a contour lie at its level; rows and columns not exchanged. Lines between mesh points: 0.05 nats.
    level = contours.levels[-3]
    inside = contours.get_paths()[-2]  # fills from that level to the next
    scores = model.score_samples(inside.vertices)
    assert np.allclose(np.minimum(np.abs(scores - level), np.abs(scores - contours.levels[-2])), 0.0, atol=0.05)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("n_features", [1, 2])
def test_density_of_a_table_has_its_names(line, square, library, n_features):
    X = (line, square)[n_features - 1][1]
    frame = pytest.importorskip(library).DataFrame(dict(zip(NAMES[1:], X.T, strict=False)))
    fitted = normal_model(frame)  # which warns where names are missing, and warnings are errors
    for ax in (plots.density(fitted, frame), plots.density(fitted)):
        assert titles(ax)[:n_features] == NAMES[1 : 1 + n_features]


def test_a_density_ends_where_its_family_does():
    X = np.random.default_rng(4).exponential(size=(200, 1))
    fitted = mapdpm.MAPDPM(likelihood=GammaExponential(1.0, 1.0), backend="python", max_sweeps=2).fit(X)
    x = plots.density(fitted, X).lines[0].get_xdata()
    assert x[0] == X.min()
    assert x[-1] > X.max()
    with pytest.raises(ValueError, match=r"this model has no means_ .* give X"):
        plots.density(fitted)


def test_density_says_what_it_cannot_draw(model, points):
    with pytest.raises(ValueError, match="one or two features, this one has 3; fit one on one or two columns, or draw"):
        plots.density(model, points)
    with pytest.raises(ValueError, match="a DPMeans has no density; fit a MAPDPM, or draw"):
        plots.density(mapdpm.DPMeans().fit(points[:, :1]))


def test_points_must_be_those_of_the_model(line, points):
    for draw in (plots.clusters, plots.density):
        with pytest.raises(ValueError, match="X has 3 features, but"):
            draw(line[0], points)


# ---- all -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_clusters", [1, 3, 9, 10, 60, 900])
def test_clusters_have_colours_of_their_own(n_clusters):
    shades = np.array([colour(label, n_clusters) for label in range(-1, n_clusters)])
    n_shades = min(n_clusters, 200)  # of turbo's 256
    assert len(np.unique(shades[1:], axis=0)) >= n_shades
    # Grey means no cluster: the channels of no other colour are as near to each other.
    assert np.ptp(shades[0, :3]) == 0.0
    assert np.ptp(shades[1:, :3], axis=1).min() > 0.1


def test_a_cluster_has_the_same_colour_in_every_picture(square, line):
    for model, X in (square, line):
        expected = [colour(label, model.n_clusters_) for label in model.labels_]
        assert np.array_equal(scatters(plots.clusters(model, X))[0].get_facecolors()[:, :3], np.array(expected)[:, :3])
        bars = [bar.get_facecolor() for bar in plots.sizes(model).patches]
        assert bars == [colour(label, model.n_clusters_) for label in range(model.n_clusters_)]
    curves = plots.density(*line).lines[1:-1]
    assert [to_rgba(curve.get_color()) for curve in curves] == [colour(label, 3) for label in range(3)]
    dots = scatters(plots.density(*square))[0].get_facecolors()[:, :3]
    assert np.array_equal(dots, np.array([colour(label, 3) for label in square[0].labels_])[:, :3])


def test_colours_do_not_depend_on_which_clusters_are_drawn():
    X = np.arange(12.0)[:, None]
    model = mapdpm.DPMeans(lam=1e-6, moves=()).fit(X)
    assert model.n_clusters_ == 12
    dots = scatters(plots.clusters(model, X[3:5]))[0].get_facecolors()[:, :3]
    assert np.allclose(dots, [colour(3, 12)[:3], colour(4, 12)[:3]])


@each_picture
def test_draws_where_it_is_told_and_leaves_pyplot_alone(line, draw):
    ax = Figure().add_subplot()
    assert draw(*line, ax=ax) is ax
    draw(*line)
    assert plt.get_fignums() == []


@each_picture
@pytest.mark.parametrize("which", ["line", "square"])
def test_the_picture_is_not_trivial(request, draw, which):
    file = io.BytesIO()
    draw(*request.getfixturevalue(which)).figure.savefig(file, format="png")
    file.seek(0)
    pixels = image.imread(file)
    assert pixels.shape[0] > 300
    assert len(np.unique(pixels[:, :, :3] @ [1.0, 3.0, 7.0])) > 100  # shades


@each_picture
def test_one_cluster_and_three_points_will_do(draw):
    for X in ([[0.0], [1.0], [3.0]], [[2.0]], [[0.0, 1.0], [1.0, 1.0], [3.0, 1.0]]):
        figure = draw(mapdpm.MAPDPM().fit(X), X).figure
        figure.savefig(io.BytesIO())


@each_picture
def test_what_is_no_fitted_model_is_refused(draw):
    with pytest.raises(
        ValueError, match="model must be a MAPDPM, a DPMeans or an HDPMixture, got an object of type str"
    ):
        draw("model", [[0.0]])
    with pytest.raises(ValueError, match="this MAPDPM is not fitted yet; call fit first") as caught:
        draw(mapdpm.MAPDPM(), [[0.0]])
    assert isinstance(caught.value, AttributeError)


@each_picture
def test_says_how_to_get_matplotlib(line, draw, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ValueError, match=r"pip install 'mapdpm\[plot\]'") as caught:
        draw(*line)
    assert isinstance(caught.value, ImportError)
    assert isinstance(caught.value, plots.MissingMatplotlibError)


def test_topics_are_drawn_by_their_shares():
    """The largest come first, with their most probable words; the last is a new one."""
    words = np.array([[0.1, 0.6, 0.3], [0.7, 0.1, 0.2], [1 / 3, 1 / 3, 1 / 3]])
    model = documents.Topics(words, np.array([1.0, 2.0, 0.5]), has_new=True)
    ax = plots.topics(model, ["$bank", "code", "leak"], n_words=2)
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], np.array([2.0, 1.0, 0.5]) / 3.5)
    assert [text.get_text() for text in ax.texts] == ["$bank leak", "code leak", "a new topic"]
    assert to_rgba(ax.patches[0].get_facecolor()) == colour(1, 2)
    assert to_rgba(ax.patches[2].get_facecolor()) == colour(-1, 2)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["1", "0", ""]
    assert "1 more" in plots.topics(model, ["a", "b", "c"], most=2).get_ylabel()
    ax.figure.savefig(io.BytesIO())
    with pytest.raises(ValueError, match="model must be a Topics"):
        plots.topics(words, ["a", "b", "c"])
    with pytest.raises(ValueError, match="a word for each column, 3, got 2"):
        plots.topics(model, ["a", "b"])


def test_groups_are_drawn_by_their_shares(points):
    """Each bar is as long as the share, in the colour of its cluster; of many groups the largest are drawn."""
    names = [f"room {i % 3} ($)" for i in range(len(points))]
    names[-1] = "lonely"
    model = mapdpm.HDPMixture(likelihood=mapdpm.NormalGamma(points.mean(axis=0), 0.1, 1.0, 1.0)).fit(points, names)
    ax = plots.groups(model, most=3)
    K = model.n_clusters_
    widths = np.array([bar.get_width() for bar in ax.patches]).reshape(K + 1, 4).T
    np.testing.assert_allclose(widths, np.vstack([model.shares_, model.weights_[:3]]))
    assert to_rgba(ax.patches[4].get_facecolor()) == colour(1, K)
    assert [text.get_text() for text in ax.get_yticklabels()][:2] == ["shares_", "room 0 ($) (40)"]
    assert "1 more" in ax.get_ylabel()
    ax.figure.savefig(io.BytesIO())
    with pytest.raises(ValueError, match="must be an HDPMixture, got an object of type MAPDPM"):
        plots.groups(mapdpm.MAPDPM().fit(points))
    plots.clusters(model, points)
    plots.sizes(model)
    plots.history(model)


def test_relevance_is_drawn_column_by_column():
    """Each bar is as long as the gain: relevant ones in colour, others grey; a constant is marked, and comes last."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4)) + np.repeat([0.0, 9.0], 45)[:, None] * [0.0, 1.0, 0.0, 0.0]
    X[:, 2] = 5.0
    model = mapdpm.MAPDPM().fit(pandas.DataFrame(X, columns=["a", "price ($) of two ($)", "c", "d"]))
    ax = plots.relevance(model)
    order = [1, *sorted([0, 3], key=lambda d: -model.relevance_[d])]
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], model.relevance_[order])
    assert [to_rgba(bar.get_facecolor()) for bar in ax.patches] == [colour(0, 1), colour(-1, 1), colour(-1, 1)]
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == [model.feature_names_in_[d] for d in [*order, 2]]
    assert [text.xy for text in ax.texts if text.get_text() == "one value"] == [(0.0, 3)]
    assert ax.get_title(loc="left") == "1 of 4 columns carry clusters"
    ax.figure.savefig(io.BytesIO())
    assert "3 more" in plots.relevance(model, most=1).get_ylabel()
    with pytest.raises(ValueError, match="fit it with relevance='search'"):
        plots.relevance(mapdpm.MAPDPM(relevance="all").fit(X))
    with pytest.raises(ValueError, match="must be a MAPDPM, an HDPMixture or an HDPHMM, got an object of type DPMeans"):
        plots.relevance(mapdpm.DPMeans().fit(X))
    with pytest.raises(ValueError, match="not fitted"):
        plots.relevance(mapdpm.HDPHMM())


def test_segments_are_the_states_over_time():
    """A colour fills the intervals of its state, a line follows each feature, a dashed line begins each sequence."""
    X = np.concatenate([np.zeros((10, 2)), np.full((5, 2), 9.0), np.zeros((7, 2))]) + np.arange(22)[:, None] % 2 * 0.1
    states, ids = np.repeat([0, 1, -1], [10, 5, 7]), np.repeat(["a", "b"], [15, 7])
    ax = plots.segments(None, X, ids, labels=states)
    assert [tuple(each.get_facecolor()[0][:3]) for each in ax.collections] == [colour(k, 2)[:3] for k in (-1, 0, 1)]
    for fill, (begin, end) in zip(ax.collections, ((15, 22), (0, 10), (10, 15)), strict=True):
        xs = fill.get_paths()[0].vertices[:, 0]
        assert (xs.min(), xs.max()) == (begin, end)
    lines = [line for line in ax.lines if len(line.get_xdata()) == 22]
    assert len(lines) == 2
    np.testing.assert_allclose(np.ptp(lines[0].get_ydata()), 0.8)
    assert [line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 2] == [15]
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["state 0 (10 points)", "state 1 (5 points)", "none (7 points)"]
    model = mapdpm.HDPHMM(likelihood=mapdpm.NormalGamma(0.0, 0.1, 1.0, 1.0)).fit(X)
    assert len(plots.segments(model, X, most=1).lines) == 1
    for wrong in ({"labels": [0, 1]}, {"labels": states + 0.5}, {}):
        with pytest.raises(ValueError, match=r"labels|model must be an HDPHMM"):
            plots.segments(None, X, **wrong)


def test_missing_values_are_drawn_at_the_mean_of_their_cluster():
    X = np.array([[0.0, 1.0], [0.2, np.nan], [0.1, 3.0], [9.0, np.nan], [9.5, np.nan]])
    model = mapdpm.MAPDPM(likelihood=mapdpm.NormalGamma(0.0, 0.01, 1.0, 0.1), missing="skip", backend="c").fit(X)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1]
    drawn = np.concatenate([c.get_offsets() for c in plots.clusters(model, X).collections if len(c.get_offsets())])
    np.testing.assert_allclose(np.sort(drawn[:, 1]), [1.0, 2.0, 2.0, 2.0, 3.0])  # a cluster without any: that of all
    dots = [c.get_offsets() for c in plots.density(model, X).collections if isinstance(c, PathCollection)]
    np.testing.assert_allclose(np.sort(np.concatenate(dots)[:, 1]), [1.0, 2.0, 2.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="X contains NaN"):
        plots.clusters(None, X, labels=model.labels_)
