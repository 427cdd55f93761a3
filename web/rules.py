"""The rules by which the command line reads tables, for web/csv.js: lists, limits and patterns, each written once.

Patterns of Python become those of JavaScript. Both take the same texts, but for digits, which are 0 to 9 here.
"""

# ruff: noqa: SLF001  (the names of one project)

from __future__ import annotations

import csv
import re
from typing import Any

from mapdpm.cli import (
    beginning,
    beside_table,
    books,
    cells,
    forms,
    line_protocol,
    marks,
    models,
    table_rows,
    text_rows,
    time_text,
)
from mapdpm.kinds import notes

SPACES = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
_IN_CLASS = "".join(f"\\u{ord(space):04x}" for space in SPACES)
_LETTERS = re.compile(r"\[\^\\W([^]]*)\]")
_PIECE = re.compile(r"\\.|\[|\]|\.|\(\?P<|\(\?P=(\w+)\)|[^\\]", re.DOTALL)
_ESCAPES = {r"\d": "[0-9]", r"\s": f"[{_IN_CLASS}]", r"\"": '"', r"\ ": " "}
_UNKNOWN = frozenset((r"\w", r"\W", r"\b", r"\B", r"\S", r"\D", r"\A", r"\Z"))


def pattern(of_python: re.Pattern[Any]) -> dict[str, str]:
    """The source and the flags of a pattern in JavaScript; ValueError where it has what is not translated."""
    text = of_python.pattern
    text = text.decode("latin-1") if isinstance(text, bytes) else text
    # All letters and digits but some: JavaScript's \\W knows no letters but those of ASCII.
    text = _LETTERS.sub(lambda found: rf"(?![{found[1]}])[\p{{L}}\p{{N}}_]", text)
    parts, inside = [], False
    for found in _PIECE.finditer(text):
        piece = found[0]
        if piece in _UNKNOWN:
            msg = f"{piece} of {text} has no translation"
            raise ValueError(msg)
        if piece in _ESCAPES:
            one = _ESCAPES[piece]
            parts.append(one[1:-1] if inside and len(one) > 1 else one)
        elif piece in "[]":
            inside = piece == "["
            parts.append(piece)
        elif piece == "." and not inside:
            parts.append(r"[^\n]")
        elif found[1]:
            parts.append(rf"\k<{found[1]}>")
        else:
            parts.append("(?<" if piece == "(?P<" else piece)
    return {"source": "".join(parts), "flags": "iu" if of_python.flags & re.IGNORECASE else "u"}


def rules() -> dict[str, Any]:
    """All that web/rules.js gives out."""
    patterns = {
        "value": forms._VALUE,
        "withComma": marks.WITH_COMMA,
        "withPoint": marks.WITH_POINT,
        "doubted": marks.DOUBTED,
        **{f"{kind} {mark}": each for mark, of in marks.PATTERNS.items() for kind, each in of._asdict().items()},
        "binary": beginning.BINARY,
        "comment": beside_table._COMMENT,
        "rule": beside_table._RULE,
        "decimalComma": cells._COMMA,
        "noText": cells._NO_TEXT,
        "grouped": cells._GROUPED,
        "withUnit": cells._WITH_UNIT,
        "dateCell": cells._DATE,
        "date": time_text._DATE,
        "ofDay": time_text._OF_DAY,
        "protocol": line_protocol._LINE,
        "field": line_protocol._FIELD,
        "fieldNumber": line_protocol._NUMBER,
        "markup": models._MARKUP,
    }
    magic = {"model": beginning.MODEL, "gzip": beginning.GZIP}
    magic |= {"zip": books.ZIP, "oldExcel": books.OLD_EXCEL, "parquet": books.PARQUET_BEGINS}
    return {
        "spaces": SPACES,
        "missing": cells.MISSING_NUMBERS,
        "ofSensors": cells._OF_SENSORS,
        "separators": forms._SEPARATORS,
        "names": forms._NAMES,
        "marks": list(marks.PATTERNS),
        "between": marks._SEEN,
        "marksInWords": forms._BETWEEN,
        "highMarks": marks._HIGH,
        "lowMarks": marks._LOW,
        "sample": beginning.SAMPLE,
        "lines": beginning.LINES,
        "few": forms._FEW,
        "years": [beside_table._YEARS[0], beside_table._YEARS[-1]],
        "nearlyAll": forms._NEARLY_ALL,
        "mostUnits": beside_table._MOST_UNITS,
        "fewRows": beside_table._FEW,
        "sums": sorted(beside_table._SUMS),
        "statistics": sorted(beside_table._STATISTICS),
        "mostBlank": table_rows._MOST_BLANK,
        "below": beside_table.BELOW,
        "mostBelow": beside_table._MOST_BELOW,
        "longestLine": text_rows.LONGEST_LINE,
        "mostColumns": text_rows.MOST_COLUMNS,
        "longestCell": csv.field_size_limit(),
        "magic": {name: list(begins) for name, begins in magic.items()},
        "json": models._JSON,
        "fieldFlags": list(line_protocol._FLAGS),
        "told": time_text._TOLD,
        "fewestRows": notes._FEWEST_ROWS,
        "steady": notes._STEADY,
        "mostClasses": notes._MOST_CLASSES,
        "classes": sorted(notes._CLASSES),
        "numbersOfRows": sorted(notes._NUMBERS_OF_ROWS),
        "patterns": {name: pattern(each) for name, each in patterns.items()},
    }
