"""Exhibits: the tables and figures of a paper, with its claims, our figures, and a verdict on each (decision 151).

A script a paper has a function an exhibit, which measures and returns an Exhibit; ``run`` is its command line. An
exhibit's name is table-1, figure-3, or figure-3a for a part of it. Records are lines of JSON, one an exhibit, in
results/PAPER.jsonl; ``report.py`` makes docs/papers.md of them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(HERE.parent))  # behind this folder, which has a report.py too
from machine import about  # noqa: E402  (a bench, not a package)

RESULTS = HERE / "results"
PICTURES = ROOT / "docs" / "pictures" / "papers"
QUICK = ROOT / "build" / "papers-quick"


class Claim(NamedTuple):
    """A statement of the paper, and what we found.

    ``agrees`` is computed from figures by ``rule``; None where it cannot be shown here. ``why`` explains all but an
    agreement.
    """

    says: str
    theirs: str
    ours: str
    agrees: bool | None
    rule: str = ""
    why: str = ""

    @property
    def verdict(self) -> str:
        """Agrees, differs, or cannot be shown here."""
        return "cannot be shown here" if self.agrees is None else "agrees" if self.agrees else "differs"


class Exhibit(NamedTuple):
    """A table or figure: its claims, and our table (the first row is a header) and picture of it."""

    title: str  # what it shows, without its number
    claims: Sequence[Claim] = ()
    table: Sequence[Sequence[str]] = ()
    picture: str = ""  # a file in Setting.pictures
    alt: str = ""  # what the picture shows
    note: str = ""  # the setting, in Markdown: sizes, priors, seeds, what differs from the paper's


class MissingDataError(Exception):
    """A file of data that an exhibit needs is not there."""

    def __init__(self, name: str, folder: Path | None) -> None:
        super().__init__(f"needs {name} in the folder that --data or MAPDPM_DATA names (it is {folder})")


class Setting(NamedTuple):
    """What an exhibit is given: whether it is the short form, the folder of data, the folder of pictures."""

    quick: bool
    data: Path | None
    pictures: Path

    def file(self, name: str) -> Path:
        """A file of data, such as tabular/wine.csv."""
        if self.data is None or not (self.data / name).is_file():
            raise MissingDataError(name, self.data)
        return self.data / name


Measure = Callable[[Setting], Exhibit]


def drawing(title: str, where: str) -> Measure:
    """An exhibit that is a drawing of the model: nothing is measured, the documentation has it in its own words."""
    return lambda _: Exhibit(title, note=f"A drawing; nothing to measure. {where}")


def heading(name: str) -> str:
    """Table 1, for table-1."""
    return name.replace("-", " ").capitalize()


def run(paper: str, exhibits: Mapping[str, Measure], quick: Sequence[str], doc: str | None) -> None:
    """The command line of a script: measure exhibits, print a line of JSON each, and keep it.

    The records of exhibits that are not run stay. ``quick`` names the exhibits of the short form, which need no data.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the short form, in seconds; kept in build/papers-quick")
    parser.add_argument("--only", nargs="+", choices=list(exhibits), metavar="NAME", help=", ".join(exhibits))
    parser.add_argument("--data", type=Path, default=os.environ.get("MAPDPM_DATA") or None, help="the folder of data")
    arguments = parser.parse_args()
    setting = Setting(arguments.quick, arguments.data, QUICK if arguments.quick else PICTURES)
    file = (QUICK if arguments.quick else RESULTS) / f"{paper}.jsonl"
    if arguments.quick:
        file.unlink(missing_ok=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    setting.pictures.mkdir(parents=True, exist_ok=True)
    for name in arguments.only or (quick if arguments.quick else exhibits):
        try:
            measured = record(paper, name, exhibits[name], setting)
        except MissingDataError as error:
            print(f"{paper}, {name}: {error}", file=sys.stderr)
            continue
        print(json.dumps(measured), flush=True)
        records = {line["name"]: line for line in (read(file) if file.exists() else ())} | {name: measured}
        in_order = [records[each] for each in exhibits if each in records]
        file.write_text("".join(json.dumps(each) + "\n" for each in in_order), encoding="utf-8")


def record(paper: str, name: str, measure: Measure, setting: Setting) -> dict[str, Any]:
    """Measure an exhibit."""
    start, where = time.perf_counter(), about()  # the commit of the code that runs: it may move on meanwhile
    exhibit = measure(setting)
    claims = [
        {
            **claim._asdict(),
            "agrees": plain(claim.agrees),
            "why": "" if claim.agrees else claim.why,
            "verdict": claim.verdict,
        }
        for claim in exhibit.claims
    ]
    seconds = round(time.perf_counter() - start, 1)
    return {"paper": paper, "name": name, **exhibit._asdict(), "claims": claims, "seconds": seconds, **where}


def plain(agrees: Any) -> bool | None:
    """A bool that JSON can write, where numpy made one of its own."""
    return None if agrees is None else bool(agrees)


def read(file: Path) -> list[dict[str, Any]]:
    """The records of a file."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
