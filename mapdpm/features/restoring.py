"""Transformers from their files and pickles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from mapdpm.features.c_pipeline import CPipeline
from mapdpm.features.running import Running
from mapdpm.files import container
from mapdpm.files.errors import ModelFileError, refuse_damaged
from mapdpm.files.extras import checked_names

T = TypeVar("T", bound=Running)
TEXT_KEY = "features"
"""The key of the text of a pipeline in the extras of files."""


def restored(data: bytes, parse: Callable[[str], T], like: T | None) -> T:
    """The transformer in a file, in its state, made from its text; ``like`` has the parameters where it has none."""
    dtype, extras = container.check_stream(data, container.FEATURES)
    text = extras.get(TEXT_KEY)
    if text is None and like is None:
        msg = "the file of these features was written by a chip; say which they are: from_bytes(data, like=...)"
        raise ModelFileError(msg)
    pipeline, problem = CPipeline.read(dtype, data)
    if pipeline is None:
        refuse_damaged(problem)
    try:
        found = parse(repr(like) if text is None else text)
    except ValueError as error:
        refuse_damaged(error)
    if found.dtype != dtype or not pipeline.matches(found.c_steps()):
        refuse_damaged(f"its steps are not those of {found!r}")
    names = checked_names(extras, pipeline.n_features)
    found.adopt(pipeline, names)
    return found


def revived(cls: Any, parameters: dict[str, Any], state: bytes | None, more: dict[str, Any]) -> Any:
    """The transformer of a pickle: its class, its parameters, its file, and more attributes."""
    made = cls(**parameters)
    if state is not None:
        kept = vars(made.from_bytes(state, made))
        made.adopt(kept["_pipeline"], kept.get("feature_names_in_"))
    made.__dict__.update(more)
    return made
