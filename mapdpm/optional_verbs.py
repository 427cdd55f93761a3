"""Verbs that a family may have for speed, as functions that kernels call: other families do what is written here."""

from __future__ import annotations

from typing import Any

from mapdpm.jit import optional
from mapdpm.protocol import Labels, LikelihoodVerbs, Matrix, Vector


@optional
def add_many(
    likelihood: LikelihoodVerbs, rows: Matrix, data: Any, points: Labels, slots: Labels, weights: Vector
) -> None:
    """Add ``points`` with ``weights`` to the rows of ``slots``, one after another."""
    for m in range(points.shape[0]):
        likelihood.add(rows[slots[m]], data, points[m], weights[m])
