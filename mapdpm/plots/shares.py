"""The picture of groups: the shares of clusters in each."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.models.hdp import HDPMixture
from mapdpm.plots import canvas
from mapdpm.plots.canvas import Axes
from mapdpm.validation import check_count


def groups(model: Any, *, most: int = 30, ax: Axes | None = None) -> Axes:
    """Draw the shares of the clusters in each group: a bar a group, in the colours of the clusters; a new one is grey.

    The bar above all is that of ``shares_``, the common shares.

    Parameters
    ----------
    model : HDPMixture
        Fitted.
    most : int
        Largest number of groups: if there are more, those with most points are drawn, in the order of ``group_names_``.
    ax : matplotlib Axes, optional
        As in ``clusters``.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        matplotlib is missing, or ``model`` is no fitted HDPMixture.
    """
    if not isinstance(model, HDPMixture):
        msg = f"model must be an HDPMixture, got an object of type {type(model).__name__}"
        raise ValueError(msg)
    canvas.check_fitted(model)
    most = check_count("most", most)
    ax = canvas.axes(ax)
    shown = np.sort(np.argsort(-model.group_sizes_, kind="stable")[:most])
    rows = np.vstack([model.shares_, model.weights_[shown]])
    left = np.zeros(len(rows))
    for cluster in [*range(model.n_clusters_), -1]:
        shade = canvas.colour(cluster, model.n_clusters_)
        ax.barh(range(len(rows)), rows[:, cluster], left=left, color=shade, height=0.8)
        left += rows[:, cluster]
    names = [
        f"{name} ({size:,})" for name, size in zip(model.group_names_[shown], model.group_sizes_[shown], strict=True)
    ]
    ax.set_yticks(range(len(rows)), ["shares_", *names])
    for text in ax.get_yticklabels():
        text.set_parse_math(False)
    ax.invert_yaxis()
    ax.set_xlim(0.0, 1.0)
    ax.set_xlabel("share of each cluster")
    others = len(model.group_names_) - len(shown)
    ax.set_ylabel("group (points)" + (f"; {others:,} more are not shown" if others else ""))
    sizes = dict(enumerate(model.cluster_sizes_.tolist()))
    canvas.draw_legend(ax, canvas.entries_of(sizes, model.n_clusters_))
    return ax
