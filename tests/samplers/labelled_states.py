"""The labelled states of a few points under a few sticks, and their posterior."""

import math

import numpy as np
import pytest

from mapdpm import NormalGamma
from mapdpm.samplers import StickBreakingGibbs
from mapdpm.testing import kernels, laws
from mapdpm.testing.enumeration import labellings
from mapdpm.validation import in_order_of_appearance
from tests.families import example
from tests.oracle import sticks as oracle

GAMMAS = np.array([1.0, 0.5, 0.25, 0.25])
STICKS = {
    "DP": (np.ones(4), np.array([1.3, 1.3, 1.3, 0.0])),
    "PY": (np.full(4, 0.6), np.array([1.4, 1.8, 2.2, 0.0])),
    "(5, 0.1)": (np.full(4, 5.0), np.array([0.1, 0.1, 0.1, 0.0])),
    "gamma": (GAMMAS, np.array([1.0, 0.5, 0.25, 0.0])),
}
"""Four sticks, of which the last takes the rest: 64 states of three points, 256 of four."""
EACH = pytest.mark.parametrize("n", [3, pytest.param(4, marks=pytest.mark.slow)])


def points(n=3, family=NormalGamma):
    return example(family, np.random.default_rng(5), n=n)


def enter(chain, z):
    """Put a chain at labels ``z``."""
    z = np.array(z)
    chain.become(in_order_of_appearance(z))
    chain.labels_of_slots[chain.state.labels] = z


def key(chain):
    return tuple(chain.labels_of_slots[chain.state.labels].tolist())


def space_of(n, n_labels=4):
    return kernels.StateSpace(labellings(n, n_labels), enter, key)


def log_marginal_of(likelihood, data):
    known = {}

    def log_marginal(members):
        at = tuple(sorted(members))
        if at not in known:
            known[at] = likelihood.log_marginal(laws.row_of(likelihood, data, list(at))) if at else 0.0
        return known[at]

    return log_marginal


def log_joints(sticks, likelihood, data, states):
    log_marginal = log_marginal_of(likelihood, data)

    def log_joint(z):
        groups = [[i for i, label in enumerate(z) if label == k] for k in set(z)]
        return oracle.log_probability(z, *sticks) + math.fsum(map(log_marginal, groups))

    return np.array([log_joint(z) for z in states])


def posterior(values):
    shares = np.exp(values - values.max())
    return shares / shares.sum()


def sampler_of(name, moves=(), **options):
    a, b = STICKS[name]
    return StickBreakingGibbs(a=a, b=b, label_moves=moves, **({"move_rate": 1.0} | options))


def broken_by(P, pi):
    return np.abs(pi @ P - pi).max()
