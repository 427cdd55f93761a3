"""Documents: tokens of counts, topics of draws by hand, perplexity against enumeration."""

import itertools
import math

import numpy as np
import pytest
from scipy import sparse

from mapdpm import Categorical, documents
from mapdpm.samplers import ChineseRestaurantFranchise, DirectAssignment, sample
from tests.marks import complete_but

COUNTS = np.array([[2, 0, 1, 0], [0, 0, 0, 0], [0, 3, 0, 1], [1, 1, 0, 0]])
MODEL = documents.Topics(np.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]]), np.array([0.7, 0.4]))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.coo_matrix])
def test_tokens_of_counts(kind):
    tokens, groups = documents.read(kind(COUNTS))
    assert tokens.n_words == 4
    again = np.zeros_like(COUNTS)
    np.add.at(again, (groups, tokens.words), 1)
    np.testing.assert_array_equal(again, COUNTS)
    assert np.all(np.diff(groups) >= 0)


def test_counts_that_are_none():
    with pytest.raises(ValueError, match="X must hold counts"):
        documents.read([[0.5]])


@pytest.mark.parametrize("kind", complete_but([DirectAssignment], [DirectAssignment, ChineseRestaurantFranchise]))
def test_topics_of_draws(kind):
    tokens, groups = documents.read(COUNTS)
    family = Categorical([0.5, 1.0, 1.5, 2.0])
    trace = sample(tokens, kind(1.5, 2.0, likelihood=family), groups=groups, draws=4, chains=2, random_state=0)
    found = documents.topics(trace, tokens, family)
    assert len(found) == 8
    for at, model in enumerate(found):
        chain, draw = divmod(at, 4)
        labels, K = trace.partitions[chain, draw], trace.n_clusters[chain, draw]
        for k in range(K + 1):
            counts = np.array([np.sum((labels == k) & (tokens.words == v)) for v in range(4)])
            expected = (counts + family.beta) / (counts.sum() + family.beta.sum())
            np.testing.assert_allclose(model.words[k], expected, rtol=1e-12)
        assert model.has_new
        assert model.words.shape == (K + 1, 4)
        assert model.weights.sum() == pytest.approx(1.5, rel=1e-9)
        if kind is DirectAssignment:
            np.testing.assert_allclose(model.weights, 1.5 * trace.extra["beta"][chain, draw][: K + 1], rtol=1e-12)
        else:
            m = trace.extra["m"][chain, draw].clip(0).sum(axis=0)[:K]
            np.testing.assert_allclose(model.weights[:-1], 1.5 * m / (m.sum() + 2.0), rtol=1e-12)


def test_topics_below_a_node():
    tokens, groups = documents.read(COUNTS)
    family = Categorical(0.5)
    trace = sample(tokens, DirectAssignment([1.5, 3.0], likelihood=family), groups=np.c_[groups > 1, groups], draws=2)
    for node in range(3):
        model = documents.topics(trace, tokens, family, parent=node)[1]
        beta = trace.extra["beta"][0, 1][node][: trace.n_clusters[0, 1] + 1]
        np.testing.assert_allclose(model.weights, 3.0 * beta, rtol=1e-12)
    with pytest.raises(ValueError, match="parent must be one of the 3 inner nodes of the tree, got 3"):
        documents.topics(trace, tokens, family, parent=3)


def p_words(words, model):
    """p(words | topics), by the sum over the topics of all tokens."""
    total, K = 0.0, len(model.weights)
    for z in itertools.product(range(K), repeat=len(words)):
        p, counts = 1.0, np.zeros(K)
        for v, k in zip(words, z, strict=True):
            p *= (model.weights[k] + counts[k]) / (model.weights.sum() + counts.sum()) * model.words[k, v]
            counts[k] += 1
        total += p
    return total


@pytest.mark.parametrize("word", range(3))
def test_completion_against_enumeration(word):
    """Six tokens of one word: however they are parted, each of three is predicted given three.

    A sweep of three draws is one of 3,000 or more, so the error is about 1 / sqrt(3,000); five times that is allowed.
    """
    counts = np.zeros((1, 3), dtype=int)
    counts[0, word] = 6
    exact = p_words([word] * 3, MODEL) / p_words([word] * 4, MODEL)
    found = documents.perplexity([MODEL], counts, n_sweeps=6000)
    assert found == pytest.approx(exact, rel=5 / math.sqrt(3000))


def test_left_to_right_against_enumeration():
    """The perplexity of all tokens is that of the document.

    A mean of 20,000 probabilities between 0.1 and 0.7 has a standard error below 0.002, a fifth of the tolerance.
    """
    found = documents.perplexity([MODEL], [[2, 1, 1]], method="left-to-right", n_particles=20000)
    assert found == pytest.approx(p_words([0, 0, 1, 2], MODEL) ** (-1 / 4), rel=0.01)


def test_probabilities_are_averaged_over_models():
    """One topic each: the mean of two probabilities, token by token."""
    one, two = (documents.Topics(np.array([p]), np.ones(1)) for p in ([0.5, 0.5], [0.9, 0.1]))
    expected = math.exp(-math.log(0.7))
    for method in documents.METHODS:
        assert documents.perplexity([one, two], [[4, 0]], method=method) == pytest.approx(expected, rel=1e-12)


def test_a_document_is_not_seen_twice():
    """Two different words, topics of one word each: the one that is seen says nothing of the other."""
    model = documents.Topics(np.eye(3) * 0.97 + 0.01, np.full(3, 0.1))
    assert documents.perplexity([model], [[1, 1, 0]], n_sweeps=400) > 5.0  # the other word is a surprise


def test_an_impossible_word():
    model = documents.Topics(np.array([[0.5, 0.5, 0.0]]), np.ones(1))
    assert documents.perplexity([model], [[0, 0, 4]]) == math.inf


@pytest.mark.complete
def test_the_generating_topics_are_best():
    rng = np.random.default_rng(0)
    words = rng.dirichlet(np.full(30, 0.1), 4)
    counts = np.array([rng.multinomial(60, rng.dirichlet(np.full(4, 0.3)) @ words) for _ in range(60)])
    right = documents.Topics(words, np.full(4, 0.3))
    others = [
        documents.Topics(words.mean(axis=0, keepdims=True), np.ones(1)),
        documents.Topics(rng.dirichlet(np.ones(30), 4), np.full(4, 0.3)),
    ]
    for method in documents.METHODS:
        scores = [documents.perplexity([model], counts, method=method) for model in (right, *others)]
        assert scores[0] < min(scores[1:])


@pytest.mark.parametrize(
    ("message", "models", "counts", "options"),
    [
        ("models must be one Topics or more, got none", [], [[1, 1]], {}),
        (r"words of a Topics must be \(topics, 2\), as columns of counts", [MODEL], [[1, 1]], {}),
        ("must be >= 0 and sum to 1", [MODEL._replace(words=2.0 * MODEL.words)], [[1, 1, 0]], {}),
        ("each weight must be finite and > 0", [MODEL._replace(weights=np.array([0.7, 0.0]))], [[1, 1, 0]], {}),
        ("counts must have a document of two tokens or more", [MODEL], [[1, 0, 0]], {}),
        ("method must be one of 'completion', 'left-to-right'", [MODEL], [[1, 1, 0]], {"method": "other"}),
        ("n_sweeps must be", [MODEL], [[1, 1, 0]], {"n_sweeps": 1}),
    ],
)
def test_bad_input(message, models, counts, options):
    with pytest.raises(ValueError, match=message):
        documents.perplexity(models, counts, **options)


def test_traces_of_other_samplers():
    tokens, groups = documents.read(COUNTS)
    sampler = DirectAssignment(likelihood=Categorical(0.5))
    trace = sample(tokens, sampler, groups=groups, draws=2, keep=())
    with pytest.raises(ValueError, match="the trace must hold partitions of these tokens"):
        documents.topics(trace, tokens, Categorical(0.5))
