"""The report on the papers, docs/papers.md, of the records in results/; and whether the short form still agrees.

Run: python bench/papers/report.py [--check | --keep]. --check compares the verdicts of build/papers-quick, which the
scripts write with --quick, with those in quick_verdicts.json; --keep writes them there.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from exhibits import HERE, QUICK, RESULTS, ROOT, heading, read

PAGE = ROOT / "docs" / "papers.md"
VERDICTS = HERE / "quick_verdicts.json"
PAPERS = {
    "raykov2014": "Raykov, Boukouvalas and Little (2014), Simple approximate MAP inference for Dirichlet processes",
    "liang2007": "Liang, Jordan and Taskar (2007), A permutation-augmented sampler for DP mixture models",
    "porteous2006": (
        "Porteous, Ihler, Smyth and Welling (2006), Gibbs sampling for (coupled) infinite mixture models in the "
        "stick-breaking representation"
    ),
    "chang2013": "Chang and Fisher (2013), Parallel sampling of DP mixture models using sub-cluster splits",
    "teh2004": "Teh, Jordan, Beal and Blei (2004), Hierarchical Dirichlet processes",
}
COLUMNS = ("agrees", "differs", "cannot be shown here")

Record = dict[str, Any]
Verdicts = dict[str, dict[str, dict[str, str]]]


def main() -> None:
    """Write the page; or compare, or keep, the verdicts of the short form."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail where a verdict of the short form has changed")
    parser.add_argument("--keep", action="store_true", help="take the verdicts of the short form as the right ones")
    arguments = parser.parse_args()
    if arguments.keep:
        VERDICTS.write_text(json.dumps(verdicts(records(QUICK)), indent=1) + "\n", encoding="utf-8")
    elif arguments.check:
        found = changes(json.loads(VERDICTS.read_text(encoding="utf-8")), verdicts(records(QUICK)))
        sys.exit("\n".join(["verdicts have changed (if rightly, run report.py --keep):", *found]) if found else 0)
    else:
        PAGE.write_text(page(records(RESULTS)), encoding="utf-8")


def records(folder: Path) -> list[Record]:
    """All records of a folder, paper by paper."""
    files = (folder / f"{paper}.jsonl" for paper in PAPERS)
    return [record for file in files if file.exists() for record in read(file)]


def verdicts(found: Iterable[Record]) -> Verdicts:
    """The verdict of each claim, by paper, exhibit and claim."""
    result: Verdicts = {}
    for record in found:
        claims = {claim["says"]: claim["verdict"] for claim in record["claims"]}
        result.setdefault(record["paper"], {})[record["name"]] = claims
    return result


def changes(before: Verdicts, now: Verdicts) -> list[str]:
    """A line for each claim whose verdict is not what it was."""
    flat_before, flat_now = flat(before), flat(now)
    return [
        f"{', '.join(key)}: it was {flat_before.get(key, 'not there')!r}, and is {flat_now.get(key, 'not there')!r} now"
        for key in [*flat_before, *(key for key in flat_now if key not in flat_before)]
        if flat_before.get(key) != flat_now.get(key)
    ]


def flat(found: Verdicts) -> dict[tuple[str, str, str], str]:
    """Verdicts by (paper, exhibit, claim)."""
    return {
        (paper, name, says): verdict
        for paper, exhibits in found.items()
        for name, claims in exhibits.items()
        for says, verdict in claims.items()
    }


def page(found: Sequence[Record]) -> str:
    """The whole page."""
    parts = [(HERE / "introduction.md").read_text(encoding="utf-8").strip(), summary(found)]
    for paper, title in PAPERS.items():
        its = [record for record in found if record["paper"] == paper]
        if its:
            parts += [f"## {paper.capitalize()}", f"{title}.", setting(its), *map(section, its)]
    return "\n\n".join(parts) + "\n"


def summary(found: Sequence[Record]) -> str:
    """A row an exhibit, and their sum."""
    rows, total = [], Counter[str]()
    for record in found:
        counts = Counter(claim["verdict"] for claim in record["claims"])
        total += counts
        link = f"[{name_of(record)}](#{anchor(title_of(record))})"
        rows.append([link, *(str(counts[kind] or "") for kind in COLUMNS), f"{record['seconds']:,.1f}"])
    seconds = sum(record["seconds"] for record in found)
    rows.append(["**all**", *(f"**{total[kind]}**" for kind in COLUMNS), f"**{seconds:,.1f}**"])
    return table([["exhibit", *COLUMNS, "seconds"], *rows], right=True)


def setting(its: Sequence[Record]) -> str:
    """Where and how long a paper's exhibits ran."""
    commits = " and ".join(dict.fromkeys(record["commit"] for record in its))
    machines = " and ".join(dict.fromkeys(record["machine"] for record in its))
    versions = " and ".join(dict.fromkeys(f"Python {record['python']}, numpy {record['numpy']}" for record in its))
    seconds = sum(record["seconds"] for record in its)
    script = f"bench/papers/{its[0]['paper']}.py"
    return (
        f"Measured by [{script}](../{script}) at commit{'s' * (' and ' in commits)} {commits}, in {seconds:,.0f} "
        f"seconds in all. The machine is a shared {machines}, with {versions}."
    )


def section(record: Record) -> str:
    """One exhibit: what was run, claims, our table and picture."""
    parts = [f"### {title_of(record)}", record["note"]]
    if record["claims"]:
        rows = [
            [claim["says"], claim["theirs"], claim["ours"], claim["verdict"], reasons(claim)]
            for claim in record["claims"]
        ]
        parts.append(table([["claim", "theirs", "ours", "verdict", "rule, and why"], *rows]))
    if record["table"]:
        parts += ["Our figures:", table(record["table"], right=True)]
    if record["picture"]:
        parts.append(f"![{record['alt']}](pictures/papers/{record['picture']})")
    return "\n\n".join(part.strip() for part in parts if part)


def reasons(claim: dict[str, Any]) -> str:
    """The rule of a verdict, and why it is no agreement."""
    rule = f"Rule: {claim['rule']}." if claim["rule"] else ""
    why = f"*Why:* {claim['why']}" if claim["why"] else ""
    return " ".join(part for part in (rule, why) if part)


def table(rows: Sequence[Sequence[str]], *, right: bool = False) -> str:
    """Rows as Markdown, the first one as the header; with ``right``, all but the first column to the right."""
    header, *others = ([cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows)
    rule = ["---", *(["---:" if right else "---"] * (len(header) - 1))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, rule, *others))


def name_of(record: Record) -> str:
    """Raykov2014, Table 1."""
    return f"{record['paper'].capitalize()}, {heading(record['name'])}"


def title_of(record: Record) -> str:
    """The heading of a section: unique on the page, as it names the paper."""
    return f"{name_of(record)}: {record['title']}"


def anchor(title: str) -> str:
    """The anchor of a heading, as GitHub and MyST make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


if __name__ == "__main__":
    main()
