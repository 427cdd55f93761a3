"""The best partition of a column into intervals: against all partitions, with marginals of the families themselves."""

import functools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapdpm import GammaPoisson, NormalGamma
from mapdpm.likelihoods._marginals import CountMarginals, NormalMarginals
from mapdpm.search import intervals
from mapdpm.search.intervals import Atoms, atoms_of, best_intervals, count_intervals, normal_intervals
from mapdpm.testing import laws
from mapdpm.testing.enumeration import partitions

SEEDS = st.integers(0, 2**32 - 1)


def joint(clusters, log_marginal, alpha):
    sizes = [len(own) for own in clusters]
    prior = math.lgamma(alpha) - math.lgamma(alpha + sum(sizes)) + sum(map(math.lgamma, sizes))
    return len(sizes) * math.log(alpha) + prior + math.fsum(map(log_marginal, clusters))


def clusters_of(x, z):
    return [x[np.equal(z, k)] for k in np.unique(z)]


def of_family(family, x):
    return family.log_marginal(laws.row_of(family, x[:, None], range(len(x))))


@given(seed=SEEDS, alpha=st.sampled_from([0.3, 1.0, 4.0]))
def test_the_best_of_all_partitions_of_six_points(seed, alpha):
    """No interval partition is better than the one that is found; a better partition of another kind there may be."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.normal(size=6) * rng.choice([0.2, 1.0, 3.0], 6))
    prior = NormalMarginals(np.array([0.1, 0.5]), np.array([1.0, 3.0]), 0.0)
    found = best_intervals(x, np.ones(6), prior.of, alpha)
    best, best_interval, one = -math.inf, -math.inf, -math.inf
    for width, shape in zip(prior.widths, prior.shapes, strict=True):
        family = NormalGamma([0.0], width, shape, [width * shape])
        marginal = functools.cache(lambda *own, f=family: of_family(f, np.array(own)))  # a set is in many partitions
        joints = {z: joint(clusters_of(x, z), lambda own, m=marginal: m(*own.tolist()), alpha) for z in partitions(6)}
        best = max(best, *joints.values())
        best_interval = max(best_interval, *(j for z, j in joints.items() if list(z) == sorted(z)))
        one = max(one, joints[(0,) * 6])
    assert found.joint == pytest.approx(best_interval, rel=1e-9)
    assert found.joint <= best + 1e-9
    assert found.one == pytest.approx(one, rel=1e-9)


@given(seed=SEEDS)
def test_marginals_are_those_of_the_families(seed):
    rng = np.random.default_rng(seed)
    x, n = rng.normal(size=9), np.array([9.0])
    mean, squares = np.array([x.mean()]), np.array([np.square(x - x.mean()).sum()])
    prior = NormalMarginals(np.array([0.3]), np.array([2.0]), 0.0)
    assert prior.of(n, mean, squares)[0, 0] == pytest.approx(of_family(NormalGamma([0.0], 0.3, 2.0, [0.6]), x))
    counts = rng.poisson(4.0, 9).astype(float)
    rates = CountMarginals(np.array([1.5]), 3.0)
    own = of_family(GammaPoisson([1.5], [0.5]), counts) + sum(map(math.lgamma, counts + 1.0))
    assert rates.of(n, np.array([counts.mean()]), squares)[0, 0] == pytest.approx(own)


def test_a_step_is_a_twelfth_of_its_square_for_each_point():
    x = np.array([0.2, -0.4, 1.0, 0.1])
    n, mean, squares = np.array([4.0]), np.array([x.mean()]), np.array([np.square(x - x.mean()).sum()])
    with_step = NormalMarginals(np.array([0.3]), np.array([2.0]), 0.6).of(n, mean, squares)
    without = NormalMarginals(np.array([0.3]), np.array([2.0]), 0.0).of(n, mean, squares + 4.0 * 0.6**2 / 12.0)
    assert with_step == pytest.approx(without)


def test_units_and_offsets_change_nothing():
    rng = np.random.default_rng(0)
    x = np.sort(np.concatenate([rng.normal(size=40), rng.normal(9.0, 1.0, 60)]))
    own = normal_intervals(atoms_of(x, np.ones(100)))
    scaled = normal_intervals(atoms_of(1e-6 * x, np.ones(100)))
    far = normal_intervals(atoms_of(x + 1e8, np.ones(100)))
    assert own.n_clusters == scaled.n_clusters == far.n_clusters == 2
    assert scaled.joint - 100 * math.log(1e6) == pytest.approx(own.joint)
    assert far.joint == pytest.approx(own.joint, rel=1e-5)  # the data itself is rounded to 1.5e-8


def test_few_groups_of_many_values_find_the_same_clusters():
    rng = np.random.default_rng(1)
    x = np.sort(rng.normal(8.0 * rng.integers(0, 3, 3000)))
    atoms = atoms_of(x, np.ones(3000))
    assert len(atoms.values) <= intervals.MOST_ATOMS
    assert atoms.weights.sum() == 3000.0
    assert (atoms.weights * atoms.values).sum() == pytest.approx(x.sum())
    found = normal_intervals(atoms)
    assert found.n_clusters == 3
    assert found.joint > found.one + 500.0


def test_counts_have_their_factorials():
    x = np.array([0.0, 1.0, 2.0, 5.0])
    atoms = Atoms(x, np.full(4, 3.0), np.zeros(4))
    factorials = 3.0 * (math.log(2.0) + math.log(120.0))
    found = count_intervals(atoms, factorials)
    one = max(
        joint([np.repeat(x, 3)], lambda own, a=shape: of_family(GammaPoisson([a], [a / 2.0]), own), 1.0)
        for shape in CountMarginals.of_mean(2.0).shapes
    )
    assert found.one == pytest.approx(one)


def test_a_prior_of_partitions_that_is_left_out_is_noticed(monkeypatch):
    monkeypatch.setattr(intervals, "log_rising_of_arrays", lambda a, n: np.zeros(np.broadcast(a, n).shape))
    with pytest.raises(AssertionError):
        test_the_best_of_all_partitions_of_six_points.hypothesis.inner_test(0, 1.0)
