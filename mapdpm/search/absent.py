"""Points of weight 0 take no part in a fit: they are left out before it, and labelled -1 after it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.data import point_set
from mapdpm.protocol import Labels, Weights

ABSENT = -1
"""The label of a point of weight 0."""


def present_points(weights: Weights) -> Labels | None:
    """The points whose weight is not 0; None where all points take part."""
    return None if weights is None or np.all(weights) else np.flatnonzero(weights)


def taking_part(points: Any, weights: Weights, present: Labels | None) -> tuple[Any, Weights]:
    """The points and weights of ``present``; the weights are None where all of these are 1."""
    if present is None or weights is None:
        return points, weights
    kept = weights[present]
    return point_set(points).rows(present), None if np.all(kept == 1.0) else kept


def with_absent(labels: Labels, weights: Weights, present: Labels | None) -> Labels:
    """The labels of all points: ``labels`` of those present, and -1."""
    if present is None or weights is None:
        return labels
    spread = np.full(len(weights), ABSENT)
    spread[present] = labels
    return spread
