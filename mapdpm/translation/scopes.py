"""What expressions and statements ask of the function that they are in."""

from __future__ import annotations

import ast
from typing import Any, NoReturn, Protocol

from mapdpm.translation.kinds import Kind, Value


class Scope(Protocol):
    """The names of a function. ``functions.Function`` is one."""

    parameters: list[str]
    env: dict[str, Kind]
    """The kinds of the variables that have a value."""
    aliases: dict[str, Value]
    """Variables that are parts of arrays."""
    written: set[str]
    """The arrays that the function changes."""

    def refuse(self, node: ast.AST, why: str) -> NoReturn:
        """Raise TranslationError: what cannot be translated, and where."""

    def c_name(self, name: str) -> str:
        """The name of a variable in C."""

    def named(self, node: ast.Name) -> Value:
        """A variable, or a constant of the module."""

    def field(self, node: ast.Attribute, family: str) -> Value:
        """A parameter of the family."""

    def is_module(self, node: ast.expr) -> bool:
        """Whether an expression is the name of a module."""

    def object_at(self, node: ast.expr) -> Any:
        """What a name, or a name of a module, is."""

    def constant_at(self, node: ast.expr) -> Value | None:
        """A constant of another module."""

    def returned(self, node: ast.Return, value: Value) -> Value:
        """A value that the function returns, as the kind of all of them."""

    def call_verb(self, node: ast.Call, name: str, arguments: list[Value]) -> Value:
        """A verb of the same family."""

    def call(self, node: ast.Call, python: Any, arguments: list[Value]) -> Value:
        """A function that verbs share."""
