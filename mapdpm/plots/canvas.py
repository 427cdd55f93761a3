"""The common parts of pictures: axes, colours of clusters, dots, legends. matplotlib is imported on first use."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mapdpm.compat.scikit_learn import not_fitted
from mapdpm.estimators.dp_means import DPMeans
from mapdpm.estimators.map_dpm import MAPDPM
from mapdpm.models.hdp import HDPMixture
from mapdpm.protocol import Labels, Matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes  # noqa: PLC0414  (for the other pictures)
else:
    Axes = Any  # loading matplotlib takes long, and it is an extra

KINDS = ("png", "pdf", "svg")
GREY = "0.6"  # no cluster, or a new one
INK = "0.15"

_PALETTE, _GREY_OF_PALETTE = "tab10", 7
_MARKERS = "o^sDvPX*<>"
_DOT = 24.0  # area of a dot, in square points, where there are up to _FEW
_FEW = 1000.0
_MOST_LARGE = 20  # clusters with names in letters of full size
_MOST_IN_LEGEND = 12
_LINE = 64  # characters: a longer title of an axis takes more than one line


class MissingMatplotlibError(ImportError, ValueError):
    """A picture was asked for where matplotlib is not installed."""


def check_model(model: Any) -> None:
    """ValueError where ``model`` is no estimator of this package."""
    if not isinstance(model, (MAPDPM, DPMeans, HDPMixture)):
        hint = "; of a pipeline draw pipeline[-1], with pipeline[:-1].transform(X)" if hasattr(model, "steps") else ""
        msg = f"model must be a MAPDPM, a DPMeans or an HDPMixture, got an object of type {type(model).__name__}{hint}"
        raise ValueError(msg)


def check_fitted(model: Any) -> None:
    """ValueError where ``model`` is no estimator of this package, NotFittedError where it is not fitted."""
    check_model(model)
    if not hasattr(model, "n_clusters_"):
        msg = f"this {type(model).__name__} is not fitted yet; call fit first"
        raise not_fitted(msg)


def sizes_of(model: Any) -> list[int]:
    """The number of points of each cluster, or of each group where the labels of ``model`` are of groups."""
    sizes = model.cluster_sizes_
    groups = getattr(model, "groups_", np.arange(len(sizes)))
    return np.bincount(groups, sizes).astype(np.int64).tolist()


def check_matplotlib() -> None:
    """MissingMatplotlibError where pictures cannot be drawn."""
    try:
        import matplotlib.figure  # noqa: F401, PLC0415  (an extra)
    except ImportError:
        msg = "pictures need matplotlib, which is not installed; try: pip install 'mapdpm[plot]'"
        raise MissingMatplotlibError(msg) from None


def image(ax: Axes, kind: str = "png") -> bytes:
    """The figure of ``ax`` as bytes of one of ``KINDS``."""
    file = io.BytesIO()
    figure: Any = ax.figure
    figure.savefig(file, format=kind, dpi=130)
    return file.getvalue()


def axes(given: Axes | None) -> Axes:
    """The given axes, or those of a new figure, unknown to pyplot."""
    if given is None:
        check_matplotlib()
        from matplotlib.figure import Figure  # noqa: PLC0415

        given = Figure(figsize=(9.0, 5.6), layout="constrained").add_subplot()
    given.spines[["top", "right"]].set_visible(False)
    return given


def colour(cluster: int, n_clusters: int) -> Any:
    """RGBA of cluster ``cluster`` of ``n_clusters``, the same in every picture; -1 is grey.

    A few clusters have colours that are easy to tell apart; many have colours along a scale.
    """
    from matplotlib import colormaps  # noqa: PLC0415
    from matplotlib.colors import to_rgba  # noqa: PLC0415

    if cluster < 0:
        return to_rgba(GREY)
    palette = np.delete(np.array(colormaps[_PALETTE].colors), _GREY_OF_PALETTE, axis=0)
    if n_clusters <= len(palette):
        return to_rgba(palette[cluster])
    return colormaps["turbo"](0.02 + 0.96 * cluster / (n_clusters - 1))  # its ends are nearly black


def draw_points(
    ax: Axes, points: Matrix, labels: Labels, n_clusters: int, *, size: float = 1.0, classes: NDArray[Any] | None = None
) -> list[Any]:
    """Draw dots in the colours of their clusters, a shape for each class; return legend entries for the classes.

    ``points`` has shape (n_points, 2). The more there are, the smaller the dots; ``size`` multiplies their areas.
    """
    names, inverse = np.unique(labels, return_inverse=True)
    shades = np.array([colour(name, n_clusters) for name in names.tolist()])[inverse]
    area = size * _DOT * min(1.0, max(0.2, float(np.sqrt(_FEW / len(points)))))
    style: dict[str, Any] = {"s": area, "alpha": 0.75, "linewidths": area / 60.0, "edgecolors": "white"}
    kinds = np.zeros(len(points)) if classes is None else classes
    entries = []
    for kind, shape in zip(np.unique(kinds), cycle(_MARKERS)):
        here = kinds == kind
        ax.scatter(points[here, 0], points[here, 1], c=shades[here], marker=shape, **style)
        entries.append(_entry(INK, shape, str(kind)))
    return [] if classes is None else entries


def scale_of(n_clusters: int) -> float:
    """Relative size of names and ellipses of clusters: 1 for a few clusters."""
    return 1.0 if n_clusters <= _MOST_LARGE else 0.6


def draw_ellipse(ax: Axes, mean: list[float], covariance: Matrix, shade: Any, scale: float) -> None:
    """Draw one standard deviation about a mean, from the covariance, shape (2, 2)."""
    from matplotlib.patches import Ellipse  # noqa: PLC0415

    squares, directions = np.linalg.eigh(covariance)
    height, width = (2.0 * np.sqrt(np.maximum(squares, 0.0))).tolist()
    angle = float(np.degrees(np.arctan2(directions[1, 1], directions[0, 1])))
    style: dict[str, Any] = {"angle": angle, "fill": False, "edgecolor": shade, "linewidth": 2.0 * scale}
    ax.add_patch(Ellipse((mean[0], mean[1]), width, height, **style))


def write_name(ax: Axes, label: int, n_clusters: int, place: list[float], *, beside: bool = False) -> None:
    """Write the name of a cluster at ``place`` (2 entries, in units of the axes) or ``beside`` it, with an outline."""
    from matplotlib.patheffects import withStroke  # noqa: PLC0415

    scale = scale_of(n_clusters)
    style: dict[str, Any] = {"weight": "bold", "fontsize": 10.0 * scale, "ha": "center", "va": "center"}
    aside = (8.0, 8.0) if beside else (0.0, 0.0)
    style |= {"xytext": aside, "textcoords": "offset points"}
    ax.annotate(str(label), place, path_effects=[withStroke(linewidth=3.0 * scale, foreground="white")], **style)


def write_title(axis: Any, title: str) -> None:
    """The title of an axis as it is: what stands between dollars is no formula, and long ones take several lines."""
    axis.set_label_text(textwrap.fill(title, _LINE), parse_math=False)


def draw_legend(ax: Axes, entries: list[Any]) -> None:
    """Draw a legend to the right of the axes."""
    legend = ax.legend(handles=entries, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)


def entries_of(
    sizes: Mapping[int, int], n_clusters: int, what: str = "cluster", names: Sequence[int] | None = None
) -> list[Any]:
    """Legend entries for the largest clusters, and the number of others; ``sizes`` has the points of each.

    Key -1 stands for points without a cluster. ``names`` are those of the clusters, where they are not 0, 1, 2.
    """
    clusters = {label: size for label, size in sizes.items() if label >= 0}
    shown = sorted(sorted(clusters, key=lambda label: -clusters[label])[:_MOST_IN_LEGEND])
    called = range(n_clusters) if names is None else names
    entries = [_entry(colour(k, n_clusters), "o", f"{what} {called[k]} ({counted(clusters[k])})") for k in shown]
    if len(shown) < len(clusters):
        entries.append(_entry("none", "", f"and {len(clusters) - len(shown)} more"))
    if -1 in sizes:
        entries.append(_entry(GREY, "o", f"none ({counted(sizes[-1])})"))
    return entries


def counted(n_points: int) -> str:
    """``1 point``, ``1,200 points``."""
    return f"{n_points:,} point{'s' * (n_points != 1)}"


def ellipse_entry(text: str) -> Any:
    """A legend entry for ellipses."""
    entry = _entry(INK, "o", text)
    entry.set(markerfacecolor="none", markersize=9.0)
    return entry


def _entry(shade: Any, shape: str, text: str) -> Any:
    from matplotlib.lines import Line2D  # noqa: PLC0415

    return Line2D([], [], linestyle="", color=shade, marker=shape, label=text)
