"""Teh2004, section 6: topics of documents by DirectAssignment, beside latent Dirichlet allocation and other programs.

Run: python bench/documents.py [--only perplexity|speed|sections|mode] [--data FOLDER]. --data is the folder above
text/{ap,cora,bbc}_bow.npz (the environment variable MAPDPM_DATA may name it). Needs scipy, tomotopy for the
first two parts, and gensim for the first (pip install tomotopy gensim). All run on one thread.

perplexity  Figure 6: ten-fold cross-validation on Cora and AP. All have words ~ Dirichlet(0.5); DirectAssignment has
            alpha ~ Gamma(1, 1) and gamma ~ Gamma(1, 0.1). LDA is tomotopy's LDAModel, whose alpha, one a topic, it fits
            itself. All samplers take 500 steps, then 10 draws, one in 5 steps, and all draws are averaged. Ours starts
            from labels at random, as by default; from 200 topics at random; and from labels drawn in sequence. Tables
            of tomotopy's HDPModel are not to be had: its shares are those of the expected tables given its labels,
            alpha and gamma, and a new topic is added as in ours. It starts as by default, and from 60 topics.
            gensim's HdpModel is variational: three passes (ten are little better), then hdp_to_lda; K are its topics of
            a token or more. Words that no document of a fold has keep their 0.5 in all. One estimator,
            ``perplexity`` of this library, scores all; seconds are of fitting alone
speed       a sweep of AP in nanoseconds a token, in one process, medians of rounds in which all take turns: after 100
            sweeps of each, alpha and gamma drawn by both; then at equal numbers of topics, from random labels, with
            fixed alpha and gamma, and beside our own sweep of all families. The last column is what ``sample`` pays,
            which computes log joints
mode        HDPMixture from 20 steps of the sampler, on the first fold of Cora: perplexity and joint of both
sections    Figure 8: the perplexity of documents of a section of the BBC that were held out, given some others of it
            and 80 of each of the four other sections. M1: those of the section alone; M2: all, one level of groups; M3:
            a tree, documents in sections. From labels at random, and drawn in sequence. Mean and standard error
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from machine import about
from tables import print_table

from mapdpm import Categorical, HDPMixture
from mapdpm.documents import Topics, perplexity, read, topics
from mapdpm.rng import seeded
from mapdpm.samplers import DirectAssignment, GammaPrior, sample
from mapdpm.samplers.given import ChainData, Given

WORDS = Categorical(0.5)
ETA = 0.5
DRAWS, THIN = 10, 5
SIZES = (10, 20, 40, 60, 80, 120)
PASSES, CHUNK = 3, 256
FROM, MANY = 60, 200
ROUNDS, SWEEPS = 9, 2
OWN, OTHERS, REPEATS = (5, 10, 20, 40, 80), 80, 3

Fit = Callable[[Any, int], tuple[list[Topics], Any]]
"""Counts and a seed give topics, of one draw or more, and the number of topics of each."""


class Fold(NamedTuple):
    """How a model did in one fold."""

    perplexity: float
    n_topics: Any
    seconds: float


def main() -> None:
    """Print the tables that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("perplexity", "speed", "sections", "mode"))
    parser.add_argument("--data", type=Path, default=os.environ.get("MAPDPM_DATA") or None, help="holds text/")
    parser.add_argument("--sets", nargs="+", default=["cora", "ap"], help="of perplexity")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--run", type=int, help="so many of the folds; all")
    parser.add_argument("--models", nargs="+", default=[""], help="of perplexity: how their names begin")
    parser.add_argument("--burn-in", type=int, default=500)
    parser.add_argument("--section", default="business")
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("name the folder above text/ by --data or MAPDPM_DATA")
    print(about())
    few, _ = counts_of(arguments.data, "cora")
    ours(few[:20], 0, burn_in=1)  # compiles
    if arguments.only in {None, "speed"}:
        speed(counts_of(arguments.data, "ap")[0])
    if arguments.only in {None, "sections"}:
        for init in ("random", "sequential"):
            sections(*counts_of(arguments.data, "bbc"), arguments.section, arguments.burn_in, init)
    if arguments.only in {None, "mode"}:
        mode(few, arguments.folds, arguments.burn_in)
    for name in arguments.sets if arguments.only in {None, "perplexity"} else ():
        counts, _ = counts_of(arguments.data, name)
        parts = fold_parts(counts, arguments.folds)[: arguments.run]
        cross_validate(name, counts, parts, arguments.burn_in, tuple(arguments.models))


def counts_of(folder: Path, name: str) -> tuple[Any, Any]:
    """Documents x words, and the section of each document if it has one."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415  (the library does without)

    bag = np.load(folder / "text" / f"{name}_bow.npz")
    counts = csr_matrix((bag["data"].astype(np.int64), bag["indices"], bag["indptr"]), tuple(bag["shape"]))
    return counts, bag.get("labels")


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


def fits_of(burn_in: int) -> dict[str, Fit]:
    """All models by their names."""
    return {
        "DirectAssignment, random": partial(ours, burn_in=burn_in),
        f"DirectAssignment, from {MANY}": partial(ours, burn_in=burn_in, init=MANY),
        "DirectAssignment, sequential": partial(ours, burn_in=burn_in, init="sequential"),
        **{f"LDA, {K} (tomotopy)": partial(lda, burn_in=burn_in, K=K) for K in SIZES},
        **{f"HDPModel (tomotopy), from {K}": partial(peer_hdp, burn_in=burn_in, init=K) for K in (2, FROM)},
        "HdpModel (gensim)": gensim_hdp,
    }


def cross_validate(name: str, counts: Any, parts: list[Any], burn_in: int, models: tuple[str, ...]) -> None:
    """Print the perplexity of each model, and the posterior of the number of topics."""
    fits = {model: fit for model, fit in fits_of(burn_in).items() if model.startswith(models)}
    done: dict[str, list[Fold]] = defaultdict(list)
    for number, part in enumerate(parts):
        others = np.setdiff1d(np.arange(counts.shape[0]), part)
        for model, fit in fits.items():
            begin = time.perf_counter()
            found, n_topics = fit(counts[others], number + 1)
            seconds = time.perf_counter() - begin
            done[model].append(Fold(perplexity(found, counts[part], random_state=number), n_topics, seconds))
        print(f"{name}, fold {number + 1}:", *(f"{runs[-1].perplexity:.1f}" for runs in done.values()), flush=True)
    values = {model: np.array([run.perplexity for run in runs]) for model, runs in done.items()}
    ldas = [model for model in values if model.startswith("LDA")] or list(values)
    best = min(ldas, key=lambda model: values[model].mean())
    rows = []
    for model, runs in done.items():
        K = np.concatenate([run.n_topics for run in runs])
        mean, error = mean_and_error(values[model])
        more, error_of_more = mean_and_error(values[model] - values[best])
        apart = (
            "the best" if model == best else f"{more:+.1f}",
            f"{more / error_of_more:+.1f}" if error_of_more else "-",
        )
        seconds = statistics.mean(run.seconds for run in runs)
        rows.append((model, f"{K.mean():.1f}", f"{mean:.1f}", f"{error:.1f}", *apart, f"{seconds:.1f}"))
    head = ("", "K", "perplexity", "standard error", "to the best LDA", "in paired standard errors", "seconds a fold")
    print_table(f"{name}, {len(parts)} folds, {burn_in} steps before the first draw", head, rows)
    for model in [model for model in done if model.startswith("Direct")]:
        sizes, times = np.unique(np.concatenate([run.n_topics for run in done[model]]), return_counts=True)
        shares = (f"{K}: {share:.2f}" for K, share in zip(sizes, times / times.sum(), strict=True))
        print(f"number of topics, {model}:", ", ".join(shares))


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


def mean_and_error(values: Any) -> tuple[float, float]:
    """The mean, and its standard error; 0 of a single value."""
    values = np.asarray(values)
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


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


def sections(counts: Any, labels: Any, section: str, burn_in: int, init: str) -> None:
    """Print the perplexity of documents of a section under each of the three models."""
    done: dict[tuple[int, str], list[tuple[float, float]]] = defaultdict(list)
    begin = time.perf_counter()
    for repeat in range(REPEATS):
        rng = np.random.default_rng(repeat)
        here, *others = (
            rng.permutation(np.flatnonzero(labels == name)) for name in [section, *sorted({*labels} - {section})]
        )
        new, old = np.split(here, [len(here) // 5])
        for n in OWN:
            own, every = old[:n], np.concatenate([old[:n], *(documents[:OTHERS] for documents in others)])
            for model, chosen in (("M1", own), ("M2", every), ("M3", every)):
                names = labels[chosen] if model == "M3" else None
                found, K = of_section(counts[chosen], names, repeat, burn_in, init)
                done[n, model].append((perplexity(found, counts[new], random_state=repeat), K))
    rows = []
    for n in OWN:
        cells = []
        for model in ("M1", "M2", "M3"):
            values, sizes = np.transpose(done[n, model])
            mean, error = mean_and_error(values)
            cells += [f"{mean:.1f} +- {error:.1f}", f"{sizes.mean():.1f}"]
        rows.append((str(n), *cells))
    title = f"BBC: perplexity of {len(new)} documents of {section}, {REPEATS} repeats; start: {init}"
    print_table(title, ("documents of it", "M1", "K", "M2", "K", "M3", "K"), rows)
    print(f"{time.perf_counter() - begin:.0f} s")


def of_section(counts: Any, labels: Any, seed: int, burn_in: int, init: str) -> tuple[list[Topics], float]:
    """Topics for documents like the first, and their mean number; with ``labels`` of a tree."""
    tokens, of_tokens = read(counts)
    wide, vague = GammaPrior(5.0, 0.1), GammaPrior(0.1, 0.1)
    alphas = vague if labels is None else [wide, vague]
    sampler = DirectAssignment(likelihood=WORDS, alpha_prior=alphas, gamma_prior=wide)
    groups = of_tokens if labels is None else np.c_[labels[of_tokens], of_tokens]
    steps = {"draws": DRAWS, "burn_in": burn_in, "thin": THIN, "init": start_of(tokens.n_points, init)}
    trace = sample(tokens, sampler, groups=groups, random_state=seed, **steps)
    parent = 0 if labels is None else 1  # nodes are in order of appearance: the section comes after the root
    return topics(trace, tokens, WORDS, parent=parent), float(trace.n_clusters.mean())


if __name__ == "__main__":
    main()
