"""States of sequences under an HDP-HMM: letters (Teh2004 section 7.1), and exercises in motion capture.

Run: python bench/states.py [--only alice|mocap6] [--data FOLDER] [--repeats 5] [--picture FILE]. --data is the folder
above text/alice.txt and streams/mocap6.csv.gz (the environment variable MAPDPM_DATA may name it). Needs scipy and
hmmlearn (pip install hmmlearn). All run on one thread. --picture draws the curves of Alice.

mocap6: the share of times whose state is not the exercise of its label, after the best matching of states
to exercises, one to one (Hamming distance), and the adjusted mutual information. Samplers take 500 steps from the
clusters of MAPDPM, then 50 draws, one in 5; the partition that is nearest to the draws (Binder). alpha, gamma ~
Gamma(1, 1), and the prior of all families is the empirical Normal-Gamma. hmmlearn is told the number of exercises:
the best of ten starts by its likelihood.

Alice is Figure 10: perplexity of 40 sentences of 70 to 130 letters, given 20 others of 30 to 70, drawn anew in each
repeat. The symbols are 27. Emissions are Dirichlet(0.2) in all; 0.5 was worse for the HDP-HMM in two repeats, which
are not among these. The HDP-HMM (beams and direct assignment in turn, kappa 0, alpha and gamma ~ Gamma(1, 1)) takes
2,000 steps, then 50 draws, one in 10 steps. The probability of a sentence is averaged over draws, each with the means
of its transitions and emissions, and one new state. HDPHMM is its mode, with the same priors. Hidden Markov models are
those of hmmlearn, the best of five starts by what each maximises. ML: by expectation-maximisation; a floor of 1e-6
keeps letters that were not seen possible. MAP: with priors whose modes add alpha / K to transitions and 0.2 to letters;
alpha is the mean of the draws. VB: variational, with these priors, and means of its posterior. Mean and standard error
of the repeats; the last columns are paired differences from the HDP-HMM.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from machine import about
from tables import print_table

from mapdpm import HDPHMM, MAPDPM, Categorical, OnlineMAPDPM
from mapdpm.data.tokens import Tokens
from mapdpm.samplers import GammaPrior, HDPHMMBeam, HDPHMMDirectAssignment, sample

SYMBOLS, BETA = 27, 0.2
STATES = (1, 2, 4, 7, 10, 15, 20, 25, 30)
BURN_IN, DRAWS, THIN = 2000, 50, 10
STARTS, FLOOR = 5, 1e-6


_PRIORS: dict[str, Any] = {"alpha_prior": GammaPrior(1, 1), "gamma_prior": GammaPrior(1, 1)}


def sentences(path: Path) -> list[Any]:
    """The sentences of the book as arrays of symbols: a to z are 0 to 25, a space 26."""
    text = path.read_text(encoding="utf-8").split("CHAPTER I.", 1)[1]
    cleaned = (re.sub("[^a-z]+", " ", part.lower()).strip() for part in re.split("[.!?;:]+", text))
    return [np.array([26 if c == " " else ord(c) - 97 for c in part]) for part in cleaned if part]


def chosen(every: list[Any], seed: int) -> tuple[list[Any], list[Any]]:
    """20 sentences to learn from, and 40 others."""
    rng = np.random.default_rng(seed)
    short = [s for s in every if 30 <= len(s) <= 70]
    long = [s for s in every if 70 < len(s) <= 130]
    return [short[i] for i in rng.permutation(len(short))[:20]], [long[i] for i in rng.permutation(len(long))[:40]]


def log_probability(start: Any, transitions: Any, emissions: Any, sentence: Any) -> float:
    """log p(sentence) of a hidden Markov model, by the forward algorithm."""
    total, p = 0.0, start
    for t, symbol in enumerate(sentence):
        p = (p if t == 0 else p @ transitions) * emissions[:, symbol]
        total += np.log(p.sum())
        p = p / p.sum()
    return float(total)


def perplexity(log_probabilities: Any, new: list[Any]) -> float:
    """exp of minus the mean log probability of a symbol (Teh2004 (54))."""
    return float(np.exp(-np.sum(log_probabilities) / sum(map(len, new))))


def hdp_hmm(old: list[Any], new: list[Any], seed: int) -> tuple[float, float, float]:
    """The perplexity of ``new``, and the mean number of states and alpha."""
    letters, ids = _together(old)
    model = {"likelihood": Categorical(BETA), **_PRIORS}
    sampler = HDPHMMBeam(**model) + HDPHMMDirectAssignment(**model)
    steps = {"draws": DRAWS, "burn_in": BURN_IN, "thin": THIN, "random_state": seed}
    trace = sample(Tokens(letters, SYMBOLS), sampler, sequences=ids, **steps)
    starts, found = np.append(True, np.diff(ids) > 0), []
    for draw in range(DRAWS):
        z, alpha = trace.partitions[0, draw].astype(int), trace.alpha[0, draw]
        K = z.max() + 1
        beta = trace.extra["beta"][0, draw, : K + 1]
        counts, seen = np.zeros((K + 2, K + 1)), np.zeros((K + 1, SYMBOLS))  # the last two rows: a new state, starts
        np.add.at(counts, (np.where(starts, K + 1, np.append(0, z[:-1])), z), 1.0)
        np.add.at(seen, (z, letters), 1.0)
        rows = (counts + alpha * beta) / (counts.sum(axis=1, keepdims=True) + alpha)
        emissions = (seen + BETA) / (seen.sum(axis=1, keepdims=True) + SYMBOLS * BETA)
        found.append([log_probability(rows[-1], rows[:-1], emissions, s) for s in new])
    logs = np.logaddexp.reduce(found, axis=0) - np.log(DRAWS)
    return perplexity(logs, new), float(trace.n_clusters.mean()), float(trace.alpha.mean())


def mode(old: list[Any], new: list[Any]) -> tuple[float, float, float]:
    """The perplexity of ``new`` at the mode of an HDP-HMM, the number of states, and seconds."""
    begin = time.perf_counter()
    letters, ids = _together(old)
    model = HDPHMM(likelihood=Categorical(BETA), **_PRIORS).fit(Tokens(letters, SYMBOLS), ids)
    letters, ids = _together(new)
    total = model.score(Tokens(letters, SYMBOLS), ids)
    return perplexity(total, new), float(model.n_states_), time.perf_counter() - begin


def _together(every: list[Any]) -> tuple[Any, Any]:
    return np.concatenate(every), np.repeat(np.arange(len(every)), list(map(len, every)))


def peers(old: list[Any], new: list[Any], K: int, alpha: float, seed: int) -> dict[str, float]:
    """The perplexity of hidden Markov models of K states."""
    from hmmlearn.hmm import CategoricalHMM  # noqa: PLC0415  (a peer)
    from hmmlearn.vhmm import VariationalCategoricalHMM  # noqa: PLC0415

    X, lengths = np.concatenate(old)[:, None], list(map(len, old))
    own = {"n_components": K, "n_features": SYMBOLS, "n_iter": 200, "tol": 1e-3}
    added = {"startprob_prior": 1.0 + alpha / K, "transmat_prior": 1.0 + alpha / K, "emissionprob_prior": 1.0 + BETA}
    prior = {"startprob_prior": alpha / K, "transmat_prior": alpha / K, "emissionprob_prior": BETA}
    kinds: dict[str, Callable[[int], Any]] = {
        "ML": lambda s: CategoricalHMM(**own, random_state=s),
        "MAP": lambda s: CategoricalHMM(**own, **added, random_state=s),
        "VB": lambda s: VariationalCategoricalHMM(**own, **prior, random_state=s),
    }
    found = {}
    for name, made in kinds.items():
        fits = [made(100 * seed + s).fit(X, lengths) for s in range(STARTS)]
        best = max(fits, key=lambda fit: fit.monitor_.history[-1])
        parts = [best.startprob_, best.transmat_, best.emissionprob_]
        if name == "VB":
            parts = [best.startprob_posterior_, best.transmat_posterior_, best.emissionprob_posterior_]
        if name == "ML":
            parts[2] = parts[2] + FLOOR
        start, transitions, emissions = (part / part.sum(axis=-1, keepdims=True) for part in parts)
        found[name] = perplexity([log_probability(start, transitions, emissions, s) for s in new], new)
    return found


def mocap6(path: Path) -> None:
    """Print how the states of each method agree with the exercises."""
    from hmmlearn.hmm import GaussianHMM  # noqa: PLC0415  (a peer)

    with gzip.open(path, "rt", encoding="utf-8") as file:
        records = list(csv.DictReader(file))
    names = [name for name in records[0] if name not in {"seq_id", "label", "tstep_id"}]
    X = np.array([[float(record[name]) for name in names] for record in records])
    ids, exercises = ([record[name] for record in records] for name in ("seq_id", "label"))
    begin, rows = time.perf_counter(), []

    def said(name: str, labels: Any) -> None:
        nonlocal begin
        hamming, ami = agreement(labels, exercises)
        seconds = f"{time.perf_counter() - begin:.0f}"
        rows.append((name, str(len(np.unique(labels))), f"{hamming:.3f}", f"{ami:.3f}", seconds))
        begin = time.perf_counter()

    pooled = MAPDPM(likelihood=None).fit(X)
    said("MAPDPM, without time", pooled.labels_)
    said("OnlineMAPDPM, as it learns", OnlineMAPDPM(64).learn_many(X))
    for kappa in (0.0, 10.0, 100.0):
        said(f"HDPHMM, kappa {kappa:g}", HDPHMM(kappa=kappa, **_PRIORS).fit(X, ids).labels_)
    steps = {"draws": 50, "burn_in": 500, "thin": 5, "random_state": 0, "init": pooled.labels_}
    for kappa in (0.0, 10.0, 100.0):
        for kind in (HDPHMMDirectAssignment, HDPHMMBeam):
            trace = sample(X, kind(kappa=kappa, **_PRIORS), sequences=ids, **steps)
            said(f"{kind.__name__}, kappa {kappa:g}", trace.binder_estimate())
    lengths, K = [sum(1 for i in ids if i == name) for name in dict.fromkeys(ids)], len(set(exercises))
    fits = [GaussianHMM(K, "diag", n_iter=200, random_state=s).fit(X, lengths) for s in range(10)]
    best = max(fits, key=lambda fit: fit.monitor_.history[-1])
    said(f"hmmlearn, told {K}", best.predict(X, lengths))
    print_table("mocap6", ("method", "states", "Hamming", "AMI", "s"), rows)


def agreement(labels: Any, exercises: list[str]) -> tuple[float, float]:
    """The Hamming distance after the best matching, and the adjusted mutual information."""
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415  (both from extras)
    from sklearn.metrics import adjusted_mutual_info_score  # noqa: PLC0415

    _, z = np.unique(labels, return_inverse=True)
    _, named = np.unique(exercises, return_inverse=True)
    together = np.zeros((z.max() + 1, named.max() + 1))
    np.add.at(together, (z, named), 1.0)
    matched = together[linear_sum_assignment(-together)].sum()
    return 1.0 - matched / len(z), adjusted_mutual_info_score(named, z)


def picture(curves: dict[str, Any], path: Path) -> None:
    """Draw Figure 10."""
    from matplotlib.figure import Figure  # noqa: PLC0415  (an extra)

    ax = Figure(figsize=(6.6, 3.4), layout="constrained").add_subplot()
    ax.axhline(curves["HDP-HMM"], color="black", label="HDP-HMM, mean of draws")
    for name in ("ML", "MAP", "VB"):
        ax.plot(curves["states"], curves[name], marker="o", label=f"{name} HMM")
    ax.axhline(curves["HDPHMM"], color="black", linestyle=":", label="HDP-HMM, mode")
    ax.set(xlabel="states of the HMM", ylabel="perplexity")
    ax.legend()
    ax.figure.savefig(path, dpi=110)


def main() -> None:
    """Print tables, and a line of JSON for the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("alice", "mocap6"))
    parser.add_argument("--data", type=Path, default=os.environ.get("MAPDPM_DATA"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    if arguments.data is None:
        print("no --data and no MAPDPM_DATA: nothing to do")
        return
    print(about())
    if arguments.only != "alice":
        mocap6(Path(arguments.data) / "streams" / "mocap6.csv.gz")
    if arguments.only != "mocap6":
        curves = alice(Path(arguments.data) / "text" / "alice.txt", arguments.repeats)
        print(json.dumps({"alice": curves}))
        if arguments.picture is not None:
            picture(curves, arguments.picture)


def alice(path: Path, repeats: int) -> dict[str, Any]:
    """Print a table of perplexities; returns the means by the number of states."""
    every = sentences(path)
    ours, others, modes, begin = [], {}, [], time.perf_counter()
    for seed in range(2, 2 + repeats):
        old, new = chosen(every, seed)
        ours.append(hdp_hmm(old, new, seed))
        modes.append(mode(old, new))
        for K in STATES:
            for name, value in peers(old, new, K, ours[-1][2], seed).items():
                others.setdefault((name, K), []).append(value)
    mine = np.array(ours)[:, 0]
    root = np.sqrt(len(mine))
    rows = [
        ("HDP-HMM", f"{np.mean(ours, axis=0)[1]:.1f}", f"{mine.mean():.2f} +- {mine.std(ddof=1) / root:.2f}", "", "")
    ]
    found = np.array(modes)
    print(f"HDPHMM: {found[:, 2].mean():.1f} s a fit")
    others["HDPHMM", round(found[:, 1].mean())] = found[:, 0].tolist()
    for (name, K), values in sorted(others.items()):
        off = np.array(values) - mine
        spread = off.std(ddof=1) / root
        mean = f"{np.mean(values):.2f} +- {np.std(values, ddof=1) / root:.2f}"
        rows.append((name, str(K), mean, f"{off.mean():+.2f}", f"{off.mean() / spread:+.1f}"))
    print_table("Alice", ("model", "states", "perplexity", "to the HDP-HMM", "in standard errors"), rows)
    print(f"{time.perf_counter() - begin:.0f} s")
    curves = {"HDPHMM": float(found[:, 0].mean())} | {
        name: [float(np.mean(others[name, K])) for K in STATES] for name in ("ML", "MAP", "VB")
    }
    return {"HDP-HMM": float(mine.mean()), "states": STATES, **curves}


if __name__ == "__main__":
    main()
