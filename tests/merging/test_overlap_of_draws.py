"""The overlap of clusters that are not normal: shares of drawn points, against sums over all points there are."""

import itertools
import math

import numpy as np
import pytest

from mapdpm import MAPDPM, BetaBernoulli, DirichletMultinomial, GammaPoisson, Mixed, NormalGamma

EVERY = np.array(list(itertools.product([0.0, 1.0], repeat=4)))


def fitted(likelihood, X, labels, **parameters):
    return MAPDPM(likelihood=likelihood, init=labels, moves=(), max_sweeps=0, **parameters).fit(X)


def test_a_height_is_the_probability_of_a_mistake():
    """Of 1,000 points in draws of ten: their share differs from the sum by less than 5 standard errors of a hundred."""
    rng = np.random.default_rng(3)
    labels = np.repeat([0, 1], [300, 200])
    X = (rng.random((500, 4)) < np.array([[0.2, 0.3, 0.7, 0.5], [0.6, 0.7, 0.4, 0.5]])[labels]).astype(float)
    model = fitted(BetaBernoulli(1.0, 1.0), X, labels)
    share = np.array([[np.prod(np.where(x == 1.0, p, 1.0 - p)) for x in EVERY] for p in rates(X, labels)])
    joint = share * np.array([[300.0], [200.0]])
    mistakes = [share[i][joint[1 - i] > joint[i]].sum() for i in (0, 1)]
    found = math.exp(-model.merge_tree("overlap").losses[0])
    p = max(mistakes)
    assert 0.05 < p < 0.5
    assert abs(found - p) < 5.0 * math.sqrt(p * (1.0 - p) / 100.0)


def rates(X, labels):
    """The predictive of a uniform prior, by the definition."""
    return [(X[labels == k].sum(axis=0) + 1.0) / ((labels == k).sum() + 2.0) for k in (0, 1)]


def test_a_mistake_that_is_not_seen_has_half_a_point():
    X = np.repeat([[0.0], [400.0]], 50, axis=0)
    for missing in ("error", "skip"):
        model = fitted(GammaPoisson(1.0, 0.01), X, np.repeat([0, 1], 50), missing=missing)
        assert model.merge_tree("overlap").losses[0] == pytest.approx(math.log(1000.5 / 0.5))


def test_a_product_draws_all_of_its_columns():
    X = np.column_stack([np.repeat([0.0, 9.0], 50) + np.random.default_rng(0).normal(size=100), np.repeat([0, 1], 50)])
    parts = {0: NormalGamma, 1: BetaBernoulli}
    assert MAPDPM(likelihood=Mixed(parts)).fit(X).merge_tree("overlap").losses[0] > 7.0


def test_documents_have_no_length():
    model = fitted(DirichletMultinomial(1.0), np.array([[3, 0], [0, 4]]), np.array([0, 1]))
    with pytest.raises(ValueError, match="the overlap of clusters of DirichletMultinomial needs points: give X"):
        model.merge_tree("overlap")
