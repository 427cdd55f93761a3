"""Tokens: points that each are one of a number of words, or of any other categories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mapdpm.data.counts import Counts
from mapdpm.jit import optional
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.validation import check_points


class Tokens(NamedTuple):
    """Point i is word ``words[i]`` of 0 to ``n_words`` - 1.

    Examples
    --------
    >>> tokens = Tokens(np.array([2, 0, 2]), n_words=4)
    >>> tokens.rows(np.array([1, 2])).words.tolist()
    [0, 2]
    """

    words: Labels
    n_words: int

    @property
    def n_points(self) -> int:
        """The number of tokens."""
        return len(self.words)

    @property
    def n_features(self) -> int:
        """The number of words: a token is a vector of counts with a single 1."""
        return self.n_words

    def word_of(self, i: int) -> int:
        """The word of point ``i``, for kernels."""
        return int(self.words[i])

    def rows(self, points: Labels) -> Tokens:
        """The tokens ``points``, in that order."""
        return self._replace(words=self.words[points])

    def part(self, first: int, last: int) -> Tokens:
        """The tokens from ``first`` to ``last`` - 1."""
        return self._replace(words=self.words[first:last])

    def joined(self, others: Sequence[Tokens]) -> Tokens:
        """These tokens, and then ``others``."""
        return self._replace(words=np.concatenate([each.words for each in (self, *others)]))

    def subtract_anchor(self, anchor: Vector, room: Matrix) -> Tokens:  # noqa: ARG002  (of every ``PointSet``)
        """The tokens as they are: they have no location."""
        return self

    @property
    def width(self) -> int:
        """That of the counts."""
        return self.as_counts().width

    def as_vectors(self) -> Matrix:
        """The vectors of ``Counts`` with one word a row."""
        return self.as_counts().as_vectors()

    def as_counts(self) -> Counts:
        """A row of counts for each token."""
        n = len(self.words)
        return Counts(np.ones(n), self.words, np.arange(n + 1), self.n_words)


@optional
def word_of(data: Any, i: int) -> int:
    """The word of point ``i`` of ``Tokens``; or of an array, in whose only column a word is a number."""
    return int(data[i, 0])


def check_tokens(X: Any, n_words: int | None) -> Tokens:
    """``X``, the number of a word for each point, as ``Tokens`` of ``n_words`` words; None: up to the largest number.

    Raises
    ------
    ValueError
        Not one number a point, a number that is not whole or below 0, or one that is not below ``n_words``.
    """
    if isinstance(X, Tokens):
        words, n_words = np.asarray(X.words), X.n_words if n_words is None else n_words
    else:
        column = np.asarray(X)
        words = check_points(column[:, None] if column.ndim == 1 else X)
        if words.shape[1] != 1:
            msg = f"X must be one word a point, shape (n_points,) or (n_points, 1), got shape {words.shape}"
            raise ValueError(msg)
        words = words[:, 0]
    end = np.inf if n_words is None else n_words
    wrong = ~((words >= 0) & (words < min(end, 2**31)) & (words == np.floor(words)))
    if np.any(wrong):
        at = int(np.argmax(wrong))
        known = "" if n_words is None else f", below {n_words}"
        msg = f"X must be numbers of words, whole and >= 0{known}, got {words[at]:g} at point {at}"
        raise ValueError(msg)
    whole = words.astype(np.int64)
    return Tokens(whole, int(whole.max()) + 1 if n_words is None else n_words)
