"""Clusterings along an order of the points, where no score is a number."""

from types import SimpleNamespace

import numpy as np
import pytest

from mapdpm.search.moves.permutation import best_segments, boundaries


@pytest.mark.parametrize("layers", [0, 3])
def test_segments_without_scores_are_one_cluster(layers, monkeypatch):
    """Densities have lost all digits: a backend then compares nan, and chooses nothing. Memory holds anything."""
    monkeypatch.setattr(np, "empty", lambda shape, dtype=float: np.full(shape, 10**15, dtype=dtype))
    backend = SimpleNamespace(segments=lambda *arguments: arguments[-2].fill(np.nan))
    problem = SimpleNamespace(backend=backend, model=SimpleNamespace(likelihood=None, prior=None))
    _, came_from = best_segments(problem, np.zeros((5, 1)), 3, layers)
    assert boundaries(came_from, 1).tolist() == [0]
