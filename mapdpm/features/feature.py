"""The base of the transformers that are one step of the C library, and the decorator that makes their classes known."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeVar, dataclass_transform

from mapdpm.features.c_pipeline import Step
from mapdpm.features.transformer import KINDS, Transformer
from mapdpm.validation import check_count


class Feature(Transformer):
    """A transformer that is no composition: one step of the C library. Its fields are its parameters."""

    kind: ClassVar[int]
    """The number of the kind of step: enum mapdpm_step_kind in C."""
    example: ClassVar[str]
    """A text of a small one, which tests use."""
    label: ClassVar[str]
    """The end of the name of a result, after the name of its column."""
    least: ClassVar[int] = 1
    most: ClassVar[int] = 2**20
    """The limits of the first parameter, a number of points."""

    def __post_init__(self) -> None:
        """Check the parameters, by making the steps."""
        self.compile_into(0, [])
        self._begin()

    def settings(self) -> dict[str, Any]:
        """The members of the step besides its kind: mostly ``n``, the first parameter. ValueError for a wrong one."""
        name = fields(self)[0].name  # type: ignore[arg-type]  # a dataclass, by ``feature``
        n = check_count(name, getattr(self, name), self.least)
        if n > self.most:
            msg = f"{name} must be at most {self.most}, got {n}"
            raise ValueError(msg)
        return {"n": n}

    def compile_into(self, source: int, steps: list[Step]) -> int:
        """Append the steps of this transformer; return the number of its result."""
        steps.append(Step(self.kind, source, **self.settings()))
        return len(steps)

    def names_for(self, names: list[str]) -> list[str]:
        """Names of the columns of results."""
        return [f"{name} {self.label.format_map(vars(self))}" for name in names]


_Kind = TypeVar("_Kind", bound=type[Transformer])


@dataclass_transform(eq_default=False)
def feature(kind: _Kind) -> _Kind:
    """A class of features: its fields become the parameters of its constructor, and a text may call it.

    All that takes texts knows it then: ``parse``, the command line, files, river. A class that was made anew, as in a
    notebook, takes the place of the one before. ValueError where another class has its name.
    """
    known = KINDS.get(kind.__name__)
    if known is not None and (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
        msg = f"there are features {kind.__name__} in {known.__module__}; give those in {kind.__module__} another name"
        raise ValueError(msg)
    KINDS[kind.__name__] = dataclass(eq=False, repr=False)(kind)
    return kind
