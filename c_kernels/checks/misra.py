"""Count the findings of cppcheck's MISRA C:2012 add-on in the stream learner: `python3 checks/misra.py`.

The table in misra.md states for each rule how often the sources deviate from it, and why. More findings, or findings of
another rule, are an error; --update writes the present counts. Two configurations are counted together, so that both
real types are checked: float with missing values, groups and states, and double without.
"""

import collections
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import amalgamate  # noqa: E402  (lies beside this folder)

CONFIGURATIONS = (
    ("-DMAPDPM_REAL=float", "-DMAPDPM_MISSING", "-DMAPDPM_GROUPS", "-DMAPDPM_STATES"),
    ("-DMAPDPM_REAL=double",),
)
TABLE = HERE / "misra.md"
ROW = re.compile(r"\| ([\d.]+|[a-z]\w+) \| (\d+) \| (.*) \|")
UNSTATED = "to be stated"


def findings(switches: tuple[str, ...]) -> set[tuple[str, str]]:
    """Return pairs of a rule and a place. A finding of cppcheck itself has its name in place of the rule.

    It runs in a copy, because cppcheck writes files for its add-on beside the sources.
    """
    with tempfile.TemporaryDirectory() as folder:
        everything_else = shutil.ignore_patterns("amalgamation", "build", "checks", "firmware", "fuzz", "tests")
        shutil.copytree(HERE.parent, folder, ignore=everything_else, dirs_exist_ok=True)
        run = subprocess.run(
            [
                *("nice", "-n", "5", "cppcheck", "--addon=misra", "--std=c99", "--platform=unix64", "-q", "-I."),
                *("-D__STDC_HOSTED__=1", *switches, "--template={id}|{file}:{line}:{column}", *amalgamate.SOURCES),
            ],
            check=False,
            capture_output=True,
            text=True,
            cwd=folder,
        )
    if run.returncode:
        sys.exit(f"misra.py: cppcheck failed with {run.returncode}: {(run.stdout + run.stderr)[-2000:]}")
    pairs = (line.split("|") for line in run.stderr.splitlines() if line.count("|") == 1)
    return {(rule.removeprefix("misra-c2012-"), place) for rule, place in pairs}


def stated() -> dict[str, tuple[int, str]]:
    """Return the rules of the table, each with the count and the reason of its deviations."""
    rows = (ROW.fullmatch(line) for line in TABLE.read_text().splitlines())
    return {row[1]: (int(row[2]), row[3]) for row in rows if row is not None}


def rewrite(counts: dict[str, int], table: dict[str, tuple[int, str]], version: str) -> None:
    """Write the counts and keep the reasons. A new rule gets a row that asks for a reason."""
    rules = sorted(counts, key=lambda rule: [int(part) if part.isdigit() else 99 for part in rule.split(".")])
    rows = [f"| {rule} | {counts[rule]} | {table.get(rule, (0, UNSTATED))[1]} |" for rule in rules]
    head = TABLE.read_text().split("| rule |")[0]
    head = re.sub(r"cppcheck \d[\d.]*", f"cppcheck {version}", head)
    TABLE.write_text(head + "\n".join(["| rule | count | why we deviate |", "|---|---:|---|", *rows]) + "\n")


def complaints(counts: dict[str, int], table: dict[str, tuple[int, str]], places: dict[str, list[str]]) -> list[str]:
    """Return a line for each finding that the table does not allow."""
    lines = []
    for rule, count in sorted(counts.items()):
        allowed, why = table.get(rule, (0, UNSTATED))
        if count > allowed:
            where = ", ".join(sorted(places[rule])[:8])
            lines.append(f"rule {rule}: {count} findings, misra.md allows {allowed}: mend them, or state why: {where}")
        elif why == UNSTATED:
            lines.append(f"rule {rule}: misra.md does not say why we deviate")
    return lines


def main() -> int:
    """Count the findings, and compare them with the table or rewrite it."""
    cppcheck = shutil.which("cppcheck")
    if cppcheck is None:
        print("skipped: no cppcheck; apt-get install cppcheck")
        return 0
    version = subprocess.run([cppcheck, "--version"], check=True, capture_output=True, text=True).stdout.split()[-1]
    with concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        found = set().union(*pool.map(findings, CONFIGURATIONS))
    places = collections.defaultdict(list)
    for rule, place in found:
        places[rule].append(place)
    counts, table = {rule: len(where) for rule, where in places.items()}, stated()
    if "--update" in sys.argv[1:]:
        rewrite(counts, table, version)
        table = stated()
    elif f"cppcheck {version}" not in TABLE.read_text():
        print(f"skipped: misra.md has the counts of another cppcheck than {version}, and add-ons differ; --update")
        return 0
    wrong = complaints(counts, table, places)
    print("\n".join(wrong) or f"{sum(counts.values())} findings of {len(counts)} rules, all of them stated in misra.md")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
