"""The lines that ``mapdpm stream`` prints: one for each point."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from mapdpm.stream import Event

HEADER, RUN, GROUP = "id,score,event", ",run", ",group"
_QUOTE = '"'


def as_json(number: int, score: float, events: Sequence[Event], run: int | None, group: str | None) -> str:
    """A line of JSON; ``run`` is None where clusters are no states, and ``group`` where points have none."""
    happened = json.dumps([{"kind": e.kind, "id": e.id, "other": e.other} for e in events]) if events else "null"
    more = "" if run is None else f', "run": {run}'
    more += "" if group is None else f', "group": {json.dumps(group)}'
    return f'{{"id": {number}, "score": {score if math.isfinite(score) else "null"!s}, "event": {happened}{more}}}\n'


def as_csv(number: int, score: float, events: Sequence[Event], run: int | None, group: str | None) -> str:
    """A line of CSV, with the columns of ``HEADER``."""
    happened = (f"{e.kind} {e.id}" + ("" if e.other is None else f" {e.other}") for e in events)
    more = "" if run is None else f",{run}"
    if group is not None:
        more += "," + (f'"{group.replace(_QUOTE, 2 * _QUOTE)}"' if set(group) & set(',"\r\n') else group)
    return f"{number},{score if math.isfinite(score) else ''!s},{';'.join(happened)}{more}\n"
