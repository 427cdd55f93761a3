"""The columns of a stream: those of the point, and that of its time."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, NoReturn

from mapdpm.cli.cells import complaint_of, is_missing, value_of
from mapdpm.cli.feed import refuse_input
from mapdpm.cli.tables import counted
from mapdpm.data.columns import NUMBER
from mapdpm.files.errors import refuse_damaged

_LATEST = 1e12  # seconds; more would overflow 64 bits of microseconds


class Fields(NamedTuple):
    """The places of the point's cells in a line, and of the time's."""

    names: list[str] | None
    width: int
    places: list[int]
    time: int | None

    @classmethod
    def revived(cls, columns: dict[str, Any], n_features: int) -> Fields:
        """The columns of a checkpoint, checked; ModelFileError where they are invalid."""
        names, width, places, at = (columns.get(name) for name in cls._fields)
        if not (
            isinstance(width, int)
            and (names is None or (isinstance(names, list) and len(names) == width))
            and all(isinstance(name, str) for name in names or ())
            and isinstance(places, list)
            and len(places) == n_features
            and all(isinstance(place, int) and 0 <= place < width for place in [*places, 0 if at is None else at])
        ):
            refuse_damaged("its columns do not fit")
        return cls(names, width, places, at)

    def point(self, cells: list[str] | dict[str, str], *, gaps: bool) -> tuple[list[float], float | None]:
        """The point and its time; RefusedInputError where a cell is invalid. With ``gaps`` missing values are NaN."""
        if isinstance(cells, dict):
            if self.names is None:
                refuse_input(" is an object, but the first message was none")
            cells = [cells.get(name, "") for name in self.names]
        if len(cells) != self.width:
            refuse_input(f" has {counted(len(cells), 'column')}, but the first has {self.width}")
        x = []
        for place in self.places:
            value = value_of(cells[place])
            if gaps and is_missing(cells[place], value, NUMBER):
                value = math.nan
            elif value is None or not math.isfinite(value):
                self._refuse(place, complaint_of(cells[place], value, cells))
            x.append(value)
        if self.time is None:
            return x, None
        t = value_of(cells[self.time])
        if t is None or not abs(t) <= _LATEST:
            self._refuse(self.time, f"is not a time in seconds: {cells[self.time].strip()[:40]!r}")
        return x, t

    def chosen_names(self) -> list[str] | None:
        """Names of the features."""
        return None if self.names is None else [self.names[place] for place in self.places]

    def _refuse(self, place: int, complaint: str) -> NoReturn:
        name = f" ({self.names[place]})" if self.names and self.names[place] else ""
        refuse_input(f", column {place + 1}{name} {complaint}")
