"""Kinds of columns on the command line: by ``--kinds``, by what the cells are, or by the model that reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mapdpm import BetaBernoulli, Categorical, GammaPoisson, Mixed, NormalGamma
from mapdpm.cli.usage import UsageError, refuse_argument
from mapdpm.data.columns import CATEGORY, FLAG, NUMBER, Column, warn_of_names

COUNT = "count"
KINDS = (NUMBER, CATEGORY, FLAG, COUNT)
_FAMILIES: dict[str, Any] = {CATEGORY: Categorical, FLAG: BetaBernoulli, COUNT: GammaPoisson}


def named_kinds(options: Sequence[str]) -> dict[str, str]:
    """The values of ``--kinds``, as ``mode=category,relay=flag``: the kind of each column that is named."""
    found: dict[str, str] = {}
    for word in ",".join(options).split(","):
        name, equals, kind = word.strip().rpartition("=")
        if not equals or not name or kind not in KINDS:
            refuse_argument(f"--kinds: must be COLUMN=KIND, with one of {', '.join(KINDS)}, got {word.strip()!r}")
        if name in found:
            refuse_argument(f"--kinds: {name} has two kinds")
        found[name] = kind
    return found


def kinds_of(named: Mapping[str, str], cells: Sequence[str], places: Sequence[int]) -> list[str | None]:
    """The kind of each column to read, by its name or its position from 1; None where its cells will tell."""
    left = dict(named)
    kinds = [left.pop(cells[place], None) or left.pop(str(place + 1), None) for place in places]
    if left:
        msg = f"argument --kinds: there is no column {next(iter(left))!r} among those to use"
        raise UsageError(msg)
    return kinds


def of_model(model: Any) -> list[str | None] | None:
    """The kinds of the columns that a model was fitted on, in their order; None where all are numbers."""
    likelihood = getattr(model, "likelihood_", None)
    if not isinstance(likelihood, Mixed):
        return None
    kinds: list[str | None] = [NUMBER] * likelihood.n_columns
    for block in likelihood.blocks:
        for place in block.places:
            kinds[place] = next((kind for kind, family in _FAMILIES.items() if issubclass(block.kind, family)), NUMBER)
    return kinds


def warn(table: Any, named: Mapping[str, str]) -> None:
    """UserWarning for a column of text that has nearly as many levels as rows, but for those whose kind is given."""
    for place, (name, levels) in enumerate(zip(table.names, table.levels, strict=True)):
        if levels and not {name, str(place + 1)} & set(named):
            warn_of_names(Column(name, CATEGORY, table[name]))


def mixed(names: Sequence[Any], kinds: Sequence[str], family: Any) -> Mixed:
    """The product for columns of these kinds; ``family`` is that of all numbers together."""
    parts: dict[Any, Any] = {
        name: _FAMILIES[kind] for name, kind in zip(names, kinds, strict=True) if kind in _FAMILIES
    }
    numbers = tuple(name for name, kind in zip(names, kinds, strict=True) if kind == NUMBER)
    return Mixed(({numbers: family or NormalGamma} if numbers else {}) | parts)
