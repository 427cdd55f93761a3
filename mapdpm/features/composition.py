"""Pipelines, whose parts follow each other, and unions, whose parts stand side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mapdpm.features import c_pipeline
from mapdpm.features.c_pipeline import Step
from mapdpm.features.transformer import Transformer


class _Parts(Transformer):
    """What a pipeline and a union have in common: parts that are transformers, of one real type."""

    def _check(self, name: str) -> None:
        parts = self.parts
        if not isinstance(parts, (list, tuple)) or not parts or not all(isinstance(p, Transformer) for p in parts):
            msg = f"{name} must be a sequence of transformers, at least one, got {parts!r}"
            raise ValueError(msg)
        kinds = {part.dtype for part in parts}
        if len(kinds) > 1:
            msg = f"all parts must have the same dtype, got {' and '.join(sorted(kinds))}"
            raise ValueError(msg)
        self._begin()

    @property
    def parts(self) -> Sequence[Transformer]:
        """The transformers."""
        raise NotImplementedError

    @property
    def dtype(self) -> str:  # type: ignore[override]  # that of the parts
        """The real type of all parts."""
        return self.parts[0].dtype

    @property
    def needs_times(self) -> bool:
        """Whether each point needs its time ``t``."""
        return any(part.needs_times for part in self.parts)


class Pipeline(_Parts):
    """Transformers one after the other: the results of each are the points of the next. ``a | b`` makes it.

    Where a part gives no result, the next ones do nothing. Times of points reach all parts. The parts themselves keep
    their own state: the pipeline has its own memory.

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

    def __init__(self, steps: Sequence[Transformer]) -> None:
        self.steps = steps
        self._check("steps")

    @classmethod
    def of(cls, *parts: Transformer) -> Pipeline:
        """A pipeline of parts; those of pipelines among them stand in it themselves."""
        return cls(tuple(step for part in parts for step in (part.steps if isinstance(part, Pipeline) else (part,))))

    @property
    def parts(self) -> Sequence[Transformer]:
        """The transformers."""
        return self.steps

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
        """The text that makes such a pipeline."""
        return " | ".join(f"({part!r})" if isinstance(part, Pipeline) else repr(part) for part in self.steps)


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

    def __init__(self, members: Sequence[Transformer]) -> None:
        self.members = members
        self._check("members")
        first = members[0]
        for other in members:
            if other.every != first.every:
                msg = (
                    f"the parts of a union must give results at the same points, but {first!r} gives one in "
                    f"{first.every}, and {other!r} one in {other.every}"
                )
                raise ValueError(msg)

    @classmethod
    def of(cls, *parts: Transformer) -> Union:
        """A union of parts; those of unions among them stand in it themselves."""
        return cls(tuple(each for part in parts for each in (part.members if isinstance(part, Union) else (part,))))

    @property
    def parts(self) -> Sequence[Transformer]:
        """The transformers."""
        return self.members

    @property
    def every(self) -> int:
        """Number of points from one result to the next."""
        return self.members[0].every

    def compile_into(self, source: int, steps: list[Step]) -> int:
        """Append the steps of this transformer; return the number of its result."""
        last = self.members[0].compile_into(source, steps)
        for part in self.members[1:]:
            second = part.compile_into(source, steps)
            steps.append(Step(c_pipeline.JOIN, last, second=second))
            last = len(steps)
        return last

    def names_for(self, names: list[str]) -> list[str]:
        """Names of the columns of results."""
        return [name for part in self.members for name in part.names_for(names)]

    def __repr__(self) -> str:
        """The text that makes such a union."""
        compound = (Pipeline, Union)
        return " + ".join(f"({part!r})" if isinstance(part, compound) else repr(part) for part in self.members)
