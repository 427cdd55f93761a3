"""States of samplers of sequences, labels and numbers of tables, with their exact posterior, under one small model."""

import itertools
import math

import numpy as np
from scipy.special import gammaln

from mapdpm import NormalKnownVariance
from mapdpm.samplers import Given
from mapdpm.testing import exact, kernels
from mapdpm.testing.enumeration import canonical, partitions
from tests.oracle import franchise, hdp_hmm
from tests.samplers.grouped_states import log_likelihood

ALPHA, GAMMA = 1.5, 2.2
FAMILY = NormalKnownVariance(0.0, 2.0, 1.0).for_data(np.zeros((1, 1)))

OWN = (0.9, ALPHA)
"""The concentrations of machines of their own: of nodes, and of rows."""


def sampler_of(kind, kappa, transitions="shared"):
    return kind(ALPHA if transitions == "shared" else OWN, GAMMA, kappa, transitions=transitions)


def log_given_shares(z, begins, weights, kappa):
    """log p(z | beta) of states with weights alpha beta, last the rest: rising factorials of all rows."""
    table, total = hdp_hmm.table_of(z, begins), 0.0
    for (v, k), n in np.ndenumerate(table):
        total += franchise.log_rising(weights[k] + (kappa if v == k else 0.0), n)
    for v, row in enumerate(table):
        total -= franchise.log_rising(ALPHA + (kappa if v < max(z) + 1 else 0.0), row.sum())
    return total


def states_with_tables(n, begins, alphas, gamma, kappa):
    """All (labels, m), with log p(labels, m); m has a row for each node but the root."""
    if len(alphas) > 1:
        return [
            ((z, m), joint) for z in partitions(n) for m, joint in hdp_hmm.with_tables(z, begins, alphas, gamma, kappa)
        ]
    found = []
    for z in partitions(n):
        table, K = hdp_hmm.table_of(z, begins), max(z) + 1
        ways = [
            [(m, math.log(c) + gammaln(m)) for m, c in enumerate(coefficients) if c > 0.0]
            for coefficients in hdp_hmm.ways_of(table, *alphas, kappa)
        ]
        rows = hdp_hmm.log_rows(table, *alphas, kappa)
        for chosen in itertools.product(*ways):
            m = tuple(tables for tables, _ in chosen)
            top = gammaln(gamma + sum(m)) - gammaln(gamma)
            found.append(((z, (m,)), K * math.log(gamma) + sum(value for _, value in chosen) - top - rows))
    return found


def lag_of_states(sampler, likelihood, data, sequences, **options):
    """max |pi P - pi| of a sampler of states, over all labels and tables."""
    n = len(sequences)
    given = sampler.check_given(Given(sequences=sequences), n)
    found = states_with_tables(n, given.sequences.begins.tolist(), *sampler.target.prior)
    states = [state for state, _ in found]
    joints = [joint + log_likelihood(likelihood, data, state[0]) for state, joint in found]

    def enter(chain, state):
        labels, tables = map(np.array, state)
        chain.become(labels)
        chain.tables[:] = 0
        chain.tables[:, : tables.shape[1]] = tables

    def key(chain):
        slots = list(dict.fromkeys(chain.state.labels.tolist()))
        return canonical(chain.state.labels), tuple(map(tuple, chain.tables[:, slots].tolist()))

    P = kernels.matrix_of(sampler, likelihood, data, kernels.StateSpace(states, enter, key), given, **options)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    pi = exact.posterior(dict(zip(states, joints, strict=True)).get, states)
    return np.abs(pi @ P - pi).max()
