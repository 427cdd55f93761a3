"""The names of a stream's groups, and the numbers that the C library knows them by."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapdpm.data.groups import Groups, is_missing, plain
from mapdpm.stream.c_learner import NO_GROUP, Learner

_IN_FILES = (str, int, float, bool, type(None))


class GroupNumbers:
    """A number below 2^32 - 1 for each group that the learner knows; the number of another group is free again."""

    def __init__(self, known: dict[Hashable, int] | None = None) -> None:
        self._take(known or {})

    @classmethod
    def read(cls, names: Any, numbers: list[int]) -> GroupNumbers:
        """The groups in a file; None as the names are those of a chip. ValueError where they do not fit."""
        listed = numbers if names is None else names
        fits = isinstance(listed, list) and all(isinstance(name, _IN_FILES) for name in listed)
        if not fits or not len(listed) == len(set(listed)) == len(numbers) == len(set(numbers)):
            msg = "its names of groups do not fit"
            raise ValueError(msg)
        return cls(dict(zip(listed, numbers, strict=True)))

    def written(self, numbers: Iterable[int]) -> list[Any]:
        """The names of groups for a file; ValueError for a name that JSON does not have."""
        names = self.names_of(numbers)
        for name in names:
            if not isinstance(name, _IN_FILES):
                msg = f"a file has groups named by str, int, float or bool, got {name!r}"
                raise ValueError(msg)
        return names

    def of(self, group: Any) -> int:
        """The number of a group, or ``NO_GROUP`` where it is new; ValueError where it is no name."""
        try:
            number = self.known.get(group)
        except TypeError as error:
            msg = f"a group must be a hashable label, such as str or int ({error})"
            raise ValueError(msg) from None
        if number is not None:
            return number
        if is_missing(group):
            msg = f"group is {group!r}: each point needs a group"
            raise ValueError(msg)
        return NO_GROUP

    def of_many(self, groups: Groups, *, adds: bool) -> NDArray[np.uint32]:
        """The number of each point's group; new groups get numbers if ``adds``, else ``NO_GROUP``."""
        numbers = [self.known.get(name, NO_GROUP) for name in groups.names]
        for i, name in enumerate(groups.names if adds else ()):
            if numbers[i] == NO_GROUP:
                numbers[i] = self.add(name)
        return np.array(numbers, dtype=np.uint32)[groups.of_points]

    def add(self, group: Any) -> int:
        """A free number for a new group."""
        number = len(self.known)
        while number in self._names:
            number -= 1
        name = plain(group)
        self.known[name] = number
        self._names[number] = name
        return number

    def keep(self, numbers: Iterable[int]) -> None:
        """Forget all groups but those of these numbers."""
        kept = set(numbers)
        self._take({name: number for name, number in self.known.items() if number in kept})

    def _take(self, known: dict[Hashable, int]) -> None:
        self.known = known
        self._names = {number: name for name, number in known.items()}

    def names_of(self, numbers: Iterable[int]) -> list[Any]:
        """The names of groups; a group that a program in C named is called by its number."""
        return [self._names.get(number, number) for number in numbers]


def of_group(number: int, ask: Any) -> Any:
    """The method ``ask`` of a learner, for a point of the group with this number."""

    def call(learner: Learner, *arguments: Any) -> Any:
        learner.set_group(number)
        return ask(learner, *arguments)

    return call
