"""A table of columns of several kinds: a product of families, each over a column or a block of columns."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mapdpm.data.columns import columns_of, numbers_of
from mapdpm.data.table import Table
from mapdpm.data.tokens import Tokens
from mapdpm.likelihoods._blocks import Block, Name, blocks_of, bound, empirical, text_of, whole_family
from mapdpm.likelihoods._completed import completed
from mapdpm.likelihoods._product import Product, product_of
from mapdpm.likelihoods._skipping import in_kernels
from mapdpm.likelihoods._users_columns import columns_of_rows, moments_of_columns, sums_of_columns
from mapdpm.names import MISSING
from mapdpm.protocol import Labels, Matrix, Vector, Weights
from mapdpm.validation import check_points, refuse_value


class Mixed:
    """Columns of several kinds: a product of families over named columns, or blocks of them.

    log p(x | cluster) is the sum over the parts of log p(x_part | cluster), so log marginals, predictives and gains are
    sums too (maths (147)). A part whose cells are missing is left out, which is exact.

    Parameters
    ----------
    parts : mapping
        For each part its columns, and a family. A key is the name of a column, its place in an array (0, 1, ...), or a
        tuple of these: a block, such as three accelerations with one ``NormalInverseWishart``. A value is a class,
        whose prior is fitted to the data's own clusters, or a family with its prior; or one of a column that is read in
        a way of its own, ``Spiked(0.0, NormalGamma)`` or ``Circular(360.0)``. Each column of ``X`` is in one part.

    Raises
    ------
    ValueError
        No part, a column in two parts, a value that is no family; when it reads ``X``: a column of ``X`` in no part, or
        one that is not there.

    Notes
    -----
    ``Categorical`` is for one column of any values: text, numbers, flags. Its levels are those of the fit, and one more
    for all new ones: a level that was not in the fit has the prior's probability of a new level. ``BetaBernoulli``
    takes columns of 0 and 1, or True and False. A row is the weight of all points, then the rows of the parts. In nats;
    densities are products of densities and probabilities. ``likelihood="auto"`` makes a ``Mixed`` of a DataFrame whose
    columns are not all numbers.

    Examples
    --------
    >>> from mapdpm import MAPDPM, BetaBernoulli, Categorical, GammaPoisson, NormalGamma
    >>> parts = {"temperature": NormalGamma, "mode": Categorical, "events": GammaPoisson}
    >>> Mixed(parts)
    Mixed({'temperature': NormalGamma, 'mode': Categorical, 'events': GammaPoisson})
    >>> X = np.array([[0.1, 1], [0.2, 1], [0.0, 1], [9.1, 0], [9.3, 0], [9.2, 0]])
    >>> MAPDPM(likelihood=Mixed({0: NormalGamma, 1: BetaBernoulli})).fit(X).labels_.tolist()
    [0, 0, 0, 1, 1, 1]
    """

    def __init__(self, parts: Mapping[Any, Any]) -> None:
        if not isinstance(parts, Mapping) or not parts:
            refuse_value("parts must be a dict of columns and families, such as {'mode': Categorical}", parts)
        self.blocks = tuple(block for key, family in parts.items() for block in blocks_of(key, family))
        names = [name for blocks in self.keyed() for name in blocks[0].names]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            msg = f"column {twice!r} is in two parts; each column has one family"
            raise ValueError(msg)

    @classmethod
    def of_blocks(cls, blocks: tuple[Block, ...]) -> Mixed:
        """One of blocks that were checked."""
        made = cls.__new__(cls)
        made.blocks = blocks
        return made

    # ---- as a value --------------------------------------------------------------------------------------------------

    @property
    def parts(self) -> dict[Any, Any]:
        """What it was made of: the family of each key, with its prior where it has one."""
        return {blocks[0].key: whole_family(blocks) for blocks in self.keyed()}

    def keyed(self) -> list[list[Block]]:
        """The blocks of each key."""
        return [list(blocks) for _, blocks in itertools.groupby(self.blocks, key=lambda block: block.key)]

    @property
    def is_open(self) -> bool:
        """Whether the prior of a part is to be fitted."""
        return any(block.is_open for block in self.blocks)

    @property
    def is_bound(self) -> bool:
        """Whether the places of columns, and the levels of categories, are known."""
        return all(block.places for block in self.blocks)

    def _asdict(self) -> dict[str, Any]:
        return {text_of(key): family for key, family in self.parts.items()}

    @property
    def _fields(self) -> tuple[str, ...]:
        return tuple(self._asdict())

    def _replace(self, **changes: Any) -> Mixed:
        """The same with other families, by the texts of their keys."""
        made: list[Block] = []
        for blocks in self.keyed():
            first, key = blocks[0], text_of(blocks[0].key)
            anew = blocks_of(first.key, changes[key]) if key in changes else blocks
            made += [block._replace(places=first.places, levels=first.levels) for block in anew]
        return self.of_blocks(tuple(made))

    def __repr__(self) -> str:
        shown = ((key, each.__name__ if isinstance(each, type) else repr(each)) for key, each in self.parts.items())
        return f"{type(self).__name__}({{{', '.join(f'{key!r}: {family}' for key, family in shown)}}})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mixed) and self.blocks == other.blocks

    def __hash__(self) -> int:
        return hash(self.blocks)

    # ---- data --------------------------------------------------------------------------------------------------------

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return sum(len(blocks[0].names) for blocks in self.keyed())

    def slices(self) -> list[slice]:
        """The columns of each block in the table that ``read_table`` makes."""
        ends = np.cumsum([0, *(block.width for block in self.blocks)]).tolist()
        return [slice(first, last) for first, last in itertools.pairwise(ends)]

    def bound_to(self, X: Any) -> Mixed:
        """Self with the places of columns in ``X`` and the levels of categories; ValueError where they do not fit.

        Levels that are known stay; so do places, where ``X`` has no names.
        """
        if isinstance(X, Table):
            return self
        columns = columns_of(X)
        if not len(columns) or not len(columns[0].values):
            check_points(X)  # says that there are none
        if self.is_bound and all(isinstance(each.name, int) for each in columns):
            return self
        places = {column.name: place for place, column in enumerate(columns)}
        places |= {place: place for place in range(len(columns))}
        named = [name for blocks in self.keyed() for name in blocks[0].names]
        absent = [name for name in named if name not in places]
        if absent:
            msg = f"X has no column {absent[0]!r}; it has {', '.join(repr(each.name) for each in columns)}"
            raise ValueError(msg)
        used = [places[name] for name in named]
        unused = [column.name for place, column in enumerate(columns) if place not in used]
        if unused or len(set(used)) < len(used):
            what = f"column {unused[0]!r} of X is in no part" if unused else "a column of X is in two parts"
            msg = f"{what}; each column has one family: name it, or leave it out of X"
            raise ValueError(msg)
        return self.of_blocks(
            tuple(bound(block, [places[name] for name in block.names], columns) for block in self.blocks)
        )

    def read_table(self, X: Any, missing: bool) -> Table:
        """The rows of ``X`` in the order of the parts; self must be bound."""
        if isinstance(X, Table):
            return X
        columns = columns_of(X)
        if len(columns) != self.n_columns:
            msg = f"X has {len(columns)} features, but the parts of Mixed have {self.n_columns}"
            raise ValueError(msg)
        numbers = functools.cache(lambda place: numbers_of(columns[place], missing))
        read = [block.read(columns, numbers, missing) for block in self.blocks]
        array = np.ascontiguousarray(np.concatenate(read, axis=1))
        if not len(array):
            msg = "X has 0 sample(s) while a minimum of 1 is required"
            raise ValueError(msg)
        if missing:
            self._check_missing(array)
        n_levels = [
            len(block.levels) + 1 if block.is_category else 0 for block in self.blocks for _ in range(block.width)
        ]
        return Table(array, np.array(n_levels, dtype=np.int64))

    def _check_missing(self, array: Matrix) -> None:
        """ValueError for a row without values, and for a block that is there in part where that is not exact."""
        absent = np.isnan(array)
        empty = np.flatnonzero(absent.all(axis=1))
        if len(empty):
            msg = f"X has no value at all in row {empty[0]} (counted from 0; {len(empty)} such rows); leave them out"
            raise ValueError(msg)
        for block, own in zip(self.blocks, self.slices(), strict=True):
            some = absent[:, own].any(axis=1) & ~absent[:, own].all(axis=1)
            if some.any() and not hasattr(block.kind, "feature"):
                msg = (
                    f"row {np.flatnonzero(some)[0]} has some values of {block.key!r} and lacks others, which "
                    f"{block.kind.__name__} cannot leave out; give each column a family of its own, or all or none"
                )
                raise ValueError(msg)

    def columns_from(self, table: Matrix) -> Any:
        """Rows as ``read_table`` makes them, as the user's columns: objects, with the levels of categories.

        None is a level that was not in the fit.
        """
        return columns_of_rows(self.keyed(), self._slices_of_keys(), table)

    def moments_of_columns(self, shares: Matrix, means: Matrix, variances: Matrix) -> tuple[Matrix, Matrix]:
        """Means and variances of the user's columns, from those of the table, and the ``shares`` of ones in its flags.

        Those of a column with a spike are of all its values; the mean of an angle is a direction, without a variance.
        """
        return moments_of_columns(self.keyed(), self._slices_of_keys(), shares, (means, variances))

    def places(self) -> Labels:
        """The place in ``X`` of each column of the table."""
        of_blocks = (np.repeat(block.places, block.width // len(block.places)) for block in self.blocks)
        return np.concatenate(list(of_blocks)).astype(np.int64)

    def sums_of_columns(self, values: Vector) -> Vector:
        """For each of the user's columns the sum of ``values`` of its columns in the table."""
        return sums_of_columns(self.keyed(), self._slices_of_keys(), values)

    def _slices_of_keys(self) -> list[list[slice]]:
        ends = iter(self.slices())
        return [[next(ends) for _ in blocks] for blocks in self.keyed()]

    def empirical(self, X: Table, sample_weight: Weights = None, *, missing: str = "error") -> Mixed:  # noqa: ARG002
        """Self, with the prior that each class sets from its own columns; given priors stay.

        ``X`` was read with ``missing``, and so has missing values where there may be some.
        """
        blocks = []
        for block, own in zip(self.blocks, self.slices(), strict=True):
            family = empirical(block, X.array[:, own], sample_weight) if block.is_open else block.family
            blocks.append(block._replace(family=family))
        return self.of_blocks(tuple(blocks))

    def for_data(self, X: Table) -> Mixed:
        """Self with one entry a column in the vectors of each part; ValueError where a family does not fit."""
        blocks = []
        for block, own in zip(self.blocks, self.slices(), strict=True):
            data: Any = np.ascontiguousarray(X.array[:, own])
            if block.is_category:
                data = Tokens(np.empty(0, dtype=np.int64), len(block.levels) + 1)
            try:
                blocks.append(block._replace(family=block.family.for_data(data)))
            except ValueError as error:
                msg = f"{text_of(block.key)}: {error}"
                raise ValueError(msg) from None
        return self.of_blocks(tuple(blocks))

    # ---- as kernels read it ------------------------------------------------------------------------------------------

    def located(self) -> list[slice]:
        """The columns of parts with a location."""
        return [own for block, own in zip(self.blocks, self.slices(), strict=True) if hasattr(block.kind, "shifted")]

    def shifted(self, offset: Vector) -> Mixed:
        """The same model for data less ``offset``, which is 0 where a part has no location."""
        blocks = (
            block._replace(family=block.family.shifted(offset[own])) if np.any(offset[own]) else block
            for block, own in zip(self.blocks, self.slices(), strict=True)
        )
        return self.of_blocks(tuple(blocks))

    def in_kernels(self, missing: str) -> Product:
        """The product of the parts, all of which have their priors."""
        may_miss = missing != MISSING[0]
        families = [in_kernels(block.family, MISSING[block.skips(may_miss)]) for block in self.blocks]
        return product_of(families, [block.width for block in self.blocks], may_miss, self._blanks())

    def _blanks(self) -> tuple[tuple[int, int], ...]:
        """For each spike its column in the table, and the columns that are missing there."""
        found: list[tuple[int, int]] = []
        for blocks, slices in zip(self.keyed(), self._slices_of_keys(), strict=True):
            flags: list[dict[Name, int]] = []
            for block, own in zip(blocks, slices, strict=True):
                places = dict(zip(block.names, range(own.start, own.stop), strict=False))
                found += [(flag[name], place) for flag in flags for name, place in places.items() if name in flag]
                flags += [places] if block.reading.is_value else []
        return tuple(found)

    def restricted(self, columns: Sequence[int]) -> Mixed:
        """The same over some columns of the table that ``read_table`` makes, for ``Table.restricted`` to these.

        A block of independent features may lose columns; others go as a whole, or ValueError.
        """
        chosen = np.unique(np.asarray(columns, dtype=np.int64))
        blocks = []
        for block, own in zip(self.blocks, self.slices(), strict=True):
            kept = chosen[(chosen >= own.start) & (chosen < own.stop)] - own.start
            blocks += [block.restricted(kept)] if len(kept) else []
        return self.of_blocks(tuple(blocks))

    def units(self) -> list[Labels]:
        """The columns of the table, alone where features are independent, and else those that belong together."""
        found: list[Labels] = []
        for block, own in zip(self.blocks, self.slices(), strict=True):
            columns = np.arange(own.start, own.stop)
            is_free = hasattr(block.kind, "feature") and not block.reading.period
            found += np.split(columns, len(columns)) if is_free else [columns]
        return found

    def completed(self, part: Mixed, columns: Labels) -> Mixed:
        """Self, with the priors of ``part``, which has some ``columns`` of the table."""
        blocks, of_part = [], iter(part.blocks)
        for block, own in zip(self.blocks, self.slices(), strict=True):
            kept = columns[(columns >= own.start) & (columns < own.stop)] - own.start
            family = next(of_part).family if len(kept) else block.family
            if 0 < len(kept) < block.width:
                family = completed(block.family, family, kept)
            blocks.append(block._replace(family=family))
        return self.of_blocks(tuple(blocks))

    @property
    def resolution(self) -> Vector:
        """The step of each column of the table that ``read`` makes; all parts must have their priors."""
        return self.in_kernels(MISSING[1]).resolution

    def moments(self, rows: Matrix) -> tuple[Matrix, Matrix]:
        """Sample means and variances of clusters in the columns of normal families; NaN in others."""
        return self.in_kernels(MISSING[1]).moments(rows)

    def kinds(self) -> list[Any]:
        """The class of each part."""
        return [block.kind for block in self.blocks]

    def has(self, verb: str) -> bool:
        """Whether all parts have a verb."""
        return all(hasattr(block.kind, verb) for block in self.blocks)
