"""What a stream tells about its clusters: events, and the clusters of one moment."""

from __future__ import annotations

from typing import NamedTuple

from mapdpm.protocol import Labels, Matrix, Vector


class Event(NamedTuple):
    """Something that happened to a cluster.

    ``kind`` is "created", "split" (``id`` stays with the heavier part, ``other`` is new), "merged" (``id`` went into
    ``other``), "evicted" (to make room) or "aged out" (forgotten); ``when`` the number of points seen by then.
    """

    kind: str
    id: int
    other: int | None
    when: int


class Clusters(NamedTuple):
    """The clusters as they are now, in the order of their ids."""

    ids: Labels
    weights: Vector
    means: Matrix
    variances: Matrix
