"""Records of a stream: events of its clusters, and the clusters at one moment."""

from __future__ import annotations

from typing import Any, NamedTuple

from mapdpm.protocol import Labels, Matrix, Vector


class Event(NamedTuple):
    """A change of a cluster.

    ``kind`` is "created", "split" (the heavier part keeps ``id``, ``other`` is new), "merged" (``id`` went into
    ``other``), "evicted" (to free its slot), "aged out" (forgotten), or "prior revisited": of no cluster, with the
    ``id`` -1. ``when`` is the number of points seen by then.
    """

    kind: str
    id: int
    other: int | None
    when: int


class Assessment(NamedTuple):
    """How unusual a point is, or many points: then each entry is an array, one number a point.

    ``id`` is the cluster that learned the point, or the best existing one if it was not learned; -1 if there is none.
    ``log_density`` is the log predictive density in nats, ``novelty`` the probability of a new cluster, and
    ``surprise`` the share of points that are expected to be at least as unusual. All three are from before the point
    was learned, and nan during the warm-up.
    """

    id: Any
    log_density: Any
    novelty: Any
    surprise: Any


class Clusters(NamedTuple):
    """The clusters as they are now, in the order of their ids."""

    ids: Labels
    weights: Vector
    means: Matrix
    variances: Matrix
