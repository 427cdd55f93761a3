"""Statements of verbs as C, with variables declared in the innermost block that has all of them."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from mapdpm.translation import kinds
from mapdpm.translation.expressions import Expressions
from mapdpm.translation.kinds import Kind, Value, as_kind, joined, names_in, stored_in, within
from mapdpm.translation.scopes import Scope

_INDENT = "    "
_NEW_ARRAYS = (np.empty, np.zeros)


class Statements:
    """Writes the statements of one function."""

    def __init__(self, function: Scope, body: list[ast.stmt]) -> None:
        self._f, self._write = function, Expressions(function)
        self._loops = loop_names(body)
        self._at: dict[str, tuple[int, bool]] = {}
        self._temporaries = 0
        for name in sorted(
            {each for part in body for each in stored_in(part)} - self._loops - set(function.parameters)
        ):
            self._at[name] = _place(name, body)
        self._stores = [name for part in body for name in _all_stores(part)]
        self.lines = list(self._block(body, 1))

    def _block(self, body: list[ast.stmt], depth: int) -> Iterator[str]:
        for each in body:
            if isinstance(each, (ast.Pass, ast.Expr)) and not isinstance(getattr(each, "value", None), ast.Call):
                continue
            for name, (place, inline) in self._at.items():
                if place == id(each) and not inline:
                    yield f"{_INDENT * depth}{self._declared(name, '')};"
            write = getattr(self, "_" + type(each).__name__.lower(), None)
            if write is None:
                self._f.refuse(each, f"C has no {type(each).__name__} of Python")
            yield from (_INDENT * depth + line for line in write(each))
            yield from self._inner(each, depth)

    def _inner(self, each: ast.stmt, depth: int) -> Iterator[str]:
        """The blocks of a statement, after its first line."""
        if not isinstance(each, (ast.If, ast.For, ast.While)):
            return
        yield from self._block(each.body, depth + 1)
        if each.orelse:
            if not isinstance(each, ast.If):
                self._f.refuse(each, "C has no else of a loop")
            yield f"{_INDENT * depth}}} else {{"
            yield from self._block(each.orelse, depth + 1)
        yield f"{_INDENT * depth}}}"

    def _declared(self, name: str, text: str) -> str:
        kind = self._f.env.get(name, Kind.REAL)  # not known the first time
        once = "const " if text and self._stores.count(name) == 1 else ""
        if kind is Kind.ROW:
            return f"{'' if name in self._f.written else 'const '}double *{once}{self._f.c_name(name)}{text}"
        return f"{once}{kind.value} {self._f.c_name(name)}{text}"

    # ---- assignments -----------------------------------------------------------------------------------------------

    def _assign(self, node: ast.Assign) -> Iterator[str]:
        if len(node.targets) != 1:
            self._f.refuse(node, "a chain of assignments is not known to C")
        target, source = node.targets[0], node.value
        if not isinstance(target, ast.Tuple):
            yield from self._one(node, target, source)
            return
        if not isinstance(source, ast.Tuple) or len(source.elts) != len(target.elts):
            self._f.refuse(node, "several values can be assigned where both sides list them")
        pairs = list(zip(target.elts, source.elts, strict=True))
        if not any(_reads(later, one) for at, (one, _) in enumerate(pairs) for _, later in pairs[at + 1 :]):
            for one, each in pairs:
                yield from self._one(node, one, each)
            return
        values = [self._write.value(each) for _, each in pairs]
        self._temporaries += len(pairs)
        names = [f"value_{self._temporaries - at}" for at in range(len(pairs))]
        for name, value in zip(names, values, strict=True):
            yield f"const {value.kind.value} {name} = {value.text};"
        for (one, _), name, value in zip(pairs, names, values, strict=True):
            yield from self._store(node, one, Value(name, value.kind))

    def _annassign(self, node: ast.AnnAssign) -> Iterator[str]:
        if node.value is not None:
            yield from self._one(node, node.target, node.value)

    def _one(self, node: ast.stmt, target: ast.expr, source: ast.expr) -> Iterator[str]:
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
            yield from self._fill(node, target, source)
        elif isinstance(source, ast.Call) and self._f.object_at(source.func) in _NEW_ARRAYS:
            yield from self._new_array(node, target, source)
        else:
            yield from self._store(node, target, self._write.value(source))

    def _store(self, node: ast.stmt, target: ast.expr, value: Value) -> Iterator[str]:
        if isinstance(target, ast.Subscript):
            yield f"{self._entry(target)} = {as_kind(self._number(node, value), Kind.REAL).text};"
            return
        if not isinstance(target, ast.Name):
            self._f.refuse(node, f"{ast.unparse(target)} cannot be assigned to")
        name, env = target.id, self._f.env
        if name in self._loops:
            self._f.refuse(node, f"{name} is the variable of a loop, and assigned elsewhere, too")
        if value.kind is Kind.ROW and self._f.aliases.setdefault(name, value).parameter != value.parameter:
            self._f.refuse(node, f"{name} is a part of more than one array")
        kind = value.kind if name not in env else joined(env[name], value.kind)
        if kind is None or not (kind.is_number or kind is Kind.ROW):
            self._f.refuse(node, f"{name} has values of kinds that do not go together")
        env[name] = kind
        text = f" = {as_kind(value, kind).text if kind.is_number else value.text}"
        place, inline = self._at.get(name, (0, False))
        if inline and place == id(node):
            yield f"{self._declared(name, text)};"
        else:
            yield f"{self._f.c_name(name)}{text};"

    def _entry(self, target: ast.Subscript) -> str:
        """An entry of an array that the function may change."""
        value = self._write.value(target)
        if value.parameter is None:
            self._f.refuse(target, f"{ast.unparse(target)} cannot be assigned to")
        self._f.written.add(value.parameter)
        return value.text

    def _number(self, node: ast.stmt, value: Value) -> Value:
        if not value.kind.is_number:
            self._f.refuse(node, "only numbers can be assigned to entries")
        return value

    def _fill(self, node: ast.stmt, target: ast.Subscript, source: ast.expr) -> Iterator[str]:
        part, value = self._write.value(target), self._write.real(source)
        if part.kind is not Kind.ROW or part.parameter is None:
            self._f.refuse(node, f"{ast.unparse(target)} cannot be assigned to")
        self._f.written.add(part.parameter)
        yield f"for (int64_t q = 0; q < {self._write.length(node, part)}; q++) {{"
        yield f"{_INDENT}{within(part, kinds.PRIMARY)}[q] = {value.text};"
        yield "}"

    def _new_array(self, node: ast.stmt, target: ast.expr, source: ast.Call) -> Iterator[str]:
        if not isinstance(target, ast.Name) or len(source.args) != 1 or source.keywords:
            self._f.refuse(node, "a new array must be one name = np.empty(length)")
        name, size = target.id, self._write.index(source.args[0]).text
        place, inline = self._at[name]
        if not inline or place != id(node):
            self._f.refuse(node, f"{name} must be made where all that reads it follows")
        self._f.env[name] = Kind.ROW
        self._f.aliases[name] = Value(self._f.c_name(name), Kind.ROW, length=lambda: size, parameter=name)
        yield f"double {self._f.c_name(name)}[{size}];"
        if self._f.object_at(source.func) is np.zeros:
            yield f"for (int64_t q = 0; q < {size}; q++) {{"
            yield f"{_INDENT}{self._f.c_name(name)}[q] = 0.0;"
            yield "}"

    def _augassign(self, node: ast.AugAssign) -> Iterator[str]:
        if isinstance(node.target, ast.Subscript):
            old, text = Value("", Kind.REAL), self._entry(node.target)
        elif isinstance(node.target, ast.Name) and node.target.id in self._f.env:
            old, text = self._write.number(node.target), self._f.c_name(node.target.id)
        else:
            self._f.refuse(node, f"{ast.unparse(node.target)} has no value yet")
        value = self._write.number(node.value)
        result = self._write.operation(node, type(node.op), old._replace(text=text), value)
        kind = joined(old.kind, result.kind)
        assert kind is not None  # noqa: S101  (both are numbers)
        if isinstance(node.target, ast.Name):
            self._f.env[node.target.id] = kind
        simple = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.BitAnd: "&", ast.BitOr: "|"}
        sign = simple.get(type(node.op))
        if sign is None or (isinstance(node.op, ast.Div) and old.kind is not Kind.REAL):
            yield f"{text} = {as_kind(result, kind).text};"
        elif value.text == "1" and kind is Kind.INT and sign in "+-":
            yield f"{text}{sign * 2};"
        else:
            yield f"{text} {sign}= {as_kind(value, kind).text};"

    # ---- control ---------------------------------------------------------------------------------------------------

    def _expr(self, node: ast.Expr) -> Iterator[str]:
        yield f"{self._write.value(node.value).text};"

    def _return(self, node: ast.Return) -> Iterator[str]:
        if node.value is None:
            yield "return;"
            return
        yield f"return {self._f.returned(node, self._write.number(node.value)).text};"

    def _if(self, node: ast.If) -> Iterator[str]:
        yield f"if ({self._write.truth(node.test).text}) {{"

    def _while(self, node: ast.While) -> Iterator[str]:
        yield f"while ({self._write.truth(node.test).text}) {{"

    def _break(self, _: ast.Break) -> Iterator[str]:
        yield "break;"

    def _continue(self, _: ast.Continue) -> Iterator[str]:
        yield "continue;"

    def _for(self, node: ast.For) -> Iterator[str]:
        over, target = node.iter, node.target
        is_range = isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id == "range"
        if not is_range or not isinstance(target, ast.Name):
            self._f.refuse(node, "a loop must be over a range, with one variable")
        assert isinstance(over, ast.Call)  # noqa: S101  (for mypy)
        if self._f.object_at(over.func) is not builtins.range or over.keywords or not 1 <= len(over.args) <= 3:  # noqa: PLR2004
            self._f.refuse(node, "a loop must be over a range")
        name, env = target.id, self._f.env
        if name in env and env[name] is not Kind.INT:
            self._f.refuse(node, f"{name} is the variable of a loop, and something else, too")
        first, last, step = self._range(over)
        env[name] = Kind.INT
        variable, changed = self._f.c_name(name), {each for part in node.body for each in stored_in(part)}
        if names_in(over) & changed or any(_may_change(each) for part in over.args for each in ast.walk(part)):
            self._temporaries += 1
            yield f"const int64_t end_{self._temporaries} = {last.text};"
            last = Value(f"end_{self._temporaries}", Kind.INT)
        move = f"{variable}{'++' if step > 0 else '--'}" if abs(step) == 1 else f"{variable} += {step}"
        test = f"{variable} {'<' if step > 0 else '>'} {within(last, kinds.PLUS)}"
        yield f"for (int64_t {variable} = {first.text}; {test}; {move}) {{"

    def _range(self, over: ast.Call) -> tuple[Value, Value, int]:
        values = [self._write.index(each) for each in over.args]
        step = 1
        if len(over.args) == 3:  # noqa: PLR2004
            try:
                step = int(ast.literal_eval(over.args[2]))
            except ValueError:
                step = 0
            if step == 0:
                self._f.refuse(over, "the step of a range must be a number that is not 0")
        return (Value("0", Kind.INT), values[0], step) if len(values) == 1 else (values[0], values[1], step)


def loop_names(body: list[ast.stmt]) -> set[str]:
    """The variables of loops; ``check_loops`` finds those that are read elsewhere."""
    loops = (each for part in body for each in ast.walk(part) if isinstance(each, ast.For))
    return {each.target.id for each in loops if isinstance(each.target, ast.Name)}


def read_after_loops(body: list[ast.stmt], known: frozenset[str] = frozenset()) -> ast.AST | None:
    """A place where the variable of a loop is read outside of it: C has none there."""
    loops = loop_names(body)

    def search(node: ast.AST, inside: frozenset[str]) -> ast.AST | None:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in loops - inside:
            return node
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            inner = inside | {node.target.id}
            parts = [(node.iter, inside), *((part, inner) for part in node.body)]
        else:
            parts = [(part, inside) for part in ast.iter_child_nodes(node)]
        return next((found for part, names in parts if (found := search(part, names))), None)

    return next((found for part in body if (found := search(part, known))), None)


def _may_change(node: ast.AST) -> bool:
    """Whether a part of a limit may have another value in the next round: Python computes it once."""
    is_length = isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    return isinstance(node, ast.Call) or (isinstance(node, ast.Subscript) and not is_length)


def _reads(node: ast.expr, target: ast.expr) -> bool:
    """Whether a value may change when ``target`` is assigned before it."""
    if isinstance(target, ast.Name):
        return target.id in names_in(node)
    return any(isinstance(each, (ast.Subscript, ast.Call)) for each in ast.walk(node)) and not _is_apart(node)


def _is_apart(node: ast.expr) -> bool:
    """Whether a value reads no array but fields of the family, which no verb changes."""
    arrays = [each.value for each in ast.walk(node) if isinstance(each, ast.Subscript)]
    calls = any(isinstance(each, ast.Call) and not _is_of_numbers(each) for each in ast.walk(node))
    return not calls and all(isinstance(each, ast.Attribute) for each in arrays)


def _is_of_numbers(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and hasattr(math, call.func.id)


def _all_stores(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name):
            yield each.target.id
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            yield each.id


def _place(name: str, block: list[ast.stmt]) -> tuple[int, bool]:
    """The statement before which a variable is declared, or (True) the one that declares it."""
    having = [each for each in block if name in names_in(each)]
    first = having[0]
    inner = [part for part in _blocks(first) if name in names_in(part)]
    if len(having) == 1 and len(inner) == 1 and name not in _head_names(first):
        carried = isinstance(first, (ast.For, ast.While)) and not _is_plain(_first(name, inner[0]), name)
        return (id(first), False) if carried else _place(name, inner[0])
    return id(first), _is_plain(first, name)


def _first(name: str, block: list[ast.stmt]) -> ast.stmt:
    return next(each for each in block if name in names_in(each))


def _is_plain(node: ast.stmt, name: str) -> bool:
    """Whether a statement gives a variable its first value."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return False
    target = node.targets[0]
    targets: list[Any] = target.elts if isinstance(target, ast.Tuple) else [target]
    given = any(isinstance(each, ast.Name) and each.id == name for each in targets)
    return given and name not in names_in(node.value)


def _blocks(node: ast.stmt) -> list[list[ast.stmt]]:
    return [getattr(node, part) for part in ("body", "orelse") if getattr(node, part, None)]


def _head_names(node: ast.stmt) -> set[str]:
    heads = [getattr(node, part) for part in ("test", "iter") if hasattr(node, part)]
    return set().union(*(names_in(head) for head in heads))
