"""Sequences of points in time: recordings, sentences, runs of a machine. Their rows are neighbours, in order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapdpm.data.groups import read_groups
from mapdpm.protocol import Labels


class Sequences(NamedTuple):
    """Where each sequence begins, and what it is called."""

    begins: Labels
    """(n_sequences + 1,): the first point of each, and last the number of points."""
    names: NDArray[np.object_]
    """(n_sequences,): None if all points are one sequence without a name."""

    @property
    def previous(self) -> Labels:
        """(N,): the point before each, and -1 before the first of a sequence."""
        found = np.arange(-1, self.begins[-1] - 1)
        found[self.begins[:-1]] = -1
        return found

    @property
    def following(self) -> Labels:
        """(N,): the point after each, and -1 after the last of a sequence."""
        found = np.arange(1, self.begins[-1] + 1)
        found[self.begins[1:] - 1] = -1
        return found


def read_sequences(sequences: Any, n_points: int) -> Sequences:
    """The sequences of ``sequences``, one label a point; None is one sequence of all points.

    Raises
    ------
    ValueError
        As ``read_groups``, or a label comes back after another one: the order in time is then not known.
    """
    seen = read_groups(sequences, n_points, "sequences")
    changes = np.flatnonzero(np.diff(seen.of_points)) + 1
    begins = np.concatenate([[0], changes, [n_points]])
    if len(begins) - 1 > len(seen.names):
        numbers = seen.of_points[begins[:-1]]
        back = int(np.flatnonzero(numbers[1:] <= np.maximum.accumulate(numbers)[:-1])[0]) + 1
        name, row = seen.names[numbers[back]], begins[back]
        msg = (
            f"sequences[{row}] is {name!r} again, after another sequence: rows of a sequence must be neighbours, in "
            "order of time; sort them by sequence, or give the second part a name of its own"
        )
        raise ValueError(msg)
    return Sequences(begins, seen.names)
