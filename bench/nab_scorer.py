"""The score of the Numenta Anomaly Benchmark, standard profile: one threshold for all files. ``nab.py`` uses it.

The first detection in a window earns up to 1, the more the earlier; a missed window costs 1; each detection outside of
windows costs up to 0.11, less just after a window. The first rows of a file do not count. The sum is normalised: 0 for
no detection, 100 for one at the start of each window.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

HIT, FALSE, MISS = 1.0, 0.11, 1.0
PROBATION, MOST_PROBATION = 0.15, 750
FAR = 3.0  # widths of a window: a false detection costs all of FALSE from there on


class Judged(NamedTuple):
    """The rows of a file with a score above 0: score, window (-1 outside), what a detection there is worth."""

    scores: NDArray[np.float64]
    window: NDArray[np.int64]
    worth: NDArray[np.float64]
    n_windows: int


def sigmoid(position: float) -> float:
    """The benchmark's scaled sigmoid: 1 far before the end of a window, 0 at it, -1 far after it."""
    return -1.0 if position > FAR else 2.0 / (1.0 + math.exp(5.0 * position)) - 1.0


def judged(times: NDArray[Any], scores: NDArray[np.float64], windows: Sequence[Any]) -> Judged:
    """What a detection at each row is worth; ``windows`` are pairs of times, both included."""
    limits = [(np.searchsorted(times, a), np.searchsorted(times, b, side="right") - 1) for a, b in sorted(windows)]
    rows = np.flatnonzero(scores > 0.0)
    rows = rows[rows >= min(int(PROBATION * len(times)), MOST_PROBATION)]
    window, worth = np.full(len(rows), -1), np.full(len(rows), -FALSE)
    for j, row in enumerate(rows):
        for k, (first, last) in enumerate(limits):
            if first <= row <= last:
                position = -(last - row + 1) / (last - first + 1)
                window[j], worth[j] = k, HIT * sigmoid(position) / sigmoid(-1.0)
            elif row > last:
                worth[j] = FALSE * sigmoid((row - last) / max(last - first, 1))
    return Judged(scores[rows], window, worth, len(limits))


def sweep(files: Iterable[Judged]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Thresholds, falling, and the raw score of all files at each; a row is a detection if it is at or above it."""
    files = list(files)
    scores = np.concatenate([[np.inf], *(file.scores for file in files)])
    order = np.argsort(-scores, kind="stable")
    keys = [(-1, -1, 0.0)]
    keys += [
        (k, int(w), float(v)) for k, file in enumerate(files) for w, v in zip(file.window, file.worth, strict=True)
    ]
    total, best = -MISS * sum(file.n_windows for file in files), {}
    totals = np.empty(len(scores))
    for place, j in enumerate(order):
        k, window, worth = keys[j]
        if window < 0:
            total += worth
        elif worth > best.get((k, window), -MISS):
            total += worth - best.get((k, window), -MISS)
            best[k, window] = worth
        totals[place] = total
    scores = scores[order]
    ends = np.append(scores[1:] != scores[:-1], True)
    return scores[ends], totals[ends]


def best_threshold(files: Sequence[Judged]) -> float:
    """The threshold of the highest score."""
    thresholds, totals = sweep(files)
    return float(thresholds[np.argmax(totals)])


def raw(files: Sequence[Judged], threshold: float) -> float:
    """The score at a threshold, not normalised."""
    thresholds, totals = sweep(files)
    return float(totals[np.flatnonzero(thresholds >= threshold)[-1]])


def normalised(total: float, n_windows: int) -> float:
    """100 (score - null) / (perfect - null)."""
    return 100.0 * (total + MISS * n_windows) / ((HIT + MISS) * n_windows)


def counts(files: Sequence[Judged], threshold: float) -> tuple[int, int, int]:
    """Windows found, windows, and false detections."""
    found = sum(len(set(f.window[(f.scores >= threshold) & (f.window >= 0)].tolist())) for f in files)
    false = sum(int(np.count_nonzero((f.scores >= threshold) & (f.window < 0))) for f in files)
    return found, sum(f.n_windows for f in files), false


def across(settings: Sequence[Sequence[Judged]]) -> float:
    """Setting and threshold chosen on each half of the files and scored on the other half; normalised."""
    total = 0.0
    for chosen, tried in ((0, 1), (1, 0)):
        best = max(settings, key=lambda files: sweep(files[chosen::2])[1].max())
        total += raw(best[tried::2], best_threshold(best[chosen::2]))
    return normalised(total, sum(file.n_windows for file in settings[0]))
