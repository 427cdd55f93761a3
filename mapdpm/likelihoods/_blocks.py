"""The parts of a product: columns of a table, how they are read, their family, and the levels of a category."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np

from mapdpm.data.columns import Column, Level, levels_of, places_of
from mapdpm.data.tokens import Tokens
from mapdpm.likelihoods._readings import AS_IT_IS, Reading
from mapdpm.likelihoods._skipping import empirical_prior, is_family
from mapdpm.likelihoods.categorical import Categorical
from mapdpm.likelihoods.spiked import Circular, Flag, Spiked, is_open
from mapdpm.names import MISSING
from mapdpm.protocol import Labels, Matrix, Vector, Weights
from mapdpm.validation import refuse_value

Name = str | int


class Block(NamedTuple):
    """A part of a ``Mixed``: its key, its columns by name or place, its family, and how it reads the columns.

    Bound to a table, it also has the places of its columns there, and the levels of a category. A key with a spike has
    two blocks or more: whether a value is the spike, and the others.
    """

    key: Hashable
    names: tuple[Name, ...]
    family: Any
    """The class, whose prior is to be fitted, perhaps with steps; or one with its prior."""
    places: tuple[int, ...] = ()
    levels: tuple[Level, ...] = ()
    reading: Reading = AS_IT_IS

    @property
    def kind(self) -> Any:
        """The class of the family."""
        return self.family if isinstance(self.family, type) else getattr(self.family, "kind", type(self.family))

    @property
    def is_open(self) -> bool:
        """Whether its prior is to be fitted."""
        return is_open(self.family)

    @property
    def is_category(self) -> bool:
        """Whether its column has levels."""
        return issubclass(self.kind, Categorical)

    @property
    def width(self) -> int:
        """The number of columns that it has in the table of numbers."""
        return self.reading.width(len(self.names))

    def skips(self, missing: bool) -> bool:
        """Whether each of its columns has points of its own; ``missing`` says whether the user may leave cells out."""
        return self.width > 1 and hasattr(self.kind, "feature") and (missing or bool(self.reading.without))

    def read(self, columns: list[Column], numbers: Callable[[int], Vector], missing: bool) -> Matrix:
        """The columns of the block, ``numbers`` of their places or categories, as numbers."""
        if self.is_category:
            return _categories(columns[self.places[0]], self.levels, missing)[:, None]
        return self.reading.of([numbers(place) for place in self.places], lambda at: repr(self.names[at]))

    def restricted(self, kept: Labels) -> Block:
        """The same with some of its columns; ValueError where it is there as a whole, or not."""
        if len(kept) == self.width:
            return self
        if not (hasattr(self.kind, "feature") or hasattr(self.kind, "restricted")) or self.reading.period:
            msg = f"{text_of(self.key)} goes as a whole, or not at all; got {len(kept)} of its {self.width} columns"
            raise ValueError(msg)
        names = tuple(self.names[place] for place in kept.tolist())
        places = tuple(self.places[place] for place in kept.tolist()) if self.places else ()
        family = _of_features(self.family, kept)
        return Block(names, names, family, places, self.levels, self.reading.restricted(kept))


def blocks_of(key: Any, family: Any) -> list[Block]:
    """The blocks of a key of ``Mixed``, one or more; ValueError where key and family do not fit."""
    names = key if isinstance(key, tuple) else (key,)
    for name in names:
        if not isinstance(name, (str, int)) or isinstance(name, bool):
            refuse_value("a key of Mixed must be the name of a column, its place, or a tuple of these", key)
    if not names:
        refuse_value("a key of Mixed must have a column", key)
    block = Block(key, tuple(names), family)
    if isinstance(family, Circular):
        return [_checked(block._replace(family=family.family, reading=Reading(period=family.period)))]
    if isinstance(family, Flag):
        low, high = family.values
        return [_checked(block._replace(family=family.family, reading=Reading(is_value=high, others=low)))]
    blocks: list[Block] = []
    while isinstance(family, Spiked):
        values = family.value if isinstance(family.value, tuple) else (family.value,) * len(names)
        if len(values) != len(names):
            msg = f"{names!r} has {len(names)} columns, but Spiked has {len(values)} values; give one for each, or one"
            raise ValueError(msg)
        reading = block.reading._replace(is_value=values)
        blocks.append(_checked(block._replace(family=family.flag, reading=reading)))
        block = block._replace(reading=Reading(without=(*block.reading.without, values)))
        family = family.family
    return [*blocks, _checked(block._replace(family=family))]


def whole_family(blocks: list[Block]) -> Any:
    """What ``blocks_of`` has made these blocks of."""
    first = blocks[0]
    reading = first.reading
    if reading.period:
        return Circular(reading.period, first.family)
    if reading.others:
        return Flag((reading.others, reading.is_value), first.family)
    if reading.is_value and len(blocks) > 1:
        values = reading.is_value
        one = not isinstance(first.key, tuple) or len(set(values)) == 1
        return Spiked(values[0] if one else values, whole_family(blocks[1:]), first.family)
    return first.family


def families_of(family: Any) -> dict[str, Any]:
    """The families of a key: "" is that of its numbers, "spike" that of its first spike, "spike2" of a second."""
    if isinstance(family, (Flag, Circular)):
        return {"": family.family}
    found: dict[str, Any] = {}
    while isinstance(family, Spiked):
        found[f"spike{len(found) + 1}" if found else "spike"] = family.flag
        family = family.family
    return {"": family} | found


def _checked(block: Block) -> Block:
    checked_family(block.family, block.names)
    if block.reading is not AS_IT_IS and block.is_category:
        msg = f"{block.names!r}: a category has no spike and no period; give it Categorical alone"
        raise ValueError(msg)
    if block.reading.without and len(block.names) > 1 and not hasattr(block.kind, "feature"):
        msg = (
            f"{block.names!r}: at a spike one column of several is missing, which {block.kind.__name__} cannot leave "
            "out; give each column a part of its own"
        )
        raise ValueError(msg)
    return block


def _of_features(family: Any, kept: Labels) -> Any:
    """A family of independent features, for some of them."""
    if isinstance(family, type):
        return family
    if hasattr(family, "restricted"):
        return family.restricted(kept.tolist())
    axes = family.axes
    values = [v[kept] if name in axes and len(v) > 1 else v for name, v in zip(family._fields, family, strict=True)]
    return family._make(values)


def checked_family(family: Any, names: tuple[Name, ...]) -> None:
    kind = family if isinstance(family, type) else getattr(family, "kind", type(family))
    if not is_family(kind) or (hasattr(kind, "read") and not issubclass(kind, Categorical)):
        what = getattr(kind, "__name__", kind)
        msg = f"the parts of Mixed are families of columns, such as NormalGamma or Categorical; {names!r} has {what}"
        raise ValueError(msg)
    if issubclass(kind, Categorical) and len(names) > 1:
        msg = f"Categorical is for one column, got the block {names!r}; give each column its own"
        raise ValueError(msg)


def bound(block: Block, places: list[int], columns: list[Column]) -> Block:
    levels = block.levels
    if block.is_category:
        levels = levels or levels_of(columns[places[0]])
        given = 1 if block.is_open else len(block.family.beta)
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


def empirical(block: Block, own: Matrix, weights: Weights) -> Any:
    """The empirical prior of a part, of the points that have a value there."""
    there = ~np.isnan(own).all(axis=1)
    if not there.any() and block.reading.without:
        msg = f"{text_of(block.key)}: all values are spikes; leave it out, or make it a flag"
        raise ValueError(msg)
    own, weights = own[there], None if weights is None else weights[there]
    if block.is_category:
        return Categorical.empirical(Tokens(own[:, 0].astype(np.int64), len(block.levels) + 1), weights)
    try:
        return empirical_prior(block.family, own, weights, MISSING[bool(np.isnan(own).any())])
    except ValueError as error:
        msg = f"{text_of(block.key)}: {error}"
        raise ValueError(msg) from None


def text_of(key: Any) -> str:
    return "+".join(map(str, key)) if isinstance(key, tuple) else str(key)
