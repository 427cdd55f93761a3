"""The columns of a fitted model: their names, what they are, and which carry clusters."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm.kinds.kinds import CATEGORY, CIRCULAR, CONSTANT, CONTINUOUS, COUNT, FLAG, ROUNDED, SPIKED, ColumnKind
from mapdpm.likelihoods import BetaBernoulli, Categorical, DirichletMultinomial, GammaPoisson
from mapdpm.likelihoods._blocks import Block
from mapdpm.likelihoods._parameters import steps_of
from mapdpm.likelihoods._readings import AS_IT_IS, Reading
from mapdpm.likelihoods.mixed import Mixed

WORDS = "words"
"""The name of the one column of documents."""


class Part(NamedTuple):
    """What a column of the user's is in the table of points: a block of a ``Mixed`` has several, a spike two."""

    family: Any
    places: tuple[int, ...]
    """Its columns in the table: one, or cosine and sine."""
    block: Block | None = None
    at: int = 0
    """The place of the column in its block."""

    @property
    def reading(self) -> Reading:
        """How the block reads the column."""
        return AS_IT_IS if self.block is None else self.block.reading


class Described(NamedTuple):
    """A column of a model: what it is, and its ``gain`` by clusters in nats where that is known."""

    name: str
    kind: ColumnKind
    relevant: bool
    gain: float | None
    parts: tuple[Part, ...]


def described_columns(model: Any, n_columns: int) -> tuple[Described, ...]:
    """The columns of a fitted model or of a learner, of which points have ``n_columns``."""
    likelihood = model.likelihood_
    parts = _parts(likelihood, n_columns)
    relevance = getattr(model, "_relevance", None)
    constants = np.full(n_columns, np.nan) if relevance is None else relevance.constants
    steps = steps_of(likelihood)
    steps = np.zeros(n_columns) if steps is None else np.broadcast_to(steps, n_columns)
    relevant = getattr(model, "relevant_", np.ones(n_columns, dtype=bool))
    gains = getattr(model, "relevance_", None)
    return tuple(
        Described(
            name,
            _kind(own, constants, steps),
            bool(relevant[d]),
            None if gains is None or np.isnan(gains[d]) else float(gains[d]),
            own,
        )
        for d, (name, own) in enumerate(zip(_names(model, len(parts)), parts, strict=True))
    )


def words_of(model: Any, n_columns: int) -> list[str]:
    """The values of a column of words: the names of the columns of counts."""
    names = getattr(model, "feature_names_in_", None)
    return [str(place) for place in range(1, n_columns + 1)] if names is None else list(map(text_of, names))


def text_of(value: Any) -> str:
    """A name, a level or a value as text."""
    if isinstance(value, tuple):
        return "/".join(map(text_of, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _parts(likelihood: Any, n_columns: int) -> list[tuple[Part, ...]]:
    """The parts of each column of the user's, in their order."""
    if isinstance(likelihood, DirichletMultinomial):
        return [(Part(likelihood, (0,)),)]
    if not isinstance(likelihood, Mixed):
        return [(Part(likelihood, (d,)),) for d in range(n_columns)]
    found: dict[int, list[Part]] = {}
    for block, own in zip(likelihood.blocks, likelihood.slices(), strict=True):
        width = block.width // len(block.places)
        for at, place in enumerate(block.places):
            first = own.start + at * width
            found.setdefault(place, []).append(Part(block.family, tuple(range(first, first + width)), block, at))
    return [tuple(found[place]) for place in sorted(found)]


def _names(model: Any, n_columns: int) -> list[str]:
    if isinstance(model.likelihood_, DirichletMultinomial):
        return [WORDS]
    names = getattr(model, "feature_names_in_", None)
    return [str(place) for place in range(1, n_columns + 1)] if names is None else list(map(text_of, names))


def _kind(parts: tuple[Part, ...], constants: Any, steps: Any) -> ColumnKind:
    """The kind of a column, as far as its families tell."""
    last, place = parts[-1], parts[-1].places[0]
    family, spikes, step = type(last.family), tuple(part.reading.is_value[part.at] for part in parts[:-1]), 0.0
    constant = constants[parts[0].places[0]]
    if not np.isnan(constant):
        return ColumnKind("", CONSTANT, 0.0, (float(constant),), 1, 0.0, "")
    if issubclass(family, (Categorical, DirichletMultinomial)):
        kind = CATEGORY
    elif issubclass(family, BetaBernoulli):
        kind = FLAG
    elif last.reading.period:
        kind, step = CIRCULAR, last.reading.period
    else:
        step = float(steps[place])
        kind = COUNT if issubclass(family, GammaPoisson) else SPIKED if spikes else ROUNDED if step else CONTINUOUS
    return ColumnKind("", kind, step, spikes, 0, 0.0, "")
