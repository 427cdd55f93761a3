"""Kinds that a user states: ``kinds={"relay": "flag", "wind": "circular:360", 3: "spiked:0,100"}``."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from mapdpm.kinds.kinds import CIRCULAR, KINDS, ROUNDED, SPIKED
from mapdpm.validation import refuse_value

NUMBER = "number"
"""A number as it is found, continuous or rounded."""

WORDS = (*KINDS, NUMBER)
_WITH_VALUES = (ROUNDED, SPIKED, CIRCULAR)
_EXAMPLES = "'flag', 'rounded:0.5', 'spiked:0' or 'circular:360'"
_MOST_SPIKES = 2


class Given(NamedTuple):
    """A kind that was stated, with the numbers after its colon."""

    kind: str
    values: tuple[float, ...] = ()


def given_kinds(kinds: Any, names: Sequence[str | int]) -> dict[int, Given]:
    """What ``kinds`` says, by the places of the columns; ValueError for a column or a kind that there is not.

    Examples
    --------
    >>> given_kinds({"wind": "circular:360", 0: "flag"}, ["relay", "wind"])
    {1: Given(kind='circular', values=(360.0,)), 0: Given(kind='flag', values=())}
    """
    if kinds is None:
        return {}
    if not isinstance(kinds, Mapping):
        refuse_value(f"kinds must be a dict of columns and kinds, such as {_EXAMPLES}", kinds)
    found: dict[int, Given] = {}
    for name, text in kinds.items():
        place = _place_of(name, names)
        if place in found:
            msg = f"kinds has column {names[place]!r} twice"
            raise ValueError(msg)
        found[place] = given_kind(text, f"kinds: column {names[place]!r}")
    return found


def given_kind(text: Any, where: str) -> Given:
    """A kind, as ``rounded:0.5``; ``where`` is what messages begin with."""
    if not isinstance(text, str):
        refuse_value(f"{where}: must be a kind, such as {_EXAMPLES}", text)
    kind, colon, rest = text.partition(":")
    kind = kind.strip()
    if kind not in WORDS:
        near = difflib.get_close_matches(kind, WORDS, 1)
        _refuse(where, f"{kind!r} is no kind; " + (f"did you mean {near[0]!r}?" if near else f"use {', '.join(WORDS)}"))
    if not colon:
        if kind in {SPIKED, CIRCULAR}:
            _refuse(where, f"{kind!r} needs its {'values' if kind == SPIKED else 'period'}, as in {_like(kind)}")
        return Given(kind)
    if kind not in _WITH_VALUES:
        _refuse(where, f"{kind!r} has nothing after it, got {text!r}")
    try:
        values = tuple(float(word) for word in rest.split(","))
    except ValueError:
        _refuse(where, f"there must be numbers after {kind!r}, as in {_like(kind)}, got {text!r}")
    if kind != SPIKED and (len(values) > 1 or not 0.0 < values[0] < float("inf")):
        _refuse(where, f"there must be one number > 0 after {kind!r}, as in {_like(kind)}, got {text!r}")
    if not all(abs(value) < float("inf") for value in values) or len(set(values)) < len(values):
        _refuse(where, f"values of {kind!r} must be finite, and differ, got {text!r}")
    if len(values) > _MOST_SPIKES:
        _refuse(where, f"{kind!r} takes one or two values, got {text!r}")
    return Given(kind, values)


def _place_of(name: Any, names: Sequence[str | int]) -> int:
    if name in names and not isinstance(name, bool):
        return names.index(name)
    if isinstance(name, int) and not isinstance(name, bool) and 0 <= name < len(names):
        return name
    near = difflib.get_close_matches(str(name), [str(each) for each in names], 1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(repr(each) for each in names[:10])}"
    msg = f"kinds: there is no column {name!r}; {hint}"
    raise ValueError(msg)


def _like(kind: str) -> str:
    return {ROUNDED: "'rounded:0.5'", SPIKED: "'spiked:0'", CIRCULAR: "'circular:360'"}[kind]


def _refuse(where: str, what: str) -> NoReturn:
    msg = f"{where}: {what}"
    raise ValueError(msg)
