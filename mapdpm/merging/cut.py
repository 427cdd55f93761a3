"""Where the mergers of a tree stop: at a gap of its heights, or before the first, where there is none.

Heights are those of the mergers so far, so they never fall. A function returns how many mergers are made.
"""

from __future__ import annotations

import numpy as np

from mapdpm.protocol import Vector

HARD_TO_TELL = 6.0
"""Nats: groups merge where one point in 400 of one, or more, is taken for the other."""

_GAP = 3.0  # nats: what stays apart is mistaken a twentieth as often as what merged
_TENFOLD = 10.0  # what stays apart would cost the log joint so many times as much


def cut_of_overlaps(risen: Vector) -> int:
    """For heights by overlap: the largest gap that is ``_GAP`` wide, with all below it at most ``HARD_TO_TELL``.

    Where all clusters overlap there is none, nor where none do: then the tree says nothing.
    """
    gaps = np.where((risen[:-1] <= HARD_TO_TELL) & (np.diff(risen) >= _GAP), np.diff(risen), 0.0)
    return 1 + int(np.argmax(gaps)) if np.any(gaps) else 0


def cut_of_losses(risen: Vector) -> int:
    """For losses of the log joint: where they rise most, ``_TENFOLD`` at least. Mergers that gain, at 0, are made."""
    gaining = int(np.count_nonzero(risen <= 0.0))
    lossy = risen[gaining:]
    rises = np.where(lossy[1:] >= _TENFOLD * lossy[:-1], lossy[1:] / lossy[:-1], 0.0)
    return gaining + (1 + int(np.argmax(rises)) if np.any(rises) else 0)
