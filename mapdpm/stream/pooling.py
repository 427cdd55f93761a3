"""Many stream learners into one: their clusters, by statistics, merged as the log joint says."""

from __future__ import annotations

from typing import Any

from mapdpm.stream.c_learner import Learner
from mapdpm.stream.settings import setting_of
from mapdpm.validation import check_count


def merged(cls: Any, states: list[Any], likelihood: Any, max_clusters: int | None, dtype: str | None) -> Any:
    """The learner of class ``cls`` that ``OnlineMAPDPM.merged`` promises."""
    models = [each if isinstance(each, cls) else cls.from_bytes(bytes(each)) for each in states]
    parts = [model.ready_learner() for model in models]
    if not parts:
        msg = "merged needs at least one state, got none"
        raise ValueError(msg)
    widths = sorted({part.n_features for part in parts})
    if len(widths) > 1:
        msg = f"states must have the same features, got states of {', '.join(map(str, widths))} features"
        raise ValueError(msg)
    first = _foremost(models, parts)
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
    room = max(capacity, sum(len(each.ids) for each in found))
    pool = Learner.new(setting_of(result, widths[0])._replace(max_clusters=room))
    for clusters in found:
        insert_all(clusters, pool)
    pool.reduce(capacity)
    learner = result.ready_learner()
    insert_all(pool.clusters(), learner)
    learner.reduce(capacity)
    return result


def _foremost(models: list[Any], parts: list[Learner]) -> Any:
    """The one that has seen most and has a prior; of equals by its bytes, so that the order of states is nothing."""
    ranks = [(part.likelihood() is not None, int(part.stream.n_seen), part.write()) for part in parts]
    return models[max(range(len(models)), key=lambda i: ranks[i])]


def insert_all(clusters: Any, into: Learner) -> None:
    """Insert each of ``clusters`` into a learner, by its statistics."""
    for weight, mean, variance in zip(clusters.weights, clusters.means, clusters.variances, strict=True):
        into.insert(weight, mean, variance)
