"""Chains that carry state beside the labels: exact, renamed, saved, resumed, and seen in traces."""

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from mapdpm import NormalGamma
from mapdpm.rng import seeded
from mapdpm.samplers import Chain, ChainData, CollapsedGibbs, GammaPrior, Hybrid, Trace, sample
from mapdpm.testing import exact, kernels
from tests.samplers import toy
from tests.samplers.toy import Toy, ToyChain

PRIOR = NormalGamma(0.0, 0.5, 1.5, 1.0)
X = np.random.default_rng(5).normal(0.0, 2.0, (8, 2))


def off_by(sampler, n):
    """The largest |pi P - pi|, and P, over all states of n points."""
    space, likelihood = toy.states_of(n), PRIOR.for_data(X)
    P = kernels.matrix_of(sampler, likelihood, X[:n], space)

    def log_joint(state):
        z, sides, coins, _ = state
        return toy.log_joint(sampler.target.prior, likelihood, X[:n], np.array(z), np.array(sides), coins)

    pi = exact.posterior(log_joint, space.states)
    return np.abs(pi @ P - pi).max(), P


@pytest.mark.parametrize(("n", "states"), [(2, 40), pytest.param(3, 400, marks=pytest.mark.slow)])
def test_posterior_of_labels_and_state_is_invariant(n, states):
    off, P = off_by(Toy(0.7), n)
    assert P.shape == (states, states)
    assert off < 1e-12
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    assert connected_components(P, connection="strong")[0] == 1


class Forgotten(ToyChain):
    """A chain that leaves coins in their slots when clusters are renamed."""

    __slots__ = ()

    def slots_moved(self, to):
        coins = self.aux["coins"].copy() if "coins" in self.aux else None
        super().slots_moved(to)
        if coins is not None and len(coins) == self.state.capacity and np.any(to >= 0):
            self.aux["coins"] = np.where(self.state.counts > 0, np.maximum(coins, 0), -1)


@pytest.mark.complete
def test_state_that_is_not_renamed_shows():
    broken = Toy(0.7)
    broken.chain_type = Forgotten
    assert off_by(broken, 2)[0] > 1e-3


def toy_chain(labels):
    chain = ToyChain(PRIOR.for_data(X), Toy(1.0).target.prior, X, np.array(labels))
    for k in range(max(labels) + 1):
        chain.aux["coins"][k] = k % 2
    return chain


def test_state_follows_renamed_clusters():
    chain = toy_chain([0, 0, 1, 2, 2, 3, 3, 3])
    chain.aux["leader"] = np.array(2)
    chain.state.labels[:] = [3, 3, 1, 2, 2, 0, 0, 0]  # clusters 0 and 3 change slots
    chain.aux["coins"][[0, 3]] = chain.aux["coins"][[3, 0]]
    chain._statistics(chain.likelihood, chain.data, None, chain.state)
    before = toy.key(chain)
    joint = chain.log_joint()
    chain.refresh()
    np.testing.assert_array_equal(chain.state.labels, [0, 0, 1, 2, 2, 3, 3, 3])
    np.testing.assert_array_equal(chain.aux["coins"][:4], [0, 1, 0, 1])
    assert np.all(chain.aux["coins"][4:] == -1)
    assert toy.key(chain) == before
    assert chain.log_joint() == pytest.approx(joint, rel=1e-12)


def test_state_has_room_for_new_slots():
    X = np.zeros((40, 2))
    chain = Chain(PRIOR.for_data(X), Toy(1.0).target.prior, X, np.arange(40) % 16)
    chain.state = chain.state._replace(counts=chain.state.counts[:16], rows=chain.state.rows[:16])
    chain.carry("pairs", np.arange(256).reshape(16, 16), ("cluster", "cluster"), blank=-7)
    chain.carry("levels", np.ones((3, 16)), ("level", "cluster"), blank=np.nan)
    chain.reserve()
    assert chain.aux["pairs"].shape == (32, 32)
    np.testing.assert_array_equal(chain.aux["pairs"][:16, :16].ravel(), np.arange(256))
    assert np.all(chain.aux["pairs"][16:] == -7)
    assert np.all(chain.aux["pairs"][:, 16:] == -7)
    assert chain.aux["levels"].shape == (3, 32)
    assert np.all(np.isnan(chain.aux["levels"][:, 16:]))
    assert chain.kept()["pairs"].shape == (16, 16)
    chain.become(np.arange(40) % 3)
    assert np.all(chain.aux["pairs"] == -7)


def test_resumed_chains_are_those_that_never_stopped(tmp_path):
    sampler = Toy(1.0, likelihood=PRIOR, alpha_prior=GammaPrior(2.0, 1.0))
    options = {"burn_in": 3, "thin": 3, "chains": 2, "random_state": 3, "keep": ("partitions", "sides")}
    whole = sample(X, sampler, draws=9, **options)
    sample(X, sampler, draws=5, **options).save(tmp_path / "draws.npz")
    resumed = sample(X, sampler, draws=4, resume=Trace.load(tmp_path / "draws.npz"))
    arrays = whole.to_dict()
    assert resumed.to_dict().keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(resumed.to_dict()[name], array, name)
    for one, two in zip(resumed.ends, whole.ends, strict=True):
        assert one.generator == two.generator
        for name in one.saved:
            np.testing.assert_array_equal(one.saved[name], two.saved[name], name)
    assert np.ptp(whole.values["changes"]) > 0  # what is not saved would start from 0
    np.testing.assert_array_equal(resumed.best, whole.best)
    for name in whole.best_variables:
        np.testing.assert_array_equal(resumed.best_variables[name], whole.best_variables[name], name)


def test_what_a_trace_holds(tmp_path):
    sampler = Toy(1.0, likelihood=PRIOR)
    trace = sample(X, sampler, draws=7, burn_in=5, chains=2, random_state=1, keep=("partitions", "sides"))
    K = trace.n_clusters
    assert trace.keep == ("partitions", "sides", "coins", "heads")
    assert trace.dims == {"sides": ("point",), "coins": ("cluster",), "heads": ("rank",)}
    assert trace.extra["sides"].shape == (2, 7, 8)
    assert trace.extra["coins"].shape == (2, 7, K.max())
    assert trace.values["leader"].shape == trace.values["changes"].shape == (2, 7)
    assert np.ptp(K) > 0  # or there is no padding to look at
    for chain, draw in np.ndindex(2, 7):
        coins = trace.extra["coins"][chain, draw]
        assert set(coins[: K[chain, draw]]) <= {0, 1}
        assert np.all(coins[K[chain, draw] :] == -1)
        z, sides = trace.partitions[chain, draw], trace.extra["sides"][chain, draw]
        joint = toy.log_joint(sampler.target.prior, PRIOR.for_data(X), X, z, sides, coins)
        assert trace.log_joint[chain, draw] == pytest.approx(joint, rel=1e-11)
        largest = np.bincount(z).max()
        np.testing.assert_array_equal(trace.extra["heads"][chain, draw, :largest], 1.0 + np.arange(largest))
        assert np.all(np.isnan(trace.extra["heads"][chain, draw, largest:]))
    assert set(trace.summary()) == {"log_joint", "n_clusters", "largest_share", "leader", "changes"}
    assert trace.constants() == {"alpha": 1.0, "discount": 0.0}
    assert repr(trace) == (
        f"<Trace of 2 x 7 draws by Toy: 8 points, {K.min()} to {K.max()} clusters; sides, coins, heads>"
    )
    trace.save(tmp_path / "draws.npz")
    again = Trace.load(tmp_path / "draws.npz")
    assert again.dims == trace.dims
    for name, array in trace.to_dict().items():
        np.testing.assert_array_equal(again.to_dict()[name], array, name)
        assert again.to_dict()[name].dtype == array.dtype


def test_the_best_draw_has_its_variables():
    sampler, seen = Toy(1.0, likelihood=PRIOR), []
    trace = sample(X, sampler, draws=5, burn_in=40, random_state=1, callback=lambda p: seen.append(p.log_joint))
    coins, sides = trace.best_variables["coins"], None
    assert trace.best_log_joint == max(seen)
    assert coins.shape == (trace.best.max() + 1,)
    assert "sides" not in trace.best_variables  # it was not asked for
    trace = sample(X, sampler, draws=5, burn_in=40, random_state=1, keep=("sides",))
    coins, sides = trace.best_variables["coins"], trace.best_variables["sides"]
    joint = toy.log_joint(sampler.target.prior, PRIOR.for_data(X), X, trace.best, sides, coins)
    assert trace.best_log_joint == pytest.approx(joint, rel=1e-11)
    assert trace.partitions is None


def test_arviz():
    pytest.importorskip("arviz")
    trace = sample(X, Toy(1.0, likelihood=PRIOR), draws=7, chains=2, random_state=1)
    data = trace.to_arviz()
    assert data["posterior"]["coins"].dims == ("chain", "draw", "cluster")
    np.testing.assert_array_equal(data["posterior"]["coins"], trace.extra["coins"])
    assert "leader" in data["posterior"]
    assert "alpha" not in data["posterior"]


def test_hybrids_share_one_kind_of_chain():
    with pytest.raises(ValueError, match=r"the same state beside the labels, got Toy \(ToyChain\) and CollapsedGibbs"):
        Toy(1.0) + CollapsedGibbs(1.0)
    both = Hybrid([Toy(1.0, likelihood=PRIOR)] * 2)
    chain = both.chain(ChainData(PRIOR.for_data(X), X), "single", seeded(0))
    assert isinstance(chain, ToyChain)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda saved: saved | {"coins": saved["coins"][:-1]}, "coins must have one axis for each of"),
        (lambda saved: saved | {"sides": saved["sides"][:-1]}, "sides must have one axis for each of"),
        (lambda saved: saved | {"coins": saved["coins"] + 0.5}, "coins must be of type int64, got float64"),
        (lambda saved: saved | {"more": np.zeros(3)}, "are needed, got"),
        (lambda saved: {name: saved[name] for name in saved if name != "sides"}, "are needed, got"),
        (lambda saved: saved | {"labels": saved["labels"] + 1}, "labels must be 0..K-1 in order of first appearance"),
        (lambda saved: saved | {"alpha": np.array(np.nan)}, "alpha must be a finite number"),
    ],
)
def test_ends_that_are_not_of_this_chain(change, message):
    trace = sample(X, Toy(1.0, likelihood=PRIOR), draws=2, random_state=1)
    end = trace.ends[0]
    damaged = trace._replace(ends=(end._replace(saved=change(end.saved)),))
    with pytest.raises(ValueError, match=f"the trace to resume is damaged: .*{message}"):
        sample(X, Toy(1.0, likelihood=PRIOR), draws=1, resume=damaged)


@pytest.mark.parametrize(
    ("name", "values", "dims", "message"),
    [
        ("labels", 0, (), "'labels' is kept or saved of every chain"),
        ("weights", np.zeros(3), ("cluster",), "weights must have one axis for each of"),
        ("weights", np.zeros(3), (), "weights must have one axis for each of"),
    ],
)
def test_arrays_that_cannot_be_carried(name, values, dims, message):
    chain = toy_chain([0] * 8)
    with pytest.raises(ValueError, match=message):
        chain.carry(name, values, dims)


def test_samplers_refuse_what_they_do_not_know():
    class Grouped(Toy):
        takes = ("groups",)

        def chain(self, data, init, rng):
            seen.append(data.given.groups)
            return super().chain(data, init, rng)

    seen = []
    groups = np.arange(8) % 3
    sample(X, Grouped(1.0, likelihood=PRIOR), draws=1, groups=groups, random_state=0)
    np.testing.assert_array_equal(seen[0], groups)
    for options, message in (
        ({"times": groups}, "Grouped knows no times; leave times= out"),
        ({"groups": groups[:-1]}, r"groups must have one entry a point, shape \(8,\), got shape \(7,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            sample(X, Grouped(1.0, likelihood=PRIOR), draws=1, **options)
