"""Stretched clusters where "auto" cannot try full covariances: a warning, and none where there is nothing to say."""

import warnings

import numpy as np
import pandas as pd
import pytest

from mapdpm import MAPDPM

NARROW = np.array([[2.0, 1.9, 0.0], [0.0, 0.6, 0.0], [0.0, 0.0, 2.0]])


def three(rng, turned, n=900):
    z = rng.integers(0, 3, n)
    return rng.normal(size=(n, 3)) @ turned + np.array([[0, 0, 0], [12, -12, 0], [0, 15, 5]])[z], z


def with_gaps(rng, X):
    X = X.copy()
    X[rng.uniform(size=X.shape) < 0.05] = np.nan
    return X[~np.isnan(X).all(axis=1)]


@pytest.mark.parametrize("table", [np.asarray, pd.DataFrame])
def test_missing_values_that_forbid_full_covariances_are_named(table):
    rng = np.random.default_rng(0)
    X = with_gaps(rng, three(rng, NARROW, n=450)[0])
    with pytest.warns(UserWarning, match="clusters are stretched: rows without missing values .* impute") as seen:
        assert MAPDPM(missing="skip").fit(table(X)).n_clusters_ > 6
    assert [each.filename for each in seen] == [__file__]


def test_two_of_many_columns_that_correlate_are_named():
    rng = np.random.default_rng(1)
    X, z = three(rng, NARROW)
    wide = pd.DataFrame(np.column_stack([rng.normal(size=(900, 37)) + 3.0 * z[:, None], X]))
    wide.columns = [f"c{d}" for d in range(40)]
    with pytest.warns(UserWarning, match="columns 'c37' and 'c38' correlate by 0.8. inside clusters, .* more than 32"):
        MAPDPM().fit(wide)


@pytest.mark.complete
def test_nothing_is_said_of_round_clusters_nor_where_it_was_chosen():
    rng = np.random.default_rng(2)
    X, z = three(rng, np.eye(3))
    narrow = with_gaps(rng, three(rng, NARROW, n=450)[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MAPDPM(missing="skip").fit(with_gaps(rng, X))
        MAPDPM(missing="skip").fit(X)
        MAPDPM(missing="skip", covariance="diagonal").fit(narrow)
        MAPDPM().fit(rng.normal(size=(900, 40)) + 8.0 * z[:, None])
        MAPDPM().fit(rng.normal(size=(40, 60)))
