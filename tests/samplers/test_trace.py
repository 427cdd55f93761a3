"""sample and Trace: what is kept, where chains start, go on and end, and what is refused."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from mapdpm import MAPDPM, DirichletMultinomial, NormalGamma, jit
from mapdpm.partition_priors import DirichletProcess, PitmanYor
from mapdpm.rng import seeded
from mapdpm.samplers import (
    BetaPrior,
    Chain,
    CollapsedGibbs,
    GammaPrior,
    Hybrid,
    InverseGammaPrior,
    PermutationAugmented,
    SequentialSplitMerge,
    SplitMerge,
    Trace,
    UncollapsedGibbs,
    sample,
)
from mapdpm.validation import in_order_of_appearance
from tests.marks import complete_but
from tests.oracle import raw

PRIOR = NormalGamma(0.0, 0.1, 1.5, 1.0)


def blobs(n=40, K=4):
    rng = np.random.default_rng(12)
    return rng.normal(0.0, 6.0, (K, 2))[rng.integers(0, K, n)] + rng.normal(size=(n, 2))


def hybrid(*more):
    model = {"likelihood": PRIOR, "alpha_prior": GammaPrior(1.0, 1.0)}
    return Hybrid(tuple(kind(**model) for kind in (CollapsedGibbs, SequentialSplitMerge, *more)))


@pytest.mark.parametrize("more", complete_but([()], [(), (PermutationAugmented,)]))
def test_what_a_trace_holds(more):
    X = blobs()
    trace = sample(X, hybrid(*more), draws=6, burn_in=3, thin=2, chains=2, random_state=4)
    assert trace.partitions.shape == (2, 6, 40)
    assert trace.partitions.dtype == np.int8
    for z, joint, alpha, K in zip(
        trace.partitions[1], trace.log_joint[1], trace.alpha[1], trace.n_clusters[1], strict=True
    ):
        assert joint == pytest.approx(raw.log_joint(X, z, PRIOR.for_data(X), alpha), rel=1e-11)
        assert len(np.unique(z)) == K == z.max() + 1
        assert z[0] == 0
    assert trace.largest_share[0, 2] == np.bincount(trace.partitions[0, 2]).max() / 40
    assert trace.sizes(0, 2).sum() == 40
    assert np.all((trace.acceptance >= 0.0) & (trace.acceptance <= 1.0))
    assert trace.n_clusters_posterior().sum() == pytest.approx(1.0, rel=1e-12)
    summary = trace.summary()
    assert set(summary) == {"log_joint", "n_clusters", "largest_share", "alpha"}
    assert summary["alpha"]["mean"] == pytest.approx(trace.alpha.mean(), rel=1e-12)
    arrays = trace.to_dict()
    assert all(array.shape[:2] == (2, 6) for array in arrays.values())


def test_best_is_the_best_seen():
    """The best partition of all steps, burn-in included; a search may start from it."""
    X, seen = blobs(), []
    sampler = CollapsedGibbs(likelihood=PRIOR)
    trace = sample(X, sampler, draws=5, burn_in=20, thin=3, random_state=0, callback=lambda p: seen.append(p.log_joint))
    assert len(seen) == 20 + 15
    assert trace.best_log_joint == max(seen)
    assert trace.best_log_joint == pytest.approx(raw.log_joint(X, trace.best, PRIOR.for_data(X), 1.0), rel=1e-11)
    model = MAPDPM(likelihood=PRIOR, init=trace.best).fit(X)
    assert model.log_joint_ >= trace.best_log_joint - 1e-9


def test_best_is_by_densities_that_are_bounded():
    """Those of log alpha and of the logit of a discount: that of alpha is infinite at 0, where one cluster is best."""
    alphas = CollapsedGibbs(likelihood=PRIOR, alpha_prior=GammaPrior(0.5, 2.0))
    discounts = CollapsedGibbs(likelihood=PRIOR, discount=0.5, discount_prior=BetaPrior(0.5, 0.5))
    for log_density, start in (
        (lambda t: alphas.log_hyperprior(DirichletProcess(np.exp(t))), -80.0),
        (lambda t: discounts.log_hyperprior(PitmanYor(1.0, 1.0 / (1.0 + np.exp(-t)))), -30.0),
    ):
        t = np.linspace(start, 30.0, 20_001)
        total = np.trapezoid(np.exp([log_density(each) for each in t]), t)
        assert total == pytest.approx(1.0, abs=1e-5)  # what is beyond the ends: e^-15 of either


def test_slots_of_a_start_of_many_clusters_are_dropped():
    sampler = CollapsedGibbs(likelihood=PRIOR)
    X = blobs(150)
    chain = Chain(PRIOR.for_data(X), sampler.target.prior, X, np.arange(150))
    rng = seeded(0)
    for _ in range(4):
        sampler.step(chain, rng)
    labels, joint, K = chain.state.labels.copy(), chain.log_joint(), chain.n_clusters
    assert chain.state.capacity == 151
    chain.trim()
    assert chain.state.capacity <= max(16, 4 * (K + 1))
    assert chain.log_joint() == pytest.approx(joint, rel=1e-11)
    np.testing.assert_array_equal(in_order_of_appearance(labels), chain.state.labels)


def test_sampling_drops_them_in_a_burn_in():
    slots = []

    class Watched(CollapsedGibbs):
        def move(self, chain, rng):
            slots.append((chain.state.capacity, chain.n_clusters))
            return super().move(chain, rng)

    sample(blobs(150), Watched(likelihood=PRIOR), draws=1, burn_in=6, init="singletons", random_state=0)
    assert slots[0] == (151, 150)
    assert all(capacity <= max(16, 4 * (K + 1)) for capacity, K in slots[1:])
    assert slots[-1][0] < 151


def test_point_estimates_are_partitions():
    X = blobs()
    trace = sample(X, CollapsedGibbs(likelihood=PRIOR), draws=30, burn_in=30, random_state=0)
    for estimate in (trace.binder_estimate(), trace.vi_estimate()):
        assert estimate.shape == (40,)
        assert estimate[0] == 0
    together = trace.similarity()
    assert np.allclose(together, together.T)
    assert np.all(np.diag(together) == 1.0)


def test_threads_and_repetitions_draw_the_same():
    X = blobs()
    one, two, other = (
        sample(X, hybrid(), draws=5, chains=3, random_state=seed, n_jobs=jobs)
        for seed, jobs in ((1, 1), (1, 3), (2, 1))
    )
    np.testing.assert_array_equal(one.partitions, two.partitions)
    np.testing.assert_array_equal(one.log_joint, two.log_joint)
    assert not np.array_equal(one.partitions, other.partitions)
    assert not np.array_equal(one.partitions[0], one.partitions[1])


@pytest.mark.parametrize(
    "sampler",
    [
        hybrid(),
        CollapsedGibbs(likelihood=PRIOR, discount=0.2, alpha_prior=InverseGammaPrior(), discount_prior=BetaPrior()),
        pytest.param(PermutationAugmented(likelihood=PRIOR, burn_in="projections"), marks=pytest.mark.complete),
        pytest.param(UncollapsedGibbs(likelihood=PRIOR), marks=pytest.mark.complete),
    ],
)
def test_resumed_chains_are_those_that_never_stopped(sampler, tmp_path):
    X = blobs()
    whole = sample(X, sampler, draws=9, burn_in=4, thin=2, chains=2, random_state=3)
    first = sample(X, sampler, draws=5, burn_in=4, thin=2, chains=2, random_state=3)
    first.save(tmp_path / "draws.npz")
    again = Trace.load(tmp_path / "draws.npz")
    resumed = sample(X, sampler, draws=4, resume=again)
    for name in ("partitions", "log_joint", "alpha", "discount", "acceptance", "best", "best_log_joint", "thin"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name), name)


@pytest.mark.complete
def test_a_trace_is_resumed_by_what_equals_its_sampler():
    """1 and 1.0, of numpy or not, are the same prior."""
    X = blobs()
    whole, real = (
        {"likelihood": PRIOR, "alpha": one, "alpha_prior": GammaPrior(one, 2 * one)} for one in (1, np.float64(1.0))
    )
    trace = sample(X, PermutationAugmented(method="beta", beta=2, **whole), draws=2, random_state=0)
    longer = sample(X, PermutationAugmented(method="beta", beta=np.float64(2.0), **real), draws=2, resume=trace)
    assert longer.log_joint.shape == (1, 4)


def test_without_numba_is_said(monkeypatch):
    monkeypatch.setattr(jit, "available", lambda: False)
    with pytest.warns(RuntimeWarning, match="pip install 'mapdpm.numba.'"):
        sample(blobs(), CollapsedGibbs(likelihood=PRIOR), draws=1)


@pytest.mark.complete
def test_tables_that_would_take_all_memory():
    sampler = PermutationAugmented(method="beta", likelihood=PRIOR)
    with pytest.raises(ValueError, match=r"of 30000 points takes 14\.4 GB, more than 8 GB; method='beam'"):
        sample(blobs(30_000), sampler, draws=1, init="single")


def test_samplers_say_what_they_are():
    said = repr(SplitMerge(0.5, n_scans=2) + CollapsedGibbs(0.5))
    assert said == (
        "Hybrid([SplitMerge(n_scans=2, n_proposals=1, prior=DirichletProcess(alpha=0.5)), "
        "CollapsedGibbs(prior=DirichletProcess(alpha=0.5))], counts=(1, 1))"
    )


def test_a_trace_is_resumed_on_its_own_points_only():
    X = blobs()
    trace = sample(X, CollapsedGibbs(likelihood=PRIOR), draws=3, random_state=3)
    for points, sampler in (
        (X + 1.0, CollapsedGibbs(likelihood=PRIOR)),
        (X[:-1], CollapsedGibbs(likelihood=PRIOR)),
        (X, CollapsedGibbs(likelihood=NormalGamma(0.0, 1.0, 1.0, 1.0))),
    ):
        with pytest.raises(ValueError, match="of other points or of another model"):
            sample(points, sampler, draws=2, resume=trace)


@pytest.mark.parametrize(
    "other",
    [
        CollapsedGibbs(50.0, likelihood=PRIOR),
        CollapsedGibbs(likelihood=PRIOR, discount=0.4),
        CollapsedGibbs(likelihood=PRIOR, alpha_prior=GammaPrior()),
        SplitMerge(likelihood=PRIOR),
        CollapsedGibbs(likelihood=PRIOR) + SplitMerge(likelihood=PRIOR),
    ],
)
def test_a_trace_is_resumed_by_its_own_sampler_only(other):
    trace = sample(blobs(), CollapsedGibbs(likelihood=PRIOR), draws=3, random_state=3)
    with pytest.raises(ValueError, match="was drawn by another sampler, or under another prior: CollapsedGibbs"):
        sample(blobs(), other, draws=2, resume=trace)


@pytest.mark.complete
@pytest.mark.parametrize("alpha_prior", [None, GammaPrior()])
def test_finite_mixtures_stay_within_their_components(alpha_prior):
    """A climb along projections would leave them."""
    model = {"likelihood": PRIOR, "n_components": 3, "alpha_prior": alpha_prior}
    sampler = CollapsedGibbs(**model) + PermutationAugmented(burn_in="projections", **model) + SplitMerge(**model)
    trace = sample(blobs(), sampler, draws=5, burn_in=5, random_state=0)
    assert trace.n_clusters.max() <= 3
    assert np.all(np.isfinite(trace.log_joint))


def test_discounts_stay_above_minus_alpha():
    sampler = CollapsedGibbs(-0.1, discount=0.3, likelihood=PRIOR, discount_prior=BetaPrior())
    trace = sample(blobs(), sampler, draws=50, random_state=0)
    assert np.all(trace.discount > 0.1)


def test_whole_numbers_of_numpy(tmp_path):
    trace = sample(blobs(), CollapsedGibbs(likelihood=PRIOR), draws=np.int64(2), thin=np.int64(2), random_state=0)
    trace.save(tmp_path / "draws.npz")
    assert Trace.load(tmp_path / "draws.npz").thin == 2
    assert np.isnan(trace.summary()["n_clusters"]["r_hat"])


@pytest.mark.parametrize(
    ("init", "K"), [("single", {1}), ("random", {3}), ("singletons", {40}), ("sequential", set(range(1, 41)))]
)
def test_starts(init, K):
    seen = []
    sampler = SplitMerge(likelihood=PRIOR, n_proposals=1)
    sample(blobs(), sampler, draws=1, init=init, random_state=0, callback=lambda p: seen.append(p.n_clusters))
    assert seen[0] in {k + change for k in K for change in (-1, 0, 1)}


def test_starts_from_labels():
    z = np.arange(40) % 7
    sampler = SplitMerge(likelihood=PRIOR, n_proposals=1)
    trace = sample(blobs(), sampler, draws=1, init=z, random_state=0)
    assert trace.n_clusters[0, 0] in {6, 7, 8}


def test_one_point_and_equal_points():
    for X in (np.zeros((1, 2)), np.zeros((12, 2))):
        for sampler in (hybrid(), UncollapsedGibbs(likelihood=PRIOR), SplitMerge(likelihood=PRIOR)):
            trace = sample(X, sampler, draws=3, random_state=0)
            assert np.all(np.isfinite(trace.log_joint))


def test_likelihood_of_the_points_by_default():
    X = blobs()
    trace = sample(X, CollapsedGibbs(2.0), draws=2, random_state=0)
    likelihood = NormalGamma.empirical(X)
    assert trace.log_joint[0, 1] == pytest.approx(raw.log_joint(X, trace.partitions[0, 1], likelihood, 2.0), rel=1e-11)


@pytest.mark.complete
def test_sparse_counts():
    rng = np.random.default_rng(3)
    topics = rng.dirichlet(np.full(40, 0.05), 3)
    X = rng.multinomial(30, topics[rng.integers(0, 3, 60)])
    sampler = CollapsedGibbs(likelihood=DirichletMultinomial(0.1)) + PermutationAugmented(
        likelihood=DirichletMultinomial(0.1), burn_in="projections"
    )
    dense, sparse = (sample(points, sampler, draws=3, burn_in=5, random_state=0) for points in (X, csr_matrix(X)))
    np.testing.assert_array_equal(dense.partitions, sparse.partitions)


@pytest.mark.complete
def test_time_is_shared():
    """The cheap part runs more often; how often is fixed after the burn-in."""
    model = {"likelihood": PRIOR}
    parts = CollapsedGibbs(**model), PermutationAugmented(method="table", **model)
    trace = sample(blobs(), Hybrid(parts, counts="time"), draws=3, burn_in=10, random_state=0)
    counts = trace.ends[0].adapted.counts
    assert counts[0] > counts[1] == 1


def test_arviz():
    pytest.importorskip("arviz")
    trace = sample(blobs(), hybrid(), draws=6, chains=2, random_state=4)
    data = trace.to_arviz()
    assert data["posterior"]["n_clusters"].shape == (2, 6)
    np.testing.assert_array_equal(data["sample_stats"]["lp"], trace.log_joint)
    np.testing.assert_array_equal(data["sample_stats"]["acceptance_rate"], trace.acceptance)
    np.testing.assert_array_equal(data["sample_stats"]["partitions"], trace.partitions)
    assert data["sample_stats"]["partitions"].dims == ("chain", "draw", "point")
    assert set(data["posterior"].data_vars) == {"n_clusters", "largest_share", "alpha"}
    assert set(data["constant_data"].data_vars) == {"discount"}
    data = sample(blobs(), CollapsedGibbs(2.5, likelihood=PRIOR), draws=6, random_state=4, keep=()).to_arviz()
    assert set(data["posterior"].data_vars) == {"n_clusters", "largest_share"}
    assert float(data["constant_data"]["alpha"].item()) == 2.5
    assert "partitions" not in data["sample_stats"]
