"""The columns of a model, and its clusters in the units and names of these columns, as facts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapdpm.cli.described import Described, Part, described_columns, text_of, words_of
from mapdpm.likelihoods._contrasts import Column, Counts, Shares, nats_by_column, predictives, presences
from mapdpm.likelihoods._parameters import steps_of
from mapdpm.likelihoods._readings import angles
from mapdpm.protocol import Matrix, Vector
from mapdpm.search.background import moments_of

_YES, _OTHERS = "yes", "others"


class Cell(NamedTuple):
    """A cluster in a column: centre and spread in the units of the column, shares of values, and nats a point.

    Of a column with a spike, centre and spread are those of its other values; of an angle, the centre is a direction.
    """

    centre: float | None = None
    spread: float | None = None
    levels: tuple[tuple[str, float], ...] = ()
    """The share of each value, the most frequent first; of a flag that of its one value, of a spike that of it."""
    nats: float | None = None
    """The nats that set the cluster apart from the others here; None for a single cluster."""


class Cluster(NamedTuple):
    """A cluster: its label or id, its size, its share of all, its group, its cell in each column."""

    number: int
    size: float
    share: float
    group: int | None
    shares_in_groups: dict[str, float]
    """Its share of the points of each group, where points have groups."""
    cells: tuple[Cell, ...]


class Profile(NamedTuple):
    """Columns and clusters of a model, the largest cluster first."""

    columns: tuple[Described, ...]
    clusters: tuple[Cluster, ...]


class _Statistics(NamedTuple):
    """The clusters of a fit or a stream: rows of a family over the columns ``read`` of the table."""

    kernels: Any
    rows: Matrix
    read: NDArray[np.int64]
    moments: tuple[Matrix, Matrix, Matrix]
    """Shares of ones, means and variances in all columns of the table; NaN where there are none."""


def profile_of(model: Any, most: int | None = None) -> Profile:
    """The profile of a fitted model, or of a stream learner whose warm-up is over.

    With ``most``, only so many clusters, the largest, have nats: they cost O(K D) each.
    """
    is_stream = hasattr(model, "ids")
    found = _of_stream(model) if is_stream else _of_fit(model)
    weights = found.rows[:, 0]
    numbers = model.ids if is_stream else np.arange(len(weights))
    sizes = weights if is_stream else model.cluster_sizes_
    groups = model.groups_.tolist() if _has_groups(model) else [None] * len(weights)
    in_groups = _shares_in_groups(model)
    columns = described_columns(model, found.moments[0].shape[1])
    order = np.argsort(-np.asarray(sizes), kind="stable").tolist()
    cells = _cells(model, found, columns, order[:most])
    clusters = [
        Cluster(
            int(numbers[k]),
            float(sizes[k]),
            float(weights[k] / weights.sum()),
            groups[k],
            {name: float(shares[k]) for name, shares in in_groups.items()},
            tuple(column[k] for column in cells),
        )
        for k in order
    ]
    return Profile(columns, tuple(clusters))


def _of_fit(model: Any) -> _Statistics:
    mixture, relevance, likelihood = model._mixture, model._relevance, model.likelihood_  # noqa: SLF001  (one package)
    rows, n_read = mixture.state.rows[:-1], len(mixture.anchor)
    read = np.arange(n_read) if relevance is None else relevance.columns
    moments = None if relevance is None else relevance.moments
    if moments is None and hasattr(likelihood, "moments"):
        moments = moments_of(mixture, steps_of(likelihood))
    if moments is None:
        n_columns = n_read if relevance is None else len(relevance.relevant)
        moments = tuple(np.full((3, len(rows), n_columns), np.nan))
    return _Statistics(mixture.likelihood, rows, read, moments)


def _of_stream(model: Any) -> _Statistics:
    found = model.clusters()
    moments = np.full_like(found.means, np.nan), found.means, found.variances
    return _Statistics(model.likelihood_, found.rows(model.likelihood_), np.arange(found.means.shape[1]), moments)


def _has_groups(model: Any) -> bool:
    return hasattr(model, "groups_") and model.n_groups_ < model.n_clusters_


def _shares_in_groups(model: Any) -> dict[str, Vector]:
    names = getattr(model, "group_names_", getattr(model, "group_names", ()))
    shares = model.weights_ if hasattr(model, "group_names_") else getattr(model, "group_weights", ())
    return dict(zip(map(text_of, names), shares, strict=True))


def _cells(model: Any, found: _Statistics, columns: tuple[Described, ...], told: Sequence[int]) -> list[list[Cell]]:
    """The cells of each column of the user's, one a cluster; only those of the clusters ``told`` have nats."""
    n_clusters = len(found.rows)
    densities = predictives(found.kernels, found.rows, len(found.read))
    presence = presences(found.kernels, densities, n_clusters)
    apart = np.full((n_clusters, len(densities)), np.nan)
    apart[told] = nats_by_column(densities, presence, found.rows[:, 0], told)
    places = found.read[: len(densities)].tolist()  # words of documents are one column
    of_places = dict(zip(places, densities, strict=True))
    nats = dict(zip(places, apart.T, strict=True))
    nothing = np.full(n_clusters, 0.0 if n_clusters > 1 else np.nan)  # a column that carries no clusters
    cells = []
    for column in columns:
        own = sum(nats.get(place, nothing) for part in column.parts for place in part.places)
        described = (_cell(model, found, column.parts, of_places, k) for k in range(n_clusters))
        cells.append([each._replace(nats=_number(own[k])) for k, each in enumerate(described)])
    return cells


def _cell(model: Any, found: _Statistics, parts: tuple[Part, ...], densities: dict[int, Column | None], k: int) -> Cell:
    """The cell of cluster ``k`` in a column."""
    levels: list[tuple[str, float]] = []
    for part in parts:
        place = part.places[0]
        density = densities.get(place)
        if part.reading.is_value:
            share = found.moments[0][k, place]
            levels += [(text_of(part.reading.is_value[part.at]), float(share))] if np.isfinite(share) else []
        elif isinstance(density, Shares):
            return Cell(levels=_levels(model, part, density.counts[k]))
        elif isinstance(density, Counts):
            return Cell(float(density.mean[k]), None, tuple(levels))
    place, reading = parts[-1].places[0], parts[-1].reading
    means, variances = found.moments[1][k], found.moments[2][k]
    if reading.period:
        cosine, sine = (means[[place]] for place in parts[-1].places)
        return Cell(_number(angles(cosine, sine, reading.period)[0]))
    if reading.is_value:  # a flag
        return Cell(levels=tuple(levels))
    return Cell(_number(means[place]), _number(math.sqrt(max(variances[place], 0.0))), tuple(levels))


def _levels(model: Any, part: Part, counts: Vector) -> tuple[tuple[str, float], ...]:
    """The values of a category that the cluster has, the most frequent first; of 0 and 1 the share of 1."""
    total = counts.sum()
    if not total > 0.0:
        return ()
    if part.block is not None and part.block.is_category:
        names = [*map(text_of, part.block.levels), _OTHERS]
    elif part.block is None and len(counts) > 2:  # noqa: PLR2004  (words)
        names = words_of(model, len(counts))
    else:
        return ((_YES, float(counts[1] / total)),)
    order = np.argsort(-counts, kind="stable")
    return tuple((names[v], float(counts[v] / total)) for v in order.tolist() if counts[v] > 0.0)


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
