"""The picture of ``select_alpha``: the score of each setting."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.plots import canvas
from mapdpm.plots.canvas import Axes

_SCORES = dict.fromkeys(("map", "empirical-bayes"), "log p(x, z, alpha)") | {"nll": "log joint"}
_CHOSEN = "tab:orange"


def selection(found: Any, *, ax: Axes | None = None) -> Axes:
    """Draw what ``select_alpha`` found: the mean score of each setting, and one standard error to both sides.

    The horizontal axis is alpha, on a logarithmic scale, if settings differ in alpha only; else the number of the
    setting. Numbers at the points are mean numbers of clusters. The chosen setting has another colour.

    Parameters
    ----------
    found : Selection
    ax : matplotlib Axes, optional
        As in ``clusters``.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        matplotlib is missing.
    """
    ax = canvas.axes(ax)
    by_alpha = all(set(setting) == {"alpha"} for setting in found.settings)
    places = found.alphas if by_alpha else np.arange(len(found.settings))
    order = np.argsort(places, kind="stable")
    means, errors = found.mean_scores, np.nan_to_num(found.standard_errors)
    style: dict[str, Any] = {"color": canvas.INK, "marker": "o", "markersize": 4.0, "capsize": 2.5}
    ax.errorbar(places[order], means[order], yerr=errors[order], linewidth=1.2, **style)
    chosen = found.chosen
    mark = {"color": _CHOSEN, "markersize": 8.0, "zorder": 3, "label": "chosen; numbers are clusters"}
    ax.plot([places[chosen]], [means[chosen]], "o", **mark)
    for place, mean, K in zip(places, means, found.n_clusters.mean(axis=1), strict=True):
        where = {"xytext": (5, 4), "textcoords": "offset points", "ha": "left", "fontsize": "small"}
        ax.annotate(f"{K:.3g}", (place, mean), **where)
    if by_alpha:
        ax.set_xscale("log")
    else:
        ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("alpha" if by_alpha else "number of the setting")
    what = _SCORES.get(found.method, "log predictive density")
    ax.set_ylabel(f"{what} (nats per point)")
    ax.legend(frameon=False)
    return ax
