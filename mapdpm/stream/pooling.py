"""Pooling: many stream learners become one, whose clusters merge where that raises the log joint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mapdpm.files import container
from mapdpm.stream import summaries
from mapdpm.stream.c_learner import Learner
from mapdpm.stream.c_options import Settings, settings_for
from mapdpm.stream.integer_learner import IntegerLearner
from mapdpm.stream.settings import ROWS
from mapdpm.threads import interruptible
from mapdpm.validation import check_count


class Part(NamedTuple):
    """A copy of a learner to be pooled. ``data`` are the bytes that it came in."""

    learner: Learner
    settings: Settings
    n_seen: int
    data: bytes


def merged(make: Callable[[Settings], Any], parts: list[Part], likelihood: Any, max_clusters: int | None) -> Any:
    """The learner that ``make`` makes from the settings of the part that has seen most, with all their clusters.

    Each part counts for what it saw itself. In a learner of groups, each cluster counts for its tables.
    """
    if not parts:
        msg = "merged needs at least one state, got none"
        raise ValueError(msg)
    widths = sorted({part.settings["n_features"] for part in parts})
    if len(widths) > 1:
        msg = f"states must have the same features, got states of {', '.join(map(str, widths))} features"
        raise ValueError(msg)
    settings = _reference(parts)
    prior = settings["likelihood"] if likelihood is None else likelihood
    if prior is None:
        msg = "no state has ended its warm-up, so there is no prior; name one by likelihood="
        raise ValueError(msg)
    capacity = settings["max_clusters"] if max_clusters is None else check_count("max_clusters", max_clusters)
    missing = "skip" if any(part.settings["missing"] == "skip" for part in parts) else "error"
    result = make(settings | {"likelihood": prior, "max_clusters": capacity, "missing": missing})
    settings = settings_for(result, widths[0])
    pool_capacity = max(capacity, sum(int(part.learner.stream.n_clusters) for part in parts))
    settings["max_clusters"] = pool_capacity
    if "max_groups" in settings:
        settings["max_groups"] = 1  # tables are counted in a learner of groups, and nobody has a group here
    room = Learner.new(settings)
    for part in parts:
        summaries.pool(part.learner, room)
    interruptible(room.reduce, capacity)  # seconds for many thousands of clusters
    learner = result.ready_learner()
    summaries.pool(room, learner)
    learner.reduce(capacity)
    return result


def part_of(state: Any, readers: Mapping[int, Any]) -> Part:
    """A copy of a learner, so that all that is read of it is of one moment; or the learner in bytes, or in a summary.

    ``readers`` are the classes of learners that are taken, by the kinds of their files. ModelFileError where the bytes
    are another file, or damaged.
    """
    is_learner = isinstance(state, tuple(readers.values()))
    data = state.to_bytes() if is_learner else summaries.checked_bytes("a state", state)
    if container.kind_of(data) == container.SUMMARY:
        learner, settings = summaries.read(data)
        n_seen = container.points_seen(data)
    else:
        cls = readers.get(container.kind_of(data), next(iter(readers.values())))
        learner = cls.from_bytes(data).ready_learner()
        if isinstance(learner, IntegerLearner):
            msg = "learners of dtype='int16' are not merged; merge those of float32"
            raise ValueError(msg)
        settings = learner.settings()
        settings["likelihood"] = learner.likelihood()  # also where a warm-up has set it
        n_seen = int(learner.stream.n_seen)
    unused = {name: ROWS[name].default for name in ("warmup", "window", "with_base")}
    return Part(learner, settings | unused, n_seen, data)


def _reference(parts: list[Part]) -> Settings:
    """The settings with a prior that has seen most points. Ties go by bytes, so the order of states has no effect."""
    return max(parts, key=lambda part: (part.settings["likelihood"] is not None, part.n_seen, part.data)).settings
