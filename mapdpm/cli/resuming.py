"""A checkpoint and another input than its own: go on with the same learner, or begin anew, but never unasked."""

from __future__ import annotations

from pathlib import Path

from mapdpm.cli import checkpoint
from mapdpm.cli.checkpoint import Saved
from mapdpm.cli.usage import UsageError


def begun(path: Path | None, *, restart: bool) -> Saved | None:
    """The checkpoint to go on with; with ``restart`` none, but a file that is no checkpoint is refused anyway."""
    found = None if path is None else checkpoint.read(path)
    return None if restart else found


def of_another_input(saved: Saved, path: Path, name: str, *, go_on: bool) -> str:
    """The message where a checkpoint was at another input than ``name``; UsageError unless it is to ``go_on``."""
    assert saved.input is not None  # noqa: S101  (the caller saw to it)
    n = saved.model.n_seen
    held = f"{path} holds {n} point{'s' * (n != 1)}, up to line {saved.input['line']} of {saved.input['path']}"
    if not go_on:
        msg = (
            f"{held}, and this input is {name}: --continue goes on with that learner at the beginning of this input, "
            f"--restart forgets it and begins anew; or {checkpoint.ANOTHER}"
        )
        raise UsageError(msg)
    return f"{held}; {name} is read from its beginning"
