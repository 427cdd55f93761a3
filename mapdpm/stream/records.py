"""Records of a stream: events of its clusters, and the clusters at one moment."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm.likelihoods._parameters import steps_of
from mapdpm.likelihoods._rounded import cells_of
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
    """Those of values, without the cells that rounding adds to the statistics."""

    def rows(self, likelihood: Any) -> Matrix:
        """The statistics of the clusters as rows of their family: weight, means, sums of squares with their cells."""
        sums = self.weights[:, None]
        return np.hstack([sums, self.means, (self.variances + cells_of(steps_of(likelihood))) * sums])
