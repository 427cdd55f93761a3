"""Teh2004, Figure 10: letters of Alice in Wonderland under an HDP-HMM, and under hidden Markov models of hmmlearn."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from exhibits import Claim, Exhibit, Setting
from matplotlib.figure import Figure
from noise import clearly_above, mean_and_error, shown

from mapdpm import HDPHMM, Categorical
from mapdpm.data.tokens import Tokens
from mapdpm.samplers import GammaPrior, HDPHMMBeam, HDPHMMDirectAssignment, sample

SYMBOLS, BETA = 27, 0.2
STATES = (1, 4, 10, 20, 30)
BURN_IN, DRAWS, THIN = 2000, 50, 10
STARTS, FLOOR, REPEATS = 2, 1e-6, 5
PEERS = ("ML", "MAP", "VB")

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


def mode(old: list[Any], new: list[Any]) -> tuple[float, float]:
    """The perplexity of ``new`` at the mode of an HDP-HMM, and the number of states."""
    letters, ids = _together(old)
    model = HDPHMM(likelihood=Categorical(BETA), **_PRIORS).fit(Tokens(letters, SYMBOLS), ids)
    letters, ids = _together(new)
    total = model.score(Tokens(letters, SYMBOLS), ids)
    return perplexity(total, new), float(model.n_states_)


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


def figure10(setting: Setting) -> Exhibit:
    """The perplexity of sentences by the number of states."""
    every = sentences(setting.file("text/alice.txt"))
    draws, modes, others = [], [], defaultdict(list)
    for seed in range(2, 2 + REPEATS):
        old, new = chosen(every, seed)
        draws.append(hdp_hmm(old, new, seed))
        modes.append(mode(old, new))
        for K in STATES:
            for name, value in peers(old, new, K, draws[-1][2], seed).items():
                others[name, K].append(value)
    ours, ours_mode = np.array(draws)[:, 0], np.array(modes)[:, 0]
    best = {name: min(STATES, key=lambda K: float(np.mean(others[name, K]))) for name in PEERS}
    above = {name: np.array(others[name, best[name]]) - ours for name in PEERS}
    claims = (
        Claim(
            "The HDP-HMM has a lower perplexity than all models by ML, MAP and VB.",
            "lower than all (a picture)",
            f"{shown(ours)}; best numbers of states: "
            + ", ".join(f"{name} {np.mean(others[name, K]):.2f} ({K})" for name, K in best.items()),
            all(clearly_above(each) for each in above.values()),
            "lower than the best of each at 1 in 100, by Student's t of paired repeats",
            f"It is lower in {sum(each > 0.0 for each in np.concatenate(list(above.values())))} of {3 * REPEATS} "
            "paired comparisons with the best of each, but so few repeats leave a standard error too large.",
        ),
    )
    curves = {name: [float(np.mean(others[name, K])) for K in STATES] for name in PEERS}
    draw(curves, mean_and_error(ours)[0], mean_and_error(ours_mode)[0]).savefig(
        setting.pictures / "teh2004-figure10.png", dpi=110
    )
    rows = [
        ("HDP-HMM, mean of draws", f"{np.mean(draws, axis=0)[1]:.0f}", shown(ours), "—", "—"),
        ("HDP-HMM, mode", f"{np.mean(modes, axis=0)[1]:.0f}", shown(ours_mode), *apart(ours_mode - ours)),
    ]
    for name in PEERS:
        rows += [(name, str(K), shown(others[name, K]), *apart(np.array(others[name, K]) - ours)) for K in STATES]
    note = (
        f"Perplexity of 40 sentences of 70 to 130 letters, given 20 others of 30 to 70; 27 symbols; {REPEATS} choices "
        "of sentences. Emissions are Dirichlet(0.2) in all. The HDP-HMM (beams and direct assignment in turn, kappa "
        f"0, alpha and gamma ~ Gamma(1, 1)) takes {BURN_IN:,} steps, then {DRAWS} draws, one in {THIN} steps, and is "
        f"averaged over them. Hidden Markov models are those of hmmlearn, the best of {STARTS} starts by what each "
        "maximises. ML has a floor of 1e-6 for letters that were not seen; MAP adds alpha / K to transitions and 0.2 "
        "to letters; VB has these priors, and means of its posterior where the paper takes its mode. Means with "
        "standard errors; paired differences."
    )
    head = ("", "states", "perplexity", "to the HDP-HMM", "in standard errors")
    return Exhibit(
        "Letters of Alice in Wonderland", claims, (head, *rows), "teh2004-figure10.png",
        "Perplexity against the number of states; the line of the HDP-HMM is below all curves", note,
    )  # fmt: skip


def apart(differences: Any) -> tuple[str, str]:
    """A paired difference, and in units of its standard error."""
    mean, error = mean_and_error(differences)
    return f"{mean:+.2f}", f"{mean / error:+.1f}"


def draw(curves: dict[str, list[float]], ours: float, ours_mode: float) -> Figure:
    """Curves of the others, and lines of ours."""
    figure = Figure(figsize=(6.6, 3.4), layout="constrained")
    ax = figure.add_subplot()
    ax.axhline(ours, color="black", label="HDP-HMM, mean of draws")
    for name in PEERS:
        ax.plot(STATES, curves[name], marker="o", label=f"{name} HMM")
    ax.axhline(ours_mode, color="black", linestyle=":", label="HDP-HMM, mode")
    ax.set(xlabel="states of the HMM", ylabel="perplexity")
    ax.legend(frameon=False)
    return figure
