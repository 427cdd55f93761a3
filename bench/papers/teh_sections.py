"""Teh2004, Figure 8 and Tables 3 and 4: documents of a section, given some of it and some of another one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from exhibits import Claim, Exhibit, Setting
from matplotlib.figure import Figure
from noise import clearly_above, margin, mean_and_error, shown
from teh_topics import DRAWS, THIN, WORDS, counts_of

from mapdpm.documents import Topics, perplexity, read, topics
from mapdpm.samplers import DirectAssignment, GammaPrior, Trace, sample

HERE = "business"
OTHERS, REPEATS, STEPS = 80, 4, 300
OWN = (5, 10, 20, 80)
MODELS = ("M1", "M2", "M3")
LARGE = 0.03
NOT_HERE = "The articles of NIPS are not here."


class Corpus(NamedTuple):
    """Documents x words, the section of each, and words."""

    counts: Any
    sections: Any
    vocabulary: Any


def corpus(setting: Setting) -> Corpus:
    """News of the BBC; or made-up documents of three sections, which share half of their topics."""
    if not setting.quick:
        return Corpus(*counts_of(setting.file("text/bbc_bow.npz")))
    from scipy.sparse import csr_matrix  # noqa: PLC0415  (the library does without)

    rng = np.random.default_rng(0)
    themes = np.kron(np.eye(8), np.full(8, 1.0 / 8))  # 8 topics of 8 words: two are of all sections
    names = np.repeat([HERE, "one", "two"], (40, 12, 12))
    of = {name: [0, 1, 2 + 2 * s, 3 + 2 * s] for s, name in enumerate((HERE, "one", "two"))}
    rows = [rng.multinomial(60, rng.dirichlet(np.full(4, 0.5)) @ themes[of[name]]) for name in names]
    return Corpus(csr_matrix(np.array(rows)), names, None)


def trace_of(counts: Any, sections: Any, seed: int, steps: int) -> tuple[Any, Trace]:
    """Tokens and draws for documents; with ``sections`` the model of a tree."""
    tokens, of_tokens = read(counts)
    wide, vague = GammaPrior(5.0, 0.1), GammaPrior(0.1, 0.1)
    alphas = vague if sections is None else [wide, vague]
    sampler = DirectAssignment(likelihood=WORDS, alpha_prior=alphas, gamma_prior=wide)
    groups = of_tokens if sections is None else np.c_[sections[of_tokens], of_tokens]
    return tokens, sample(tokens, sampler, groups=groups, draws=DRAWS, burn_in=steps, thin=THIN, random_state=seed)


def topics_of(counts: Any, sections: Any, seed: int, steps: int) -> list[Topics]:
    """Topics for documents like the first."""
    tokens, trace = trace_of(counts, sections, seed, steps)
    # Nodes of a tree are in order of appearance: the section of the first document comes after the root.
    return topics(trace, tokens, WORDS, parent=0 if sections is None else 1)


@cache
def measured(setting: Setting) -> dict[tuple[str, int, str], list[float]]:
    """The perplexity of each repeat, by the model, the documents of the section itself, and the other section."""
    counts, sections, _ = corpus(setting)
    found: dict[tuple[str, int, str], list[float]] = defaultdict(list)
    repeats, sizes, steps = (12, (2,), 100) if setting.quick else (REPEATS, OWN, STEPS)
    others = sorted({*sections} - {HERE})
    for repeat in range(repeats):
        rng = np.random.default_rng(repeat)
        parts = {name: rng.permutation(np.flatnonzero(sections == name)) for name in (HERE, *others)}
        new, old = np.split(parts[HERE], [len(parts[HERE]) // 5])
        for n in sizes:
            own = topics_of(counts[old[:n]], None, repeat, steps)
            found["M1", n, ""].append(perplexity(own, counts[new], random_state=repeat))
            for other in others:
                chosen = np.concatenate([old[:n], parts[other][:OTHERS]])
                for model, names in (("M2", None), ("M3", sections[chosen])):
                    both = topics_of(counts[chosen], names, repeat, steps)
                    found[model, n, other].append(perplexity(both, counts[new], random_state=repeat))
    return found


def averages(found: dict[tuple[str, int, str], list[float]], model: str, n: int) -> Any:
    """The perplexity of each repeat, averaged over the other section."""
    return np.mean([values for key, values in found.items() if key[:2] == (model, n)], axis=0)


def figure8(setting: Setting) -> Exhibit:
    """The three models by the number of documents of the section."""
    found = measured(setting)
    sizes = sorted({n for _, n, _ in found})
    mean = {(model, n): averages(found, model, n) for model in MODELS for n in sizes}
    first, last = sizes[0], sizes[-1]
    gain = {(model, n): mean[model, n] - mean["M3", n] for model in ("M1", "M2") for n in sizes}
    worse = [f"{model} with {n}" for (model, n), each in gain.items() if not each.mean() > 0.0]
    claims = [
        Claim(
            "With few documents the section alone is poor, and the tree (M3) far better.",
            "quite poor (left)",
            f"M1 {shown(mean['M1', first], 1)}, M3 {shown(mean['M3', first], 1)} with {first}; margin "
            f"{margin(gain['M1', first]):.1f}",
            clearly_above(gain["M1", first]),
            "M1 is above M3 at 1 in 100, by Student's t of paired repeats",
        ),
        Claim(
            "With few documents one level for all (M2) is better than the section alone.",
            "better below 14 (left)",
            f"M2 {shown(mean['M2', first], 1)} with {first}; margin "
            f"{margin(mean['M1', first] - mean['M2', first]):.1f}",
            clearly_above(mean["M1", first] - mean["M2", first]),
            "M1 is above M2 at 1 in 100, by Student's t of paired repeats",
        ),
    ]
    if setting.quick:
        return Exhibit("Documents of a section, given others", claims, note="Made-up documents of three sections.")
    crossing = mean["M2", last] - mean["M1", last]
    claims += [
        Claim(
            "The tree is best throughout.",
            "best for all numbers of documents (left)",
            f"M3 is above in {len(worse)} of {len(gain)} comparisons of means",
            not worse,
            "its mean is below those of both others for each number of documents",
            f"It is not below {'; '.join(worse)}, where all are within a few standard errors.",
        ),
        Claim(
            "The section alone comes near to the tree as documents become many.",
            "near above 20 (left)",
            f"{shown(gain['M1', first], 0)} apart with {first}, {shown(gain['M1', last], 0)} with {last}",
            bool(gain["M1", last].mean() < 0.25 * gain["M1", first].mean()),
            "the distance falls to less than a quarter",
        ),
        Claim(
            "With many documents the section alone is better than one level for all.",
            "better above 14 (left)",
            f"M2 is {shown(crossing, 1)} above M1 with {last}",
            clearly_above(crossing),
            "M2 is above M1 at 1 in 100, by Student's t of paired repeats",
            "Not known. 80 documents have some 9,600 words here, and the paper's 14 articles some 14,800: the "
            "crossing may be beyond these figures.",
        ),
        Claim(
            "Articles of applications help vision most, then algorithms, then learning theory.",
            "AP, AA, LT (right)",
            "—",
            None,
            why=f"{NOT_HERE} The table has which section of the BBC helps business most.",
        ),
    ]
    draw(found, mean, sizes).savefig(setting.pictures / "teh2004-figure8.png", dpi=100)
    others = sorted({other for _, _, other in found if other})
    rows = [
        (
            str(n),
            *(shown(mean[model, n], 0) for model in MODELS),
            *(shown(found["M3", n, other], 0) for other in others),
        )
        for n in sizes
    ]
    head = ("documents of it", "M1, it alone", "M2, one level", "M3, a tree", *(f"M3, {other}" for other in others))
    note = (
        f"Perplexity of {HERE} news of the BBC (NIPS is not here), a fifth of them held out, given some others and "
        f"{OTHERS} of one other section; averaged over the four other sections, and by each of them for M3; {REPEATS} "
        f"repeats. Priors are the paper's; {STEPS} steps, then {DRAWS} draws, one in {THIN}."
    )
    return Exhibit(
        "Documents of a section, given others", claims, (head, *rows), "teh2004-figure8.png",
        "Left: perplexity of the three models; right: that of the tree by the other section", note,
    )  # fmt: skip


def draw(found: Any, mean: Any, sizes: Sequence[int]) -> Figure:
    """Both panels, with standard errors."""
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for model in MODELS:
        left.errorbar(sizes, *np.transpose([mean_and_error(mean[model, n]) for n in sizes]), capsize=3, label=model)
    for other in sorted({other for _, _, other in found if other}):
        right.errorbar(
            sizes,
            *np.transpose([mean_and_error(found["M3", n, other]) for n in sizes]),
            capsize=3,
            label=f"M3, {other}",
        )
    for ax in (left, right):
        ax.set_xlabel(f"documents of {HERE}")
        ax.legend(frameon=False)
    left.set_ylabel("perplexity")
    return figure


@cache
def shared_and_novel(setting: Setting) -> dict[str, tuple[list[str], list[str]]]:
    """Words of topics that business shares with another section, and of its own, by the other section.

    Of the last draw of the tree: topics with 3 % or more of the words of both, and with as much of business and hardly
    any of the other (5 % of its words there). The paper's bound for a shared one, 2,500 words, is 3 % of a section.
    """
    counts, sections, vocabulary = corpus(setting)
    found = {}
    for other in sorted({*sections} - {HERE}):
        rng = np.random.default_rng(0)
        chosen = np.concatenate([rng.permutation(np.flatnonzero(sections == name))[:OTHERS] for name in (HERE, other)])
        tokens, trace = trace_of(counts[chosen], sections[chosen], 0, STEPS)
        assert trace.partitions is not None
        z = trace.partitions[0, -1].astype(int)
        inside = (sections[chosen] == HERE)[read(counts[chosen])[1]]
        words = np.zeros((z.max() + 1, counts.shape[1]))
        np.add.at(words, (z, tokens.words), 1.0)
        ours, theirs = (np.bincount(z[here], minlength=len(words)) for here in (inside, ~inside))
        large = ours >= LARGE * ours.sum()
        kinds = (
            np.flatnonzero(large & (theirs >= LARGE * theirs.sum())),
            np.flatnonzero(large & (theirs < 0.05 * ours)),
        )
        found[other] = tuple(
            [" ".join(vocabulary[words[k].argsort()[::-1][:8]]) for k in kind[ours[kind].argsort()[::-1]]]
            for kind in kinds
        )
    return found


def topics_table(setting: Setting, which: int, kind: str, says: str) -> Exhibit:
    """Table 3 or 4."""
    found = {other: each[which] for other, each in shared_and_novel(setting).items()}
    without = [other for other, each in found.items() if not each]
    claims = (
        Claim(
            says,
            "in each section (words)",
            "; ".join(f"{other} {len(each)}" for other, each in found.items()) + " topics",
            not without,
            f"at least one topic with {LARGE:.0%} of the words beside each other section",
            f"None beside {', '.join(without)}.",
        ),
        Claim("Which words they have.", "words", "—", None, why=NOT_HERE),
    )
    rows = [(other, "; ".join(each[:2]) or "—") for other, each in found.items()]
    note = (
        f"80 documents of {HERE} and 80 of another section of the BBC, the tree of Figure 8, its last draw. The paper "
        "holds the topics of the other section fixed as it adds documents; here both are fitted together. The table "
        "has the most probable words of the two largest."
    )
    return Exhibit(kind, claims, (("other section", "topics"), *rows), note=note)


def table3(setting: Setting) -> Exhibit:
    """Topics of both sections."""
    return topics_table(setting, 0, "Topics that sections share", "Sections share topics with many words of both.")


def table4(setting: Setting) -> Exhibit:
    """Topics of one section."""
    return topics_table(setting, 1, "Novel topics", "A section has topics of its own.")
