"""Fits of points with missing values: the mode by enumeration, whatever the backend, the moves and the passes."""

import functools
import math

import numpy as np
import pytest

from mapdpm import MAPDPM, BetaBernoulli, GammaPoisson, NormalGamma, NormalKnownVariance
from mapdpm.backends.evidence import log_evidence
from mapdpm.backends.python import PYTHON
from mapdpm.data.standard import standardised
from mapdpm.likelihoods._skipping import Skipping
from mapdpm.search import fit, fit_in_passes
from mapdpm.search.chunks import Frame, sums_of
from mapdpm.search.observed import anchor_of
from mapdpm.testing import backends
from mapdpm.testing.data import Case
from mapdpm.testing.exact import partitions
from tests.families import example
from tests.marks import complete_but
from tests.missing_values import SKIPPING, with_gaps
from tests.oracle import missing as oracle
from tests.oracle import raw

ROUNDING = 1e-9  # relative, of a sum of some hundred terms
MOVES = ("merge", "split", "permutation", "regroup")


def blobs(n=120, share=0.3, D=3, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 4, n)
    return with_gaps(rng.normal(0.0, 8.0, (4, D))[z] + rng.normal(size=(n, D)), share, seed), z


@pytest.mark.parametrize("family", complete_but([NormalGamma, BetaBernoulli], SKIPPING))
@pytest.mark.parametrize("share", complete_but([0.3], [0.3, 0.7]))
def test_the_mode_is_that_of_all_partitions(family, share):
    """Six points, 203 partitions; one feature may have no value at all."""
    likelihood, X = example(family, np.random.default_rng(6), 6)
    X = with_gaps(X, share, 3)
    # A set of points is a cluster of many partitions.
    marginal = functools.cache(lambda *own: oracle.log_marginal(X[list(own)], likelihood))
    clusters = {z: [marginal(*np.flatnonzero(np.equal(z, k)).tolist()) for k in set(z)] for z in partitions(6)}
    joints = [math.fsum([*raw.log_partition(z, 1.3, 0.2), *terms]) for z, terms in clusters.items()]
    common = {"discount": 0.2, "missing": "skip", "backend": "python"}  # numba would compile each family
    model = MAPDPM(1.3, likelihood=likelihood, **common).fit(X)
    assert model.log_joint_ == pytest.approx(max(joints), rel=ROUNDING)
    assert oracle.log_joint(X, model.labels_, likelihood, 1.3, 0.2) == pytest.approx(max(joints), rel=ROUNDING)


def test_a_column_without_any_value():
    """It says nothing: clusters and the joint are those of the other columns."""
    X, _ = blobs(40, 0.0)
    likelihood = NormalGamma(0.0, 0.02, 1.0, 1.0)
    beside = np.column_stack([X, np.full(40, np.nan)])
    model = MAPDPM(likelihood=likelihood, missing="skip").fit(beside)
    other = MAPDPM(likelihood=likelihood).fit(X)
    np.testing.assert_array_equal(model.labels_, other.labels_)
    assert model.log_joint_ == pytest.approx(other.log_joint_, rel=1e-12)
    assert model.score(beside) == pytest.approx(other.score(X), rel=1e-12)


def test_the_log_joint_is_that_of_the_values_that_are_there():
    """With all moves, restarts and a fitted prior; the history rises."""
    X, _ = blobs()
    model = MAPDPM(missing="skip", n_restarts=3, moves=MOVES, random_state=1).fit(X)
    expected = oracle.log_joint(X, model.labels_, model.likelihood_, 1.0)
    assert model.log_joint_ == pytest.approx(expected, rel=ROUNDING)
    assert np.all(np.diff(model.history_) >= 0.0)
    assert model.backend_ == "c"


@pytest.mark.complete
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("family", SKIPPING)
def test_numba_and_python_agree(family, weighted):
    likelihood, X = example(family, np.random.default_rng(9), 40)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 40) if weighted else None
    backends.agree(Case(with_gaps(X, 0.4), likelihood, weights=weights, missing="skip"), "numba", "python")


@pytest.mark.parametrize("family", complete_but([NormalGamma, GammaPoisson], SKIPPING))
def test_fitted_priors(family):
    """The prior is found from the values that are there: of those of clusters, not of all points."""
    rng = np.random.default_rng(2)
    z = rng.integers(0, 2, 60)
    if family is GammaPoisson:
        X = rng.poisson(np.array([[1.0, 40.0], [30.0, 2.0]])[z]).astype(float)
    elif family is BetaBernoulli:
        X = (rng.random((60, 6)) < np.array([[0.95] * 6, [0.05] * 6])[z]).astype(float)
    else:
        X = np.array([[0.0, 0.0], [40.0, -30.0]])[z] + rng.normal(size=(60, 2))
    model = MAPDPM(likelihood=family, missing="skip", backend="python").fit(with_gaps(X, 0.2))
    assert type(model.likelihood_) is family
    assert model.n_clusters_ == 2
    # A point of which one value of six is there may be in the wrong cluster; no point here is.
    assert min(np.mean(model.labels_ == z), np.mean(model.labels_ != z)) <= 0.05
    again = MAPDPM(likelihood=model.likelihood_, missing="skip", backend="python").fit(with_gaps(X, 0.2))
    assert again.log_joint_ == model.log_joint_


@pytest.mark.parametrize("family", SKIPPING)
def test_the_evidence_of_another_prior(family):
    """By which priors are fitted: sum_k log p(x_{c_k}) from statistics, and by scipy from raw data."""
    rng = np.random.default_rng(4)
    likelihood, X = example(family, rng, 20)
    X, z, other = with_gaps(X, 0.5), np.arange(20) % 3, example(family, rng, 4)[0]
    made_by = Skipping(likelihood, 3)
    sums = sums_of(Frame(made_by, None, np.zeros(3), "python"), X, None, z, 3)
    expected = math.fsum(oracle.log_marginal(X[z == k], other) for k in range(3))
    assert log_evidence(PYTHON, other, made_by, *sums) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("likelihood", ["auto", None, NormalKnownVariance(0.0, 60.0, 1.0)])
def test_without_gaps_nothing_changes(likelihood):
    X, _ = blobs(150, 0.0)
    model, other = (MAPDPM(likelihood=likelihood, missing=each).fit(X) for each in ("skip", "error"))
    np.testing.assert_array_equal(model.labels_, other.labels_)
    assert model.log_joint_ == pytest.approx(other.log_joint_, rel=1e-12)
    np.testing.assert_allclose(model.score_samples(X), other.score_samples(X), rtol=1e-9)
    np.testing.assert_allclose(model.means_, other.means_, rtol=1e-12)
    np.testing.assert_allclose(model.variances_, other.variances_, rtol=1e-9)


def test_an_offset_costs_no_digits():
    """As ``laws.offset``: values are first rounded to the digits that are left at 1e8."""
    X, _ = blobs(100)
    X = (X + 1e8) - 1e8
    near = MAPDPM(likelihood=NormalGamma(0.0, 0.02, 1.0, 1.0), missing="skip").fit(X)
    far = MAPDPM(likelihood=NormalGamma(1e8, 0.02, 1.0, 1.0), missing="skip").fit(X + 1e8)
    np.testing.assert_array_equal(near.labels_, far.labels_)
    assert far.log_joint_ == pytest.approx(near.log_joint_, rel=1e-8)


def test_anchors_are_medians_of_values():
    X = np.array([[1.0, np.nan, np.nan], [5.0, 2.0, np.nan], [3.0, np.nan, np.nan]])
    np.testing.assert_array_equal(anchor_of(X), [3.0, 2.0, 0.0])


def test_a_missing_value_is_no_direction_of_a_split():
    X, _ = blobs(30, 0.3)
    Z = standardised(X)
    assert np.abs(Z[np.isnan(X)]).max() <= 1e-15  # the rounding of a mean
    np.testing.assert_allclose(Z.std(axis=0), 1.0, rtol=1e-12)
    there = [z[~np.isnan(x)] for x, z in zip(X.T, Z.T, strict=True)]
    assert max(abs(each.mean()) for each in there) <= 1e-14


def test_weights_are_repetitions():
    """Of given clusters: the joint of points with whole weights is that of copies."""
    X, z = blobs(40)
    weights = np.random.default_rng(1).integers(0, 4, 40)
    common = {"likelihood": NormalGamma(0.0, 0.02, 1.0, 1.0), "missing": "skip", "moves": ()}
    copies = np.repeat(X, weights, axis=0)
    model = MAPDPM(init=z, **common).fit(X, sample_weight=weights)
    labels = np.repeat(model.labels_, weights)
    assert np.all(model.labels_[weights == 0] == -1)
    expected = oracle.log_joint(copies, labels, model.likelihood_, 1.0)
    assert model.log_joint_ == pytest.approx(expected, rel=ROUNDING)
    joint = math.fsum(raw.log_partition(labels, 1.0)) + math.fsum(
        oracle.weighted_log_marginal(X[model.labels_ == k], weights[model.labels_ == k] + 0.0, model.likelihood_)
        for k in range(model.n_clusters_)
    )
    assert model.log_joint_ == pytest.approx(joint, rel=ROUNDING)


@pytest.mark.parametrize("weighted", [False, True])
def test_passes(monkeypatch, weighted):
    """A fit in passes ends at a mode: sweeps from its labels move nothing."""
    X, _ = blobs(3000, 0.3, D=4)
    monkeypatch.setattr(fit, "MANY", 1000)
    monkeypatch.setattr(fit_in_passes, "SAMPLE", 500)
    w = np.random.default_rng(1).uniform(0.5, 2.0, 3000) if weighted else None
    common = {"likelihood": NormalGamma(0.0, 0.02, 1.0, 1.0), "missing": "skip"}
    model = MAPDPM(**common).fit(X, sample_weight=w)
    monkeypatch.setattr(fit, "MANY", 10**9)
    again = MAPDPM(init=model.labels_, moves=(), **common).fit(X, sample_weight=w)
    np.testing.assert_array_equal(model.labels_, again.labels_)
    assert model.log_joint_ == pytest.approx(again.log_joint_, rel=1e-11)
    if not weighted:
        assert model.log_joint_ == pytest.approx(_by_columns(X, model), rel=ROUNDING)


def _by_columns(X, model):
    """The joint by the family itself, on the values of each column: the raw oracle factorises matrices of N^2."""
    total = math.fsum(raw.log_partition(model.labels_, 1.0))
    for d in range(X.shape[1]):
        one, there = oracle.one(model.likelihood_, d), ~np.isnan(X[:, d])
        for k in np.unique(model.labels_[there]):
            column = X[there & (model.labels_ == k), d][:, None]
            total += MAPDPM(likelihood=one, init="single", moves=(), max_clusters=1).fit(column).log_joint_
            total -= math.fsum(raw.log_partition(np.zeros(len(column), dtype=int), 1.0))
    return total
