"""How unusual points are: what a stream and a fit say of them."""

from __future__ import annotations

from typing import Any, NamedTuple


class Assessment(NamedTuple):
    """How unusual a point is, or many points: then each entry is an array, one number a point.

    ``id`` is the cluster that learned the point, or the best existing one if it was not learned; -1 if there is none.
    ``log_density`` is the log predictive density in nats, ``novelty`` the probability of a new cluster, and
    ``surprise`` the share of points that are expected to be at least as unusual. Of a stream all three are from before
    the point was learned, and nan during the warm-up.
    """

    id: Any
    log_density: Any
    novelty: Any
    surprise: Any
