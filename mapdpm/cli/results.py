"""Results as CSV or JSON lines, to standard output or to a file that is written wholly or not at all."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from mapdpm.cli import stdout
from mapdpm.cli.forms import STDIN
from mapdpm.files.disk import write_file

STDOUT = STDIN


def lines(names: Sequence[str], rows: Iterable[Sequence[Any]], kind: str) -> str:
    """Rows of numbers as text: CSV with a header, or one JSON object a line. Floats keep all digits; None is blank."""
    if kind == "jsonl":
        return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)
    return (
        "\n".join([",".join(names), *(",".join("" if each is None else repr(each) for each in row) for row in rows)])
        + "\n"
    )


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
