"""The shares of clusters in groups: by hand from labels and common shares, and what is refused."""

import numpy as np
import pytest

from mapdpm import NormalGamma
from mapdpm.samplers import ChineseRestaurantFranchise, DirectAssignment, group_shares, sample

PRIOR = NormalGamma(0.0, 0.05, 2.0, 1.0)
X = np.random.default_rng(0).normal(0.0, 4.0, (24, 1))
ROOMS = np.repeat(["hall", "attic", "cellar"], 8)
HOUSES = np.where(ROOMS == "cellar", "old", "new")


def draws(sampler, groups):
    return sample(X, sampler, groups=groups, draws=4, chains=2, random_state=0)


@pytest.mark.parametrize("kind", [DirectAssignment, ChineseRestaurantFranchise])
def test_one_level(kind):
    trace = draws(kind(1.5, 2.0, likelihood=PRIOR), ROOMS)
    found = group_shares(trace, ROOMS)
    assert len(found) == 8
    for i, shares in enumerate(found):
        z = trace.partitions[i // 4, i % 4]
        K = z.max() + 1
        if kind is DirectAssignment:
            beta = trace.extra["beta"][i // 4, i % 4][: K + 1]
        else:
            tables = trace.extra["m"][i // 4, i % 4].sum(axis=0)[:K]
            beta = np.append(tables, 2.0) / (tables.sum() + 2.0)
        for j, room in enumerate(["hall", "attic", "cellar"]):
            counts = [np.count_nonzero((z == k) & (room == ROOMS)) for k in range(K + 1)]
            np.testing.assert_allclose(shares[j], (counts + 1.5 * beta) / (8 + 1.5), rtol=1e-12)
        np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)


def test_a_tree():
    """Rooms weigh by the shares of their house; each level has its own alpha."""
    paths = np.c_[HOUSES, ROOMS]
    trace = draws(DirectAssignment([3.0, 1.5], 2.0, likelihood=PRIOR), paths)
    for i, shares in enumerate(group_shares(trace, paths)):
        z, beta = trace.partitions[i // 4, i % 4], trace.extra["beta"][i // 4, i % 4]
        K = z.max() + 1
        for j, (room, house) in enumerate([("hall", 1), ("attic", 1), ("cellar", 2)]):
            counts = [np.count_nonzero((z == k) & (room == ROOMS)) for k in range(K + 1)]
            np.testing.assert_allclose(shares[j], (counts + 1.5 * beta[house, : K + 1]) / (8 + 1.5), rtol=1e-12)


def test_what_is_refused():
    sampler = DirectAssignment(likelihood=PRIOR)
    trace = draws(sampler, ROOMS)
    with pytest.raises(ValueError, match="groups must be those of the trace, which has 3 of all levels"):
        group_shares(trace, HOUSES)
    with pytest.raises(ValueError, match=r"shape \(24,\)"):
        group_shares(trace, ROOMS[:5])
    with pytest.raises(ValueError, match="must hold partitions"):
        group_shares(sample(X, sampler, groups=ROOMS, draws=2, keep=(), random_state=0), ROOMS)
