"""The errors of files: models that cannot be read, files that cannot be written."""

from __future__ import annotations

from typing import NoReturn


class ModelFileError(ValueError):
    """The bytes are not a complete, undamaged model."""


def refuse_damaged(what: object, path: object = None) -> NoReturn:
    """ModelFileError for a file, named where its path is known, that is not what it says."""
    msg = f"the model file is damaged: {what}"
    raise ModelFileError(msg if path is None else f"{path}: {msg}") from None


class UnwritableError(OSError, ValueError):
    """A file could not be written; an older file of that name is unchanged."""
