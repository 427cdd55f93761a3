"""Pooling: many stream learners become one, whose clusters merge where that raises the log joint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mapdpm.files import container
from mapdpm.stream import summaries
from mapdpm.stream.c_learner import Learner
from mapdpm.stream.settings import StreamSettings
from mapdpm.threads import interruptible
from mapdpm.validation import check_count


class Part(NamedTuple):
    """A copy of a learner to be pooled. ``data`` are the bytes that it came in."""

    learner: Learner
    setting: StreamSettings
    n_seen: int
    data: bytes


def merged(make: Callable[[StreamSettings], Any], parts: list[Part], likelihood: Any, max_clusters: int | None) -> Any:
    """The learner that ``make`` makes from the settings of the part that has seen most, with all their clusters.

    Each part counts for what it saw itself. In a learner of groups, each cluster counts for its tables.
    """
    if not parts:
        msg = "merged needs at least one state, got none"
        raise ValueError(msg)
    widths = sorted({part.setting.n_features for part in parts})
    if len(widths) > 1:
        msg = f"states must have the same features, got states of {', '.join(map(str, widths))} features"
        raise ValueError(msg)
    setting = _reference_setting(parts)
    prior = setting.likelihood if likelihood is None else likelihood
    if prior is None:
        msg = "no state has ended its warm-up, so there is no prior; name one by likelihood="
        raise ValueError(msg)
    capacity = setting.max_clusters if max_clusters is None else check_count("max_clusters", max_clusters)
    missing = any(part.setting.missing for part in parts)
    result = make(setting._replace(likelihood=prior, max_clusters=capacity, missing=missing))
    settings = result._setting(widths[0])  # noqa: SLF001  (a learner of this package)
    pool_capacity = max(capacity, sum(int(part.learner.stream.n_clusters) for part in parts))
    no_groups = min(settings.max_groups, 1)  # tables are counted in a learner of groups, and nobody has a group here
    room = Learner.new(settings._replace(max_clusters=pool_capacity, max_groups=no_groups))
    for part in parts:
        summaries.pool(part.learner, room)
    interruptible(room.reduce, capacity)  # O(K^2): minutes for many thousands of clusters
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
        learner, setting = summaries.read(data)
        n_seen = container.points_seen(data)
    else:
        cls = readers.get(container.kind_of(data), next(iter(readers.values())))
        learner = cls.from_bytes(data).ready_learner()
        setting = learner.setting()
        n_seen = int(learner.stream.n_seen)
    known = setting._replace(likelihood=learner.likelihood(), warmup=0, window=0, with_base=False)
    return Part(learner, known, n_seen, data)


def _reference_setting(parts: list[Part]) -> StreamSettings:
    """The setting with a prior that has seen most points. Ties go by bytes, so the order of states has no effect."""
    return max(parts, key=lambda part: (part.setting.likelihood is not None, part.n_seen, part.data)).setting
