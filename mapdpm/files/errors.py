"""The errors of files: models that cannot be read, files that cannot be written."""

from __future__ import annotations


class ModelFileError(ValueError):
    """The bytes are not a complete, undamaged model."""


class UnwritableError(OSError, ValueError):
    """A file could not be written; an older file of that name is unchanged."""
