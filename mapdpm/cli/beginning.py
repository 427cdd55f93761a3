"""The beginning of a file: its first bytes, their encoding, and their lines."""

from __future__ import annotations

import codecs
import re
import sys
import zlib
from pathlib import Path

STDIN = "-"
GZIP = b"\x1f\x8b"
MODEL = b"MDPM"
"""The first bytes of a model file."""
UTF_8 = "utf-8-sig"
SAMPLE, LINES = 8192, 50
"""Bytes, and lines of them, that are looked at."""
BINARY = re.compile(rb"[\x00-\x08\x0e-\x1f]")


def beginning(path: str | Path) -> bytes:
    """The first bytes of a file, uncompressed; of standard input, what has come so far, and it stays there."""
    begins = b""
    if str(path) == STDIN:
        peek = getattr(getattr(sys.stdin, "buffer", None), "peek", None)
        begins = b"" if peek is None else bytes(peek(SAMPLE)[:SAMPLE])
    elif Path(path).is_file():  # else opening it says why, and a pipe is read once
        with Path(path).open("rb") as file:
            begins = file.read(SAMPLE)
    if not begins.startswith(GZIP):
        return begins
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(begins, SAMPLE)
    except zlib.error:
        return b""


def encoding_of(sample: bytes) -> str:
    """UTF-8 where the beginning is, or is no text at all; else UTF-16 by its mark and zeros, or Windows-1252."""
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16" if b"\0" in sample else UTF_8
    text = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode(sample)
    wrong = sum(map(_is_escaped, text))
    right = sum(not (mark.isascii() or _is_escaped(mark)) for mark in text)  # a stray byte makes no other encoding
    return UTF_8 if wrong <= right or BINARY.search(sample) or sample.startswith(MODEL) else "cp1252"


def _is_escaped(mark: str) -> bool:
    """Whether this stands for a byte that is not UTF-8."""
    return "\udc80" <= mark <= "\udcff"


def lines_of(sample: bytes, encoding: str) -> list[str]:
    """The whole lines of the beginning of a file."""
    return [line for _, line in numbered_lines(sample, encoding)]


def numbered_lines(sample: bytes, encoding: str) -> list[tuple[int, str]]:
    """The whole lines of the beginning of a file that are not blank, with their numbers."""
    try:
        text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(sample)
    except LookupError:
        return []
    lines = text.splitlines()
    whole = lines if len(sample) < SAMPLE else lines[:-1]
    return [(number, line) for number, line in enumerate(whole, 1) if line.strip()][:LINES]
