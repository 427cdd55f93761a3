"""The columns of a stream: those of the point, and that of its time."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, NoReturn

from mapdpm.cli.cells import complaint_of, is_missing, numbers_of, value_of
from mapdpm.cli.columns import listed
from mapdpm.cli.json_records import Cells, Record
from mapdpm.cli.marks import doubted
from mapdpm.cli.refused import refuse_input, refuse_other
from mapdpm.cli.table_rows import counted
from mapdpm.data.columns import NUMBER
from mapdpm.files.errors import refuse_damaged


class Fields(NamedTuple):
    """The places of the point's cells in a line, and of the time's."""

    names: list[str] | None
    width: int
    places: list[int]
    time: list[int] | None
    """One place, or those of the date and of the time of day."""
    group: int | None = None

    @classmethod
    def revived(cls, columns: dict[str, Any], n_features: int) -> Fields:
        """The columns of a checkpoint, checked; ModelFileError where they are invalid."""
        names, width, places, at, group = (columns.get(name) for name in cls._fields)
        at = [at] if isinstance(at, int) else at  # as files had it when there was one
        if not (
            isinstance(width, int)
            and (names is None or (isinstance(names, list) and len(names) == width))
            and all(isinstance(name, str) for name in names or ())
            and isinstance(places, list)
            and len(places) == n_features
            and (at is None or (isinstance(at, list) and at))
            and all(isinstance(place, int) and 0 <= place < width for place in [*places, *(at or ()), group or 0])
        ):
            refuse_damaged("its columns do not fit")
        return cls(names, width, places, at, group)

    def row(self, cells: Cells, *, gaps: bool) -> list[str]:
        """The cells in the order of the columns; RefusedInputError where they are others.

        With ``gaps`` a message may lack some of the columns, but not all.
        """
        if isinstance(cells, Record):
            if self.names is None:
                refuse_input(" is an object, but the first message was none")
            absent = [self.names[place] for place in self.places if self.names[place] not in cells]
            needed = [*(self.time or ()), *(() if self.group is None else (self.group,))]
            timeless = [self.names[place] for place in needed if self.names[place] not in cells]
            if timeless or (absent and not (gaps and len(absent) < len(self.places))):
                refuse_other(f" has no {(timeless or absent)[0]!r}; it has {listed(list(cells)) or 'no values'}")
            cells = [cells.get(name, "") for name in self.names]
        if len(cells) != self.width:
            refuse_input(f" has {counted(len(cells), 'column')}, but the first has {self.width}")
        return cells

    def point(self, row: list[str], *, gaps: bool) -> list[float]:
        """The point; RefusedInputError where a cell is invalid. With ``gaps`` missing values are NaN."""
        usual = numbers_of([row[place] for place in self.places])
        if usual is not None:
            return usual
        x = []
        for place in self.places:
            value = value_of(row[place])
            if gaps and is_missing(row[place], value, NUMBER):
                value = math.nan
            elif value is None or not math.isfinite(value):
                self._refuse(place, complaint_of(row[place], value, row))
            x.append(value)
        return x

    def when(self, row: list[str]) -> str:
        """The time as it is written; empty where points have none."""
        return " ".join([row[place].strip() for place in self.time or ()])

    def group_of(self, row: list[str]) -> str | None:
        """The group; None where no column has it; RefusedInputError where it is blank."""
        if self.group is None:
            return None
        group = row[self.group].strip()
        if not group:
            self._refuse(self.group, "is blank; each point needs a group")
        return doubted(group) or group

    def refuse_time(self, complaint: str) -> NoReturn:
        """RefusedInputError for a time."""
        self._refuse(self.time[0] if self.time else 0, complaint)

    def chosen_names(self) -> list[str] | None:
        """Names of the features."""
        return None if self.names is None else [self.names[place] for place in self.places]

    def _refuse(self, place: int, complaint: str) -> NoReturn:
        name = f" ({self.names[place]})" if self.names and self.names[place] else ""
        refuse_input(f", column {place + 1}{name} {complaint}")
