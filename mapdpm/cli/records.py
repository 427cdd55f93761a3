"""Results as CSV or JSON lines, to standard output or to a file that is written wholly or not at all."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from mapdpm.cli.tables import STDIN

STDOUT = STDIN


def lines(names: Sequence[str], rows: Iterable[Sequence[Any]], kind: str) -> str:
    """Rows of numbers as text: CSV with a header, or one JSON object a line. Floats keep all digits."""
    if kind == "jsonl":
        return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)
    return "\n".join([",".join(names), *(",".join(map(repr, row)) for row in rows)]) + "\n"


def write_text(path: Path | None, text: str) -> None:
    """Print ``text`` where ``path`` is None or ``-``; else write it there, by gzip where the name ends in ``.gz``."""
    if path is None or str(path) == STDOUT:
        if sys.stdout is None:
            msg = "standard output is closed"
            raise OSError(msg)
        print(text, end="", flush=True)
        return
    from mapdpm.files.container import write_file  # noqa: PLC0415  (slow, and --version does not need it)

    data = text.encode()
    write_file(path, gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
