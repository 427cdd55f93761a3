"""Figures of bench/papers/ that other pages quote: test_papers.py looks them up in the records."""

from typing import NamedTuple


class Quote(NamedTuple):
    """``text`` stands on ``page``, its braces filled with cells of our table of an exhibit, as (row, column)."""

    page: str
    text: str
    paper: str
    exhibit: str
    cells: tuple[tuple[str, str], ...]


def _of_all_sets(column: str) -> tuple[tuple[str, str], ...]:
    names = ("Wine", "Iris", "Breast cancer", "Soybean", "Parkinson's", "Pima", "Vehicle")
    return tuple((name, column) for name in names)


def _of_map_dpm(column: str) -> tuple[tuple[str, str], ...]:
    return tuple((row, column) for row in ("NMI", "difference in K", "iterations"))


QUOTES = [
    Quote(
        "README.md",
        "| paper, MAP-DPM | {} | {} | {} |",
        *("raykov2014", "table-1"),
        _of_map_dpm("theirs, MAP-DPM"),
    ),
    Quote(
        "README.md",
        "| `MAPDPM(likelihood=prior, moves=())`, the same algorithm | {} | {} | {} |",
        *("raykov2014", "table-1"),
        _of_map_dpm("ours, MAP-DPM"),
    ),
    Quote(
        "README.md",
        "| the paper's algorithm | {} | {} | {} | {} | {} | {} | {} |",
        *("raykov2014", "table-2"),
        _of_all_sets("log joint, alpha 1"),
    ),
    Quote(
        "README.md",
        "| `MAPDPM(likelihood=None, n_restarts=10)` | {} | {} | {} | {} | {} | {} | {} |",
        *("raykov2014", "table-2"),
        _of_all_sets("log joint with moves, ten runs"),
    ),
    Quote(
        "docs/samplers-how.md",
        "That of `CollapsedGibbs` is {}, with two standard deviations over 100 sets in brackets.",
        *("raykov2014", "table-1"),
        (("difference in K", "ours, Gibbs"),),
    ),
    Quote(
        "docs/samplers-how.md",
        "is above the best of the 2,000 sweeps by {} nats",
        *("raykov2014", "table-1"),
        (("log joint above the best of Gibbs", "ours, MAPDPM"),),
    ),
    Quote(
        "docs/drift.md",
        "{} of neighbouring clusters in neighbouring images have one label, and with them {}.",
        *("porteous2006", "figure-4"),
        (("without exchanges", "neighbours with one label"), ("with exchanges", "neighbours with one label")),
    ),
    Quote(
        "docs/samplers.md",
        "labels a chain is with one block {} and with the other {} of the time, and with them {} and {}.",
        *("porteous2006", "figure-1"),
        tuple((row, f"with {side}") for row in ("Gibbs alone", "with moves") for side in ("one side", "the other")),
    ),
    Quote(
        "docs/samplers.md",
        "The mean of draws of the HDP-HMM has {}. The mode of the same model, [`HDPHMM`](states.md), has {}:",
        *("teh2004", "figure-10"),
        (("HDP-HMM, mean of draws", "perplexity"), ("HDP-HMM, mode", "perplexity")),
    ),
    Quote(
        "docs/states.md",
        "perplexity {} by `HDPHMM`, {} by the average of draws",
        *("teh2004", "figure-10"),
        (("HDP-HMM, mode", "perplexity"), ("HDP-HMM, mean of draws", "perplexity")),
    ),
]
