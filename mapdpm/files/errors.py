"""The errors of files: models that cannot be read, files that cannot be written."""

from __future__ import annotations

from typing import NoReturn


class ModelFileError(ValueError):
    """The bytes are not a complete, undamaged model."""


_WORDS = {
    "argument": "its sizes do not fit each other",
    "damaged": "a number is out of its range, or does not fit the others",
    "ids": "all its ids are used up",
    "kind": "it holds something else than its header says",
    "number": "a number is not finite",
    "range": "a cluster lies too far from the prior mean, or weighs too much",
    "space": "it needs more memory than its header says",
    "truncated": "it is shorter than its header says",
}


def words_of(problem: object) -> str:
    """The problem of a file, in words where the C library has named an error."""
    return _WORDS.get(str(problem), str(problem))


def refuse_damaged(what: object, path: object = None) -> NoReturn:
    """ModelFileError for a file, named where its path is known, that is not what it says."""
    msg = f"the model file is damaged: {words_of(what)}"
    raise ModelFileError(msg if path is None else f"{path}: {msg}") from None


class UnwritableError(OSError, ValueError):
    """A file could not be written; an older file of that name is unchanged."""
