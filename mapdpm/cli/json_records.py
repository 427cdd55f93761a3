"""Points in JSON: an object or an array, or an array of these; values in them by paths, as ``SI7021.Humidity``."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from mapdpm.cli import text_rows
from mapdpm.cli.refused import refuse_input


class Record(dict[str, str]):
    """The cells of a message by their names, which are paths in it."""

    beside: frozenset[str] = frozenset()
    """The names that "all columns" leaves out."""


Cells: TypeAlias = "list[str] | Record"

_DEEPEST = 32
_LONGEST_PATH = 500  # characters: those of all values must not fill the memory


def records_of_json(text: str) -> list[Cells]:
    """The points of a message, one or several; RefusedInputError where it holds none."""
    try:
        # Numbers stay as they are written: values that are none are refused as in a file.
        held = json.loads(text, parse_float=str, parse_int=str)
    except (ValueError, RecursionError) as error:
        refuse_input(f" is not JSON: {error}")
    if isinstance(held, dict):
        return [_flattened(held)]
    if not isinstance(held, list):
        refuse_input(" is not JSON: neither an object nor an array")
    nested = [isinstance(each, (dict, list)) for each in held]
    if not any(nested):
        return [[_cell(each) for each in held]]
    if not all(nested):
        refuse_input(" is an array of values and of points; give points as objects or arrays")
    return [_flattened(each) if isinstance(each, dict) else _row(each) for each in held]


def _row(values: list[Any]) -> list[str]:
    if any(isinstance(each, (dict, list)) for each in values):
        refuse_input(" is an array within arrays of points; give points as objects")
    return [_cell(each) for each in values]


def _flattened(held: dict[str, Any]) -> Record:
    """The values of an object by their paths, in their order; a name with points of its own comes first."""
    found = Record()
    ahead: list[tuple[str, int, Any]] = [(name.strip(), 1, value) for name, value in reversed(held.items())]
    while ahead:
        path, depth, value = ahead.pop()
        if isinstance(value, (dict, list)):
            if depth == _DEEPEST or len(path) > _LONGEST_PATH:
                refuse_input(f" is nested deeper than {_DEEPEST} levels, or its paths are too long")
            inner = value.items() if isinstance(value, dict) else enumerate(value)
            more = [(f"{path}.{str(name).strip()}", depth + 1, each) for name, each in inner]
            ahead += reversed(more)
        elif depth == 1 or path not in found:
            found[path] = _cell(value)
        if len(found) + len(ahead) > text_rows.MOST_COLUMNS:
            refuse_input(f" has more than {text_rows.MOST_COLUMNS} values")
    return found


def _cell(value: Any) -> str:
    """The text of a value: true and false are 1 and 0."""
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, bool) else str(value)
