"""Records of a stream: events of its clusters, and the clusters at one moment."""

from __future__ import annotations

from typing import NamedTuple

from mapdpm.protocol import Labels, Matrix, Vector


class Event(NamedTuple):
    """A change of a cluster.

    ``kind`` is "created", "split" (the heavier part keeps ``id``, ``other`` is new), "merged" (``id`` went into
    ``other``), "evicted" (to free its slot), "aged out" (forgotten), "prior revisited": of no cluster, with the ``id``
    -1; or "relevant" and "irrelevant": the feature of number ``id`` carries clusters from then on, or none any more.
    ``when`` is the number of points seen by then.
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
