"""The sweep for words draws what the sweep of all families draws."""

import numpy as np
import pytest

from mapdpm import Categorical, NormalGamma
from mapdpm import state as states
from mapdpm.data.tokens import Tokens
from mapdpm.rng import seeded
from mapdpm.samplers import (
    ChineseRestaurantFranchise,
    CollapsedGibbs,
    DirectAssignment,
    GammaPrior,
    Given,
    sample,
)
from mapdpm.samplers.chain_data import ChainData
from tests.marks import complete_but
from tests.samplers.same_draws import assert_resumes


def documents(n_documents=30, n_words=40, length=25, seed=0):
    """Tokens of documents that mix three topics."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_words, 0.1), 3)
    shares = rng.dirichlet(np.full(3, 0.5), n_documents)
    words = np.array([rng.choice(n_words, length, p=share @ topics) for share in shares])
    return Tokens(words.ravel(), n_words), np.repeat(np.arange(n_documents), length)


@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("beta", [0.5, np.linspace(0.05, 2.0, 40)])
@pytest.mark.parametrize("init", complete_but(["single"], ["single", "singletons"]))
def test_draw_for_draw(init, beta, levels):
    """From one topic and from one a token, so that topics open and close; with more slots on the way."""
    tokens, groups = documents()
    groups = groups if levels == 1 else np.c_[groups % 4, groups]
    family = Categorical(beta).for_data(tokens)
    samplers = [DirectAssignment(1.5, 2.0, likelihood=family) for _ in range(2)]
    samplers[1]._word_sweep = samplers[1]._sweep
    given = samplers[0].check_given(Given(groups=groups), tokens.n_points)
    chains = [sampler.chain(ChainData(family, tokens, given), init, seeded(1)) for sampler in samplers]
    rngs = (seeded(3), seeded(3))
    for _ in range(6):
        infos = [s.step(chain, rng) for s, chain, rng in zip(samplers, chains, rngs, strict=True)]
        assert infos[0] == infos[1]
        np.testing.assert_array_equal(chains[0].state.labels, chains[1].state.labels)
        np.testing.assert_array_equal(chains[0].state.rows, chains[1].state.rows)
        np.testing.assert_array_equal(chains[0].tables, chains[1].tables)
    states.check(family, tokens, None, chains[0].state)


def test_resumed_chains_are_those_that_never_stopped():
    tokens, groups = documents()
    sampler = DirectAssignment(
        likelihood=Categorical(0.5), alpha_prior=GammaPrior(1, 1), gamma_prior=GammaPrior(1, 0.1)
    )
    assert_resumes(sampler, tokens, groups=groups)


@pytest.mark.parametrize("kind", complete_but([DirectAssignment], [DirectAssignment, ChineseRestaurantFranchise]))
def test_words_in_groups_start_at_random(kind):
    """As many topics as the cube root of 750 tokens, 9, of about 83 each: all lie within 20 and 200, but for 1e-9."""
    tokens, groups = documents()
    sampler = kind(likelihood=Categorical(0.5))
    for model in (sampler, sampler + sampler):
        assert model.usual_start(Categorical(0.5)) == "random"
        assert model.usual_start(NormalGamma(0.0, 1.0, 1.0, 1.0)) == "sequential"
    assert CollapsedGibbs().usual_start(Categorical(0.5)) == "sequential"
    family = sampler.target.likelihood.for_data(tokens)
    given = sampler.check_given(Given(groups=groups), tokens.n_points)
    chains = [sampler.chain(ChainData(family, tokens, given), "random", seeded(seed)) for seed in (1, 2)]
    for chain in chains:
        sizes = np.sort(chain.state.counts)[::-1]
        assert chain.n_clusters == 9
        assert 20 < sizes[8] <= sizes[0] < 200
    assert np.any(chains[0].state.labels != chains[1].state.labels)
    options = {"groups": groups, "draws": 2, "random_state": 3}
    usual, named = (sample(tokens, sampler, **options, **init) for init in ({}, {"init": "random"}))
    np.testing.assert_array_equal(usual.partitions, named.partitions)
    other = sample(tokens, sampler, init="sequential", **options)
    assert np.any(usual.partitions != other.partitions)


def test_a_random_start_has_no_more_clusters_than_components():
    """The cube root of 1,000 is 10; that any of 4 is empty has a probability of 1e-124."""
    tokens, _ = documents(n_documents=40)
    family = Categorical(0.5).for_data(tokens)
    chains = [
        CollapsedGibbs(n_components=most, likelihood=family).chain(
            ChainData(family, tokens, Given(None, None, None)), "random", seeded(0)
        )
        for most in (4, 50)
    ]
    assert [chain.n_clusters for chain in chains] == [4, 10]


def test_numbers_of_words_are_points():
    tokens, groups = documents()
    sampler = DirectAssignment(likelihood=Categorical(np.full(40, 0.5)))
    one, two, three = (
        sample(X, sampler, groups=groups, draws=3, random_state=0)
        for X in (tokens, tokens.words, tokens.words[:, None])
    )
    np.testing.assert_array_equal(one.partitions, two.partitions)
    np.testing.assert_array_equal(one.partitions, three.partitions)


@pytest.mark.parametrize(
    ("message", "X"),
    [
        ("numbers of words, whole and >= 0, below 3, got 3 at point 1", [0, 3]),
        ("whole and >= 0, below 3, got 0.5 at point 0", [0.5, 1]),
        ("got -1 at point 1", [0, -1]),
        (r"one word a point, shape \(n_points,\) or \(n_points, 1\), got shape \(2, 2\)", np.zeros((2, 2))),
    ],
)
def test_bad_tokens(message, X):
    with pytest.raises(ValueError, match=message):
        Categorical([1.0, 1.0, 1.0]).read(X)
