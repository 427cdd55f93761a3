"""The picture of topics: their words, and how common they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mapdpm.documents import Topics
from mapdpm.plots import canvas
from mapdpm.plots.canvas import Axes
from mapdpm.validation import check_count


def topics(model: Any, vocabulary: Sequence[str], *, n_words: int = 8, most: int = 20, ax: Axes | None = None) -> Axes:
    """Draw a bar for each topic, its share in a document to come, with its most probable words; a new one is grey.

    Parameters
    ----------
    model : Topics
        One of those that ``documents.topics`` returns.
    vocabulary : sequence of str
        The words, in the order of columns.
    n_words : int
        Words of each topic.
    most : int
        Largest number of topics: those of the largest shares are drawn.
    ax : matplotlib Axes, optional
        As in ``clusters``.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        matplotlib is missing, ``model`` is no Topics, or ``vocabulary`` has another number of words.
    """
    if not isinstance(model, Topics):
        msg = f"model must be a Topics, such as documents.topics(trace, X, likelihood)[-1], got {type(model).__name__}"
        raise ValueError(msg)
    n_words, most = check_count("n_words", n_words), check_count("most", most)
    if len(vocabulary) != model.words.shape[1]:
        msg = f"vocabulary must have a word for each column, {model.words.shape[1]}, got {len(vocabulary)}"
        raise ValueError(msg)
    ax = canvas.axes(ax)
    shares = model.weights / model.weights.sum()
    K = len(shares) - model.has_new
    order = np.argsort(-shares, kind="stable")[:most]
    colours = [canvas.colour(int(k) if k < K else -1, K) for k in order]
    ax.barh(range(len(order)), shares[order], color=colours, height=0.8)
    for row, k in enumerate(order):
        words = [vocabulary[v] for v in np.argsort(-model.words[k], kind="stable")[:n_words]]
        text = "a new topic" if k >= K else " ".join(words)
        ax.text(shares[order[0]] * 0.02, row, text, va="center", fontsize=8, parse_math=False)
    ax.set_yticks(range(len(order)), ["" if k >= K else str(k) for k in order])
    ax.invert_yaxis()
    ax.set_xlabel("share in a document")
    others = len(shares) - len(order)
    ax.set_ylabel("topic" + (f"; {others:,} more are not shown" if others else ""))
    return ax
