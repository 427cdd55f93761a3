"""``mapdpm stream --features``: points go through a pipeline before the learner gets them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mapdpm import features
from mapdpm.cli.checkpoint import Saved
from mapdpm.cli.refused import refuse_input
from mapdpm.cli.time_text import zone_of
from mapdpm.cli.usage import refuse_argument
from mapdpm.features import Pipeline, Silence, Transformer, Union
from mapdpm.features.by_time import AtTime
from mapdpm.files.errors import refuse_damaged


class StreamFeatures:
    """The features of one run, or none: then a point is its own result."""

    def __init__(self, transformer: Transformer | None) -> None:
        self.transformer = transformer
        self.has_seasons = transformer is not None and bool(_seasons(transformer))
        """Whether results are of the hour or the day, which are those of the clocks of ``--time-zone``."""
        self._before: Any = None

    @classmethod
    def of(cls, settings: dict[str, Any], saved: Saved | None, path: Path | None) -> StreamFeatures:
        """The features that the settings name, as they were saved; UsageError for a wrong text."""
        text = settings["features"]
        if text is None:
            return cls(None)
        try:
            transformer = features.parse(text, settings["dtype"])
        except ValueError as error:
            refuse_argument(f"--features: {error}")
        if transformer.needs_times:
            _check_times(transformer, settings)
        if saved is None or saved.columns is None:
            return cls(transformer)
        if repr(saved.features) != repr(transformer):
            refuse_damaged("its features are not those of its settings", path)
        return cls(saved.features)

    def n_columns(self, n_learned: int) -> int:
        """Number of columns of the points of a resumed learner of ``n_learned`` columns."""
        return n_learned if self.transformer is None else self.transformer.n_features_in_

    def begin(self, n_columns: int, names: list[str] | None) -> tuple[int, list[str] | None]:
        """Begin with points of so many columns; the number and the names of the columns of results."""
        if self.transformer is None:
            return n_columns, names
        self.transformer.fit(np.zeros((1, n_columns)))
        if names is not None:
            self.transformer.feature_names_in_ = np.array(names, dtype=object)
        named = None if names is None else self.transformer.get_feature_names_out().tolist()
        return self.transformer.n_features_out, named

    def names(self, columns: list[str] | None) -> list[str] | None:
        """The names of the columns of results, given those of points."""
        if self.transformer is None or columns is None:
            return columns
        return self.transformer.get_feature_names_out().tolist()

    def result(self, x: list[float], t: float | None) -> list[float] | None:
        """The result at a point, or None; RefusedInputError where the point is out of range."""
        if self.transformer is None:
            return x
        self._before = self.transformer.copied_pipeline()
        try:
            return self.transformer.transform_one(x, t)
        except ValueError as error:
            refuse_input(f": {error}")

    def undo(self) -> None:
        """Return to where it was before the last point, which the learner refused."""
        if self.transformer is not None:
            self.transformer.adopt(self._before, getattr(self.transformer, "feature_names_in_", None))


def _check_times(transformer: Transformer, settings: dict[str, Any]) -> None:
    """UsageError where points have no times, or times of clocks that features cannot have."""
    if settings["time"] is None:
        refuse_argument("--features: seasons need --time, the column with the time of each point")
    zone = None if settings["time_zone"] is None else zone_of(settings["time_zone"])
    seasons = _seasons(transformer)
    if zone in {None, dt.UTC} or not seasons:
        return
    if any(each.utc_offset for each in seasons):
        refuse_argument("--features: with --time-zone hours are those of the zone; leave utc_offset out")
    if not isinstance(zone, dt.timezone) and any(isinstance(each, Silence) for each in _leaves(transformer)):
        wrong = "where clocks are set, hours of the zone make gaps, and Silence would find them"
        refuse_argument(f"--features: {wrong}; leave silence to --alarm, or say --time-zone +01:00")


def _seasons(transformer: Transformer) -> list[AtTime]:
    return [each for each in _leaves(transformer) if isinstance(each, AtTime)]


def _leaves(transformer: Transformer) -> Iterator[Transformer]:
    """The transformers that are not made of others."""
    if isinstance(transformer, (Pipeline, Union)):
        for part in transformer.parts:
            yield from _leaves(part)
    else:
        yield transformer
