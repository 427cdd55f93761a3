"""Topics of documents: the speed of sweeps, HDPs of other programs, and a mode beside draws.

Run: python bench/documents.py [--only peers|speed|mode] [--data FOLDER]. --data is the folder above
text/{ap,cora}_bow.npz (the environment variable MAPDPM_DATA may name it). Needs scipy, tomotopy for the first two
parts, and gensim for the first (pip install tomotopy gensim). All run on one thread. Perplexity beside LDA is in
bench/papers/teh2004.py.

peers  perplexity in folds of Cora, as bench/papers/teh_topics.py has it. Tables of tomotopy's HDPModel are not to be
       had: its shares are those of the expected tables given its labels, alpha and gamma, and a new topic is added as
       in ours. It starts as by default, and from 60 topics. gensim's HdpModel is variational: three passes (ten are
       little better), then hdp_to_lda; K are its topics of a token or more
speed  a sweep of AP in nanoseconds a token, in one process, medians of rounds in which all take turns: after 100
       sweeps of each, alpha and gamma drawn by both; then at equal numbers of topics, from random labels, with fixed
       alpha and gamma, and beside our own sweep of all families. The last column is what ``sample`` pays, which
       computes log joints
mode   HDPMixture from 20 steps of the sampler, on the first fold of Cora: perplexity and joint of both
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from machine import about
from tables import print_table

from mapdpm import Categorical, HDPMixture
from mapdpm.documents import Topics, perplexity, read, topics
from mapdpm.rng import seeded
from mapdpm.samplers import DirectAssignment, sample
from mapdpm.samplers.chain_data import ChainData, Given

sys.path.append(str(Path(__file__).with_name("papers")))
from noise import mean_and_error
from teh_topics import (
    DRAWS,
    ETA,
    THIN,
    WORDS,
    Fit,
    counts_of,
    cross_validate,
    draws_of,
    filled,
    fold_parts,
    free,
    ours,
    start_of,
    words_of,
)

PASSES, CHUNK = 3, 256
FROM = 60
ROUNDS, SWEEPS = 9, 2


def main() -> None:
    """Print the tables that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("peers", "speed", "mode"))
    parser.add_argument("--data", type=Path, default=os.environ.get("MAPDPM_DATA") or None, help="holds text/")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--run", type=int, help="so many of the folds; all")
    parser.add_argument("--burn-in", type=int, default=500)
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("name the folder above text/ by --data or MAPDPM_DATA")
    print(about())
    few = counts_of(arguments.data / "text" / "cora_bow.npz")[0]
    ours(few[:20], 0, burn_in=1)  # compiles
    if arguments.only in {None, "speed"}:
        speed(counts_of(arguments.data / "text" / "ap_bow.npz")[0])
    if arguments.only in {None, "mode"}:
        mode(few, arguments.folds, arguments.burn_in)
    if arguments.only in {None, "peers"}:
        peers(few, fold_parts(few, arguments.folds)[: arguments.run], arguments.burn_in)


def peers(counts: Any, parts: list[Any], burn_in: int) -> None:
    """Print the perplexity of HDPs of several programs."""
    fits: dict[str, Fit] = {
        "DirectAssignment": partial(ours, burn_in=burn_in),
        **{f"HDPModel (tomotopy), from {K}": partial(peer_hdp, burn_in=burn_in, init=K) for K in (2, FROM)},
        "HdpModel (gensim)": gensim_hdp,
    }
    rows = []
    for model, runs in cross_validate(fits, counts, parts).items():
        K = np.concatenate([run.n_topics for run in runs])
        mean, error = mean_and_error([run.perplexity for run in runs])
        seconds = statistics.mean(run.seconds for run in runs)
        rows.append((model, f"{K.mean():.1f}", f"{mean:.1f}", f"{error:.1f}", f"{seconds:.1f}"))
    head = ("", "K", "perplexity", "standard error", "seconds a fold")
    print_table(f"Cora, {len(parts)} folds, {burn_in} steps before the first draw", head, rows)


def peer_hdp(counts: Any, seed: int, burn_in: int, init: int) -> tuple[list[Topics], Any]:
    """Draws of tomotopy's HDPModel."""
    import tomotopy  # noqa: PLC0415  (few have it)

    model = filled(tomotopy.HDPModel(initial_k=init, eta=ETA, seed=seed), counts)
    found, n_topics = [], []
    for _ in draws_of(model, burn_in):
        live = [k for k in range(model.k) if model.is_live_topic(k)]
        words = np.vstack([words_of(model, live, counts.shape[1]), np.full(counts.shape[1], 1.0 / counts.shape[1])])
        guests = np.array([np.bincount(document.topics, minlength=model.k)[live] for document in model.docs])
        found.append(Topics(words, model.alpha * expected_shares(guests, model.alpha, model.gamma), True))
        n_topics.append(len(live))
    return found, np.array(n_topics)


def expected_shares(guests: Any, alpha: float, gamma: float) -> Any:
    """The shares m_k / (m + gamma), and of a new topic, for which m are the expected tables given them."""
    from scipy.special import digamma  # noqa: PLC0415

    shares = np.append(guests.sum(axis=0) / guests.sum(), 0.0)
    for _ in range(50):
        a = alpha * shares[:-1]
        tables = np.append((a * (digamma(a + guests) - digamma(a))).sum(axis=0), gamma)
        shares = tables / tables.sum()
    return shares


def gensim_hdp(counts: Any, seed: int) -> tuple[list[Topics], Any]:
    """The model that gensim fits."""
    from gensim.models import HdpModel  # noqa: PLC0415  (few have it)

    rows = zip(np.split(counts.indices, counts.indptr[1:-1]), np.split(counts.data, counts.indptr[1:-1]), strict=True)
    corpus = [list(zip(words.tolist(), repeats.tolist(), strict=True)) for words, repeats in rows]
    chunks = PASSES * -(-len(corpus) // CHUNK)
    names = {v: str(v) for v in range(counts.shape[1])}
    model = HdpModel(corpus, names, max_chunks=chunks, chunksize=CHUNK, eta=ETA, random_state=seed)
    weights, words = model.hdp_to_lda()
    return [Topics(words, weights)], np.array([np.count_nonzero(model.m_lambda_sum >= 1.0)])


def mode(counts: Any, folds: int, burn_in: int) -> None:
    """Print the perplexity of a mode that starts from 20 steps of the sampler, beside the sampler's."""
    part, *others = fold_parts(counts, folds)
    (tokens, of_tokens), new = read(counts[np.concatenate(others)]), counts[part]
    rows = []
    for steps, draws in ((20, 1), (burn_in, DRAWS)):
        trace = sample(
            tokens,
            free(WORDS),
            groups=of_tokens,
            draws=draws,
            burn_in=steps,
            thin=THIN,
            init=start_of(len(of_tokens), FROM),
            random_state=0,
        )
        found = perplexity(topics(trace, tokens, WORDS), new)
        rows.append((f"{draws} draws after {steps} steps", trace.n_clusters[0, -1], trace.log_joint[0, -1], found))
        if steps > 20:
            continue
        start, alpha, gamma = trace.partitions[0, 0].astype(np.int64), trace.alpha[0, 0], trace.gamma[0, 0]
        for moves in ((), ("merge", "cell", "split", "delete")):
            model = HDPMixture(alpha, gamma, likelihood=WORDS, init=start, moves=moves).fit(tokens, of_tokens)
            cells = np.zeros((model.n_clusters_ + 1, tokens.n_words)) + ETA
            np.add.at(cells, (model.labels_, tokens.words), 1.0)
            found = perplexity([Topics(cells / cells.sum(axis=1, keepdims=True), alpha * model.shares_, True)], new)
            rows.append((f"HDPMixture from there, moves {moves}", model.n_clusters_, model.log_joint_, found))
    cells_of = [(name, str(K), f"{joint:.0f}", f"{found:.1f}") for name, K, joint, found in rows]
    print_table("Cora, first fold", ("", "K", "log joint", "perplexity"), cells_of)


class Ours:
    """A chain of DirectAssignment on documents, from a start of ``sample`` or from ``init`` topics at random."""

    def __init__(self, sampler: DirectAssignment, counts: Any, init: int | str = "random") -> None:
        tokens, of_tokens = read(counts)
        seen, self.rng, self.sampler = sampler.observe(tokens), seeded(0), sampler
        given = sampler.check_given(Given(of_tokens, None, None), tokens.n_points)
        start = start_of(tokens.n_points, init)
        self.chain = sampler.chain(ChainData(seen.shifted, seen.data, given), start, self.rng)

    @property
    def k(self) -> int:
        """The number of topics, by tomotopy's name."""
        return self.chain.n_clusters

    def train(self, sweeps: int, workers: int = 1) -> None:  # noqa: ARG002  (as tomotopy's)
        """Take so many steps, on one thread."""
        for _ in range(sweeps):
            self.sampler.step(self.chain, self.rng)
            self.chain.trim()


def speed(counts: Any) -> None:
    """Print the time of sweeps beside those of tomotopy."""
    import tomotopy  # noqa: PLC0415  (few have it)

    rows = []
    for eta in (0.5, 0.1):
        theirs, own = filled(tomotopy.HDPModel(eta=eta, seed=0), counts), Ours(free(Categorical(eta)), counts)
        theirs.train(100, workers=1)
        own.train(100)
        rows.append((f"HDPModel, after 100 sweeps, eta {eta:g}", *in_turns(theirs, own, counts.sum())))
    for K in (20, 100):
        for kind in ("LDAModel", "HDPModel"):
            size = {"k": K} if kind == "LDAModel" else {"initial_k": K, "gamma": 1.0}
            theirs = filled(getattr(tomotopy, kind)(**size, alpha=1.0, eta=ETA, seed=0), counts)
            theirs.optim_interval = 0
            theirs.train(0, workers=1)  # draws the first labels
            own = Ours(DirectAssignment(likelihood=WORDS), counts, K)
            rows.append((f"{kind}, from {K} topics at random", *in_turns(theirs, own, counts.sum())))
        general, own = (Ours(DirectAssignment(likelihood=WORDS), counts, K) for _ in range(2))
        vars(general.sampler)["_word_sweep"] = general.sampler._sweep  # noqa: SLF001
        rows.append((f"ours, the sweep of all families, from {K}", *in_turns(general, own, counts.sum())))
    head = ("", "K", "ns", "ours: K", "ns", "theirs / ours", "ours with log joint")
    print_table(f"A sweep of AP, {counts.sum():,} tokens, nanoseconds a token", head, rows)


def in_turns(theirs: Any, own: Ours, n_tokens: int) -> tuple[str, ...]:
    """The cells of a row: the topics that each has in the rounds, and times."""
    times, sizes = [], []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        theirs.train(SWEEPS, workers=1)
        between = time.perf_counter()
        own.train(SWEEPS)
        ended = time.perf_counter()
        own.chain.log_joint()
        last = time.perf_counter()
        each = np.array([between - begin, ended - between]) / SWEEPS
        times.append((*each, each[0] / each[1], each[1] + last - ended))
        sizes.append((getattr(theirs, "live_k", theirs.k), own.chain.n_clusters))
    a, b, ratio, whole = (statistics.median(column) for column in zip(*times, strict=True))
    ns = [f"{1e9 * value / n_tokens:.0f}" for value in (a, b, whole)]
    K = [
        f"{low}" if low == high else f"{low} to {high}"
        for low, high in zip(np.min(sizes, 0), np.max(sizes, 0), strict=True)
    ]
    return K[0], ns[0], K[1], ns[1], f"{ratio:.2f}", ns[2]


if __name__ == "__main__":
    main()
