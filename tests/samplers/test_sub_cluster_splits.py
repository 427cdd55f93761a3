"""Sub-cluster splits: each part of a step leaves the posterior invariant; any number of threads gives the same bits."""

import functools
from contextlib import nullcontext

import numpy as np
import pytest

from mapdpm import GammaPoisson, NormalGamma, NormalKnownVariance
from mapdpm import state as states
from mapdpm.metrics import adjusted_mutual_info
from mapdpm.partition_priors import finite_prior, partition_prior
from mapdpm.rng import seeded
from mapdpm.samplers import (
    Chain,
    CollapsedGibbs,
    GammaPrior,
    Hybrid,
    Info,
    Sampler,
    SubClusterSplits,
    _lone_points,
    _map_reduce,
    _restricted_sweep,
    sample,
)
from mapdpm.samplers.chain import Adapted
from mapdpm.testing import kernels
from mapdpm.testing.quadrature import QuadratureRng
from tests.families import FAMILIES, KINDS_OF_ROWS, example
from tests.marks import complete_but, slow_but
from tests.samplers.same_draws import assert_resumes, assert_threads_agree

ALPHA = 0.7
PRIOR = NormalGamma(10.0, 0.01, 2.0, 1.0)
MODELS = {"DP": {}, "PY": {"discount": 0.3}, "finite": {"n_components": 3}}
POINTS = {
    "normal": (NormalKnownVariance(0.0, 2.0, 1.0), np.array([[-0.6], [0.9], [0.2], [1.4]])),
    "gamma": (GammaPoisson(6.0, 2.0), np.array([[2.0], [4.0], [3.0], [1.0]])),
}


class Sweep(SubClusterSplits):
    """The restricted sweep alone."""

    def move(self, chain, rng):
        return Info(chain.n_clusters, self.sweep(chain, rng))


class LonePoints(Sampler):
    """Points that leave, or join, alone."""

    def move(self, chain, rng):
        done, moved = _lone_points.lone_points(chain.model, chain.reserve(), 1, rng)
        assert done == 1
        return Info(chain.n_clusters, moved)


def lag(sampler, likelihood, data, n, rng=None):
    """max |pi P - pi|."""
    P = kernels.matrix_of(sampler, likelihood, data, n, rng=rng)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    pi = kernels.posterior_of(sampler.target.prior, likelihood, data, n)
    return np.abs(pi @ P - pi).max()


# ---- the sweep -------------------------------------------------------------------------------------------------------
# Three points are the fewest of which one moves. The error of quadrature falls from 3e-4 with 2 nodes, of four points
# 12e-4, to 1e-4 with 4 and 3e-5 with 8.


@functools.cache
def sweep_lag(name, model, n_nodes, kind=Sweep, n=3):
    family, X = POINTS[name]
    return lag(kind(ALPHA, **MODELS[model]), family.for_data(X), X[:n], n, QuadratureRng(n_nodes))


@pytest.mark.parametrize("model", complete_but(["DP"], MODELS))
@pytest.mark.parametrize("name", complete_but(["normal"], POINTS))
def test_sweeps_keep_the_posterior(name, model):
    assert sweep_lag(name, model, 4) < 5e-4


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_sweeps_keep_the_posterior_closely(model):
    assert sweep_lag("normal", model, 8) < 1e-4


def without_held_points(labels, capacity, free, rng):
    """All points move, and all clusters are open: one may be emptied."""
    free[:] = 1
    return np.bincount(labels, minlength=capacity)


def without_closed_clusters(labels, capacity, free, rng):
    _restricted_sweep.hold(labels, capacity, free, rng)
    return np.bincount(labels, minlength=capacity)


def with_one_point_too_many(likelihood, prior, state, n_held, rng):
    more = state._replace(counts=state.counts + 1)
    return _restricted_sweep.draw_open(likelihood, prior, more, n_held, rng)


SWEEP_FAULTS = {
    "a sweep that empties is kept": {"_hold": without_held_points},
    "closed clusters are open": {"_hold": without_closed_clusters},
    "weights of a point too many": {"_draw_open": with_one_point_too_many},
}


def with_fault(name):
    return type("Broken", (Sweep,), {key: staticmethod(each) for key, each in SWEEP_FAULTS[name].items()})


@pytest.mark.complete
@pytest.mark.parametrize("fault", list(SWEEP_FAULTS)[:2])
def test_faults_of_sweeps_show(fault):
    assert sweep_lag("normal", "DP", 2) < 1e-3
    assert sweep_lag("normal", "DP", 2, with_fault(fault)) > 5e-2


@pytest.mark.complete
def test_wrong_weights_show():
    """Where one of two clusters can have one, two or three points: of four."""
    assert sweep_lag("normal", "DP", 2, n=4) < 1.5e-3
    assert sweep_lag("normal", "DP", 2, with_fault("weights of a point too many"), n=4) > 3e-3


class OfShapes:
    """Draws whose values are their shapes."""

    def log_gamma(self, shape):
        return shape


def test_weights_have_the_shapes_of_their_dirichlet():
    """N_k - discount of a process, N_k + alpha / M of a finite mixture; the second cluster has no held point."""
    counts, held = np.array([5, 1, 3, 0]), np.array([2, 0, 1, 0])
    for prior, more in ((partition_prior(1.0), 0.0), (partition_prior(1.0, 0.4), -0.4), (finite_prior(2.0, 4), 0.5)):
        slots, log_weights, _ = _restricted_sweep.open_slots(prior, counts, held, OfShapes())
        np.testing.assert_array_equal(slots, [0, 2])
        np.testing.assert_allclose(log_weights, [5.0 + more, 3.0 + more], rtol=1e-12)


# ---- lone points -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("family", complete_but([FAMILIES[0]], FAMILIES))
def test_lone_points_keep_the_posterior(family, model):
    likelihood, data = example(family, np.random.default_rng(5), n=4)
    assert lag(LonePoints(ALPHA, **MODELS[model]), likelihood, data, 4) < 1e-12


def test_lone_points_that_are_not_counted_show(monkeypatch):
    count = _lone_points.count_lone
    monkeypatch.setattr(_lone_points, "count_lone", lambda state: min(count(state), 1))
    likelihood, data = example(FAMILIES[0], np.random.default_rng(5), n=4)
    assert lag(LonePoints(ALPHA), likelihood, data, 4) > 1e-3


# ---- whole steps -----------------------------------------------------------------------------------------------------


def grid(n, seed=0, distance=10.0):
    """``n`` points of ten clear clusters in two dimensions, and their clusters."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 10, n)
    return distance * np.c_[z % 5, z // 5] + rng.normal(size=(n, 2)), z


@pytest.mark.complete
@pytest.mark.parametrize("init", ["single", "random"])
def test_clear_clusters_are_found(init):
    X, z = grid(4000)
    sampler = SubClusterSplits(1.0, likelihood=PRIOR)
    first = np.random.default_rng(1).integers(0, 50, len(z)) if init == "random" else init
    trace = sample(X, sampler, draws=1, burn_in=300, init=first, random_state=0, keep=())
    # Of points 10 standard deviations apart 1e-6 are nearer to another centre. There may be a small cluster more.
    assert adjusted_mutual_info(trace.best, z) > 0.99


@pytest.mark.complete
@pytest.mark.parametrize("super_clusters", [False, True])
def test_draws_do_not_depend_on_threads(super_clusters, monkeypatch):
    monkeypatch.setattr(_map_reduce, "CHUNK", 32)
    X, _ = grid(500, distance=4.0)
    model = {"likelihood": PRIOR, "alpha_prior": GammaPrior(1, 1), "super_clusters": super_clusters}
    assert_threads_agree(lambda n_jobs: SubClusterSplits(n_jobs=n_jobs, **model), X, 2, init="single")


def test_resumed_chains_are_those_that_never_stopped(monkeypatch):
    monkeypatch.setattr(_map_reduce, "CHUNK", 16)
    X, _ = grid(80, distance=4.0)
    assert_resumes(Hybrid([CollapsedGibbs(1.0), SubClusterSplits(1.0)], counts=(1, 3)), X)


def merged_twice(likelihood, parts, rows):
    """The statistics of the first chunk are counted twice."""
    _map_reduce.merge_rows(likelihood, np.concatenate([parts[:1], parts]), rows)


@pytest.mark.parametrize("merge", [_map_reduce.merge_rows, merged_twice])
def test_rows_are_those_of_all_chunks(merge, monkeypatch):
    monkeypatch.setattr(_map_reduce, "CHUNK", 16)
    X, z = grid(60)
    sampler = type("Merging", (Sweep,), {"_merge_rows": staticmethod(merge)})(1.0)
    chain = Chain(PRIOR.for_data(X), sampler.target.prior, X, np.unique(z, return_inverse=True)[1], Adapted(9.0))
    sampler.step(chain, seeded(0))
    sound = merge is _map_reduce.merge_rows
    with nullcontext() if sound else pytest.raises(AssertionError):
        states.check(chain.likelihood, X, None, chain.state)


@pytest.mark.complete
@pytest.mark.parametrize("family", slow_but(KINDS_OF_ROWS, FAMILIES))
def test_compiled_steps_are_plain_ones(family):
    likelihood, data = example(family, np.random.default_rng(6), n=12)
    sampler = SubClusterSplits(ALPHA)
    sampler._n_random = sampler._n_lone = 5
    plain = kernels.uncompiled(sampler)
    one, two = (Chain(likelihood, sampler.target.prior, data, np.arange(12) % 3, Adapted(3.0)) for _ in range(2))
    first, second = seeded(3), seeded(3)
    for _ in range(5):
        assert sampler.step(one, first) == plain.step(two, second)
        np.testing.assert_array_equal(one.state.labels, two.state.labels)
    states.check(likelihood, data, None, one.state)


def test_a_million_points_need_no_partitions():
    X, _ = grid(300)
    trace = sample(X, SubClusterSplits(1.0), draws=3, random_state=0, keep=())
    assert trace.partitions is None
    assert len(trace.best) == 300


def test_a_family_without_draws_is_refused():
    class Collapsed(NormalGamma):
        __slots__ = ()

        @property
        def log_likelihood(self):
            raise AttributeError

    with pytest.raises(ValueError, match="has no draw of parameters"):
        SubClusterSplits(1.0).check_family(Collapsed(0.0, 1.0, 1.0, 1.0))
