"""Expressions of verbs as C, with their kinds."""

from __future__ import annotations

import ast
import inspect
import math
import types
from typing import Any

import numpy as np

from mapdpm.translation import kinds
from mapdpm.translation.kinds import Kind, Value, as_kind, joined, within
from mapdpm.translation.scopes import Scope

_OPERATORS: dict[type[ast.operator], tuple[str, int]] = {
    ast.Add: ("+", kinds.PLUS),
    ast.Sub: ("-", kinds.PLUS),
    ast.Mult: ("*", kinds.TIMES),
    ast.Div: ("/", kinds.TIMES),
    ast.BitAnd: ("&", kinds.BITS),
    ast.BitOr: ("|", kinds.BITS),
}
_COMPARISONS: dict[type[ast.cmpop], tuple[str, int]] = {
    ast.Lt: ("<", kinds.LESS),
    ast.LtE: ("<=", kinds.LESS),
    ast.Gt: (">", kinds.LESS),
    ast.GtE: (">=", kinds.LESS),
    ast.Eq: ("==", kinds.EQUAL),
    ast.NotEq: ("!=", kinds.EQUAL),
}
# The functions of math by their names in C. floor, ceil and trunc give a whole number as a double, which is what they
# are compared with; int(...) of it is an integer.
_MATH: dict[Any, tuple[str, int]] = {
    getattr(math, name): (name, 1)
    for name in (
        *(
            "acos",
            "acosh",
            "asin",
            "asinh",
            "atan",
            "atanh",
            "cbrt",
            "ceil",
            "cos",
            "cosh",
            "erf",
            "erfc",
            "exp",
            "exp2",
        ),
        *("expm1", "fabs", "floor", "lgamma", "log", "log10", "log1p", "log2", "sin", "sinh", "sqrt", "tan", "tanh"),
        "trunc",
    )
} | {math.gamma: ("tgamma", 1), **{getattr(math, name): (name, 2) for name in ("atan2", "copysign", "fmod", "pow")}}
_TESTS: dict[Any, str] = {math.isnan: "isnan", math.isinf: "isinf", math.isfinite: "isfinite"}
_CONVERSIONS = {float: Kind.REAL, int: Kind.INT, bool: Kind.BOOL}
# A point of sparse counts is how many entries there are, then an index and a value for each.
_PARTS_OF_POINTS = {"words": "data[0]", "indices": "data[1 + 2 * {}]", "values": "data[2 + 2 * {}]"}


class Expressions:
    """Writes the expressions of one function; ``function`` knows its names."""

    def __init__(self, function: Scope) -> None:
        self._f = function

    def value(self, node: ast.expr) -> Value:
        """An expression as C."""
        write = getattr(self, "_" + type(node).__name__.lower(), None)
        if write is None:
            self._f.refuse(node, f"C has no {type(node).__name__} of Python")
        value: Value = write(node)
        return value

    def real(self, node: ast.expr) -> Value:
        """A number, as a double."""
        return as_kind(self.number(node), Kind.REAL)

    def number(self, node: ast.expr) -> Value:
        """A number."""
        value = self.value(node)
        if not value.kind.is_number:
            self._f.refuse(node, f"{ast.unparse(node)} must be a number")
        return value

    def index(self, node: ast.expr) -> Value:
        """A whole number."""
        value = self.number(node)
        if value.kind is Kind.REAL:
            self._f.refuse(node, f"{ast.unparse(node)} must be an int; int({ast.unparse(node)}) makes it one")
        return value

    def truth(self, node: ast.expr) -> Value:
        """Whether a number is not 0."""
        value = self.number(node)
        if value.kind is Kind.BOOL:
            return value
        return Value(f"{within(value, kinds.LESS)} != 0", Kind.BOOL, kinds.EQUAL)

    # ---- operators -------------------------------------------------------------------------------------------------

    def _constant(self, node: ast.Constant) -> Value:
        if not isinstance(node.value, (bool, int, float)):
            self._f.refuse(node, f"{node.value!r} is no number")
        return literal(node.value)

    def _binop(self, node: ast.BinOp) -> Value:
        return self.operation(node, type(node.op), self.number(node.left), self.number(node.right))

    def operation(self, node: ast.AST, operator: type[ast.operator], left: Value, right: Value) -> Value:
        """Two numbers and an operator."""
        if operator in {ast.FloorDiv, ast.Mod}:
            if Kind.REAL in {left.kind, right.kind}:
                self._f.refuse(node, "// and % are for ints; floor(a / b) is for floats")
            name = "mapdpm_floor_div" if operator is ast.FloorDiv else "mapdpm_modulo"
            return Value(f"{name}({left.text}, {right.text})", Kind.INT)
        if operator is ast.Pow:
            left, right = as_kind(left, Kind.REAL), as_kind(right, Kind.REAL)
            return Value(f"pow({left.text}, {right.text})", Kind.REAL)
        if operator not in _OPERATORS:
            self._f.refuse(node, f"C has no operator {operator.__name__} of Python")
        sign, binds = _OPERATORS[operator]
        kind = joined(left.kind, right.kind)
        assert kind is not None  # noqa: S101  (both are numbers)
        if binds == kinds.BITS:
            if kind is Kind.REAL:
                self._f.refuse(node, f"{sign} is for ints and bools")
            return Value(f"{within(left, kinds.UNARY)} {sign} {within(right, kinds.UNARY)}", kind, kinds.BITS)
        kind = Kind.REAL if operator is ast.Div else Kind.INT if kind is Kind.BOOL else kind
        left, right = as_kind(left, kind), as_kind(right, kind)
        return Value(f"{within(left, binds)} {sign} {within(right, binds + 1)}", kind, binds)

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            return Value(f"!{within(self.truth(node.operand), kinds.UNARY)}", Kind.BOOL, kinds.UNARY)
        value = self.number(node.operand)
        kind = Kind.INT if value.kind is Kind.BOOL else value.kind
        if isinstance(node.op, ast.UAdd):
            return value._replace(kind=kind)
        if not isinstance(node.op, ast.USub):
            self._f.refuse(node, "C has no such operator")
        return Value(f"-{within(value, kinds.PRIMARY)}", kind, kinds.UNARY)

    def _boolop(self, node: ast.BoolOp) -> Value:
        sign, binds = ("&&", kinds.AND) if isinstance(node.op, ast.And) else ("||", kinds.OR)
        parts = [within(self.truth(each), kinds.BITS) for each in node.values]
        return Value(f" {sign} ".join(parts), Kind.BOOL, binds)

    def _compare(self, node: ast.Compare) -> Value:
        sides, parts = [node.left, *node.comparators], []
        if any(isinstance(part, ast.Call) for side in sides[1:-1] for part in ast.walk(side)):
            self._f.refuse(node, "a call in the middle of a chain of comparisons would be made twice")
        for one, operator, two in zip(sides, node.ops, sides[1:], strict=False):
            if type(operator) not in _COMPARISONS:
                self._f.refuse(node, f"C has no comparison {type(operator).__name__} of Python")
            sign, binds = _COMPARISONS[type(operator)]
            left, right = self.number(one), self.number(two)
            kind = joined(left.kind, right.kind) or Kind.REAL
            left, right = as_kind(left, kind), as_kind(right, kind)
            parts.append(Value(f"{within(left, kinds.PLUS)} {sign} {within(right, kinds.PLUS)}", Kind.BOOL, binds))
        if len(parts) == 1:
            return parts[0]
        return Value(" && ".join(within(part, kinds.BITS) for part in parts), Kind.BOOL, kinds.AND)

    def _ifexp(self, node: ast.IfExp) -> Value:
        one, two = self.number(node.body), self.number(node.orelse)
        kind = joined(one.kind, two.kind) or Kind.REAL
        choices = [within(as_kind(each, kind), kinds.OR) for each in (one, two)]
        return Value(f"{within(self.truth(node.test), kinds.OR)} ? {choices[0]} : {choices[1]}", kind, kinds.CHOICE)

    # ---- names and parts -------------------------------------------------------------------------------------------

    def _name(self, node: ast.Name) -> Value:
        return self._f.named(node)

    def _attribute(self, node: ast.Attribute) -> Value:
        known = self._f.constant_at(node)
        if known is not None:
            return known
        base = self.value(node.value)
        if base.kind is Kind.FAMILY:
            return self._f.field(node, base.text)
        return self._f.refuse(node, f"{ast.unparse(node)} is not known to verbs")

    def _subscript(self, node: ast.Subscript) -> Value:
        if isinstance(node.value, ast.Attribute):
            special = self._part(node, node.value, node.slice)
            if special is not None:
                return special
        base, at = self.value(node.value), node.slice
        if base.kind is Kind.POINTS:
            if not isinstance(at, ast.Tuple) or len(at.elts) != 2 or self.value(at.elts[0]).kind is not Kind.POINT:  # noqa: PLR2004
                self._f.refuse(node, f"{ast.unparse(node)} must be one entry of the point, data[i, d]")
            return Value(f"{base.text}[{self.index(at.elts[1]).text}]", Kind.REAL)
        if base.kind is Kind.MATRIX:
            if not isinstance(at, ast.Tuple) or len(at.elts) != 2:  # noqa: PLR2004
                self._f.refuse(node, f"{ast.unparse(node)} must be one entry of the matrix")
            row, column = self.index(at.elts[0]), self.index(at.elts[1])
            width = within(self._length_of(node, base), kinds.UNARY)
            text = f"{within(row, kinds.TIMES)} * {width} + {within(column, kinds.TIMES)}"
            return Value(f"{base.text}[{text}]", Kind.REAL)
        if base.kind is not Kind.ROW:
            self._f.refuse(node, f"{ast.unparse(node.value)} is no array")
        if isinstance(at, ast.Slice):
            return self._slice(node, base, at)
        index = self.index(at)
        if index.text.startswith("-"):
            self._f.refuse(node, "an index from the end is not known to C; use the length")
        return Value(f"{within(base, kinds.PRIMARY)}[{index.text}]", Kind.REAL, parameter=base.parameter)

    def _slice(self, node: ast.Subscript, base: Value, at: ast.Slice) -> Value:
        if at.step is not None:
            self._f.refuse(node, "an array with steps is not known to C")
        lower = self.index(at.lower) if at.lower else None
        upper = self.index(at.upper) if at.upper else None

        def length() -> str:
            end = within(upper, kinds.PLUS) if upper else self.length(node, base)
            return f"{end} - {within(lower, kinds.TIMES)}" if lower else end

        text = f"{base.text} + {within(lower, kinds.TIMES)}" if lower else base.text
        return Value(text, Kind.ROW, kinds.PLUS if lower else base.binds, length, base.parameter)

    def _part(self, node: ast.Subscript, of: ast.Attribute, at: ast.expr) -> Value | None:
        """A length, or a part of points that are no dense array; None for anything else."""
        if self._f.constant_at(of.value) is not None or self._f.is_module(of.value):
            return None
        base = self.value(of.value)
        if of.attr == "shape":
            wanted = 1 if base.kind is Kind.POINTS else 0
            if not isinstance(at, ast.Constant) or (at.value != wanted and base.kind is not Kind.MATRIX):
                self._f.refuse(node, f"{ast.unparse(node)} is not known to verbs")
            return self._length_of(node, base)
        if base.kind is not Kind.POINTS:
            return None
        if of.attr == "indptr":
            return self._end(node, at)
        if of.attr not in _PARTS_OF_POINTS:
            self._f.refuse(node, f"{ast.unparse(of)} is not known to verbs")
        index = self.value(at)
        if (index.kind is Kind.POINT) != (of.attr == "words"):
            self._f.refuse(node, f"{ast.unparse(node)} is not of the point")
        text = _PARTS_OF_POINTS[of.attr].format(within(index, kinds.TIMES))
        if of.attr == "values":
            return Value(text, Kind.REAL)
        return Value(f"(int64_t){text}", Kind.INT, kinds.UNARY)

    def _end(self, node: ast.Subscript, at: ast.expr) -> Value:
        """Where the entries of the point begin and end: they are counted from 0."""
        if isinstance(at, ast.Name) and self.value(at).kind is Kind.POINT:
            return Value("0", Kind.INT)
        is_next = isinstance(at, ast.BinOp) and isinstance(at.op, ast.Add) and isinstance(at.right, ast.Constant)
        if is_next and self.value(at.left).kind is Kind.POINT and at.right.value == 1:  # type: ignore[attr-defined]
            return Value("(int64_t)data[0]", Kind.INT, kinds.UNARY)
        return self._f.refuse(node, f"{ast.unparse(node)} is not of the point")

    def _length_of(self, node: ast.AST, array: Value) -> Value:
        text = self.length(node, array)
        return Value(text, Kind.INT, kinds.PLUS if " - " in text else kinds.PRIMARY)

    def length(self, node: ast.AST, array: Value) -> str:
        """The length of an array, or how many columns points have."""
        if array.length is None:
            self._f.refuse(node, f"the length of {array.text} is not known")
        return array.length()

    # ---- calls -----------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Value:
        if node.keywords:
            self._f.refuse(node, "arguments must be given by position")
        if isinstance(node.func, ast.Attribute) and not self._f.is_module(node.func.value):
            return self._verb(node, node.func)
        called = self._f.object_at(node.func)
        if not callable(called):
            self._f.refuse(node, f"{ast.unparse(node.func)} is not known to C")
        if inspect.isfunction(called):
            return self._f.call(node, called, [self.value(each) for each in node.args])
        known = isinstance(called, types.BuiltinFunctionType) and called in _MATH
        name, arity = _MATH[called] if known else ("", len(node.args) if called in {max, min} else 1)
        if len(node.args) != arity or not node.args:
            self._f.refuse(node, f"{ast.unparse(node.func)} takes {arity} argument{'s' * (arity > 1)}")
        if known:
            return Value(f"{name}({', '.join(self.real(each).text for each in node.args)})", Kind.REAL)
        if called in {max, min}:
            return self._extreme(node, called)
        return self._of_one(node, called, node.args[0])

    def _of_one(self, node: ast.Call, called: Any, argument: ast.expr) -> Value:
        """A function of one argument that is no function of C by its name."""
        if called is len:
            return self._length_of(node, self.value(argument))
        if called in _CONVERSIONS:
            return self._converted(argument, _CONVERSIONS[called])
        if called is abs:
            value = self.number(argument)
            name, kind = ("fabs", Kind.REAL) if value.kind is Kind.REAL else ("mapdpm_absolute", Kind.INT)
            return Value(f"{name}({value.text})", kind)
        if called in _TESTS:
            return Value(f"({_TESTS[called]}({self.real(argument).text}) != 0)", Kind.BOOL)
        return self._f.refuse(node, f"{ast.unparse(node.func)} is not known to C")

    def _verb(self, node: ast.Call, of: ast.Attribute) -> Value:
        if isinstance(of.value, ast.Name) and self.value(of.value).kind is Kind.FAMILY:
            return self._f.call_verb(node, of.attr, [self.value(each) for each in (of.value, *node.args)])
        return self._f.refuse(node, f"{ast.unparse(of)} is not known to C")

    def _extreme(self, node: ast.Call, called: Any) -> Value:
        """Of equals the first, as in Python."""
        values = [self.number(each) for each in node.args]
        kind = values[0].kind
        for each in values[1:]:
            kind = joined(kind, each.kind) or Kind.REAL
        kind = Kind.REAL if kind is Kind.REAL else Kind.INT
        name = f"mapdpm_{called.__name__}_of_{'reals' if kind is Kind.REAL else 'ints'}"
        text = as_kind(values[0], kind).text
        for each in values[1:]:
            text = f"{name}({text}, {as_kind(each, kind).text})"
        return Value(text, kind)

    def _converted(self, node: ast.expr, kind: Kind) -> Value:
        if kind is Kind.BOOL:
            return self.truth(node)
        value = self.number(node)
        if kind is Kind.INT and value.kind is Kind.REAL:
            return Value(f"(int64_t){within(value, kinds.UNARY)}", Kind.INT, kinds.UNARY)
        return as_kind(value, kind)._replace(kind=kind)


def literal(number: Any) -> Value:
    """A number of Python, exactly."""
    if isinstance(number, (bool, np.bool_)):
        return Value("1" if number else "0", Kind.BOOL)
    if isinstance(number, (int, np.integer)):
        return Value(str(int(number)), Kind.INT, kinds.PRIMARY if number >= 0 else kinds.UNARY)
    if math.isnan(number):
        return Value("NAN", Kind.REAL)
    if math.isinf(number):
        return Value("INFINITY" if number > 0 else "-INFINITY", Kind.REAL, kinds.UNARY)
    return Value(repr(float(number)), Kind.REAL, kinds.PRIMARY if math.copysign(1.0, number) > 0 else kinds.UNARY)
