"""The kinds of columns: their words, and what a column of each kind is."""

from __future__ import annotations

from typing import Any, NamedTuple

CONTINUOUS, ROUNDED, SPIKED, COUNT = "continuous", "rounded", "spiked", "count"
FLAG, CATEGORY, CONSTANT, CIRCULAR = "flag", "category", "constant", "circular"
KINDS = (CONTINUOUS, ROUNDED, SPIKED, FLAG, CATEGORY, COUNT, CONSTANT, CIRCULAR)


class ColumnKind(NamedTuple):
    """A column of a table: what it is, and what a fit does with it."""

    name: str | int
    """Its name, or its place where the table has no names."""
    kind: str
    """One of the kinds."""
    step: float
    """The step to which its numbers are rounded, 0 where they are not; of a circular column the period."""
    spikes: tuple[Any, ...]
    """Values that are repeated far too often; of a flag its two values, of a constant the only one."""
    n_distinct: int
    """The number of different values."""
    share_missing: float
    """The share of rows without a value."""
    use: str
    """What a fit does with it."""
    note: str = ""
    """What is suspicious about it; empty where nothing is."""

    def said(self) -> str:
        """What is unusual about it, in few words; empty for a continuous one."""
        values = " and ".join(f"{each:g}" for each in self.spikes) if self.kind in {SPIKED, COUNT} else ""
        rounded = "whole numbers" if self.step == 1.0 else f"rounded to {self.step:g}"
        plain = {
            CONTINUOUS: "",
            ROUNDED: rounded,
            SPIKED: rounded if self.step else "",
            COUNT: "counts",
            FLAG: "two values",
            CATEGORY: "categories",
            CONSTANT: "one value" if self.n_distinct == 1 else "left out",
            CIRCULAR: f"angles of period {self.step:g}",
        }[self.kind]
        return ", ".join(filter(None, (plain, f"{values} far too often" if values else "")))

    def word(self) -> str:
        """The kind as ``kinds=`` takes it, with its step, period or spikes."""
        if self.kind == SPIKED:
            return f"{self.kind}:{','.join(f'{each:g}' for each in self.spikes)}"
        return f"{self.kind}:{self.step:g}" if self.kind in {ROUNDED, CIRCULAR} else self.kind


def use_of(kind: str, step: float, spikes: tuple[Any, ...]) -> str:
    """What a fit does with a column of this kind.

    Examples
    --------
    >>> use_of(SPIKED, 0.5, (0.0,))
    'whether it is 0; else normal, rounded to 0.5'
    """
    if kind in {CONTINUOUS, ROUNDED, SPIKED, COUNT}:
        about = "with values some {:g} apart" if kind == CONTINUOUS else "rounded to {:g}"
        normal = f"normal, {about.format(step)}" if step else "normal"
        others = "a rate of counts" if kind == COUNT else normal
        return f"whether it is {' or '.join(f'{each:g}' for each in spikes)}; else {others}" if spikes else others
    return {
        FLAG: "a probability",
        CATEGORY: "a probability for each level",
        CONSTANT: "left out",
        CIRCULAR: f"cosine and sine of the angle, period {step:g}",
    }[kind]
