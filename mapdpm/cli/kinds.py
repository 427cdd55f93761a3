"""Kinds of columns on the command line: by ``--kinds``, by what the cells are, or by the model that reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mapdpm import BetaBernoulli, Categorical, GammaPoisson, Mixed
from mapdpm.cli.cells import SWITCHES
from mapdpm.cli.stderr import printable
from mapdpm.cli.usage import UsageError, refuse_argument
from mapdpm.data.columns import CATEGORY, FLAG, NUMBER, Column, warn_of_names
from mapdpm.kinds.columns import Columns
from mapdpm.kinds.given import WORDS, given_kind
from mapdpm.kinds.kinds import CONSTANT, COUNT, ROUNDED
from mapdpm.likelihoods._readings import AS_IT_IS
from mapdpm.names import COVARIANCE, RELEVANCE

KINDS = WORDS
_MOST_NAMES = 8
_DISTINCT = 0.9  # of all values
_FAMILIES: dict[str, Any] = {CATEGORY: Categorical, FLAG: BetaBernoulli, COUNT: GammaPoisson}
_OF_CELLS: dict[str | None, str | None] = {None: None, CONSTANT: None, CATEGORY: CATEGORY, FLAG: FLAG}
"""What cells of a kind hold, where it is not numbers; None where they will tell."""


def kind_options(model: Any) -> None:
    """``--kinds``."""
    text = f"what columns are, as mode=category,rain=spiked:0: one of {', '.join(KINDS)} (what their values say)"
    model.add_argument("--kinds", action="append", default=[], metavar="LIST", help=text)


def shape_options(model: Any) -> None:
    """``--covariance`` and ``--relevance``."""
    text = "columns of numbers are independent in clusters, or vary together; auto: by the log joint (%(default)s)"
    model.add_argument("--covariance", choices=COVARIANCE, default=COVARIANCE[0], help=text)
    text = "find the columns that carry clusters, and leave out the others: where the prior is fitted, never, or always"
    model.add_argument("--relevance", choices=RELEVANCE, default=RELEVANCE[0], help=f"{text} (%(default)s)")


def named_kinds(options: Sequence[str]) -> dict[str, str]:
    """The values of ``--kinds``, as ``mode=category,rain=spiked:0,100``: the kind of each column that is named."""
    texts: list[str] = []
    for word in ",".join(options).split(",") if options else ():
        if "=" in word or not texts:
            texts.append(word.strip())
        else:  # a second number of the last kind
            texts[-1] += f",{word.strip()}"
    found: dict[str, str] = {}
    for text in texts:
        name, equals, kind = text.rpartition("=")
        if not equals or not name:
            refuse_argument(f"--kinds: must be COLUMN=KIND, with one of {', '.join(KINDS)}, got {text!r}")
        if name in found:
            refuse_argument(f"--kinds: {name} has two kinds")
        try:
            given_kind(kind, name)
        except ValueError as error:
            refuse_argument(f"--kinds: {error}")
        found[name] = kind
    return found


def kinds_of(named: Mapping[str, str], cells: Sequence[str], places: Sequence[int]) -> list[str | None]:
    """The kind of each column to read, by its name or its position from 1; None where nothing is said of it."""
    left = dict(named)
    kinds = [left.pop(cells[place], None) or left.pop(str(place + 1), None) for place in places]
    if left:
        msg = f"argument --kinds: there is no column {next(iter(left))!r} among those to use"
        raise UsageError(msg)
    return kinds


def of_cells(kind: str | None) -> str | None:
    """What the cells of a column of this kind hold; None where they will tell."""
    return _OF_CELLS.get(kind, NUMBER)


def of_model(model: Any) -> list[str | None] | None:
    """What the columns hold that a model was fitted on, in their order; None where all are numbers."""
    likelihood = getattr(model, "likelihood_", None)
    if not isinstance(likelihood, Mixed):
        return None
    kinds: list[str | None] = [NUMBER] * likelihood.n_columns
    for block in likelihood.blocks:
        for place in block.places if block.reading is AS_IT_IS else ():
            found = next((kind for kind, family in _FAMILIES.items() if issubclass(block.kind, family)), NUMBER)
            is_of_switches = found == CATEGORY and SWITCHES.issuperset(str(level).lower() for level in block.levels)
            kinds[place] = None if is_of_switches else of_cells(found)
    return kinds


def warn(table: Any, stated: Mapping[Any, str]) -> None:
    """UserWarning for a column of text that has nearly as many levels as rows, but for those whose kind is given."""
    for name, levels in zip(table.names, table.levels, strict=True):
        if levels and name not in stated:
            warn_of_names(Column(name, CATEGORY, table[name]))


def mixed(table: Any, stated: Mapping[Any, str], family: Any) -> Mixed:
    """The product for columns of these kinds; ``family`` is that of all numbers together."""
    parts: dict[Any, Any] = {}
    numbers: list[Any] = []
    for name, of_cell in zip(table.names, table.kinds or [NUMBER] * len(table.names), strict=True):
        kind = stated.get(name, of_cell)
        if kind not in {NUMBER, *_FAMILIES}:
            known = ", ".join((NUMBER, *_FAMILIES))
            refuse_argument(f"--kinds: {kind!r} is for columns without --likelihood; with it there are {known}")
        if kind == NUMBER:
            numbers.append(name)
        else:
            parts[name] = _FAMILIES[kind]
    return Mixed(({tuple(numbers): family} if numbers else {}) | parts)


def unusual(columns: Columns, names: Sequence[str], n_rows: int) -> str:
    """What is unusual about columns: ``humidity, noise: whole numbers; relay: two values``; empty if nothing is.

    A step other than 1 is, where it makes values equal.
    """
    said: dict[str, list[str]] = {}
    for column, name in zip(columns, names, strict=True):
        is_fine = column.kind == ROUNDED and column.step != 1.0
        is_fine = is_fine and column.n_distinct > _DISTINCT * (1.0 - column.share_missing) * n_rows
        text = ", ".join(filter(None, ("" if is_fine else column.said(), column.note)))
        if text:
            said.setdefault(text, []).append(name)
    return printable("; ".join(f"{_shortened(names)}: {text}" for text, names in said.items()))


def _shortened(names: list[str]) -> str:
    return ", ".join(names if len(names) <= _MOST_NAMES else [*names[: _MOST_NAMES - 2], "...", names[-1]])
