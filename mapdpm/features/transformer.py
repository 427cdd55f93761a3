"""The base of all transformers; chains, whose parts follow each other, and unions, whose parts stand side by side."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from mapdpm.estimators.base import Parameters
from mapdpm.features.c_pipeline import JOIN, Step
from mapdpm.features.restoring import TEXT_KEY, restored, revived
from mapdpm.features.running import Running
from mapdpm.features.text import read
from mapdpm.files import container, disk
from mapdpm.stream.lock import exclusive

KINDS: dict[str, type[Any]] = {}
"""The classes that a text may call, by name. The decorator ``feature`` enters each where it is defined."""


class Transformer(Running):
    """A causal transformer in fixed memory: the result at a point depends on the points up to it.

    ``a | b`` sends the results of a to b. ``a + b`` puts the results of both side by side.

    It says the number of columns of points and of results (``n_features_in_``, ``n_features_out``), after how many
    points a result comes out (``every``: 1, or the length of a block), and its bytes, which never change (``nbytes``: 0
    while the number of columns is unknown).
    """

    def __or__(self, other: Any) -> Pipeline:
        """Send the results of this transformer to another one."""
        return Pipeline.of(self, other) if isinstance(other, Transformer) else NotImplemented

    def __add__(self, other: Any) -> Union:
        """Put the results of this transformer and of another one side by side."""
        return Union.of(self, other) if isinstance(other, Transformer) else NotImplemented

    def __repr__(self) -> str:
        """The text that makes such a transformer, which ``parse`` reads."""
        plain = type(self)(**{name: _plain(value) for name, value in self.get_params(deep=False).items()})
        return Parameters.__repr__(plain)

    @exclusive
    def to_bytes(self) -> bytes:
        """The parameters and the state in the format of docs/format.md: it goes on with the same bits, also on a chip.

        NotFittedError where the number of columns is unknown.
        """
        if self._pipeline is None:
            raise self._not_ready()
        names = getattr(self, "feature_names_in_", None)
        extras: dict[str, Any] = {} if names is None else {"feature_names_in_": names.tolist()}
        return container.with_extras(self._pipeline.write(), extras | {TEXT_KEY: repr(self)})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write ``to_bytes()`` to ``path``, wholly or not at all; ``mapdpm.load`` reads it. No pickle."""
        disk.write_file(path, self.to_bytes())

    @classmethod
    def from_bytes(cls, data: bytes, like: Transformer | None = None) -> Transformer:
        """The transformer that ``to_bytes`` or a chip wrote, of whatever class, in its state.

        ``like`` has the parameters of what a chip wrote, which knows no Python. ModelFileError where the bytes are
        another file, or damaged.
        """
        return restored(data, parse, like)

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle, copy and joblib: the parameters, and the state as the bytes of a file."""
        more = {name: vars(self)[name] for name in ("_sklearn_output_config",) if name in vars(self)}
        state = None if self._pipeline is None else self.to_bytes()
        return revived, (type(self), self.get_params(deep=False), state, more)


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
    return read(text, KINDS, dtype)


def _plain(value: Any) -> Any:
    """Numbers and sequences of numpy as those of Python, whose repr is a literal."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    return type(value)(_plain(each) for each in value) if isinstance(value, (list, tuple)) else value


class _Parts(Transformer):
    """The common base of pipelines and unions: one parameter, whose entries are transformers of one real type."""

    def __post_init__(self) -> None:
        name, parts = self._name_of_parts(), self.parts
        if not isinstance(parts, (list, tuple)) or not parts or not all(isinstance(p, Transformer) for p in parts):
            msg = f"{name} must be a sequence of transformers, at least one, got {parts!r}"
            raise ValueError(msg)
        kinds = {part.dtype for part in parts}
        if len(kinds) > 1:
            msg = f"all parts must have the same dtype, got {' and '.join(sorted(kinds))}"
            raise ValueError(msg)
        self._begin()

    @classmethod
    def of(cls, *parts: Transformer) -> Self:
        """Made of parts; those of its own kind among them are replaced by their parts."""
        flat = tuple(each for part in parts for each in (part.parts if isinstance(part, cls) else (part,)))
        return cls(**{cls._name_of_parts(): flat})

    @classmethod
    def _name_of_parts(cls) -> str:
        return fields(cls)[0].name  # type: ignore[arg-type]  # a dataclass

    @property
    def parts(self) -> Sequence[Transformer]:
        """The transformers."""
        return getattr(self, self._name_of_parts())

    @property
    def dtype(self) -> str:  # type: ignore[override]  # that of the parts
        """The real type of all parts."""
        return self.parts[0].dtype

    @property
    def waits(self) -> bool:
        """Whether the first points, a warm-up, have no result."""
        return any(part.waits for part in self.parts)

    @property
    def needs_times(self) -> bool:
        """Whether each point needs its time ``t``."""
        return any(part.needs_times for part in self.parts)


@dataclass(eq=False, repr=False)
class Pipeline(_Parts):
    """Transformers one after the other: the results of each are the points of the next. ``a | b`` makes it.

    Where a part gives no result, the next ones do nothing. Times of points reach all parts. The parts themselves keep
    their own state: the chain has its own memory, that of one pipeline.

    Parameters
    ----------
    steps : sequence of transformers
        The first one gets the points.

    Raises
    ------
    ValueError
        A part is no transformer, or parts have different real types.

    Examples
    --------
    >>> from mapdpm.features import Difference, Lag
    >>> (Difference() | Lag(1)).transform_many([[1.0], [2.0], [4.0]]).tolist()
    [[0.0, 0.0], [1.0, 0.0], [2.0, 1.0]]
    """

    steps: Sequence[Transformer]

    @property
    def every(self) -> int:
        """Number of points from one result to the next."""
        return math.prod(step.every for step in self.steps)

    def compile_into(self, source: int, steps: list[Step]) -> int:
        """Append the steps of this transformer; return the number of its result."""
        for part in self.steps:
            source = part.compile_into(source, steps)
        return source

    def names_for(self, names: list[str]) -> list[str]:
        """Names of the columns of results."""
        for part in self.steps:
            names = part.names_for(names)
        return names

    def __repr__(self) -> str:
        """The text that makes such a chain."""
        return " | ".join(f"({part!r})" if isinstance(part, Pipeline) else repr(part) for part in self.steps)


@dataclass(eq=False, repr=False)
class Union(_Parts):
    """Transformers side by side: all get the same points, and their results are joined. ``a + b`` makes it.

    Parameters
    ----------
    members : sequence of transformers
        Columns of the first one come first. All must give results at the same points.

    Raises
    ------
    ValueError
        A part is no transformer, parts have different real types, or give results at different points.

    Examples
    --------
    >>> from mapdpm.features import RMS, CrestFactor
    >>> (RMS(2) + CrestFactor(2)).transform_many([[9.0], [11.0]]).tolist()
    [[1.0, 1.0]]
    """

    members: Sequence[Transformer]

    def __post_init__(self) -> None:
        """Check the parts."""
        super().__post_init__()
        first = self.members[0]
        for other in self.members:
            if other.every != first.every:
                msg = (
                    f"the parts of a union must give results at the same points, but {first!r} gives one in "
                    f"{first.every}, and {other!r} one in {other.every}"
                )
                raise ValueError(msg)

    @property
    def every(self) -> int:
        """Number of points from one result to the next."""
        return self.members[0].every

    def compile_into(self, source: int, steps: list[Step]) -> int:
        """Append the steps of this transformer; return the number of its result."""
        last = self.members[0].compile_into(source, steps)
        for part in self.members[1:]:
            second = part.compile_into(source, steps)
            steps.append(Step(JOIN, last, second=second))
            last = len(steps)
        return last

    def names_for(self, names: list[str]) -> list[str]:
        """Names of the columns of results."""
        return [name for part in self.members for name in part.names_for(names)]

    def __repr__(self) -> str:
        """The text that makes such a union."""
        compound = (Pipeline, Union)
        return " + ".join(f"({part!r})" if isinstance(part, compound) else repr(part) for part in self.members)
