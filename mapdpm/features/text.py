"""Pipelines from their text, as on the command line: read from the syntax tree, and never run."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import Any, TypeAlias

Kinds: TypeAlias = Mapping[str, type[Any]]
_LONGEST = 10_000


def read(text: str, kinds: Kinds, dtype: str | None) -> Any:
    """The result of ``parse``; ``kinds`` are the classes that the text may call."""
    if not isinstance(text, str) or not text.strip() or len(text) > _LONGEST:
        shown = f"{len(text)} characters" if isinstance(text, str) and text.strip() else repr(text)
        msg = f"features must be a text such as \"Lag(2) | Seasonal('hour')\", got {shown}"
        raise ValueError(msg)
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return _made(tree.body, kinds, dtype)
    except SyntaxError as error:
        msg = f"features {_short(text)} cannot be read at character {error.offset}: {error.msg}"
        raise ValueError(msg) from None
    except (RecursionError, MemoryError):
        msg = f"features {_short(text)} are nested too deeply"
        raise ValueError(msg) from None


def _made(node: ast.expr, kinds: Kinds, dtype: str | None) -> Any:
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitOr, ast.Add)):
        left, right = _made(node.left, kinds, dtype), _made(node.right, kinds, dtype)
        return left | right if isinstance(node.op, ast.BitOr) else left + right
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _called(node, node.func.id, kinds, dtype)
    hint = "; write its arguments, as in Lag(2)" if isinstance(node, ast.Name) and node.id in kinds else ""
    msg = f"features are calls joined by | and +, but there is {_short(ast.unparse(node))}{hint}"
    raise ValueError(msg)


def _called(node: ast.Call, name: str, kinds: Kinds, dtype: str | None) -> Any:
    if name not in kinds:
        numbered = sorted(kinds, key=lambda each: getattr(kinds[each], "kind", math.inf))
        msg = f"there are no features {name!r}; known are {', '.join(numbered)}"
        raise ValueError(msg)
    try:
        given = [ast.literal_eval(each) for each in node.args]
        named = {str(each.arg): ast.literal_eval(each.value) for each in node.keywords if each.arg is not None}
    except (ValueError, TypeError):
        msg = f"the arguments of {name} must be numbers and texts, got {_short(ast.unparse(node))}"
        raise ValueError(msg) from None
    if len(named) < len(node.keywords):
        msg = f"the arguments of {name} must be written out, got {_short(ast.unparse(node))}"
        raise ValueError(msg)
    try:
        return kinds[name](*given, **({} if dtype is None else {"dtype": dtype}) | named)
    except TypeError as error:
        msg = f"{name}: {str(error).removeprefix(f'{name}.')}"
        raise ValueError(msg) from None
    except ValueError as error:
        msg = f"{name}: {error}"
        raise ValueError(msg) from None


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}...")  # noqa: PLR2004  (a line)
