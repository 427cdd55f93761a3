"""Results as CSV or JSON lines, to standard output or to a file that is written wholly or not at all."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from mapdpm.cli import stdout
from mapdpm.cli.beginning import STDIN
from mapdpm.cli.usage import refuse_argument
from mapdpm.files.disk import write_file

STDOUT = STDIN
_PLAIN = re.compile(r'[^",\r\n]*')


def lines(names: Sequence[str], rows: Iterable[Sequence[Any]], kind: str) -> str:
    """Rows of results: CSV with a header, or one JSON object a line. Floats keep all digits; None is blank."""
    if kind == "jsonl":
        return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)
    return "\n".join([",".join(map(_cell, names)), *(",".join(map(_cell, row)) for row in rows)]) + "\n"


def _cell(value: Any) -> str:
    """A cell of CSV; a text is quoted where it could be read otherwise."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return repr(value)
    return value if _PLAIN.fullmatch(value) else '"' + value.replace('"', '""') + '"'


def beside(
    kept: tuple[Sequence[str], Sequence[Sequence[str]]], names: Sequence[str], rows: Iterable[Sequence[Any]]
) -> tuple[list[str], list[Sequence[Any]]]:
    """``names`` and ``rows`` of results, behind those that a table has kept; UsageError for two of one name."""
    titles, texts = kept
    if not titles:
        return list(names), list(rows)
    whole = [*titles, *names]
    twice = next((name for name in titles if whole.count(name) > 1), None)
    if twice is not None:
        refuse_argument(f"--with: two columns of the output would be called {twice!r}; rename that of the file")
    return whole, [(*text, *row) for text, row in zip(texts, rows, strict=True)]


def in_place(rows: Iterable[Any], there: Iterable[Any], absent: Any) -> list[Any]:
    """``rows`` of results at the places that are ``there``, and ``absent`` at the others."""
    known = iter(rows)
    return [next(known) if each else absent for each in there]


def write_text(path: Path | None, text: str) -> None:
    """Print ``text`` where ``path`` is None or ``-``; else write it there, by gzip where the name ends in ``.gz``."""
    if path is None or str(path) == STDOUT:
        stdout.write(text)
        return
    data = text.encode()
    write_file(path, gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
