"""Functions of Python in C: a verb, or a function that verbs call, for one family and kinds of arguments."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import types
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np

from mapdpm.jit import is_marked
from mapdpm.translation.expressions import literal
from mapdpm.translation.kinds import Kind, TranslationError, Value, as_kind, joined
from mapdpm.translation.statements import Statements, read_after_loops

# Names that mean something else in C.
_RESERVED = frozenset(
    (
        *("auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern"),
        *("float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed"),
        *("sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while"),
        *("int32_t", "int64_t", "NAN", "INFINITY", "NULL", "data", "q"),
    )
)


class Signature(NamedTuple):
    """The kinds of the arguments of a verb after ``self``, those that it may change, and what it returns."""

    kinds: tuple[Kind, ...]
    changes: bool
    result: Kind


class Family(Protocol):
    """What functions ask of the family that they belong to. ``families.Family`` is one."""

    kind: type[Any]
    fields: dict[str, Kind]
    sizes: tuple[str, ...]
    names: set[str]

    def verb(self, name: str) -> Function | None:
        """A verb in C."""

    def function(self, caller: Function, node: ast.AST, python: Any, kinds: tuple[Kind, ...]) -> Function:
        """A function that verbs share, in C for arguments of these kinds."""

    def constant(self, name: str, kind: Kind, text: str, length: int = 0) -> str:
        """The name in C of a number, or of a table of so many numbers."""


class Function:
    """A function of Python, written in C for arguments of these kinds."""

    def __init__(self, family: Family, python: Any, name: str, kinds: tuple[Kind, ...], verb: Signature | None) -> None:
        self.family, self.name, self.kinds, self._verb = family, name, kinds, verb
        self._python = inspect.unwrap(python)
        self._file, self._tree = _parsed(self._python, name)
        self.parameters = [each.arg for each in self._tree.args.args]
        if len(self.parameters) != len(kinds):
            self.refuse(self._tree, f"takes {len(self.parameters)} arguments, not {len(kinds)}")
        self.result = verb.result if verb else Kind.NOTHING
        self.lengths: set[str] = set()
        self.written: set[str] = set()
        self._write()

    def _write(self) -> None:
        """Write the body again and again until the kinds of all variables are known."""
        loose = read_after_loops(self._tree.body)
        if loose is not None:
            self.refuse(loose, f"{ast.unparse(loose)} is read after its loop")
        self.env: dict[str, Kind] = dict(zip(self.parameters, self.kinds, strict=True))
        before: Any = None
        while before != (self.env, self.result):
            before = dict(self.env), self.result
            self.aliases: dict[str, Value] = {}
            self.fields: dict[str, str] = {}
            self.calls: list[Function] = []
            self._lines = Statements(self, self._tree.body).lines
        for name, alias in self.aliases.items():
            if name in self.written and alias.parameter is None:
                self.refuse(self._tree, f"must not change {name}, which is constant")
            if name in self.written:
                self.written.add(str(alias.parameter))
        allowed = {self.parameters[1]} if self._verb and self._verb.changes else set()
        changed = sorted(self.written & set(self.parameters) - allowed)
        if self._verb and changed:
            self.refuse(self._tree, f"must not change {' and '.join(changed)}, which other threads read")

    # ---- what the body asks ----------------------------------------------------------------------------------------

    def refuse(self, node: ast.AST, why: str) -> NoReturn:
        """Say what cannot be translated, and where."""
        line = getattr(node, "lineno", 1) + self._python.__code__.co_firstlineno - 1
        place = f"{self._python.__qualname__} ({self._file}, line {line})"
        msg = f"{self.family.kind.__name__} cannot be written in C: {place}: {why}"
        raise TranslationError(msg)

    def c_name(self, name: str) -> str:
        """The name of a variable in C."""
        return f"{name}_" if name in _RESERVED or name in self.family.names else name

    def named(self, node: ast.Name) -> Value:
        """A variable, or a constant of the module."""
        name = node.id
        if name not in self.env:
            return self._constant(node, name, self.object_at(node))
        kind = self.env[name]
        if name in self.parameters:
            return Value(
                "data" if kind is Kind.POINTS else self.c_name(name), kind, length=self._length_of(name), parameter=name
            )
        alias = self.aliases.get(name)
        return Value(self.c_name(name), kind, length=alias.length if alias else None, parameter=name)

    def _length_of(self, name: str) -> Any:
        kind = self.env[name]

        def length() -> str:
            if self._verb:
                rest = "n_columns" if kind is Kind.POINTS else "n_parameters" if name == "parameters" else "size"
                return f"{self.c_name(self.parameters[0])}->{rest}"
            self.lengths.add(name)
            return f"{'data' if kind is Kind.POINTS else self.c_name(name)}_length"

        return length if kind.is_array or kind is Kind.POINTS else None

    def field(self, node: ast.Attribute, family: str) -> Value:
        """A parameter of the family, by a name that is declared at the top."""
        kind = self.family.fields.get(node.attr)
        if kind is None:
            self.refuse(node, f"{node.attr} is no parameter of {self.family.kind.__name__}")
        name = f"{family}_{node.attr}"
        place = f"{family}->fields[{list(self.family.fields).index(node.attr)}]"
        is_number = kind is Kind.REAL
        self.fields[name] = (
            f"const double {name} = {place}[0];" if is_number else f"const double *const {name} = {place};"
        )
        return Value(name, kind, length=None if is_number else lambda: f"{family}->n_entries")

    def is_module(self, node: ast.expr) -> bool:
        """Whether an expression is the name of a module."""
        return (
            isinstance(node, ast.Name)
            and node.id not in self.env
            and isinstance(self._global(node.id), types.ModuleType)
        )

    def object_at(self, node: ast.expr) -> Any:
        """What a name, or a name of a module, is."""
        if isinstance(node, ast.Attribute) and self.is_module(node.value):
            return getattr(self._global(node.value.id), node.attr, None)  # type: ignore[attr-defined]
        if not isinstance(node, ast.Name) or node.id in self.env:
            return None
        found = self._global(node.id)
        if found is None:
            self.refuse(node, f"{node.id} is not known")
        return found

    def _global(self, name: str) -> Any:
        names = self._python.__globals__
        builtins = names.get("__builtins__", {})
        return names.get(name, (builtins if isinstance(builtins, dict) else vars(builtins)).get(name))

    def constant_at(self, node: ast.expr) -> Value | None:
        """A constant of another module."""
        if not isinstance(node, ast.Attribute) or not self.is_module(node.value):
            return None
        return self._constant(node, node.attr, self.object_at(node))

    def _constant(self, node: ast.expr, name: str, value: Any) -> Value:
        if isinstance(value, (bool, int, float, np.bool_, np.integer)):
            written = literal(value)
            if not np.isfinite(float(value)):
                return written
            return Value(self.family.constant(name, written.kind, written.text), written.kind)
        if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind == "f":
            table = ", ".join(literal(each).text for each in value.tolist())
            text = self.family.constant(name, Kind.ROW, table, len(value))
            return Value(text, Kind.ROW, length=lambda: str(len(value)))
        return self.refuse(node, f"{ast.unparse(node)} is no number, and no array of floats with one axis")

    def returned(self, node: ast.Return, value: Value) -> Value:
        """A value that the function returns, as the kind of all of them."""
        kind = value.kind if self.result is Kind.NOTHING and not self._verb else joined(self.result, value.kind)
        if kind is None or (self._verb and kind is not self.result):
            self.refuse(node, f"returns a value of another kind than {self.result.value}")
        self.result = kind
        return as_kind(value, kind)

    def call_verb(self, node: ast.Call, name: str, arguments: list[Value]) -> Value:
        """A verb of the same family."""
        family = arguments[0].text
        if name in self.family.sizes:
            return Value(f"{family}->{name}", Kind.INT)
        called = self.family.verb(name)
        if called is None:
            self.refuse(node, f"{name} is no verb that C has")
        return self._called(node, called, arguments)

    def call(self, node: ast.Call, python: Any, arguments: list[Value]) -> Value:
        """A function that verbs share."""
        if not is_marked(python):
            self.refuse(node, f"{python.__name__} is not marked with @jitable")
        return self._called(
            node, self.family.function(self, node, python, tuple(each.kind for each in arguments)), arguments
        )

    def _called(self, node: ast.Call, called: Function, arguments: list[Value]) -> Value:
        if len(arguments) != len(called.parameters):
            self.refuse(node, f"{called.name} takes {len(called.parameters)} arguments, not {len(arguments)}")
        if called not in self.calls:
            self.calls.append(called)
        given = []
        for name, wanted, value in zip(called.parameters, called.kinds, arguments, strict=True):
            if value.kind is not wanted and joined(value.kind, wanted) is not wanted:
                self.refuse(node, f"{ast.unparse(node)}: {name} is of another kind")
            if wanted is Kind.POINT:
                continue
            if name in called.written:
                if value.parameter is None:
                    self.refuse(node, f"{called.name} would change {value.text}")
                self.written.add(value.parameter)
            given.append(as_kind(value, wanted).text)
            if name in called.lengths:
                if value.length is None:
                    self.refuse(node, f"the length of {value.text} is not known")
                given.append(value.length())
        return Value(f"{called.name}({', '.join(given)})", called.result)

    # ---- the text --------------------------------------------------------------------------------------------------

    def text(self) -> str:
        """The function in C, with the first line of its docstring."""
        about = (ast.get_docstring(self._tree) or "").partition("\n")[0].replace("*/", "* /").replace("``", "")
        body = "\n".join(self._lines)
        fields = [line for name, line in self.fields.items() if _occurs(name, body)]
        whole = "\n".join([*fields, body])
        names = ["data" if kind is Kind.POINTS else self.c_name(name) for name, kind in self._given()]
        top = [*fields, *(f"(void){name};" for name in names if not _occurs(name, whole))]
        comment = [f"/* {about} */"] if about else []
        clones = ["MAPDPM_CLONES"] if self._verb else []
        head = f"static {self.result.value} {self.name}({', '.join(self._declarations())})"
        return "\n".join([*comment, *clones, head, "{", *("    " + line for line in top), *self._lines, "}", ""])

    def _given(self) -> list[tuple[str, Kind]]:
        """The parameters that C has."""
        return [(name, kind) for name, kind in zip(self.parameters, self.kinds, strict=True) if kind is not Kind.POINT]

    def _declarations(self) -> list[str]:
        found = []
        for name, kind in self._given():
            if kind is Kind.POINTS:
                found.append("const double *data")
            elif kind is Kind.ROW:
                changes = name in self.written or (self._verb and self._verb.changes and name == self.parameters[1])
                found.append(f"{'' if changes else 'const '}double *{self.c_name(name)}")
            else:
                found.append(f"{kind.value}{'' if kind.value.endswith('*') else ' '}{self.c_name(name)}")
            if name in self.lengths:
                found.append(f"int64_t {'data' if kind is Kind.POINTS else self.c_name(name)}_length")
        return found


def _parsed(python: Any, name: str) -> tuple[str, ast.FunctionDef]:
    try:
        source = textwrap.dedent(inspect.getsource(python))
    except (OSError, TypeError) as error:
        msg = f"the source of {name} is not known: {error}"
        raise TranslationError(msg) from error
    tree = ast.parse(source).body[0]
    if not isinstance(tree, ast.FunctionDef) or tree.args.vararg or tree.args.kwonlyargs or tree.args.kwarg:
        msg = f"{name} must be a plain function"
        raise TranslationError(msg)
    # lines of the file, from the decorators on
    return Path(inspect.getsourcefile(python) or "?").name, tree


def _occurs(name: str, text: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None
