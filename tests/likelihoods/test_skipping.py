"""Families that skip missing values: the laws, and the density of the values that are there, by scipy on raw data."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapdpm import MAPDPM, Categorical, DirichletMultinomial, GammaPoisson, NormalGamma, NormalInverseWishart
from mapdpm.data import read_by
from mapdpm.likelihoods._skipping import Skipping
from mapdpm.likelihoods._template import GammaExponential
from mapdpm.testing import laws
from tests.families import example
from tests.marks import a_share, complete_but
from tests.missing_values import SKIPPING, with_gaps
from tests.oracle import missing as oracle

SEEDS = st.integers(0, 2**32 - 1)


def skipping(family, seed, n, share=0.4, D=3):
    rng = np.random.default_rng(seed)
    likelihood, X = example(family, rng, n, D)
    return Skipping(likelihood, D), with_gaps(X, share, seed)


@pytest.mark.parametrize("family", [*SKIPPING, GammaExponential])
@given(seed=SEEDS)
def test_laws(family, seed):
    likelihood, data = skipping(family, seed, 9)
    laws.check_likelihood(likelihood, data, 9, seed)


@pytest.mark.parametrize("family", complete_but([NormalGamma, GammaPoisson], SKIPPING))
@a_share(0.4)
@given(seed=SEEDS)
def test_a_row_says_what_scipy_says_of_raw_data(family, seed):
    """Through random additions, removals and mergers, also with features that nobody has.

    ``remove`` lets four digits go before it asks for a new row: 1e-12 of what is added up, and scipy factorises a
    matrix of condition up to 1e4 (as in test_likelihoods): 1e-10. Sums of hundreds of such: 1e-9.
    """
    likelihood, data = skipping(family, seed, 14, 0.6)
    rng = np.random.default_rng(seed)
    row, inside = laws.row_of(likelihood, data, range(2)), {0, 1}
    for i in rng.integers(0, 12, 30).tolist():
        if i not in inside:
            likelihood.add(row, data, i, 1.0)
            inside.add(i)
        elif len(inside) > 1:
            inside.remove(i)
            if not likelihood.remove(row, data, i, 1.0):
                row = laws.row_of(likelihood, data, inside)
        likelihood.prepare(row)
    others = [i for i in range(12) if i not in inside]
    joined = row.copy()
    likelihood.merge(joined, laws.row_of(likelihood, data, others))
    likelihood.prepare(joined)
    for each, points in ((row, sorted(inside)), (joined, list(range(12)))):
        terms = oracle.log_marginal_terms(data[points], likelihood.family)
        size = 1.0 + sum(map(abs, terms))
        assert each[0] == len(points)
        np.testing.assert_array_equal(each[1:4], np.count_nonzero(~np.isnan(data[points]), axis=0))
        assert abs(likelihood.log_marginal(each) - math.fsum(terms)) <= 1e-9 * size
        for new in (12, 13):
            expected = oracle.log_marginal(data[[*points, new]], likelihood.family) - math.fsum(terms)
            assert abs(likelihood.log_predictive(each, data, new) - expected) <= 1e-9 * size


@pytest.mark.parametrize("family", SKIPPING)
def test_a_missing_value_is_integrated_out(family):
    """The marginal of each feature is the integral over its parameters; quadrature leaves 1e-7."""
    likelihood, data = skipping(family, 5, 5, 0.4, D=2)
    expected = 0.0
    for d in range(2):
        values = data[~np.isnan(data[:, d]), d]
        expected += math.log(oracle.by_quadrature(values, oracle.one(likelihood.family, d))) if len(values) else 0.0
    row = laws.row_of(likelihood, data, range(5))
    assert likelihood.log_marginal(row) == pytest.approx(expected, abs=1e-6)


@given(seed=SEEDS)
def test_weights(seed):
    """By the textbook's formula, whose terms are added up: 1e-11 of their size."""
    likelihood, data = skipping(NormalGamma, seed, 6)
    w = np.random.default_rng(seed).uniform(0.3, 3.0, 6)
    row, before = laws.row_of(likelihood, data, ()), 0.0
    for i in range(6):
        gain = likelihood.log_predictive_weighted(row, data, i, w[i])
        likelihood.add(row, data, i, w[i])
        likelihood.prepare(row)
        after = oracle.weighted_log_marginal(data[: i + 1], w[: i + 1], likelihood.family)
        assert abs(likelihood.log_marginal(row) - after) <= 1e-11 * (1.0 + abs(after)) * 10
        assert abs(gain - (after - before)) <= 1e-11 * (1.0 + abs(after) + abs(before)) * 10
        before = after


@pytest.mark.parametrize("family", SKIPPING)
@given(seed=SEEDS)
def test_whole_points_are_those_of_the_family(family, seed):
    """Without gaps verbs agree with those of the family, up to roundings."""
    rng = np.random.default_rng(seed)
    likelihood, X = example(family, rng, 8, 3)
    both = (likelihood, Skipping(likelihood, 3))
    rows = [[laws.row_of(each, X, points) for points in (range(7), range(3), range(3, 7))] for each in both]
    said = [
        (f.log_marginal(r), f.log_predictive(r, X, 7), f.log_predictive_weighted(r, X, 7, 0.3), f.log_merge(r, *parts))
        for f, (r, *parts) in zip(both, rows, strict=True)
    ]
    bound = 64 * both[1].size() * 2.0**-52 * (1.0 + max(map(abs, said[0])))
    np.testing.assert_allclose(*said, rtol=0.0, atol=bound)
    if hasattr(likelihood, "moments"):
        of_one, of_other = (np.array(f.moments(np.array(r))) for f, r in zip(both, rows, strict=True))
        np.testing.assert_allclose(of_one, of_other, rtol=1e-12, atol=1e-12)


def test_the_last_value_of_a_feature_leaves_no_trace():
    """Bit for bit, although removal of floats rounds."""
    likelihood, data = skipping(NormalGamma, 1, 3, 0.0)
    data[0, 1] = np.nan
    row = laws.row_of(likelihood, data, [0])
    before = row.copy()
    likelihood.add(row, data, 1, 3.0)
    assert likelihood.remove(row, data, 1, 3.0)
    likelihood.prepare(row)
    own = slice(2, None, 3)
    np.testing.assert_array_equal(row[own], before[own])


def test_moments_of_a_feature_without_points_are_the_priors():
    likelihood, data = skipping(NormalGamma, 1, 3, 0.0)
    data[:, 1] = np.nan
    means, variances = likelihood.moments(np.array([laws.row_of(likelihood, data, range(3))]))
    assert means[0, 1] == likelihood.family.m0[1]
    assert variances[0, 1] == 0.0
    np.testing.assert_allclose(means[0, ::2], data[:, ::2].mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize("family", SKIPPING)
def test_empirical_priors_are_of_the_values_that_are_there(family):
    _, X = example(family, np.random.default_rng(3), 5000, 3)
    gaps, weights = with_gaps(X + 1.0 if family is NormalGamma else X, 0.3), np.arange(5000) % 4 + 0.0
    for w in (None, weights):
        found = family.empirical(gaps, w, missing="skip")
        n = np.ones(5000) if w is None else w
        there = ~np.isnan(gaps)
        mean = np.array([np.average(gaps[t, d], weights=n[t]) for d, t in enumerate(there.T)])
        spread = [np.average((gaps[t, d] - mean[d]) ** 2, weights=n[t]) for d, t in enumerate(there.T)]
        if family is NormalGamma:
            expected = NormalGamma(mean, 10.0 / n.sum(), 1.0, spread)
        elif hasattr(found, "variance"):
            expected = family(mean, spread, 0.1 * np.array(spread))
        elif family.__name__ == "GammaPoisson":
            expected = family(1.0, 1.0 / mean)
        else:
            share = (n.sum() * mean + 1.0) / (n.sum() + 2.0)
            expected = family(2.0 * share, 2.0 * (1.0 - share))
        for mine, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    assert family.empirical(X, missing="skip") == family.empirical(X)


def test_a_column_without_values_has_no_scale():
    found = NormalGamma.empirical([[1.0, np.nan], [3.0, np.nan]], missing="skip")
    assert found == NormalGamma([2.0, 0.0], 5.0, 1.0, [1.0, 1.0])
    with pytest.raises(ValueError, match="X contains NaN at row 0, column 1"):
        NormalGamma.empirical([[1.0, np.nan], [3.0, 1.0]])
    with pytest.raises(ValueError, match="missing must be one of 'error', 'skip', got 'drop'"):
        NormalGamma.empirical([[1.0], [3.0]], missing="drop")


@pytest.mark.parametrize("family", [NormalInverseWishart, DirichletMultinomial, Categorical])
def test_families_of_dependent_features_are_refused(family):
    prior = family(1.0) if len(family._fields) == 1 else family(0.0, 1.0, 3.0, 1.0)
    for kind in (family, prior):
        with pytest.raises(ValueError, match=f"independent features, which {family.__name__} is not"):
            read_by(kind, [[1.0, np.nan]], "skip")
    with pytest.raises(ValueError, match="use NormalGamma"):
        MAPDPM(likelihood=prior, missing="skip").fit([[1.0, np.nan], [1.0, 2.0]])


@pytest.mark.parametrize("family", SKIPPING)
def test_clusters_merge_without_values_of_a_feature(family):
    """Of one of them, or of both: the gain is that of the other features."""
    likelihood, data = skipping(family, 7, 8, 0.0)
    data[:4, 1], data[:, 2] = np.nan, np.nan
    parts = [laws.row_of(likelihood, data, points) for points in (range(8), range(4), range(4, 8))]
    union, row, other = (likelihood.log_marginal(part) for part in parts)
    bound = 64 * likelihood.size() * 2.0**-52 * (1.0 + abs(union) + abs(row) + abs(other))
    assert abs(likelihood.log_merge(*parts) - (union - row - other)) <= bound
    assert abs(likelihood.log_marginal(parts[1]) - oracle.log_marginal(data[:4], likelihood.family)) <= 1e-10 * (
        1.0 + abs(row)
    )
