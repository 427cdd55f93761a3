"""Choice of the columns of a CSV file: by ``--columns``, or those that a model was fitted on."""

from __future__ import annotations

import csv
import difflib
import re
import warnings
from collections.abc import Sequence

from mapdpm.cli.cells import is_text
from mapdpm.cli.table_rows import counted
from mapdpm.cli.tables import Choice, Columns, every
from mapdpm.cli.time_text import is_name
from mapdpm.cli.usage import UsageError

_SHOWN = 10
_ALL_BUT = "all-but:"
_RANGE = re.compile(r"(\d{1,9})(-?)(\d{0,9})")


def chosen(text: str, option: str = "--columns") -> Choice:
    """The columns of ``option``: names or positions, counted from 1, separated by commas; ``2-4`` and ``3-`` too.

    A range may go from one name to another, ``height-width``, or on to the last column, ``height-``. In ``readings.*``
    the star stands for any text: these are all such columns, in the order of the file or of the message.

    ``all-but:`` before them leaves them out. If the first row has text, a name takes precedence over a position of the
    same spelling. A name with a comma is quoted as in the file.
    """
    but = text.startswith(_ALL_BUT)
    text = text.removeprefix(_ALL_BUT)
    try:
        words = [word.strip() for word in next(csv.reader([text], skipinitialspace=True), [])]
    except csv.Error:
        msg = f"{option} must be names or positions separated by commas, got {text!r}"
        raise UsageError(msg) from None

    def choice(file: str, cells: list[str]) -> Columns:
        places, named = [], False
        header = any(map(is_name, cells))
        names = _places_by_name(cells)
        by_pattern: set[int] = set()
        for word in words:
            # In a row of numbers, a word that can be a position is one, even if a cell has the same text.
            if word in names and (header or not _may_be_positions(word, len(cells))):
                places.append(_place_of(word, file, names, option))
                named = True
            elif header and (several := _several_by_name(word, file, cells, names, option)):
                by_pattern |= set(several) - set(places) if "*" in word else set()
                places += [place for place in several if "*" not in word or place not in places]
                named = True
            else:
                places += _places_of(word, file, cells, option)
        taken: set[int] = set()
        for place in places:
            if place in taken:
                msg = f"{option} {text} has column {place + 1} twice"
                raise ValueError(msg)
            taken.add(place)
        if but:
            places = [place for place in range(len(cells)) if place not in taken]
        if not places:
            left = "leaves no column" if but else "names no column; give names or positions, such as height,3 or 2-4"
            msg = f"{option} {left}"
            raise ValueError(msg)
        return Columns(places, named, by_pattern=frozenset(by_pattern))

    return choice


def model_columns(names: Sequence[str], model: str) -> Choice:
    """The columns that a model was fitted on: by name in a file with a header, else all columns."""

    def choice(file: str, cells: list[str]) -> Columns:
        whole = every(file, cells)
        if list(names) == cells:
            return Columns(whole.places, named=True)
        found = _places_by_name(cells)
        missing = [name for name in names if name not in found]
        if missing and not any(map(is_text, cells)):
            return whole  # no header: by position
        if missing:
            msg = (
                f"{file} has no column {missing[0]!r}, on which {model} was fitted; it has {listed(cells)}. "
                "Choose columns of other names with --columns"
            )
            raise ValueError(msg)
        return Columns([_place_of(name, file, found) for name in names], named=True)

    return choice


def place_of(text: str, option: str, file: str, cells: list[str]) -> int:
    """The column of an option: a name that one column has, or a position counted from 1."""
    if cells.count(text) == 1:
        return cells.index(text)
    if text.isdecimal() and 1 <= int(text) <= len(cells):
        return int(text) - 1
    if text in cells:
        msg = f"{file} has {cells.count(text)} columns of the name {text!r} for {option}; give its position"
        raise ValueError(msg)
    msg = f"{file} has no column {text!r} for {option}; it has {listed(cells)}"
    raise ValueError(msg)


def position_of(text: str, option: str, file: str, cells: list[str]) -> int:
    """As ``place_of``, but a position comes first: a cell of the first row may be a number of the same text."""
    by_position = text.isdecimal() and 1 <= int(text) <= len(cells)
    return int(text) - 1 if by_position else place_of(text, option, file, cells)


def places_of_time(text: str, file: str, cells: list[str]) -> list[int]:
    """The column of ``--time``, or those of the date and of the time of day, as ``date,time``."""
    words = [text] if text in cells else next(csv.reader([text], skipinitialspace=True), [])
    place = place_of if any(map(is_name, cells)) else position_of  # a row of numbers and dates has no names
    return [place(word.strip(), "--time", file, cells) for word in words or [text]]


def beside_groups(choice: Choice, groups: str | None) -> Choice:
    """``choice`` without the column of ``--groups``, whose text says the group of each row; None: as it is."""
    if groups is None:
        return choice

    def chosen_beside(file: str, cells: list[str]) -> Columns:
        by_position = groups.isdecimal() and 1 <= int(groups) <= len(cells)
        group = position_of(groups, "--groups", file, cells)  # groups are often numbers, also in the first row
        found = choice(file, cells)
        places = [place for place in found.places if place != group]
        if not places:
            msg = f"{file} has no column but that of --groups"
            raise ValueError(msg)
        return Columns(places, found.named or not by_position, group)

    return chosen_beside


def with_others(choice: Choice, others: Sequence[str] | None) -> Choice:
    """``choice``, and the columns of ``--with`` as texts; None: as it is."""
    if others is None:
        return choice
    of_others = chosen(",".join(others), "--with")

    def chosen_with(file: str, cells: list[str]) -> Columns:
        found, beside = choice(file, cells), of_others(file, cells)
        return found._replace(named=found.named or beside.named, beside=beside.places)

    return chosen_with


def warned(file: str, cells: list[str]) -> Columns:
    """All columns, with a warning for one that looks like an index."""
    whole = every(file, cells)
    if "" in cells and any(map(is_text, cells)):
        at = cells.index("") + 1
        warnings.warn(
            f"column {at} of {file} has no name, like an index, and is used as a feature; --columns leaves it out",
            stacklevel=2,
        )
    return whole


def _places_by_name(cells: list[str]) -> dict[str, list[int]]:
    """The places of each name: a search for each of many names would take quadratic time."""
    found: dict[str, list[int]] = {}
    for place, name in enumerate(cells):
        found.setdefault(name, []).append(place)
    return found


def _place_of(name: str, file: str, names: dict[str, list[int]], option: str = "--columns") -> int:
    places = names[name]
    if len(places) > 1:
        msg = f"{file} has {len(places)} columns of the name {name!r}; choose by position with {option}"
        raise ValueError(msg)
    return places[0]


def _may_be_positions(word: str, n_columns: int) -> bool:
    found = _RANGE.fullmatch(word)
    return found is not None and 1 <= int(found[1]) <= n_columns


def _places_of(word: str, file: str, cells: list[str], option: str) -> list[int]:
    found = _RANGE.fullmatch(word)
    if found is None:
        near = difflib.get_close_matches(word, cells, 1, cutoff=0.65)
        hint = f". Did you mean {near[0]}?" if near else ""
        msg = f"{file} has no column {word!r}; it has {listed(cells)}{hint}"
        raise ValueError(msg)
    first, last = int(found[1]), int(found[3] or (len(cells) if found[2] else found[1]))
    for position in (first, last):
        if not 1 <= position <= len(cells):
            msg = f"{file} has {counted(len(cells), 'column')}, so {option} cannot have {word}: they count from 1"
            raise ValueError(msg)
    return _range_of(word, (first - 1, last - 1), len(cells), option)


def _several_by_name(word: str, file: str, cells: list[str], names: dict[str, list[int]], option: str) -> list[int]:
    """The columns of a range of names, which may have hyphens, too, or of a word with stars; else none."""
    for hyphen in (i for i, letter in enumerate(word) if letter == "-"):
        first, last = word[:hyphen].strip(), word[hyphen + 1 :].strip()
        if first in names and (last in names or not last):
            ends = _place_of(first, file, names, option), _place_of(last, file, names, option) if last else None
            return _range_of(word, ends, len(cells), option)
    return _alike(word, cells)


def _alike(word: str, cells: list[str]) -> list[int]:
    """The columns of a word with stars, each for any text."""
    if "*" not in word:
        return []
    pattern = re.compile(".*".join(map(re.escape, word.split("*"))), re.DOTALL)
    return [place for place, cell in enumerate(cells) if pattern.fullmatch(cell)]


def _range_of(word: str, ends: tuple[int, int | None], n_columns: int, option: str) -> list[int]:
    first, last = ends[0], n_columns - 1 if ends[1] is None else ends[1]
    if last < first:
        msg = f"{option} cannot have {word}: a range goes up"
        raise ValueError(msg)
    return list(range(first, last + 1))


def listed(cells: Sequence[str]) -> str:
    """The first names, and the number of the others."""
    more = f" and {len(cells) - _SHOWN} more" if len(cells) > _SHOWN else ""
    return ", ".join(cells[:_SHOWN]) + more
