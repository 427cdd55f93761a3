"""Families by what model files and the command line call them: a number, or the name that the user of one registers."""

from __future__ import annotations

import re
from typing import Any

OUTSIDE = 0xFFFF
"""The number of all families from outside of the package: their files have the name besides."""

_families: dict[str, type[Any]] = {}


def enter(family: type[Any]) -> None:
    """Remember a family by its name; ValueError where another one has that name.

    A class that was made anew, as in a notebook, takes the place of the one before.
    """
    known = _families.get(family.name)
    if known is not None and (known.__module__, known.__qualname__) != (family.__module__, family.__qualname__):
        msg = f"{_path(family)} is named {family.name!r}, which {_path(known)} is too; give it another name"
        raise ValueError(msg)
    _families[family.name] = family


def family_named(name: str) -> type[Any]:
    """The family of this name; ValueError where none is registered."""
    if name not in _families:
        msg = (
            f"no family is registered as {name!r}; import the file that defines it, with "
            f"@parameters(name={name!r}, ...). There are {', '.join(sorted(_families))}"
        )
        raise ValueError(msg)
    return _families[name]


def numbered() -> tuple[type[Any], ...]:
    """All families of the package, by number."""
    ours = [family for family in _families.values() if family.number]
    return tuple(sorted(ours, key=lambda family: family.number))


def kebab(name: str) -> str:
    """``normal-gamma`` for ``NormalGamma``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def _path(family: type[Any]) -> str:
    return f"{family.__module__}.{family.__qualname__}"
