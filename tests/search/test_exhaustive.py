"""Sets of up to eight points: the result is the best of all partitions."""

import math

import numpy as np
import pytest

from mapdpm import MAPDPM, DPMeans, NormalGamma
from mapdpm.likelihoods._template import GammaExponential
from mapdpm.testing.enumeration import partitions as all_partitions
from tests.families import FAMILIES, as_array, example
from tests.marks import complete_but, ends_early
from tests.oracle import raw
from tests.oracle import search as oracle

X = np.array([1.0, 1.0, 0.0, 2.0, 1.0, 1.0, 2.0, 1.0])[:, None]
LIKELIHOOD = NormalGamma(0.0, 0.005528, 0.35457, 0.0056577)
ROUNDING = 1e-9  # relative, of a sum of some hundred terms


def test_a_set_where_merges_and_splits_end_early():
    assert MAPDPM(0.0649, likelihood=LIKELIHOOD).fit(X).log_joint_ == pytest.approx(-11.400, abs=5e-4)
    assert MAPDPM(0.0649, likelihood=LIKELIHOOD, moves=()).fit(X).log_joint_ < -13.0  # the paper's algorithm


@pytest.mark.parametrize("family", [family for family in FAMILIES if family is not GammaExponential])  # no oracle
@pytest.mark.parametrize(
    ("n", "alpha", "discount", "cap"),
    [pytest.param(8, 0.3, 0.0, None, marks=pytest.mark.complete), (7, 2.0, 0.4, None), (6, 9.0, 0.0, 2)],
)
def test_every_family(family, n, alpha, discount, cap):
    likelihood, data = example(family, np.random.default_rng(n), n)
    points = as_array(data)
    partitions, joints = oracle.all_joints(points, likelihood, alpha, discount)
    allowed = np.ones(len(joints), dtype=bool) if cap is None else partitions.max(axis=1) < cap
    best = joints[allowed].max()
    common = {"discount": discount, "max_clusters": cap, "backend": "python"}  # numba would compile each family
    model = MAPDPM(alpha, likelihood=likelihood, **common).fit(data)
    assert model.log_joint_ == pytest.approx(best, rel=ROUNDING)
    assert raw.log_joint(points, model.labels_, likelihood, alpha, discount) == pytest.approx(best, rel=ROUNDING)
    assert np.all(np.diff(model.history_) >= 0.0)


@pytest.mark.parametrize("seed", complete_but(range(2), range(4)))
def test_weights(seed):
    """Also weights of 0, whose points belong to no cluster."""
    generator = np.random.default_rng(seed)
    points, weights = generator.normal(0.0, 3.0, (8, 2)), generator.uniform(0.5, 3.0, 8)
    likelihood = NormalGamma(np.zeros(2), 0.3, 1.2, np.full(2, 0.4))
    joints = [math.fsum(raw.formula_terms(points, np.array(z), likelihood, 1.3, weights)) for z in all_partitions(8)]
    absent = [*weights, 0.0, 0.0]
    model = MAPDPM(1.3, likelihood=likelihood).fit(np.r_[points, points[:2]], sample_weight=absent)
    assert model.log_joint_ == pytest.approx(max(joints), rel=ROUNDING)
    assert model.labels_[-2:].tolist() == [-1, -1]


@pytest.mark.parametrize("lam", [0.5, 3.0, 20.0])
def test_dp_means(lam):
    for seed in range(20):
        points = np.random.default_rng(seed).normal(0.0, 2.0, (8, 2))
        assert DPMeans(lam).fit(points).objective_ == pytest.approx(oracle.best_dp_means(points, lam), rel=ROUNDING)


@ends_early
def test_the_callback_still_ends_the_run():
    """An interrupted search returns what it has found."""
    model = MAPDPM(0.0649, likelihood=LIKELIHOOD, callback=lambda _: True).fit(X)
    assert not model.converged_
    assert model.log_joint_ < -13.0
