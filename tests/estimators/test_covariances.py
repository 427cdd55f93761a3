"""Covariance matrices of clusters are those of their points."""

import numpy as np
import pytest

from mapdpm import MAPDPM, BetaBernoulli, NormalGamma, NormalInverseWishart
from tests.marks import complete_but
from tests.search.test_shape import stretched


def of_points(X, labels, k, weights=None):
    own = labels == k
    return np.atleast_2d(np.cov(X[own].T, ddof=0, aweights=None if weights is None else weights[own]))


def test_full_ones():
    X, _ = stretched(1)
    w = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    likelihood = NormalInverseWishart.empirical(X)
    model = MAPDPM(likelihood=likelihood).fit(X + 1e6, sample_weight=w)
    assert model.covariances_.shape == (model.n_clusters_, 2, 2)
    for k in range(model.n_clusters_):
        np.testing.assert_allclose(model.covariances_[k], of_points(X, model.labels_, k, w), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("digits", complete_but([1], [1, 9]))
def test_blocks_of_tables_with_noise_and_flags(digits):
    """0 between columns that are independent in a cluster; cells of rounded values are not in them."""
    X, z = stretched(3, 1)
    table = np.column_stack([X[:, 2], X[:, :2].round(digits), (z == 2) ^ (np.arange(len(X)) % 9 == 0)])
    model = MAPDPM().fit(table)
    assert model.relevant_.tolist() == [False, True, True, True]
    for each in (model, MAPDPM.from_bytes(model.to_bytes())):
        for k in range(model.n_clusters_):
            expected = of_points(table, model.labels_, k)
            kept = np.diag(np.diag(expected))
            kept[1:3, 1:3] = expected[1:3, 1:3]
            kept[3, 3] = model.variances_[k, 3]  # nan, of a flag
            np.testing.assert_allclose(each.covariances_[k], kept, rtol=1e-6, atol=1e-9)


def test_independent_columns_and_families_without_moments():
    X, _ = stretched(2)
    model = MAPDPM(likelihood=NormalGamma).fit(X)
    np.testing.assert_array_equal(model.covariances_, [np.diag(each) for each in model.variances_])
    flags = MAPDPM(likelihood=BetaBernoulli(1.0, 1.0)).fit((X > 1.0).astype(float))
    assert hasattr(flags, "covariances_") == hasattr(flags, "variances_")
