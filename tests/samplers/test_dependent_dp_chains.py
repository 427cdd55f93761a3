"""Chains of mixtures in time slices: starts, log joints, traces, and what is refused."""

import math

import numpy as np
import pytest

from mapdpm.likelihoods.drifting_normal import DriftingNormal
from mapdpm.rng import seeded
from mapdpm.samplers import DependentDPGibbs, Given, Trace, sample
from mapdpm.samplers.chain_data import ChainData
from mapdpm.testing import kernels
from mapdpm.validation import in_order_of_appearance
from tests.drifting import FULL, drifting_points, plain
from tests.oracle import drift as oracle
from tests.samplers.same_draws import assert_same


def test_log_joint_is_exact_for_known_covariances():
    X, times = drifting_points(30)
    family = FULL._replace(nu0=0.0)
    keep = ("partitions", "means", "covariances")
    trace = sample(X, plain(2.0, likelihood=family), times=times, draws=3, random_state=0, keep=keep)
    for labels, value in zip(trace.extra["labels"][0], trace.log_joint[0], strict=True):
        n = labels.max() + 2
        exact = oracle.log_posterior(family, X, times, np.ones(n), np.append(np.full(n - 1, 2.0), 0.0), [labels])
        np.testing.assert_allclose(value, exact[0], rtol=1e-10)
    assert trace.dims["means"] == ("cluster", "slice", "feature")
    K = trace.n_clusters[0, -1]
    np.testing.assert_allclose(trace.extra["covariances"][0, -1, :K], np.broadcast_to(family.psi0, (K, 3, 2, 2)))


def test_log_joint_of_tight_clusters_far_apart():
    """Two clusters of deviation 1e-3, 1e5 apart: their scatter must not be a difference of large sums."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0.0, 1e-3, (10, 1)), rng.normal(1e5, 1e-3, (10, 1))])
    family = DriftingNormal(m0=5e4, variance=1e10, rate=0.1, nu0=3.0, psi0=1e-6)
    options = {"times": np.zeros(20), "draws": 1, "init": np.repeat([0, 1], 10), "random_state": 0}
    near, far = X.copy(), X
    near[10:] -= 1e5 - 1.0
    values = [sample(each, plain(1.0, likelihood=family), **options).log_joint[0, 0] for each in (near, far)]
    assert abs(values[0] - values[1]) < 0.1


def test_slots_suffice_when_exchanges_open_labels():
    """Each kind of exchange may give points to a label that had none: one point may open four labels."""
    times = np.repeat(np.arange(8), 6)
    # Plain Python notices an index that is outside.
    sampler = plain(4.0, likelihood=DriftingNormal(m0=0.0, variance=1.0, rate=3.0, psi0=1.0))
    for seed in (371, 1296):
        X = np.random.default_rng(seed).normal(0.0, 1.0, (48, 1))
        sample(X, sampler, times=times, draws=1, burn_in=8, init="single", random_state=seed)


def test_a_start_that_sticks_allow():
    """Two sticks for three clusters: the start has two."""
    X = np.array([0.0] * 10 + [100.0] * 10 + [-100.0] * 10)[:, None] + np.tile(np.linspace(-0.5, 0.5, 10), 3)[:, None]
    trace = sample(X, plain(a=[1.0, 1.0], b=[1.0, 0.0]), times=np.zeros(30), draws=5, random_state=0)
    assert trace.extra["labels"].max() == 1
    assert np.all(np.isfinite(trace.log_joint))


@pytest.mark.complete
def test_compiled_and_plain_draw_the_same():
    X, times = drifting_points(24)
    sampler = DependentDPGibbs(1.0, likelihood=FULL)
    given = sampler.check_given(Given(times=times), len(X))
    plain, rngs = kernels.uncompiled(sampler), (seeded(3), seeded(3))
    data = ChainData(sampler.observe(X).likelihood, X, given)
    chains = [each.chain(data, "single", seeded(1)) for each in (sampler, plain)]
    for _ in range(3):
        infos = [each.step(chain, rng) for each, chain, rng in zip((sampler, plain), chains, rngs, strict=True)]
        assert infos[0] == infos[1]
        for one, two in zip(*(chain.saved().values() for chain in chains), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-9)


def test_chains_go_on(tmp_path):
    X, times = drifting_points(24)
    sampler = plain(1.0)
    options = {"times": times, "random_state": 2, "keep": ("partitions", "means")}
    whole = sample(X, sampler, draws=5, **options)
    trace = sample(X, sampler, draws=3, **options)
    trace.save(tmp_path / "draws.npz")
    loaded = Trace.load(tmp_path / "draws.npz")
    assert_same(sample(X, sampler, draws=2, times=times, resume=loaded), whole)
    old = loaded._replace(sampler=loaded.sampler.replace("DependentDPGibbs", "DependentDP"))  # as 0.2.0 wrote it
    assert old.sampler.startswith("DependentDP(")
    assert_same(sample(X, sampler, draws=2, times=times, resume=old), whole)
    names, z = whole.extra["labels"][0], whole.partitions[0]
    np.testing.assert_array_equal([in_order_of_appearance(labels) for labels in names], z)


def test_times_may_be_dates_in_any_order():
    X, times = drifting_points(24)
    dates = np.datetime64("2026-01-01") + times.astype(int) * np.timedelta64(1, "D")
    sampler = plain(1.0)
    one, other = (sample(X, sampler, times=each, draws=3, random_state=0) for each in (86400.0 * times, dates))
    assert_same(one, other)


def test_refusals():
    X, times = drifting_points()
    for options, message in (
        ({}, "times are needed"),
        ({"times": times[:-1]}, r"times must have one entry a point, shape \(60,\)"),
        ({"times": np.full(60, np.nan)}, "times must be finite, got nan at point 0"),
        ({"times": ["a"] * 60}, "times must be numbers or dates"),
        ({"times": times, "groups": times}, "DependentDPGibbs knows no groups"),
    ):
        with pytest.raises(ValueError, match=message):
            sample(X, DependentDPGibbs(1.0), draws=1, **options)
    # Porteous2006 section 6 with b = 0.5: no covariance, as b must be about a or more.
    paper = DriftingNormal([0.5, 0.5], 1.0, 0.005, nugget=-0.5, nu0=3.0, psi0=0.01)
    with pytest.raises(ValueError, match=r"not positive definite, its least eigenvalue is -0\.5"):
        sample(X, DependentDPGibbs(1.0, likelihood=paper), times=times, draws=1)
    for options, message in (
        ({"likelihood": 3}, "likelihood must be a DriftingNormal"),
        ({"label_moves": None}, "label_moves must be a sequence of 'slice', 'interval', 'all', got None"),
        ({"label_moves": ("swap",)}, "label_moves must be a sequence of 'slice', 'interval', 'all'"),
        ({"move_rate": 2.0}, "move_rate must be None or in"),
        ({"alpha": 1.0, "a": 1.0, "b": 1.0}, "three ways"),
    ):
        with pytest.raises(ValueError, match=message):
            DependentDPGibbs(**options)
    for options, message in (
        ({"power": 2.5}, r"power must be in \(0, 2\]"),
        ({"rate": -1.0}, "rate must be >= 0"),
        ({"nu0": 0.5, "m0": [0.0, 0.0]}, "nu0 must be from the number of features less 0.9, 1.1, to"),
    ):
        with pytest.raises(ValueError, match=message):
            DriftingNormal(**({"m0": 0.0, "variance": 1.0, "rate": 0.1} | options))
    assert math.isfinite(DriftingNormal.empirical(X, times).rate)
