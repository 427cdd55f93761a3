"""The kinds of values that verbs compute with, and values as C text."""

from __future__ import annotations

import ast
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple


class TranslationError(Exception):
    """Why a family cannot be written as C: which verb, which line, what."""


class Kind(Enum):
    """What a value is in Python, and its type in C."""

    NOTHING = "void"
    BOOL = "int"
    INT = "int64_t"
    REAL = "double"
    ROW = "double *"
    MATRIX = "const double *"
    POINTS = "data"
    POINT = "the number of a point"
    FAMILY = "const mapdpm_family_view *"

    @property
    def is_number(self) -> bool:
        """Whether arithmetic may use it."""
        return self in _NUMBERS

    @property
    def is_array(self) -> bool:
        """Whether it has a length."""
        return self in {Kind.ROW, Kind.MATRIX}


_NUMBERS = (Kind.BOOL, Kind.INT, Kind.REAL)  # each holds the values of those before it

# How tightly operators of C bind.
PRIMARY, UNARY, TIMES, PLUS, LESS, EQUAL, BITS, AND, OR, CHOICE = range(10, 0, -1)


class Value(NamedTuple):
    """A value of a kind as C text. An array knows its length, and of which parameter it is a part."""

    text: str
    kind: Kind
    binds: int = PRIMARY
    length: Callable[[], str] | None = None
    parameter: str | None = None


def joined(one: Kind, two: Kind) -> Kind | None:
    """The kind that holds the values of both; None if there is none."""
    if one == two:
        return one
    if one.is_number and two.is_number:
        return max(one, two, key=_NUMBERS.index)
    return None


def within(value: Value, binds: int) -> str:
    """The text of ``value`` as an operand of an operator that binds so tightly."""
    return value.text if value.binds >= binds else f"({value.text})"


def as_kind(value: Value, kind: Kind) -> Value:
    """A number as one of a kind that holds it."""
    if value.kind == kind or kind is not Kind.REAL:
        return value
    if value.text.isdigit():
        return Value(value.text + ".0", Kind.REAL)
    return Value(f"(double){within(value, UNARY)}", Kind.REAL, UNARY)


def names_in(node: ast.AST | list[ast.stmt]) -> set[str]:
    """The names that occur in a statement, an expression or a block."""
    nodes = node if isinstance(node, list) else [node]
    return {each.id for part in nodes for each in ast.walk(part) if isinstance(each, ast.Name)}


def stored_in(node: ast.AST) -> set[str]:
    """The names that a statement assigns to."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
