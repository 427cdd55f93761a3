"""What can be wrong with model files."""

from __future__ import annotations


class ModelFileError(ValueError):
    """The bytes are not a complete, undamaged model."""


class UnwritableError(OSError, ValueError):
    """A file could not be written; an older file of that name is unchanged."""
