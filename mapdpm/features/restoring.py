"""Transformers from their files and pickles."""

from __future__ import annotations

from typing import Any

from mapdpm.features.c_pipeline import CPipeline
from mapdpm.features.text import parse
from mapdpm.features.transformer import TEXT_KEY, Transformer
from mapdpm.files import container
from mapdpm.files.errors import ModelFileError
from mapdpm.files.extras import checked_names


def restored(data: bytes, like: Transformer | None = None) -> Transformer:
    """The transformer in a file, in its state; ``like`` has the parameters where the file has none."""
    dtype, extras = container.check_stream(data, container.FEATURES)
    text = extras.get(TEXT_KEY)
    if text is None and like is None:
        msg = "the file of these features was written by a chip; say which they are: from_bytes(data, like=...)"
        raise ModelFileError(msg)
    pipeline, problem = CPipeline.read(dtype, data)
    if pipeline is None:
        msg = f"the model file is damaged: {problem}"
        raise ModelFileError(msg)
    try:
        found = parse(repr(like) if text is None else text)
    except ValueError as error:
        msg = f"the model file is damaged: {error}"
        raise ModelFileError(msg) from None
    if found.dtype != dtype or not pipeline.matches(found.c_steps()):
        msg = f"the model file is damaged: its steps are not those of {found!r}"
        raise ModelFileError(msg)
    names = checked_names(extras, pipeline.n_features)
    found.adopt(pipeline, names)
    return found


def revived(cls: Any, parameters: dict[str, Any], state: bytes | None, more: dict[str, Any]) -> Any:
    """The transformer of a pickle: its class, its parameters, its file, and more attributes."""
    made = cls(**parameters)
    if state is not None:
        kept = vars(restored(state, made))
        made.adopt(kept["_pipeline"], kept.get("feature_names_in_"))
    made.__dict__.update(more)
    return made
