"""JSON in files of strangers: refused where its objects would take much more memory than its text."""

from __future__ import annotations

import json
from typing import Any

SPARE, RATIO = 1 << 25, 6
"""Memory that a file may take: so many bytes, and so many times its size. With the file itself and with checks that is
less than 64 MB and eight times the file (decision 90)."""

_OF_A_CONTAINER, _OF_AN_ENTRY = 100, 64  # bytes: an empty list with its place; a short text, or a number


def loads(text: bytes, file_bytes: int) -> Any:
    """The value of ``text``, which is part of a file of ``file_bytes``; ValueError where it would take much memory."""
    containers = text.count(b"[") + text.count(b"{")
    entries = text.count(b",") + text.count(b":")
    needed = 2 * len(text) + _OF_A_CONTAINER * containers + _OF_AN_ENTRY * entries
    if needed > SPARE + RATIO * file_bytes:
        msg = f"its JSON takes {needed} bytes of memory"
        raise ValueError(msg)
    return json.loads(text)
