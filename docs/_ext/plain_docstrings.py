"""Docstrings are plain text with ``code`` and *stress*: all else that reStructuredText would read is escaped.

So ``labels_`` is no reference and ``|x|`` no substitution. Pages that a docstring names (docs/maths.md) become links.
The fields of a NamedTuple, which its class documents, are left out, and the call of a Protocol, which is not called.
"""

# ruff: noqa: INP001  (beside conf.py, which puts its folder on the path)

from __future__ import annotations

import re
from typing import Any

_STRESS = r"(?<![\w*])\*[^\s*](?:[^*\n]*[^\s*])?\*(?![\w*])"
_KEPT = re.compile(rf"(^ *>>>.*(?:\n *\S.*)*|``[^`]+``|{_STRESS})", re.MULTILINE)  # the first are examples
_SPECIAL = re.compile(r"([*|`\\]|(?<=\w)_(?!\w))")
_PAGE = re.compile(r"\bdocs/([a-z-]+)\.md\b")


def setup(app: Any) -> dict[str, Any]:
    """Come before numpydoc (500), which makes reStructuredText of sections."""
    app.connect("autodoc-process-docstring", _escape, priority=100)
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-signature", _call)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _escape(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:  # noqa: ARG001
    parts = _KEPT.split("\n".join(lines))
    parts[::2] = [_PAGE.sub(r":doc:`/\1`", _SPECIAL.sub(r"\\\1", part)) for part in parts[::2]]
    lines[:] = "".join(parts).split("\n")


def _skip(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:  # noqa: ARG001
    return True if str(getattr(obj, "__doc__", "")).startswith("Alias for field number") else None


def _call(app: Any, what: str, name: str, obj: Any, *_: Any) -> tuple[str, None] | None:  # noqa: ARG001
    return ("", None) if what == "class" and getattr(obj, "_is_protocol", False) else None
