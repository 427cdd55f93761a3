"""A family as one file of C, from the verbs of its class."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

from mapdpm.translation.functions import Function, Signature
from mapdpm.translation.kinds import Kind, TranslationError
from mapdpm.translation.names import prefix_of, symbol_of

_ROW, _REAL, _POINT = Kind.ROW, Kind.REAL, (Kind.POINTS, Kind.POINT)
VERBS = {
    "init": Signature((_ROW,), True, Kind.NOTHING),
    "prepare": Signature((_ROW,), True, Kind.NOTHING),
    "add": Signature((_ROW, *_POINT, _REAL), True, Kind.NOTHING),
    "remove": Signature((_ROW, *_POINT, _REAL), True, Kind.BOOL),
    "merge": Signature((_ROW, _ROW), True, Kind.NOTHING),
    "log_predictive": Signature((_ROW, *_POINT), False, _REAL),
    "log_predictive_weighted": Signature((_ROW, *_POINT, _REAL), False, _REAL),
    "log_marginal": Signature((_ROW,), False, _REAL),
    "log_merge": Signature((_ROW, _ROW, _ROW), False, _REAL),
    "log_likelihood": Signature((_ROW, *_POINT), False, _REAL),
    "log_predictive_without": Signature((_ROW, *_POINT), False, _REAL),
}
"""The verbs of ``mapdpm_verbs``, in its order."""

_OPTIONAL = ("log_predictive_weighted", "log_likelihood", "log_predictive_without")
_KINDS = {0: Kind.REAL, 1: Kind.ROW, 2: Kind.MATRIX}


class Family:
    """The functions and constants of one family."""

    def __init__(self, kind: type[Any]) -> None:
        self.kind, self.prefix = kind, prefix_of(kind)
        axes = getattr(kind, "axes", None)
        if axes is None or not hasattr(kind, "_fields"):
            msg = f"{kind.__name__} cannot be written in C: it is no NamedTuple with the decorator parameters"
            raise TranslationError(msg)
        self.fields = {name: _KINDS[axes.get(name, 0)] for name in kind._fields}
        self.sizes: tuple[str, ...] = ("size", "n_statistics", "n_parameters")
        self.names: set[str] = set()
        self._constants: dict[str, str] = {}
        self._functions: dict[tuple[Any, tuple[Kind, ...]], Function | None] = {}

    def verb(self, name: str) -> Function | None:
        """A verb in C; None where the family has none of that name."""
        python, signature = inspect.getattr_static(self.kind, name, None), VERBS.get(name)
        if not inspect.isfunction(python) or signature is None:
            return None
        kinds = (Kind.FAMILY, *signature.kinds)
        return self._made(python, f"{self.prefix}_{name}", kinds, signature)

    def function(self, caller: Function, node: ast.AST, python: Any, kinds: tuple[Kind, ...]) -> Function:
        """A function that verbs share, in C for arguments of these kinds."""
        if self._functions.get((python, kinds), caller) is None:
            caller.refuse(node, f"{python.__name__} calls itself")
        return self._made(python, f"{self.prefix}_{python.__name__.lstrip('_')}", kinds, None)

    def _made(self, python: Any, name: str, kinds: tuple[Kind, ...], verb: Signature | None) -> Function:
        key = python, kinds
        known = self._functions.get(key)
        if known is None:
            if key in self._functions:
                msg = f"{self.kind.__name__} cannot be written in C: {python.__name__} calls itself"
                raise TranslationError(msg)
            self._functions[key] = None
            known = self._functions[key] = Function(self, python, self._new_name(name), kinds, verb)
        return known

    def constant(self, name: str, kind: Kind, text: str, length: int = 0) -> str:
        """The name in C of a number, or of a table of so many numbers."""
        c_name = f"{self.prefix}_{name.lstrip('_')}"
        is_table = kind is Kind.ROW
        declared = f"static const {'double' if is_table else kind.value} {c_name}{f'[{length}]' if is_table else ''}"
        line = f"{declared} = {{{text}}};" if is_table else f"{declared} = {text};"
        while self._constants.setdefault(c_name, line) != line:
            line = line.replace(c_name, c_name + "_")
            c_name += "_"
        return c_name

    def _new_name(self, name: str) -> str:
        while name in self.names:
            name += "_"
        self.names.add(name)
        return name

    def text(self) -> str:
        """The file of the family."""
        verbs = {name: self.verb(name) for name in VERBS}
        missing = [name for name, verb in verbs.items() if verb is None and name not in _OPTIONAL]
        if missing:
            msg = f"{self.kind.__name__} cannot be written in C: it has no {' and no '.join(missing)}"
            raise TranslationError(msg)
        order: list[Function] = []
        for verb in verbs.values():
            if verb is not None:
                _append(verb, order)
        functions = "\n".join(each.text() for each in order)
        used = [line for name, line in self._constants.items() if re.search(rf"\b{name}\b", functions)]
        entries = [f"    {verb.name if verb else 'NULL'}," for verb in verbs.values()]
        head = (
            f"/* {self.kind.__name__}, written by mapdpm.translation from {self.kind.__module__}. Not to be edited. */"
        )
        table = f"static const mapdpm_verbs {self.prefix}_verbs = {{"
        getter = f"const mapdpm_verbs *{symbol_of(self.kind)}(void)"
        end = [table, *entries, "};", "", f"{getter};", getter, "{", f"    return &{self.prefix}_verbs;", "}"]
        parts = [head, '#include "mapdpm_verbs.h"', "", "#include <math.h>", "", *used, "", functions, *end, ""]
        return "\n".join(parts)


def _append(function: Function, order: list[Function]) -> None:
    """Put a function behind all that it calls."""
    if function in order:
        return
    for each in function.calls:
        _append(each, order)
    order.append(function)


def source_of(kind: type[Any]) -> str:
    """The C of a family, from the verbs of its class.

    Raises
    ------
    TranslationError
        Something in a verb has no counterpart in C, or the class is no family.
    """
    return Family(kind).text()
