"""How unusual points are: what a stream and a fit say of them."""

from __future__ import annotations

from typing import Any, NamedTuple


class _Numbers(NamedTuple):
    id: Any
    log_density: Any
    novelty: Any
    surprise: Any


class Assessment(_Numbers):
    """How unusual a point is, or many points: then each entry is an array, one number a point.

    ``id`` is the cluster that learned the point, or the best existing one if it was not learned; -1 if there is none.
    ``log_density`` is the log predictive density in nats, ``novelty`` the probability of a new cluster, and
    ``surprise`` the share of points that are expected to be at least as unusual. Of a stream all three are from before
    the point was learned, and nan during the warm-up.

    ``contributions``, shape (D,) or (N, D), says which columns of a stream's point are unusual: the nats by which each
    lowers the log density below the peak of the nearest cluster that is not rare (docs/maths.md (180)), 0 of missing
    values. It is there where ``surprise`` is at most 0.01; else it is None, or nan in an array of many. A fit has none.
    """

    contributions: Any = None

    def with_contributions(self, nats: Any) -> Assessment:
        """The same, with the nats of each column."""
        told = tuple.__new__(Assessment, self)
        told.contributions = nats
        return told
