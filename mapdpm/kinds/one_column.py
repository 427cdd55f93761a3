"""The kind of a column of numbers: as it is found, or as it was stated, if that fits its values."""

from __future__ import annotations

import numpy as np

from mapdpm.data.counts import MOST
from mapdpm.kinds.finding import Atoms, Found, kind_of, kind_without, step_of
from mapdpm.kinds.given import NUMBER, Given
from mapdpm.kinds.kinds import CIRCULAR, CONSTANT, COUNT, FLAG, ROUNDED, SPIKED, ColumnKind, use_of
from mapdpm.protocol import Vector

_TWO = 2


def of_numbers(name: str | int, column: Vector, missing: float, given: Given | None) -> ColumnKind:
    """A column with its kind, a share of which is ``missing``; ValueError where a stated kind does not fit."""
    atoms = Atoms.of(column)
    found = kind_of(atoms) if given is None else _as_given(name, atoms, given)
    step = 0.0 if found.kind in {FLAG, CONSTANT} else found.step
    use = use_of(found.kind, step, found.spikes)
    return ColumnKind(name, found.kind, step, found.spikes, len(atoms.values), missing, use)


def _as_given(name: str | int, atoms: Atoms, given: Given) -> Found:
    """The stated kind with what is to be found yet: a step, the kind of what is no spike."""
    kind, stated = given.kind, given.values
    _check(name, atoms, given)
    if kind == ROUNDED:
        return Found(ROUNDED, stated[0] if stated else step_of(atoms))
    if kind in {SPIKED, NUMBER}:
        found = kind_without(atoms, tuple(sorted(stated)))
        return found._replace(kind=SPIKED) if kind == SPIKED else found
    if kind == CIRCULAR:
        return Found(CIRCULAR, stated[0])
    shown = kind == FLAG or (kind == CONSTANT and len(atoms.values) == 1)
    return Found(kind, 0.0, tuple(atoms.values.tolist()) if shown else ())


def _check(name: str | int, atoms: Atoms, given: Given) -> None:
    """ValueError where a stated kind does not fit the values."""
    values, msg = atoms.values, ""
    if given.kind == ROUNDED and not given.values and not step_of(atoms):
        msg = "is on no grid; state its step, as in 'rounded:0.1', or that it is 'continuous'"
    if given.kind == FLAG and len(values) > _TWO:
        msg = f"has {len(values)} different values, such as {', '.join(f'{v:g}' for v in values[:3])}; a flag has two"
    if given.kind == COUNT:
        wrong = values[(values < 0.0) | (values > MOST) | (values != np.floor(values))]
        if len(wrong):
            msg = f"is no count, whole numbers from 0 to 1e9: there is {wrong[0]:g}"
    if msg:
        msg = f"kinds: column {name!r} {msg}"
        raise ValueError(msg)
