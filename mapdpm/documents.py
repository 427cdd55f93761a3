"""Documents: counts of words as tokens, the topics of draws, and the perplexity of documents that were held out.

The clusters of tokens (``Categorical``) that documents share are topics (Teh2004 section 6.1)::

    tokens, documents = read(counts)
    trace = sample(tokens, DirectAssignment(likelihood=Categorical(0.5)), groups=documents, draws=10, burn_in=100)
    perplexity(topics(trace, tokens, Categorical(0.5)), other_counts)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mapdpm.counting_sort import by_slot
from mapdpm.data.counts import check_counts
from mapdpm.data.tokens import Tokens
from mapdpm.jit import compiled_if_possible, jitable
from mapdpm.protocol import Labels, Matrix, RngVerbs, Vector
from mapdpm.rng import seeded
from mapdpm.samplers.group_shares import common_shares
from mapdpm.samplers.trace import Trace
from mapdpm.validation import check_choice, check_count

METHODS = ("completion", "left-to-right")

_SUM = 1e-6  # what the sum of a distribution of another program may be off


class Topics(NamedTuple):
    """Distributions over words, and how a document that was not seen weighs them."""

    words: Matrix
    """(K, V): p(word | topic)."""
    weights: Vector
    """(K,): the prior counts of topics in a document, alpha beta; of latent Dirichlet allocation, its alpha."""
    has_new: bool = False
    """Whether the last topic is a new one, which stands for all that no token has."""


def read(counts: Any) -> tuple[Tokens, Labels]:
    """The tokens of documents, given as counts of words, and the document of each token.

    Parameters
    ----------
    counts : sparse matrix, or array of shape (n_documents, n_words)
        How often each document has each word.

    Returns
    -------
    Tokens, array of shape (n_tokens,)
        Those of the first document come first, in order of words; a document without words has none.

    Raises
    ------
    ValueError
        The matrix is damaged, or an entry is no whole number from 0 to 1e9.
    """
    checked = check_counts(counts)
    repeats = checked.values.astype(np.int64)
    documents: Labels = np.repeat(checked.row_numbers(), repeats)
    return Tokens(np.repeat(checked.indices, repeats), checked.n_features), documents


def topics(trace: Trace, X: Any, likelihood: Any, *, parent: int = 0) -> list[Topics]:
    """The topics of each draw of ``trace``, chain after chain.

    p(v | topic k) = (n_kv + beta_v) / (n_k + sum of beta), and the weight of topic k is alpha beta_k (Teh2004 (37)).
    The last topic is a new one. Draws of ``ChineseRestaurantFranchise`` have no shares beta; their means given the
    tables, m_k / (m + gamma), take their place.

    Parameters
    ----------
    trace : Trace
        Of ``sample(X, ..., groups=documents)``, with partitions.
    X : Tokens, or array of shape (n_tokens,)
        The tokens of the trace.
    likelihood : Categorical
        The family of the trace.
    parent : int
        With a tree of groups, the inner node above the documents to come, as a row of ``trace.extra["beta"]``: 0 is the
        root.

    Returns
    -------
    list of Topics
        One a draw. O(N + K V) each.

    Raises
    ------
    ValueError
        The trace holds no partitions, or is of other points or without groups.
    """
    tokens = likelihood.read(X)
    beta = likelihood.for_data(tokens).beta
    if trace.partitions is None or trace.partitions.shape[2] != tokens.n_points or "m" not in trace.extra:
        msg = "the trace must hold partitions of these tokens, of sample(X, DirectAssignment(...), groups=documents)"
        raise ValueError(msg)
    chains, draws = trace.log_joint.shape
    found = []
    for chain, draw in np.ndindex(chains, draws):
        K = trace.n_clusters[chain, draw]
        cells = trace.partitions[chain, draw].astype(np.int64) * tokens.n_words + tokens.words
        counts = np.bincount(cells, minlength=K * tokens.n_words).reshape(K, tokens.n_words)
        words = np.vstack([counts, np.zeros(tokens.n_words)]) + beta
        alpha = np.atleast_1d(trace.alpha[chain, draw])[-1]
        shares = common_shares(trace, chain, draw, parent)
        found.append(Topics(words / words.sum(axis=1, keepdims=True), alpha * shares, True))
    return found


def perplexity(
    models: Sequence[Topics],
    counts: Any,
    *,
    method: str = "completion",
    n_sweeps: int = 20,
    n_particles: int = 10,
    random_state: Any = 0,
) -> float:
    """The perplexity of documents that were held out: exp of the mean negative log probability of a token.

    Topics stay as they are. "completion": the tokens of each document are parted at random into halves; the shares of
    topics are found on one by Gibbs sampling, and the tokens of the other are predicted by them, each alone. The
    probability of a token is averaged over sweeps and over ``models`` (maths (76)). "left-to-right": the tokens of a
    document in random order, each given all before it, by particles (Wallach et al. 2009, Algorithm 3), averaged
    over particles and models (maths (77)).

    Parameters
    ----------
    models : sequence of Topics
        Draws of one model, such as ``topics`` returns; probabilities are averaged over them.
    counts : sparse matrix, or array of shape (n_documents, V)
        The words of the documents. Those with fewer than two tokens are left out.
    method : {"completion", "left-to-right"}
        The estimator. Compare models by one.
    n_sweeps : int
        Gibbs sweeps over the first half, for "completion"; the second half of them is averaged.
    n_particles : int
        Particles of each model, for "left-to-right".
    random_state : int, Generator or None
        Equal integers part documents alike, whatever the models are.

    Returns
    -------
    float
        O(tokens x K x sweeps) a model; "left-to-right" is quadratic in the length of a document.

    Raises
    ------
    ValueError
        No models, another number of words, topics that are no distributions, no document of two tokens, or another
        method.

    Examples
    --------
    >>> import numpy as np
    >>> alike = Topics(np.full((1, 4), 0.25), np.ones(1))
    >>> round(perplexity([alike], [[1, 1, 2, 0], [3, 0, 0, 1]]), 9)
    4.0
    """
    check_choice("method", method, METHODS)
    check_count("n_sweeps", n_sweeps, 2)
    check_count("n_particles", n_particles)
    tokens, documents = read(counts)
    models = [_checked(model, tokens.n_words) for model in models]
    if not models:
        msg = "models must be one Topics or more, got none"
        raise ValueError(msg)
    rng = seeded(random_state)
    order = rng.generator.permutation(tokens.n_points)
    order = order[np.argsort(documents[order], kind="stable")]  # at random within documents
    words, documents = tokens.words[order], documents[order]
    long = np.bincount(documents)[documents] > 1
    if not long.any():
        msg = "counts must have a document of two tokens or more"
        raise ValueError(msg)
    words, documents = words[long], documents[long]
    _, begins = by_slot(documents, int(documents.max()) + 1)
    kernel, steps = (_complete, n_sweeps) if method == "completion" else (_from_left, n_particles)
    total = np.zeros(len(words))
    for model, seed in zip(models, rng.generator.integers(2**63, size=len(models)).tolist(), strict=True):
        kernel(words, begins, np.ascontiguousarray(model.words.T), model.weights, steps, total, seeded(seed))
    if method == "completion":
        place, length = np.arange(len(words)) - begins[documents], np.diff(begins)[documents]
        total = total[place >= length // 2]
    with np.errstate(divide="ignore"):
        return float(np.exp(-np.log(total / len(models)).mean()))


def _checked(model: Topics, n_words: int) -> Topics:
    """The topics in floats; ValueError unless they are distributions over ``n_words`` words, with weights > 0."""
    words, weights = np.asarray(model.words, dtype=np.float64), np.asarray(model.weights, dtype=np.float64)
    if words.shape != (len(weights), n_words) or weights.ndim != 1:
        msg = (
            f"words of a Topics must be (topics, {n_words}), as columns of counts, with a weight for each topic, "
            f"got shapes {words.shape} and {weights.shape}"
        )
        raise ValueError(msg)
    whole = np.all(words >= 0.0) and np.allclose(words.sum(axis=1), 1.0, rtol=0.0, atol=_SUM)
    if not whole or not np.all((weights > 0.0) & np.isfinite(weights)):
        msg = "each row of the words of a Topics must be >= 0 and sum to 1, and each weight must be finite and > 0"
        raise ValueError(msg)
    return Topics(words, weights, model.has_new)


@jitable
def _draw_topic(by_word: Matrix, v: int, weights: Vector, counts: Vector, room: Vector, rng: RngVerbs) -> int:
    """Draw the topic of a token, word ``v``, given those of others; ``room`` is overwritten."""
    for k in range(room.shape[0]):
        room[k] = (weights[k] + counts[k]) * by_word[v, k]
    return rng.by_weight(room)


@jitable
def _probability(by_word: Matrix, v: int, weights: Vector, counts: Vector) -> float:
    """p(word v | the topics of other tokens)."""
    total, found = 0.0, 0.0
    for k in range(weights.shape[0]):
        total += weights[k] + counts[k]
        found += (weights[k] + counts[k]) * by_word[v, k]
    return found / total


def complete(
    words: Labels, begins: Labels, by_word: Matrix, weights: Vector, n_sweeps: int, total: Vector, rng: RngVerbs
) -> None:
    """Add the probability of each token in the second half of its document to ``total``."""
    K = weights.shape[0]
    topic, room, counts, mean = np.zeros(words.shape[0], dtype=np.int64), np.empty(K), np.empty(K), np.empty(K)
    kept = n_sweeps - n_sweeps // 2
    for d in range(begins.shape[0] - 1):
        begin, end = begins[d], begins[d + 1]
        middle = begin + (end - begin) // 2
        counts[:] = 0.0
        mean[:] = 0.0
        for sweep in range(n_sweeps + 1):
            for i in range(begin, middle):
                if sweep > 0:
                    counts[topic[i]] -= 1.0
                topic[i] = _draw_topic(by_word, words[i], weights, counts, room, rng)
                counts[topic[i]] += 1.0
            if sweep > n_sweeps - kept:
                mean += counts / kept
        for i in range(middle, end):
            total[i] += _probability(by_word, words[i], weights, mean)


def from_left(
    words: Labels, begins: Labels, by_word: Matrix, weights: Vector, n_particles: int, total: Vector, rng: RngVerbs
) -> None:
    """Add the mean over particles of the probability of each token given those before it to ``total``."""
    K = weights.shape[0]
    topic, room, counts = np.zeros(words.shape[0], dtype=np.int64), np.empty(K), np.empty(K)
    for d in range(begins.shape[0] - 1):
        for _ in range(n_particles):
            counts[:] = 0.0
            for n in range(begins[d], begins[d + 1]):
                for i in range(begins[d], n):
                    counts[topic[i]] -= 1.0
                    topic[i] = _draw_topic(by_word, words[i], weights, counts, room, rng)
                    counts[topic[i]] += 1.0
                total[n] += _probability(by_word, words[n], weights, counts) / n_particles
                topic[n] = _draw_topic(by_word, words[n], weights, counts, room, rng)
                counts[topic[n]] += 1.0


_complete = compiled_if_possible(complete)
_from_left = compiled_if_possible(from_left)
