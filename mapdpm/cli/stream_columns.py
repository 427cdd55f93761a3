"""Which columns a stream reads: the first item chooses them, and a learner that is resumed has them already."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from mapdpm.cli import checkpoint
from mapdpm.cli.cells import is_text, value_of
from mapdpm.cli.checkpoint import Saved
from mapdpm.cli.columns import chosen, listed, places_of_time, position_of, warned
from mapdpm.cli.fields import Fields
from mapdpm.cli.forms import EMPTY
from mapdpm.cli.json_records import Cells, Record
from mapdpm.cli.refused import RefusedInputError, refuse_input, refuse_other
from mapdpm.cli.source import Source
from mapdpm.cli.stream_features import StreamFeatures
from mapdpm.cli.table_rows import counted
from mapdpm.cli.tables import Columns
from mapdpm.cli.time_text import TIME, check_time, is_name, is_time
from mapdpm.cli.topics import OF_TOPIC
from mapdpm.cli.usage import UsageError
from mapdpm.stream import OnlineHDP, OnlineHDPHMM, OnlineMAPDPM


class StreamColumns:
    """The columns of one run; ``fields`` is None until an item has chosen them."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        settings: dict[str, Any],
        learns: tuple[StreamFeatures, OnlineMAPDPM | OnlineHDPHMM | OnlineHDP],
        source: Source,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.fields: Fields | None = None
        self.header_allowed = True  # the next item may be a header
        self._state, self._settings, self._source, self._say = arguments.state, settings, source, say
        self._skips = arguments.on_error == "skip"
        self._features, self._model = learns
        self._gaps = self._model.missing == "skip"
        self._said_again = False
        self._begun_with = (self._model.n_features, getattr(self._model, "feature_names_in_", None))

    def resume(self, saved: Saved) -> None:
        """Go on with the columns of a checkpoint; ModelFileError where they are damaged."""
        if saved.columns is not None:
            self.fields = Fields.revived(saved.columns, self._features.n_columns(self._model.n_features_in_))

    def is_header(self, where: str, cells: Cells) -> bool:
        """Whether the first item, whose name is ``where``, is a header; sets the columns."""
        names = self._source.named([cell.strip() for cell in cells])
        if self.fields is not None:
            header = self._source.headed and any(is_text(names[p]) for p in self.fields.places if p < len(names))
            if header and names != self.fields.names:
                expected = "none" if self.fields.names is None else listed(self.fields.names)
                msg = (
                    f"{self._source.name} has the columns {listed(names)}, but {self._state} is of others: "
                    f"{expected}; {checkpoint.ANOTHER}"
                )
                raise ValueError(msg)
        elif self._source.width not in {None, len(cells)}:
            refuse_input(f" has {counted(len(cells), 'column')}, but nearly all lines have {self._source.width}")
        else:
            header = self._choose(self._source.name if self._source.headed else where, cells, names)
        self.header_allowed = False
        return header

    def are_names(self, cells: Cells) -> bool:
        """Whether an item repeats the names of the columns."""
        return self._source.headed and self.fields is not None and cells == self.fields.names

    def say_again(self, where: str) -> None:
        """Say that the names come again in the item of this name: the first time."""
        if not self._said_again:
            self._say(f"the names of columns come again in {where.rpartition(': ')[2]}, and are left out")
        self._said_again = True

    def forget(self) -> None:
        """Let the next item choose the columns, as if the last one, which was refused, had not come."""
        n_features, names = self._begun_with
        self.fields, self.header_allowed = None, True
        if self._model.n_features != n_features:
            self._model.set_params(n_features=n_features)
        if names is not None:
            self._model.feature_names_in_ = names
        else:
            self._model.__dict__.pop("feature_names_in_", None)

    def _choose(self, name: str, cells: Cells, names: list[str]) -> bool:
        """Choose the columns from the first item, ``name`` in messages; True where it is a header."""
        words = self._settings["columns"]
        try:
            when, group, columns = self._named(name, cells, names)
            beside = cells.beside if isinstance(cells, Record) else ()
            empty = {place for place, each in enumerate(names) if each == EMPTY}
            left_out = {place for place, each in enumerate(names) if each in beside} | {*(when or ()), group}
            left_out = empty if words is not None else left_out | empty
            if isinstance(cells, Record):  # a pattern is of the numbers in a message
                left_out |= {place for place in columns.by_pattern if value_of(cells[names[place]]) is None}
            places = [place for place in columns.places if place not in left_out]
            if not places:
                msg = f"{name} has no column{' but the time' if when else ''}"
                raise ValueError(msg)  # noqa: TRY301  (one sentence for all of them)
            fields = Fields(names, len(names), places, when, group)
            named = columns.named or (group is not None and not str(self._settings["groups"]).isdecimal())
            header = self._source.headed and (named or self._source.years or _are_names(fields, names))
            if not header:
                if not isinstance(cells, Record):
                    fields = fields._replace(names=None)
                self._check(fields, cells)  # an item without a point does not choose columns
            self._start(name, fields)
        except (UsageError, RefusedInputError):
            raise
        except ValueError as error:
            if self._source.headed and (not self._skips or any(map(is_name, names))):
                raise
            refuse_input(_continued(name, error))  # of this message, or of a torn line: the next one may fit
        return header

    def _named(self, name: str, cells: Cells, names: list[str]) -> tuple[list[int] | None, int | None, Columns]:
        """The places of time, group and columns; OtherInputError where a message lacks them."""
        words, at, groups = (self._settings[option] for option in ("columns", "time", "groups"))
        try:
            when = None if at is None else places_of_time(at, name, names)
            group = None if groups in {None, OF_TOPIC} else position_of(groups, "--groups", name, names)
            columns = (warned if words is None else chosen(words))(name, names)
        except ValueError as error:
            if not isinstance(cells, Record):
                raise
            refuse_other(_continued(name, error))
        if words is None and when is None:
            self._say_times(names)
        return when, group, columns

    def _say_times(self, names: list[str]) -> None:
        """Say which columns are times by their names, and would be learned as features."""
        found = [each for each in names if TIME.search(each)]
        if found:
            self._say(f"column {found[0]!r} looks like a time, and is a feature; --time {found[0]} takes it for one")

    def _check(self, fields: Fields, cells: Cells) -> None:
        """RefusedInputError where an item has no point, or no time."""
        row = fields.row(cells, gaps=self._gaps)
        fields.point(row, gaps=self._gaps)
        fields.group_of(row)
        if fields.time is not None:
            try:
                check_time(fields.when(row))
            except ValueError as error:
                fields.refuse_time(str(error))

    def _start(self, name: str, fields: Fields) -> None:
        D, names = self._features.begin(len(fields.places), fields.chosen_names())
        known = getattr(self._model, "n_features_in_", D)
        if known != D:
            other = "--prior" if self._model.n_seen == 0 else self._state
            wrong = f"has {counted(D, 'column')}, but {other} is of {known}"
            msg = f"{name} {wrong}; choose with --columns"
            raise ValueError(msg)
        if not hasattr(self._model, "n_features_in_"):
            self._model.set_params(n_features=D)
        if names is not None:
            self._model.feature_names_in_ = np.array(names, dtype=object)
        if "*" in (self._settings["columns"] or ""):
            self._say(f"the columns are {', '.join(fields.chosen_names() or ())}, by --columns")
        self.fields = fields


def _are_names(fields: Fields, names: list[str]) -> bool:
    """Whether the first item has a text where points have numbers, or times."""
    of_time = fields.time is not None and not is_time(fields.when(names))
    return of_time or any(is_text(names[place]) for place in fields.places)


def _continued(name: str, error: ValueError) -> str:
    """An error of the item ``name``, without the name."""
    text = str(error)
    return text.removeprefix(name) if text.startswith(name) else f": {text}"
