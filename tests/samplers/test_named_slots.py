"""A sampler in which names of labels matter: chains keep them, and a trace has the labels beside the partition."""

import numpy as np
import pytest

from mapdpm import NormalGamma
from mapdpm.samplers import Chain, Info, Sampler, Trace, sample
from mapdpm.state import assign, unassign
from mapdpm.testing import exact, kernels, laws
from mapdpm.testing.enumeration import labellings
from mapdpm.validation import in_order_of_appearance

PRIOR = NormalGamma(0.0, 0.5, 1.5, 1.0)
SHARES = np.array([0.1, 0.6, 0.3])  # of names 0, 1 and 2: the target is prod_i SHARES[z_i] prod_k p(x_k)
X = np.random.default_rng(5).normal(0.0, 2.0, (6, 2))


class NamedChain(Chain):
    """Slot k is the cluster named k, empty or not."""

    __slots__ = ()

    def capacity_for(self, labels):
        return len(SHARES)

    def refresh(self):
        self.become(self.state.labels)

    def partition(self):
        return in_order_of_appearance(self.state.labels)

    def check_labels(self, labels):
        if labels.shape != (self.n_points,) or not set(labels.tolist()) <= {0, 1, 2}:
            msg = "labels must be names of shares"
            raise ValueError(msg)

    def kept(self):
        return super().kept() | {"labels": self.state.labels.copy()}

    def dims_of(self, name, ndim):
        return ("point",) if name == "labels" else super().dims_of(name, ndim)

    def log_joint(self):
        return log_joint(self.state.labels, self.likelihood, self.data)


def log_joint(z, likelihood, data):
    z = np.array(z)
    marginals = [likelihood.log_marginal(laws.row_of(likelihood, data, np.flatnonzero(z == k))) for k in np.unique(z)]
    return np.log(SHARES[z]).sum() + sum(marginals)


class Named(Sampler):
    chain_type = NamedChain

    def move(self, chain, rng):
        state = chain.state
        for i in range(chain.n_points):
            unassign(chain.likelihood, chain.data, None, state, i)
            scores = np.array([chain.likelihood.log_predictive(state.rows[k], chain.data, i) for k in range(3)])
            assign(chain.likelihood, chain.data, None, state, i, rng.categorical(scores + np.log(SHARES)))
        return Info(chain.n_clusters)


def test_posterior_of_names_is_invariant():
    likelihood, states = PRIOR.for_data(X), labellings(3, 3)
    space = kernels.StateSpace(
        states, lambda chain, z: chain.become(np.array(z)), lambda chain: tuple(chain.state.labels.tolist())
    )
    P = kernels.matrix_of(Named(likelihood=PRIOR), likelihood, X[:3], space)
    pi = exact.posterior(lambda z: log_joint(z, likelihood, X[:3]), states)
    assert P.shape == (27, 27)
    assert np.abs(pi @ P - pi).max() < 1e-12
    assert np.all(P > 0.0)


def test_names_reach_the_trace_and_chains_go_on(tmp_path):
    sampler = Named(likelihood=PRIOR)
    whole = sample(X, sampler, draws=9, burn_in=2, thin=2, chains=2, random_state=4, init="single")
    trace = sample(X, sampler, draws=6, burn_in=2, thin=2, chains=2, random_state=4, init="single")
    trace.save(tmp_path / "draws.npz")
    resumed = sample(X, sampler, draws=3, resume=Trace.load(tmp_path / "draws.npz"))
    assert resumed.dims == {"labels": ("point",)}
    for name, array in whole.to_dict().items():
        np.testing.assert_array_equal(resumed.to_dict()[name], array, name)
    names, z = whole.extra["labels"].reshape(-1, 6), whole.partitions.reshape(-1, 6)
    np.testing.assert_array_equal([in_order_of_appearance(labels) for labels in names], z)
    assert np.any(names != z)
    np.testing.assert_array_equal(in_order_of_appearance(whole.best_variables["labels"]), whole.best)
    end = trace.ends[0]
    damaged = trace._replace(ends=(end._replace(saved=end.saved | {"labels": end.labels + 7}), trace.ends[1]))
    with pytest.raises(ValueError, match="the trace to resume is damaged: labels must be names of shares"):
        sample(X, sampler, draws=1, resume=damaged)
