"""Gibbs sampling of explicit labels, and moves of labels, leave the exact posterior of labels invariant."""

import math

import numpy as np
import pytest

from mapdpm.partition_priors.stick_breaking import mean_shares_given
from mapdpm.rng import seeded
from mapdpm.samplers import StickBreakingGibbs, _labels
from mapdpm.samplers._labels import Occupied, in_order, move_labels
from mapdpm.samplers.chain_data import ChainData
from mapdpm.testing import exact, kernels
from mapdpm.testing.enumeration import labellings
from tests.families import FAMILIES
from tests.marks import complete_but
from tests.oracle import sticks as oracle
from tests.samplers.labelled_states import (
    EACH,
    STICKS,
    broken_by,
    enter,
    key,
    log_joints,
    log_marginal_of,
    points,
    posterior,
    sampler_of,
    space_of,
)

# ---- Gibbs --------------------------------------------------------------------------------------------------------


@EACH
@pytest.mark.parametrize("name", complete_but(["PY"], STICKS))
def test_gibbs_leaves_the_posterior_of_labels_invariant(name, n):
    likelihood, data = points(n)
    space = space_of(n)
    P = kernels.matrix_of(sampler_of(name), likelihood, data, space, compiled=n > 3)
    pi = posterior(log_joints(STICKS[name], likelihood, data, space.states))
    print(f"{name}: |pi P - pi| = {broken_by(P, pi):.1e}")
    assert broken_by(P, pi) < 1e-12
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    assert np.all(P > 0.0)
    np.testing.assert_allclose(
        P, oracle.gibbs(space.states, *STICKS[name], log_marginal_of(likelihood, data)), atol=1e-12
    )


@pytest.mark.complete
@pytest.mark.parametrize("family", FAMILIES)
def test_gibbs_is_exact_for_every_family(family):
    likelihood, data = points(3, family)
    space = space_of(3)
    P = kernels.matrix_of(sampler_of("PY"), likelihood, data, space)
    assert broken_by(P, posterior(log_joints(STICKS["PY"], likelihood, data, space.states))) < 1e-12


# ---- moves of labels ----------------------------------------------------------------------------------------------

PROPOSALS = {"swap": oracle.swap, "permute": oracle.permute, "next": oracle.following}


def matrix_of_move(sampler, likelihood, data):
    """The transition matrix of the moves of labels of ``sampler`` alone, each once."""
    plain, n = kernels.uncompiled(sampler), len(data)
    chain = plain.chain(ChainData(likelihood, data), "single", seeded(0))

    def step(z, rng):
        enter(chain, z)
        occupied, other = (Occupied(*np.zeros((3, n + 1), dtype=np.int64)) for _ in range(2))
        K = in_order(chain.state, chain.labels_of_slots, occupied)
        proposed, accepted = move_labels(chain.sticks, occupied, K, sampler.moves, other, rng)
        assert 0 <= accepted <= proposed
        chain.labels_of_slots[occupied.slots[:K]] = occupied.labels[:K]
        np.testing.assert_array_equal(chain.state.counts[occupied.slots[:K]], occupied.counts[:K])
        assert np.all(np.diff(occupied.labels[:K]) > 0)
        return key(chain)

    return exact.transition_matrix(step, labellings(n, 4), key=lambda reached: reached)


@EACH
@pytest.mark.parametrize("move", PROPOSALS)
@pytest.mark.parametrize("name", complete_but(["PY"], STICKS))
def test_moves_of_labels_are_metropolis_hastings(move, name, n):
    """The whole matrix, against proposals by loops over labels and the ratio of Beta functions."""
    likelihood, data = points(n)
    P = matrix_of_move(sampler_of(name, (move,)), likelihood, data)
    values = log_joints(STICKS[name], likelihood, data, labellings(n, 4))
    pi = posterior(values)
    Q = PROPOSALS[move](labellings(n, 4), *STICKS[name])
    print(f"{name}, {move}: |pi P - pi| = {broken_by(P, pi):.1e}")
    assert broken_by(P, pi) < 1e-12
    np.testing.assert_allclose(P, oracle.accepted(Q, values), atol=1e-12)
    np.testing.assert_allclose(pi[:, None] * P, (pi[:, None] * P).T, atol=1e-12)


def test_next_by_more_than_one():
    likelihood, data = points()
    P = matrix_of_move(sampler_of("DP", ("next",), next_step=2), likelihood, data)
    Q = oracle.following(labellings(3, 4), *STICKS["DP"], step=2)
    values = log_joints(STICKS["DP"], likelihood, data, labellings(3, 4))
    np.testing.assert_allclose(P, oracle.accepted(Q, values), atol=1e-12)


@pytest.mark.parametrize(
    ("moves", "rate"),
    [
        pytest.param(("swap",), None, marks=pytest.mark.complete),
        pytest.param(("permute",), 0.5, marks=pytest.mark.complete),
        pytest.param(("next", "swap"), 1.0, marks=pytest.mark.slow),
    ],
)
def test_whole_steps_on_two_points(moves, rate):
    """With moves after each assignment."""
    likelihood, data = points(2)
    a, b = np.array([1.0, 0.6, 2.0]), np.array([0.7, 1.3, 0.0])
    space = space_of(2, 3)
    sampler = StickBreakingGibbs(a=a, b=b, label_moves=moves, move_rate=rate)
    P = kernels.matrix_of(sampler, likelihood, data, space)
    assert broken_by(P, posterior(log_joints((a, b), likelihood, data, space.states))) < 1e-12


@pytest.mark.complete
def test_moves_mix_faster():
    likelihood, data = points()
    gibbs = kernels.matrix_of(sampler_of("DP"), likelihood, data, space_of(3))

    def second(P):
        return sorted(np.abs(np.linalg.eigvals(P)))[-2]

    for move in ("swap", "permute"):
        with_moves = gibbs @ matrix_of_move(sampler_of("DP", (move,)), likelihood, data)
        print(f"second eigenvalue: {second(gibbs):.3f}, with {move} {second(with_moves):.3f}")
        assert second(with_moves) < second(gibbs)  # both exact


# ---- faults -------------------------------------------------------------------------------------------------------


def printed_ratio(prior, labels, counts, first, end, above):
    """The paper's ratio, for the gamma family, with gamma_i the expected share times a_0 + b_0."""
    gammas = prior.mean_shares(4) * (prior.a[0] + prior.b[0])
    return sum(
        math.lgamma(gammas[k] + n) - math.lgamma(gammas[k]) for k, n in zip(labels, counts, strict=True) if k < 4
    )


@pytest.mark.complete
@pytest.mark.parametrize(("name", "least"), [("DP", 1e-3), ("PY", 1e-3), ("gamma", None)])
def test_the_printed_ratio_is_noticed(monkeypatch, name, least):
    """It holds for the gamma family only (papers: erratum 11)."""
    monkeypatch.setattr(_labels, "log_labels", printed_ratio)
    likelihood, data = points()
    pi = posterior(log_joints(STICKS[name], likelihood, data, labellings(3, 4)))
    off = broken_by(matrix_of_move(sampler_of(name, ("swap",)), likelihood, data), pi)
    print(f"printed ratio, {name}: {off:.1e}")
    assert off < 1e-12 if least is None else off > least


@pytest.mark.complete
def test_swaps_among_instantiated_labels_are_noticed(monkeypatch):
    """Labels drawn up to the highest occupied one: a swap can change which that is (papers: erratum 11)."""
    likelihood, data = points()
    sampler = sampler_of("DP", ("swap",))
    highest = 0

    def renormalised(prior, first, rng):
        shares = prior.mean_shares(4)[: highest + 1]
        return rng.by_weight(shares)

    plain_order = in_order

    def noting(state, labels, occupied):
        nonlocal highest
        K = plain_order(state, labels, occupied)
        highest = int(occupied.labels[K - 1])
        return K

    monkeypatch.setattr(_labels, "draw_behind", renormalised)
    monkeypatch.setattr("tests.samplers.test_stick_breaking_gibbs.in_order", noting)
    pi = posterior(log_joints(STICKS["DP"], likelihood, data, labellings(3, 4)))
    off = broken_by(matrix_of_move(sampler, likelihood, data), pi)
    print(f"among instantiated labels: {off:.1e}")
    assert off > 1e-3


FAULTS = {
    "shares of the prior": (
        "mean_shares_given",
        lambda prior, labels, counts, total, shares, gaps: mean_shares_given(
            prior, labels, np.zeros_like(counts), 0, shares, gaps
        ),
    ),
    "the first of empty labels": ("draw_in_gap", lambda prior, first, end, n, rng: first),
    "the first label behind all": ("draw_behind", lambda prior, first, rng: first),
}


@pytest.mark.complete
@pytest.mark.parametrize("fault", complete_but(["the first of empty labels"], FAULTS))
def test_faults_of_gibbs_are_noticed(monkeypatch, fault):
    likelihood, data = points()
    monkeypatch.setattr(_labels, *FAULTS[fault])
    P = kernels.matrix_of(sampler_of("PY"), likelihood, data, space_of(3))
    off = broken_by(P, posterior(log_joints(STICKS["PY"], likelihood, data, labellings(3, 4))))
    print(f"{fault}: {off:.1e}")
    assert off > 1e-3
