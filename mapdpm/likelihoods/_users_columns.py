"""Back from the table of numbers that a product reads to the user's columns: rows, and moments of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mapdpm.likelihoods._blocks import Block
from mapdpm.likelihoods._product import Product, parts_of
from mapdpm.likelihoods._readings import angles
from mapdpm.likelihoods._skipping import plain, skips
from mapdpm.likelihoods.beta_bernoulli import BetaBernoulli
from mapdpm.protocol import Matrix, Vector

Keyed = Sequence[Sequence[Block]]
"""The blocks of each key."""
Slices = Sequence[Sequence[slice]]
"""The columns of each block in the table."""


def columns_of_rows(keyed: Keyed, slices: Slices, table: Matrix) -> Any:
    """The user's columns of rows of the table: objects, with the levels of categories; None is a new level."""
    n_columns = sum(len(blocks[0].names) for blocks in keyed)
    found = np.empty((len(table), n_columns), dtype=object)
    for blocks, own in zip(keyed, slices, strict=True):
        values: Any = _values(blocks, [table[:, each] for each in own])
        if blocks[0].is_category:
            values = np.array([*blocks[0].levels, None], dtype=object)[values.astype(np.int64)]
        found[:, list(blocks[0].places)] = values
    return found


def _values(blocks: Sequence[Block], parts: list[Matrix]) -> Matrix:
    """What the columns of a key hold where its blocks hold ``parts``."""
    reading, first = blocks[0].reading, parts[0]
    if reading.period:
        return angles(first[:, ::2], first[:, 1::2], reading.period)
    if not reading.is_value:
        return first
    others = _values(blocks[1:], parts[1:]) if len(blocks) > 1 else np.broadcast_to(reading.others, first.shape)
    return np.where(first == 1.0, reading.is_value, np.where(np.isnan(first), np.nan, others))


def moments_of_columns(
    keyed: Keyed, slices: Slices, shares: Matrix, moments: tuple[Matrix, Matrix]
) -> tuple[Matrix, Matrix]:
    """Means and variances of the user's columns, from those of the table and the ``shares`` of ones in its flags."""
    n_columns = sum(len(blocks[0].names) for blocks in keyed)
    found = np.full((2, len(shares), n_columns), np.nan)
    for blocks, own in zip(keyed, slices, strict=True):
        parts = [(shares[:, each], moments[0][:, each], moments[1][:, each]) for each in own]
        found[:, :, list(blocks[0].places)] = _moments(blocks, parts)
    return found[0], found[1]


def _moments(blocks: Sequence[Block], parts: Sequence[tuple[Matrix, Matrix, Matrix]]) -> tuple[Matrix, Matrix]:
    reading, (share, mean, variance) = blocks[0].reading, parts[0]
    if reading.period:
        directions = angles(mean[:, ::2], mean[:, 1::2], reading.period)
        return directions, np.full(directions.shape, np.nan)
    if not reading.is_value or len(blocks) == 1:
        return mean, variance
    of_others, variance = _moments(blocks[1:], parts[1:])
    away = np.asarray(reading.is_value) - of_others
    return of_others + share * away, (1.0 - share) * (variance + share * away**2)


def shares_of_ones(kernels: Product, rows: Matrix) -> Matrix:
    """The share of ones of each cluster in columns of flags, the prior's where it has no points; NaN in others."""
    found = np.full((len(rows), kernels.n_columns), np.nan)
    for family, columns, row in parts_of(kernels):
        flags = plain(family)
        if isinstance(flags, BetaBernoulli):
            D, own = len(flags.a0), rows[:, row]
            n, ones = (
                (own[:, 1 : 1 + D], own[:, 1 + D : 1 + 2 * D]) if skips(family) else (own[:, :1], own[:, 1 : 1 + D])
            )
            with np.errstate(invalid="ignore", divide="ignore"):
                found[:, columns] = np.where(n > 0.0, ones / n, flags.a0 / (flags.a0 + flags.b0))
    return found


def sums_of_columns(keyed: Keyed, slices: Slices, values: Vector) -> Vector:
    """For each of the user's columns the sum of ``values`` of its columns in the table."""
    n_columns = sum(len(blocks[0].names) for blocks in keyed)
    found = np.zeros(n_columns)
    for blocks, own in zip(keyed, slices, strict=True):
        places = list(blocks[0].places)
        for each in own:
            found[places] += values[each].reshape(len(places), -1).sum(axis=1)
    return found
