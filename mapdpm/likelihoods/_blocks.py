"""The parts of a product: columns of a table, their family, and the levels of a category."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from mapdpm.data.columns import Column, Level, levels_of, numbers_of, places_of
from mapdpm.data.tokens import Tokens
from mapdpm.likelihoods._skipping import empirical_prior, is_family
from mapdpm.likelihoods.categorical import Categorical
from mapdpm.protocol import Matrix, Vector, Weights
from mapdpm.validation import refuse_value

Name = str | int


class Block(NamedTuple):
    """A part of a ``Mixed``: its key, its columns by name or place, and its family.

    Bound to a table, it also has the places of its columns there, and the levels of a category.
    """

    key: Hashable
    names: tuple[Name, ...]
    family: Any
    """The class, whose prior is to be fitted, or one with its prior."""
    places: tuple[int, ...] = ()
    levels: tuple[Level, ...] = ()

    @property
    def kind(self) -> Any:
        """The class of the family."""
        return self.family if isinstance(self.family, type) else type(self.family)

    @property
    def is_category(self) -> bool:
        """Whether its column has levels."""
        return issubclass(self.kind, Categorical)

    def read(self, columns: list[Column], missing: bool) -> Matrix:
        """The columns of the block as numbers."""
        own = [columns[place] for place in self.places]
        if self.is_category:
            return _categories(own[0], self.levels, missing)[:, None]
        return np.stack([numbers_of(each, missing) for each in own], axis=1)


def block_of(key: Any, family: Any) -> Block:
    names = key if isinstance(key, tuple) else (key,)
    for name in names:
        if not isinstance(name, (str, int)) or isinstance(name, bool):
            refuse_value("a key of Mixed must be the name of a column, its place, or a tuple of these", key)
    if not names:
        refuse_value("a key of Mixed must have a column", key)
    return Block(key, tuple(names), checked_family(family, names))


def checked_family(family: Any, names: tuple[Name, ...]) -> Any:
    kind = family if isinstance(family, type) else type(family)
    if not is_family(kind) or (hasattr(kind, "read") and not issubclass(kind, Categorical)):
        what = getattr(kind, "__name__", kind)
        msg = f"the parts of Mixed are families of columns, such as NormalGamma or Categorical; {names!r} has {what}"
        raise ValueError(msg)
    if issubclass(kind, Categorical) and len(names) > 1:
        msg = f"Categorical is for one column, got the block {names!r}; give each column its own"
        raise ValueError(msg)
    return family


def bound(block: Block, places: list[int], columns: list[Column]) -> Block:
    levels = block.levels
    if block.is_category:
        levels = levels or levels_of(columns[places[0]])
        given = 1 if isinstance(block.family, type) else len(block.family.beta)
        if given not in {1, len(levels) + 1}:
            msg = (
                f"{text_of(block.key)} has {len(levels)} levels, and beta {given} entries; give one for each level, in "
                f"the order {levels}, and one more for new levels, or a number for all"
            )
            raise ValueError(msg)
    return block._replace(places=tuple(places), levels=levels)


def _categories(column: Column, levels: tuple[Level, ...], missing: bool) -> Vector:
    places = places_of(column, levels)
    absent = np.flatnonzero(np.isnan(places))
    if len(absent) and not missing:
        msg = (
            f"column {column.name!r} has no value in row {absent[0]} (counted from 0; {len(absent)} in all); remove or "
            "impute such points, or set missing='skip'"
        )
        raise ValueError(msg)
    return places


def empirical(block: Block, own: Matrix, weights: Weights, missing: str) -> Any:
    """The empirical prior of a part, of the points that have a value there."""
    there = ~np.isnan(own).all(axis=1)
    own, weights = own[there], None if weights is None else weights[there]
    if block.is_category:
        return Categorical.empirical(Tokens(own[:, 0].astype(np.int64), len(block.levels) + 1), weights)
    try:
        return empirical_prior(block.family, own, weights, missing if np.isnan(own).any() else "error")
    except ValueError as error:
        msg = f"{text_of(block.key)}: {error}"
        raise ValueError(msg) from None


def text_of(key: Any) -> str:
    return "+".join(map(str, key)) if isinstance(key, tuple) else str(key)
