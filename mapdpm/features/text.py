"""Pipelines from their text, as on the command line: read from the syntax tree, and never run."""

from __future__ import annotations

import ast
from typing import Any

from mapdpm.features.blocks import RMS, BandEnergy, CrestFactor
from mapdpm.features.composition import Pipeline, Union
from mapdpm.features.points import Centre, Difference, Lag, Seasonal
from mapdpm.features.transformer import Transformer

KINDS: dict[str, Any] = {
    kind.__name__: kind for kind in (Lag, Difference, Centre, Seasonal, RMS, CrestFactor, BandEnergy)
}
_LONGEST = 10_000


def parse(text: str, dtype: str | None = None) -> Transformer:
    """The transformer of a text such as ``"Lag(2) | Seasonal('hour')"``: calls with literals, joined by | and +.

    The repr of every transformer is such a text. ``dtype`` is the real type of the parts whose text names none.
    Nothing of the text is run. ValueError says what is wrong with it, and where.

    Examples
    --------
    >>> from mapdpm.features import parse
    >>> parse("RMS(256) + CrestFactor(256) | Lag(1)")
    RMS(window=256) + CrestFactor(window=256) | Lag(n=1)
    """
    if not isinstance(text, str) or not text.strip() or len(text) > _LONGEST:
        shown = f"{len(text)} characters" if isinstance(text, str) and text.strip() else repr(text)
        msg = f"features must be a text such as \"Lag(2) | Seasonal('hour')\", got {shown}"
        raise ValueError(msg)
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return _made(tree.body, dtype)
    except SyntaxError as error:
        msg = f"features {_short(text)} cannot be read at character {error.offset}: {error.msg}"
        raise ValueError(msg) from None
    except (RecursionError, MemoryError):
        msg = f"features {_short(text)} are nested too deeply"
        raise ValueError(msg) from None


def _made(node: ast.expr, dtype: str | None) -> Transformer:
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitOr, ast.Add)):
        left, right = _made(node.left, dtype), _made(node.right, dtype)
        return Pipeline.of(left, right) if isinstance(node.op, ast.BitOr) else Union.of(left, right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _called(node, node.func.id, dtype)
    hint = "; write its arguments, as in Lag(2)" if isinstance(node, ast.Name) and node.id in KINDS else ""
    msg = f"features are calls joined by | and +, but there is {_short(ast.unparse(node))}{hint}"
    raise ValueError(msg)


def _called(node: ast.Call, name: str, dtype: str | None) -> Transformer:
    if name not in KINDS:
        msg = f"there are no features {name!r}; known are {', '.join(KINDS)}"
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
        made: Transformer = KINDS[name](*given, **({} if dtype is None else {"dtype": dtype}) | named)
    except TypeError as error:
        msg = f"{name}: {str(error).removeprefix(f'{name}.')}"
        raise ValueError(msg) from None
    except ValueError as error:
        msg = f"{name}: {error}"
        raise ValueError(msg) from None
    return made


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}...")  # noqa: PLR2004  (a line)
