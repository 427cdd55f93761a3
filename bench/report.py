"""Tables and pictures of the JSON lines that other benches print.

Run: python bench/roofline.py | python bench/report.py [FILES ...] [--pictures FOLDER]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

_ABOUT = ("machine", "clone", "compiler", "python", "numpy", "scikit-learn", "mapdpm", "commit")


def main() -> None:
    """Read lines, print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--pictures", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    texts = [path.read_text() for path in arguments.files] or [sys.stdin.read()]
    lines = [json.loads(line) for text in texts for line in text.splitlines() if line.startswith("{")]
    for name, (table, picture) in REPORTS.items():
        found = [line for line in lines if line.get("bench") == name]
        if found:
            print(f"\n{name}: {', '.join(f'{key} {found[0][key]}' for key in _ABOUT if found[0].get(key))}\n")
            table(found)
            if arguments.pictures:
                arguments.pictures.mkdir(parents=True, exist_ok=True)
                picture(found, arguments.pictures / f"{name}.png")


def print_markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table whose first column is text, and whose other columns are numbers."""
    print(f"| {' | '.join(header)} |\n|---|{'---:|' * (len(header) - 1)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def roofline_table(lines: list[dict[str, Any]]) -> None:
    """A row a shape."""
    ratios = list(lines[0]["ratios"])
    rows = [
        [f"{line['D']}, {line['K']}", f"{line['ns_a_point']['sweep']:.3g}"]
        + [f"{line['ratios'][pair]:,.3g}" for pair in ratios]
        for line in lines
    ]
    print_markdown(["D, K", "sweep, ns", *ratios], rows)


_DRAWN = {
    "naive": ("plain C, a sweep", "--", "C7"),
    "BGM": ("BayesianGaussianMixture, an iteration", "--", "C1"),
    "BGM_score": ("BayesianGaussianMixture, score_samples", ":", "C1"),
    "first": ("a first sweep", "-", "C9"),
    "KMeans": ("KMeans, an iteration", "--", "C2"),
    "score": ("score_samples", "-", "C4"),
    "predict": ("predict", "-", "C6"),
    "sweep": ("a sweep in which no point moves", "-", "C0"),
    "floor": ("the floor", "-", "0.3"),
}


def roofline_picture(lines: list[dict[str, Any]], path: Path) -> None:
    """Nanoseconds a point, on a logarithmic scale: the floor, ours in full lines, others in broken ones."""
    axes = _axes()
    for way, (label, line_style, colour) in _DRAWN.items():
        axes.plot([line["ns_a_point"][way] for line in lines], line_style, color=colour, marker=".", label=label)
    axes.set_xticks(range(len(lines)), [f"{line['D']}, {line['K']}" for line in lines])
    axes.set(xlabel="features, clusters", ylabel="ns a point", yscale="log")
    axes.figure.set_size_inches(9, 4)
    axes.figure.legend(loc="outside right center", fontsize=8)
    _saved(axes, path, legend=False)


def _medians(lines: list[dict[str, Any]]) -> dict[tuple[int, int, int], dict[str, dict[str, Any]]]:
    """Print medians over rounds by data set and method; seconds also relative to those of mapdpm in the same round."""
    sets: dict[tuple[int, int, int], dict[str, list[dict[str, Any]]]] = {}
    for line in lines:
        size = (line["points"], line["features"], line["clusters"])
        sets.setdefault(size, {}).setdefault(line["way"], []).append(line)
    result: dict[tuple[int, int, int], dict[str, dict[str, Any]]] = {}
    for size, ways in sets.items():
        ours = {line["round"]: line["seconds"] for line in ways.get("mapdpm", [])}
        for way, found in ways.items():
            beside = [ours[line["round"]] / line["seconds"] for line in found if line["round"] in ours]
            middle: dict[str, Any] = dict(found[0])
            for key in ("seconds", "AMI", "K", "log_density", "extra_MB"):
                values = [line[key] for line in found if line[key] is not None]
                middle[key] = statistics.median(values) if values else None
            middle["mapdpm_in_units"] = statistics.median(beside) if beside else float("nan")
            result.setdefault(size, {})[way] = middle
    return result


def peers_table(lines: list[dict[str, Any]]) -> None:
    """A row a data set and library."""
    header = (
        "points, D, K",
        "library",
        "seconds",
        "mapdpm / it",
        "AMI",
        "best AMI",
        "K",
        "log density",
        "true",
        "extra MB",
    )
    rows = []
    for size, ways in _medians(lines).items():
        for way, line in ways.items():
            row = [
                f"{size[0]:,}, {size[1]}, {size[2]}",
                way,
                f"{line['seconds']:.3g}",
                f"{line['mapdpm_in_units']:.3g}",
            ]
            row += [f"{line['AMI']:.3f}", f"{line['AMI_oracle']:.3f}", f"{line['K']:g}"]
            row.append("" if line["log_density"] is None else f"{line['log_density']:.3f}")
            rows.append([*row, f"{line['log_density_true']:.3f}", f"{line['extra_MB']:.0f}"])
    print_markdown(header, rows)


def peers_picture(lines: list[dict[str, Any]], path: Path) -> None:
    """Seconds against agreement, a colour a library and a mark a data set."""
    axes = _axes()
    colours: dict[str, str] = {}
    for (size, ways), mark in zip(_medians(lines).items(), "os^Dvp*", strict=False):
        axes.plot([], [], mark, color="0.6", label=f"{size[0]:,} points, D = {size[1]}, K = {size[2]}")
        for way, line in ways.items():
            label = way if way not in colours else None
            colour = colours.setdefault(way, f"C{len(colours)}")
            axes.plot(line["seconds"], line["AMI"] / line["AMI_oracle"], mark, color=colour, label=label)
    axes.set(xlabel="seconds", ylabel="AMI, in units of the best possible", xscale="log")
    _saved(axes, path)


def _axes() -> Any:
    from matplotlib.figure import Figure  # noqa: PLC0415  (tables need none)

    return Figure(figsize=(7, 4), layout="constrained").add_subplot()


def _saved(axes: Any, path: Path, *, legend: bool = True) -> None:
    axes.grid(alpha=0.3)
    if legend:
        axes.legend(fontsize=8)
    axes.figure.savefig(path, dpi=100)
    print(f"\n{path}")


REPORTS = {"roofline": (roofline_table, roofline_picture), "peers": (peers_table, peers_picture)}


if __name__ == "__main__":
    main()
