"""The tables of c_kernels/README.md that are made of figures.json, each between two marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stacks import STACK_COLUMNS, STACK_ROWS
from targets import COLUMNS_OF_PROFILES, TARGETS

if TYPE_CHECKING:
    from collections.abc import Iterable

Known = dict[str, Any]

# What a row of the table of profiles is called, and the end of the names of its targets.
PROFILE_ROWS = {
    "score, any learner without switches: raw image": "-score",
    "score: raw image": "-score-fixed",
    "score: snapshot": "-score-snapshot",
    "learn, never split: raw image": "-raw-no-split",
    "learn: raw image": "-raw",
    "learn: snapshots (`smallest`)": "-smallest",
    "all": "",
}
# The groups of the table of figures; the others are profiles.
GROUPS = ("all", "smallest", "features", "surprise", "int", "int-smallest")
# Clocks in MHz: of chips that many boards have.
CLOCKS = {
    "cortex-m0": 48,
    "cortex-m0-smallest": 48,
    "cortex-m3": 72,
    "cortex-m4f": 168,
    "cortex-m4f-surprise": 168,
    "cortex-m4f-smallest": 168,
    "cortex-m33": 128,
    "rv32imac": 160,
    "avr": 16,
}
CYCLES = (1, 2)  # of an instruction


def markdown(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table whose numbers are on the right."""
    columns = list(head)
    lines = ["|" + "|".join(columns) + "|", "|---|" + "---:|" * (len(columns) - 1)]
    lines += ["|" + "|".join(row) + "|" for row in rows]
    return "\n".join(lines) + "\n"


def figure(known: Known, target: str, name: str) -> str:
    """Return a figure, or nothing if the machine does not give it."""
    value = known["targets"].get(target, {}).get(name)
    return "" if value is None else f"{value:,}"


def table_of_figures(known: Known) -> str:
    """Return the figures of the machines that count instructions or cycles."""
    columns = ("text", "stack", "worst", "learn", "most", "settle", "score", "save", "load")
    rows = [
        [target.name, *(figure(known, target.name, column) for column in columns)]
        for target in TARGETS
        if target.group in GROUPS and target.real != "double" and not target.linker
        if "learn" in known["targets"].get(target.name, {})
    ]
    return markdown([" ", *columns], rows)


def table_of_stacks(known: Known) -> str:
    """Return the worst case of the stack of some functions."""
    rows = [
        [row, *(figure(known, target, f"worst {name}") for target in STACK_COLUMNS)]
        for row, name in STACK_ROWS.items()
        if any(figure(known, target, f"worst {name}") for target in STACK_COLUMNS)
    ]
    return markdown([" ", *STACK_COLUMNS], rows)


def table_of_profiles(known: Known) -> str:
    """Return the bytes of the library for what a program needs of it, by two compilers."""
    rows = [
        [row, *(figure(known, target.name + end, "text") for target in COLUMNS_OF_PROFILES.values())]
        for row, end in PROFILE_ROWS.items()
    ]
    return markdown([" ", *(column.strip() for column in COLUMNS_OF_PROFILES)], rows)


def duration(seconds: float) -> str:
    """Return a time with two or three digits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size or unit == "µs":
            value = seconds / size
            return f"{value:.{0 if value >= 10 else 1}f} {unit}"  # noqa: PLR2004 -- two digits
    raise AssertionError


def span(least: float, most: float) -> str:
    """Return a range of times, with one unit where both have the same."""
    first, last = duration(least), duration(most)
    if first == last:
        return first
    return f"{first.split()[0] if first.split()[1] == last.split()[1] else first} to {last}"


def table_of_times(known: Known) -> str:
    """Return how long calls take at a clock: cycles on AVR, else 1 to 2 cycles for each instruction."""
    columns = ("learn", "most", "settle", "step", "score", "save", "load")
    rows = []
    for name, clock in CLOCKS.items():
        figures = dict(known["targets"].get(name, {}))
        if step := known["targets"].get(f"{name}-trouble", {}).get("settle most"):
            figures["step"] = step
        least, most = (1, 1) if name == "avr" else CYCLES
        cells = [
            span(least * figures[column] / clock / 1e6, most * figures[column] / clock / 1e6)
            if column in figures
            else ""
            for column in columns
        ]
        rows.append([f"{name}, {clock} MHz", *cells])
    return markdown([" ", *columns], rows)


TABLES = {
    "figures": table_of_figures,
    "stacks": table_of_stacks,
    "profiles": table_of_profiles,
    "times": table_of_times,
}


def with_tables(text: str, known: Known) -> str:
    """Return the text with the current tables between its marks."""
    for name, table in TABLES.items():
        begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
        if begin not in text or end not in text:
            msg = f"there are no marks of the table {name}"
            raise ValueError(msg)
        head, _, rest = text.partition(begin)
        text = head + begin + table(known) + end + rest.partition(end)[2]
    return text
