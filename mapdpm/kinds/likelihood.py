"""The likelihood that follows from kinds of columns: what ``likelihood="auto"`` stands for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mapdpm.kinds.columns import Columns
from mapdpm.kinds.kinds import CATEGORY, CIRCULAR, CONSTANT, CONTINUOUS, COUNT, FLAG, ROUNDED, SPIKED, ColumnKind
from mapdpm.likelihoods._measured import Measured
from mapdpm.likelihoods.beta_bernoulli import BetaBernoulli
from mapdpm.likelihoods.categorical import Categorical
from mapdpm.likelihoods.gamma_poisson import GammaPoisson
from mapdpm.likelihoods.mixed import Mixed
from mapdpm.likelihoods.normal_gamma import NormalGamma
from mapdpm.likelihoods.spiked import Circular, Flag, Spiked

_BOTH = (0.0, 1.0)
_MOST_SPIKES = 2


class Plan(NamedTuple):
    """What a fit does with the columns of a table."""

    likelihood: Any
    """The likelihood of the columns that are used: its columns are those of a table without the others."""
    used: tuple[int, ...]
    """The places of these columns."""
    constants: tuple[tuple[int, Any], ...]
    """The places of the others, with their values; None where a column has no value, or was left out as it is."""


def likelihood_of(columns: Columns) -> Plan:
    """The likelihood of a table: ``NormalGamma``, with steps where there are some, or a ``Mixed`` of blocks.

    Continuous and rounded columns are one block, counts one, flags one, and so are columns with one spike, and with
    two. Categories and angles are blocks of their own. Constants are left out, unless all columns are.

    Examples
    --------
    >>> import numpy as np
    >>> from mapdpm import columns
    >>> rng = np.random.default_rng(0)
    >>> X = np.stack([rng.normal(size=200).round(1), np.maximum(rng.normal(size=200), 0.0), np.zeros(200)], axis=1)
    >>> likelihood_of(columns(X))[:2]
    (Mixed({(0,): Measured(NormalGamma, (0.1,)), (1,): Spiked(0.0, NormalGamma)}), (0, 1))
    """
    used = tuple(place for place, column in enumerate(columns) if column.kind != CONSTANT)
    constants = tuple(
        (place, column.spikes[0] if column.spikes else None)
        for place, column in enumerate(columns)
        if column.kind == CONSTANT
    )
    if not used:
        return Plan(NormalGamma, tuple(range(len(columns))), ())
    own = [columns[place] for place in used]
    named = all(isinstance(column.name, str) for column in own)
    keys: list[Any] = [column.name if named else place for place, column in enumerate(own)]
    if all(column.kind in {CONTINUOUS, ROUNDED} for column in own):
        return Plan(_measured(own), used, constants)
    parts: dict[Any, Any] = {}
    for chosen, family_of in _BLOCKS:
        block = [(key, column) for key, column in zip(keys, own, strict=True) if chosen(column)]
        if block:
            parts[tuple(key for key, _ in block)] = family_of([column for _, column in block])
    for key, column in zip(keys, own, strict=True):
        if column.kind == CATEGORY:
            parts[key] = Categorical
        if column.kind == CIRCULAR:
            parts[key] = Circular(column.step)
    return Plan(Mixed(parts), used, constants)


def _measured(columns: Sequence[ColumnKind]) -> Any:
    steps = tuple(column.step for column in columns)
    return Measured(NormalGamma, steps) if any(steps) else NormalGamma


def _flags(columns: Sequence[ColumnKind]) -> Any:
    values = [column.spikes if len(column.spikes) == len(_BOTH) else _BOTH for column in columns]
    low, high = zip(*values, strict=True)
    return BetaBernoulli if {*values} == {_BOTH} else Flag((low, high))


def _spiked(columns: Sequence[ColumnKind]) -> Any:
    family = GammaPoisson if columns[0].kind == COUNT else _measured(columns)
    for values in reversed(list(zip(*(column.spikes for column in columns), strict=True))):
        family = Spiked(values, family)
    return family


def _with_spikes(kind: str, n: int) -> Callable[[ColumnKind], bool]:
    return lambda column: column.kind == kind and len(column.spikes) == n


_BLOCKS: tuple[tuple[Callable[[ColumnKind], bool], Callable[[Sequence[ColumnKind]], Any]], ...] = (
    (lambda column: column.kind in {CONTINUOUS, ROUNDED}, _measured),
    *((_with_spikes(SPIKED, n), _spiked) for n in range(1, _MOST_SPIKES + 1)),
    (_with_spikes(COUNT, 0), lambda _: GammaPoisson),
    *((_with_spikes(COUNT, n), _spiked) for n in range(1, _MOST_SPIKES + 1)),
    (lambda column: column.kind == FLAG, _flags),
)
"""Which columns are one block, and of which family."""
