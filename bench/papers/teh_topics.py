"""Topics of documents under an HDP, and under latent Dirichlet allocation by tomotopy: fits, and folds of them.

All have words ~ Dirichlet(0.5); DirectAssignment has alpha ~ Gamma(1, 1) and gamma ~ Gamma(1, 0.1), the priors of
Teh2004 section 6.1. LDA is tomotopy's LDAModel, whose alpha, one a topic, it fits itself. All samplers take some steps,
then 10 draws, one in 5 steps, and all draws are averaged. Words that no document of a fold has keep their 0.5 in all.
One estimator, ``perplexity`` of this library, scores all; seconds are of fitting alone.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mapdpm import Categorical
from mapdpm.documents import Topics, perplexity, read, topics
from mapdpm.samplers import DirectAssignment, GammaPrior, sample

ETA = 0.5
WORDS = Categorical(ETA)
DRAWS, THIN = 10, 5

Fit = Callable[[Any, int], tuple[list[Topics], Any]]
"""Counts and a seed give topics, of one draw or more, and the number of topics of each."""


class Fold(NamedTuple):
    """How a model did in one fold."""

    perplexity: float
    n_topics: Any
    seconds: float


def counts_of(file: Path) -> tuple[Any, Any, Any]:
    """Documents x words, the section of each document if it has one, and the vocabulary if there is one."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415  (the library does without)

    bag = np.load(file)
    counts = csr_matrix((bag["data"].astype(np.int64), bag["indices"], bag["indptr"]), tuple(bag["shape"]))
    return counts, bag.get("labels"), bag.get("vocab")


def fold_parts(counts: Any, folds: int) -> list[Any]:
    """The documents that each fold holds out."""
    return np.array_split(np.random.default_rng(0).permutation(counts.shape[0]), folds)


def ours(counts: Any, seed: int, burn_in: int, init: int | str = "random") -> tuple[list[Topics], Any]:
    """Draws of DirectAssignment, from a start of ``sample`` or from ``init`` topics at random."""
    tokens, of_tokens = read(counts)
    steps = {"draws": DRAWS, "burn_in": burn_in, "thin": THIN, "init": start_of(tokens.n_points, init)}
    trace = sample(tokens, free(WORDS), groups=of_tokens, random_state=seed, **steps)
    return topics(trace, tokens, WORDS), trace.n_clusters.ravel()


def start_of(n_tokens: int, init: int | str) -> Any:
    """The start of a chain: so many topics at random, or one of ``sample``."""
    return init if isinstance(init, str) else np.random.default_rng(0).integers(0, init, n_tokens)


def free(likelihood: Categorical) -> DirectAssignment:
    """The sampler that draws alpha and gamma under the paper's priors of section 6.1."""
    priors = {"alpha_prior": GammaPrior(1.0, 1.0), "gamma_prior": GammaPrior(1.0, 0.1)}
    return DirectAssignment(likelihood=likelihood, **priors)


def filled(model: Any, counts: Any) -> Any:
    """A model of tomotopy with the documents; words are the numbers of columns."""
    for row in np.split(np.repeat(counts.indices, counts.data).astype(str), np.cumsum(counts.sum(axis=1).A1)[:-1]):
        model.add_doc(row.tolist())
    return model


def lda(counts: Any, seed: int, burn_in: int, K: int) -> tuple[list[Topics], Any]:
    """Draws of tomotopy's LDAModel."""
    import tomotopy  # noqa: PLC0415  (few have it)

    model = filled(tomotopy.LDAModel(k=K, eta=ETA, seed=seed), counts)
    drawn = [Topics(words_of(model, range(K), counts.shape[1]), model.alpha) for _ in draws_of(model, burn_in)]
    return drawn, np.full(DRAWS, K)


def draws_of(model: Any, burn_in: int) -> Iterator[int]:
    """Train a model of tomotopy; yields at each draw."""
    model.train(burn_in, workers=1)
    for draw in range(DRAWS):
        model.train(THIN, workers=1)
        yield draw


def words_of(model: Any, live: Any, n_words: int) -> Any:
    """The distributions of topics over all columns, in their order."""
    found = np.full((len(live), n_words), ETA)
    columns = np.array(list(model.used_vocabs)).astype(int)
    found[:, columns] = [model.get_topic_word_dist(k, normalize=False) for k in live]
    return found / found.sum(axis=1, keepdims=True)


def cross_validate(fits: Mapping[str, Fit], counts: Any, parts: list[Any]) -> dict[str, list[Fold]]:
    """How each model does in each fold."""
    done: dict[str, list[Fold]] = defaultdict(list)
    for number, part in enumerate(parts):
        others = np.setdiff1d(np.arange(counts.shape[0]), part)
        for model, fit in fits.items():
            begin = time.perf_counter()
            found, n_topics = fit(counts[others], number + 1)
            seconds = time.perf_counter() - begin
            done[model].append(Fold(perplexity(found, counts[part], random_state=number), n_topics, seconds))
    return done
