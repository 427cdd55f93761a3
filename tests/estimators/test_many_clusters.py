"""Many clusters of many points: a warning says what bounds the time of a fit."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from mapdpm import MAPDPM, NormalGamma


def knots(n_points, n_clusters):
    """Clusters far apart, all of about the same size."""
    side = int(np.ceil(np.sqrt(n_clusters)))
    z = np.arange(n_points) % n_clusters
    return 100.0 * np.column_stack(divmod(z, side)) + np.random.default_rng(0).normal(size=(n_points, 2))


def test_many_clusters_of_many_points_warn():
    with pytest.warns(UserWarning, match=r"60 clusters were found in 1000 points.*max_clusters or time_limit"):
        model = MAPDPM().fit(knots(1000, 60))
    assert model.n_clusters_ == 60


@pytest.mark.parametrize(
    ("model", "n_points", "n_clusters"),
    [
        (MAPDPM(), 999, 60),  # a small table
        (MAPDPM(), 1000, 50),
        (MAPDPM(max_clusters=100), 1000, 60),
        (MAPDPM(time_limit=100.0), 1000, 60),
        (MAPDPM(likelihood=NormalGamma([0.0, 0.0], 1e-4, 1.0, [1.0, 1.0])), 1000, 60),
    ],
)
def test_others_do_not(model, n_points, n_clusters):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.fit(knots(n_points, n_clusters)).n_clusters_ == n_clusters
