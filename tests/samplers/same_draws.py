"""Chains that must have the same bits: on any number of threads, and resumed or not."""

import itertools

import numpy as np
import pytest

from mapdpm import state as states
from mapdpm.rng import seeded
from mapdpm.samplers import Given, sample
from mapdpm.samplers.chain_data import ChainData
from mapdpm.testing import kernels


def assert_same(one, other):
    """The draws of two traces, and all that they keep beside the partitions."""
    np.testing.assert_array_equal(one.partitions, other.partitions)
    np.testing.assert_array_equal(one.log_joint, other.log_joint)
    for mine, yours in zip(itertools.chain(*one.extra.values()), itertools.chain(*other.extra.values()), strict=True):
        np.testing.assert_array_equal(mine, yours)


def assert_threads_agree(sampler_of, X, more_than, **options):
    """``sampler_of(n_jobs)`` on 1, 2 and 7 threads; one of ten draws has more clusters than ``more_than``."""
    first, *others = (sample(X, sampler_of(n_jobs), draws=10, random_state=4, **options) for n_jobs in (1, 2, 7))
    assert first.n_clusters.max() > more_than
    for each in others:
        assert each.sampler == first.sampler
        assert_same(each, first)


def assert_resumes(sampler, X, **options):
    """Three draws and two more are five draws."""
    whole = sample(X, sampler, draws=5, random_state=2, **options)
    part = sample(X, sampler, draws=3, random_state=2, **options)
    given = {name: options[name] for name in ("groups", "sequences") if name in options}
    assert_same(sample(X, sampler, draws=2, resume=part, **given), whole)


def assert_compiled_is_plain(sampler, X, likelihood, *, rtol=0.0, **given):
    """Five steps with compiled kernels and in plain Python: the same draws, up to ``rtol`` where one is rounded."""
    given = sampler.check_given(Given(**given), len(X))
    plain, rngs = kernels.uncompiled(sampler), (seeded(3), seeded(3))
    chains = [s.chain(ChainData(likelihood, X, given), "single", seeded(1)) for s in (sampler, plain)]
    for _ in range(5):
        infos = [s.step(chain, rng) for s, chain, rng in zip((sampler, plain), chains, rngs, strict=True)]
        assert infos[0] == infos[1]
        for one, two in zip(*(chain.saved().values() for chain in chains), strict=True):
            np.testing.assert_allclose(one, two, rtol=rtol)
        assert chains[0].log_joint() == pytest.approx(chains[1].log_joint(), rel=1e-12)
    states.check(likelihood, X, None, chains[0].state)
