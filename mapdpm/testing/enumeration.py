"""All states of small models: partitions, labellings, and franchises of groups of points."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from mapdpm.protocol import Labels


def partitions(n: int) -> list[tuple[int, ...]]:
    """All partitions of n points, as labels in order of first appearance: 1, 2, 5, 15, 52, 203, 877, 4140 of them.

    They are also all state sequences of length n of a hidden Markov model, up to the names of states.
    """

    def grow(labels: tuple[int, ...], k: int) -> Iterator[tuple[int, ...]]:
        if len(labels) == n:
            yield labels
            return
        for label in range(k + 1):
            yield from grow((*labels, label), max(k, label + 1))

    return list(grow((), 0))


def labellings(n: int, n_labels: int) -> list[tuple[int, ...]]:
    """All ``n_labels`` ** n labels of n points, for models in which the names of labels matter.

    >>> labellings(2, 2)
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    return list(itertools.product(range(n_labels), repeat=n))


def franchises(sizes: Sequence[int]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All seatings of a Chinese restaurant franchise with groups of ``sizes``, as (tables, dishes).

    Points are in the order of their groups. ``tables`` has the table of each point, and no table serves two groups;
    ``dishes`` has the dish of each table. Both are numbered in order of first appearance.

    >>> len(franchises([2, 3]))
    134
    """
    found = []
    for groups in itertools.product(*map(partitions, sizes)):
        tables: tuple[int, ...] = ()
        for group in groups:
            first = max(tables, default=-1) + 1
            tables += tuple(first + table for table in group)
        found += [(tables, dishes) for dishes in partitions(max(tables) + 1)]
    return found


def canonical(labels: Labels | Sequence[int]) -> tuple[int, ...]:
    """Labels renamed in order of first appearance: the key of a partition."""
    names: dict[int, int] = {}
    return tuple(names.setdefault(int(label), len(names)) for label in labels)


def canonical_franchise(
    tables: Labels | Sequence[int], dishes: Labels | Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The key of a seating: tables, and the dishes of those in use, renamed in order of first appearance.

    >>> canonical_franchise([4, 2, 4], [9, 9, 1, 9, 5])
    ((0, 1, 0), (0, 1))
    """
    used = dict.fromkeys(int(table) for table in tables)
    return canonical(tables), canonical([int(dishes[table]) for table in used])
