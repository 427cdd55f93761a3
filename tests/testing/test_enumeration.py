"""State spaces of small models, and transition matrices over more than partitions."""

from math import exp, lgamma, log

import numpy as np
import pytest

from mapdpm.special import log_rising
from mapdpm.testing import exact
from mapdpm.testing.enumeration import canonical, canonical_franchise, franchises, labellings, partitions

ALPHA, GAMMA = 0.8, 1.7


def test_partitions_are_counted_by_bell():
    assert [len(partitions(n)) for n in range(1, 8)] == [1, 2, 5, 15, 52, 203, 877]
    assert all(canonical(z) == z for z in partitions(5))


def test_labellings_are_all_there_are():
    assert len(set(labellings(3, 4))) == 4**3
    assert set(partitions(3)) == {canonical(z) for z in labellings(3, 3)}


def log_franchise(sizes, tables, dishes):
    """Log probability of a seating: Chinese restaurants of tables in each group, and of dishes over all tables."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    total = 0.0
    for group, size in enumerate(sizes):
        counts = np.unique(np.array(tables)[groups == group], return_counts=True)[1]
        total += len(counts) * log(ALPHA) + sum(lgamma(n) for n in counts) - log_rising(ALPHA, float(size))
    served = np.bincount(dishes)
    return total + len(served) * log(GAMMA) + sum(lgamma(m) for m in served) - log_rising(GAMMA, float(len(dishes)))


@pytest.mark.parametrize(("sizes", "count"), [((3,), 12), ((2, 3), 134), ((1, 1, 2), 20)])
def test_franchises_have_total_probability_one(sizes, count):
    every = franchises(sizes)
    assert len(set(every)) == len(every)
    assert len(every) == count
    assert all(canonical_franchise(*state) == state for state in every)
    assert sum(exp(log_franchise(sizes, *state)) for state in every) == pytest.approx(1.0, abs=1e-12)


def reseated(sizes, state, rng, gamma=GAMMA):
    """A Gibbs step of the prior: one point leaves its table and is seated anew."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    tables, dishes = list(state[0]), list(state[1])
    i = rng.integer(len(tables))
    tables[i] = -1
    used = [t for t in range(len(dishes)) if t in tables]
    own = [t for t in used if groups[tables.index(t)] == groups[i]]
    served = [dishes[t] for t in used]
    options = [(t, dishes[t], float(tables.count(t))) for t in own]
    new, rest = len(dishes), len(used) + gamma
    options += [(new, k, ALPHA * served.count(k) / rest) for k in set(served)]
    options.append((new, max(dishes) + 1, ALPHA * gamma / rest))
    t, k, _ = options[rng.categorical(np.log([weight for *_, weight in options]))]
    tables[i] = t
    return tables, [*dishes, k]


@pytest.mark.parametrize("sizes", [(2, 1), (1, 2), (2, 2)])
def test_a_sampler_of_tables_and_dishes_is_enumerated(sizes):
    states = franchises(sizes)
    pi = exact.posterior(lambda state: log_franchise(sizes, *state), states)

    def matrix(**options):
        step = lambda state, rng: reseated(sizes, state, rng, **options)  # noqa: E731
        return exact.transition_matrix(step, states, key=lambda reached: canonical_franchise(*reached))

    P = matrix()
    assert np.abs(pi @ P - pi).max() < 1e-12
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    assert np.all(np.linalg.matrix_power(P, len(P)) > 0.0)
    wrong = matrix(gamma=1.0)
    assert np.abs(pi @ wrong - pi).max() > 1e-3


def test_a_sampler_of_labels_is_enumerated():
    """Labels whose names matter: a Gibbs step of independent labels of two kinds."""
    shares = np.array([0.7, 0.2, 0.1])
    states = labellings(2, 3)

    def step(z, rng):
        labels = list(z)
        labels[rng.integer(2)] = rng.categorical(np.log(shares))
        return labels

    P = exact.transition_matrix(step, states, key=tuple)
    pi = exact.posterior(lambda z: np.log(shares[list(z)]).sum(), states)
    assert P.shape == (9, 9)
    assert np.abs(pi @ P - pi).max() < 1e-12
