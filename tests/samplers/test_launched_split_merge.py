"""The launched split-merge: bits for any number of threads, sums over chunks, cuts, splits of clear clusters."""

import itertools

import numpy as np
import pytest

from mapdpm import DirichletMultinomial, NormalGamma, NormalInverseWishart
from mapdpm import state as states
from mapdpm.data import point_set
from mapdpm.rng import seeded
from mapdpm.samplers import Chain, CollapsedGibbs, LaunchedSplitMerge, RandomSplitMerge, _map_reduce, sample
from mapdpm.samplers._launch_cuts import cuts
from mapdpm.samplers._whole_clusters import gathered
from mapdpm.samplers.chain import Adapted
from mapdpm.testing import laws
from tests.families import example
from tests.marks import complete_but
from tests.samplers.same_draws import assert_resumes, assert_threads_agree


def chain_of(sampler, likelihood, data, labels):
    return Chain(likelihood, sampler.target.prior, data, np.asarray(labels), Adapted(2.0))


def two_clusters(n, distance, seed=0, D=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n, D))
    X[n:, 0] += distance
    return X


@pytest.mark.complete
def test_draws_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(_map_reduce, "CHUNK", 16)
    X = np.concatenate([two_clusters(60, 8.0), two_clusters(60, 8.0, seed=1) + 20.0])
    likelihood = NormalGamma(10.0, 0.01, 2.0, 1.0)
    model = {"likelihood": likelihood, "n_proposals": 9}
    assert_threads_agree(lambda n_jobs: LaunchedSplitMerge(1.0, n_jobs=n_jobs, **model), X, 2, init="single")


@pytest.mark.complete
def test_resumed_chains_are_those_that_never_stopped(monkeypatch):
    monkeypatch.setattr(_map_reduce, "CHUNK", 16)
    X = two_clusters(40, 4.0)
    assert_resumes(CollapsedGibbs(1.0) + LaunchedSplitMerge(1.0) + RandomSplitMerge(1.0, n_proposals=3), X)


@pytest.mark.parametrize("family", complete_but([NormalGamma], [NormalGamma, DirichletMultinomial]))
def test_chunks_sum_to_the_whole(family, monkeypatch):
    """The probability of the sides of 50 points, and the rows of sides that are drawn, in 1 and in 7 chunks."""
    rng = np.random.default_rng(3)
    likelihood, data = example(family, rng, n=50)
    sampler = LaunchedSplitMerge(1.0)
    chain = chain_of(sampler, likelihood, data, rng.integers(0, 2, 50))
    chosen = gathered(chain.state, 0, 1)
    launched = sampler._launched(likelihood, data, chosen.members)
    log_qs = []
    for size in (50, 8):
        monkeypatch.setattr(_map_reduce, "CHUNK", size)
        log_qs.append(sampler._sides(chain, chosen, launched, False, seeded(0))[1])
        sides, _ = sampler._sides(chain, chosen, launched, True, seeded(0))
        for side in range(2):
            row = laws.row_of(likelihood, data, chosen.members[chosen.choices == side])
            # Statistics in another order: 50 terms, each rounded a few times.
            np.testing.assert_allclose(sides[side], row, rtol=50 * 2**-46, atol=50 * 2**-46 * np.abs(row).max())
        chosen = gathered(chain.state, 0, 1)
    assert log_qs[1] == pytest.approx(log_qs[0], rel=50 * 2**-50)


def test_the_state_is_whole_after_splits_in_chunks(monkeypatch):
    monkeypatch.setattr(_map_reduce, "CHUNK", 8)
    X = two_clusters(30, 8.0)
    likelihood = NormalInverseWishart.empirical(X).for_data(X)
    sampler = LaunchedSplitMerge(1.0)
    chain = chain_of(sampler, likelihood, X, np.zeros(60, dtype=int))
    infos = [sampler.move(chain, rng) for rng in map(seeded, range(20))]
    assert sum(info.accepted for info in infos) > 0
    states.check(likelihood, X, None, chain.state)


@pytest.mark.complete
@pytest.mark.parametrize("scale", [1.0, 1e6])
@pytest.mark.parametrize("family", [NormalGamma, NormalInverseWishart])
def test_clear_clusters_are_found_in_any_units(family, scale):
    """Two clusters 5 standard deviations apart along one of five features, whatever the units of the others."""
    X = two_clusters(500, 5.0) * np.array([1.0, 1.0, scale, 1.0, 1.0 / scale])
    likelihood = family.empirical(X).for_data(X)
    sampler = LaunchedSplitMerge(1.0)
    for seed in range(8):
        chain = chain_of(sampler, likelihood, X, np.zeros(1000, dtype=int))
        splits = seeded(seed).accept(np.log(0.5))
        assert sampler.move(chain, seeded(seed)).accepted == int(splits)
        if splits:
            wrong = np.count_nonzero(chain.state.labels[:500] != chain.state.labels[0])
            # A share of Phi(-2.5) = 0.006 of each cluster is nearer to the other centre: 3 points, at most 12 with
            # probability 1 - 1e-4.
            assert wrong <= 12


@pytest.mark.complete
def test_one_cluster_is_not_split():
    X = np.random.default_rng(5).normal(size=(2000, 3))
    trace = sample(X, LaunchedSplitMerge(1.0, n_proposals=20), draws=3, init="single", random_state=0)
    assert trace.n_clusters.tolist() == [[1, 1, 1]]


@pytest.mark.complete
def test_many_clusters_from_one():
    rng = np.random.default_rng(0)
    X = 10.0 * np.array(list(itertools.product(range(5), range(2))))[rng.integers(0, 10, 3000)]
    X += rng.normal(size=X.shape)
    sampler = CollapsedGibbs(1.0) + LaunchedSplitMerge(1.0, n_proposals=10)
    trace = sample(X, sampler, draws=10, burn_in=10, init="single", random_state=0)
    assert abs(np.median(trace.n_clusters) - 10) <= 1


@pytest.mark.parametrize(
    "vectors",
    [
        np.zeros((5, 3)),
        np.full((4, 1), 1e300),
        np.array([[1.0, 2.0]]),
        np.r_[np.zeros((30, 2)), np.ones((1, 2)) * 1e150],
        np.c_[np.arange(40.0), np.arange(40.0)],
    ],
)
def test_cuts_of_odd_points(vectors):
    with np.errstate(all="raise", under="ignore"):
        found = np.array([cut() for cut in cuts(vectors)])
    assert found.ndim == 2
    assert 1 <= len(found) <= 4
    assert set(np.unique(found)) <= {0.0, 1.0}


def test_cuts_of_sparse_counts():
    _, data = example(DirichletMultinomial, np.random.default_rng(1), n=30)
    assert all(cut().shape == (30,) for cut in cuts(point_set(data).as_vectors()))


@pytest.mark.parametrize(("name", "value"), [("n_steps", -1), ("n_proposals", 0), ("n_jobs", 0)])
def test_bad_parameters(name, value):
    with pytest.raises(ValueError, match=name):
        LaunchedSplitMerge(1.0, **{name: value})
