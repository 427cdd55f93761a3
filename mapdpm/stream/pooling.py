"""Pooling: many stream learners become one, whose clusters merge where that raises the log joint."""

from __future__ import annotations

from typing import Any

from mapdpm.stream.c_learner import Learner
from mapdpm.stream.settings import stream_settings
from mapdpm.threads import interruptible
from mapdpm.validation import check_count


def merged(cls: Any, states: list[Any], likelihood: Any, max_clusters: int | None, dtype: str | None) -> Any:
    """The result of ``OnlineMAPDPM.merged``, of class ``cls``."""
    # Copies, so that all that is read of a learner is of one moment.
    models = [cls.from_bytes(each.to_bytes() if isinstance(each, cls) else bytes(each)) for each in states]
    parts = [model.ready_learner() for model in models]
    if not parts:
        msg = "merged needs at least one state, got none"
        raise ValueError(msg)
    widths = sorted({part.n_features for part in parts})
    if len(widths) > 1:
        msg = f"states must have the same features, got states of {', '.join(map(str, widths))} features"
        raise ValueError(msg)
    first = _reference_model(models, parts)
    prior = first.likelihood_ if likelihood is None else likelihood
    if prior is None:
        msg = "no state has ended its warm-up, so there is no prior; name one by likelihood="
        raise ValueError(msg)
    capacity = first.max_clusters if max_clusters is None else check_count("max_clusters", max_clusters)
    result = cls(
        capacity,
        alpha=first.alpha,
        likelihood=prior,
        n_features=widths[0],
        half_life=first.half_life,
        when_full=first.when_full,
        missing=first.missing,
        dtype=first.dtype if dtype is None else dtype,
        log_alpha=first.log_alpha,
    )
    found = [model.clusters() for model in models]
    pool_capacity = max(capacity, sum(len(each.ids) for each in found))
    pool = Learner.new(stream_settings(result, widths[0])._replace(max_clusters=pool_capacity))
    for clusters in found:
        insert_all(clusters, pool)
    interruptible(pool.reduce, capacity)  # O(K^2): minutes for many thousands of clusters
    learner = result.ready_learner()
    insert_all(pool.clusters(), learner)
    learner.reduce(capacity)
    return result


def _reference_model(models: list[Any], parts: list[Learner]) -> Any:
    """The model with a prior that has seen most points. Ties go by its bytes, so the order of states has no effect."""
    ranks = [(part.likelihood() is not None, int(part.stream.n_seen), part.write()) for part in parts]
    return models[max(range(len(models)), key=lambda i: ranks[i])]


def insert_all(clusters: Any, into: Learner) -> None:
    """Insert each of ``clusters``, given by its statistics, into a learner; not those whose weight decayed to 0."""
    for weight, mean, variance in zip(clusters.weights, clusters.means, clusters.variances, strict=True):
        if weight > 0.0:
            into.insert(weight, mean, variance)
