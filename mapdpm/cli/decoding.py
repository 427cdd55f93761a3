"""The text of lines that are compressed, or in an encoding whose lines do not end with one byte: block by block."""

from __future__ import annotations

import codecs
import contextlib
import zlib
from typing import NoReturn, Self

from mapdpm.cli.beginning import GZIP

UTF_16 = "utf-16"
_BLOCK = 1 << 16
_MARKS = ",;.-0123456789\n"  # lines and cells are found by them


class Decoder:
    """Turns the bytes of a file into the UTF-8 of its text, at most a block at a time, whatever they unpack to.

    ``encoding`` is None where lines may be read as bytes.
    """

    @classmethod
    def of(cls, begins: bytes, encoding: str | None, name: str) -> Self | None:
        """The decoder of a file that begins so, ``name`` in messages; None where its lines are found as they are."""
        packed, text = begins.startswith(GZIP), begins
        if packed:
            with contextlib.suppress(zlib.error):  # which reading it tells
                text = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(begins, _BLOCK)
        if encoding is None and text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and b"\0" in text:
            encoding = UTF_16
        by_bytes = encoding is None or _MARKS.encode(encoding).removeprefix(codecs.BOM_UTF8) == _MARKS.encode()
        return None if by_bytes and not packed else cls(None if by_bytes else encoding, name, packed=packed)

    def __init__(self, encoding: str | None, name: str, *, packed: bool) -> None:
        self.encoding, self._name, self._packed = encoding, name, packed
        self._held, self._inflating = b"", False
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._text = None if encoding is None else codecs.getincrementaldecoder(encoding)()

    @property
    def holds(self) -> bool:
        """Whether there is more to decode before more is read."""
        return bool(self._held)

    def decoded(self, data: bytes, *, final: bool = False) -> bytes:
        """The text of the next bytes, or a block of it; ValueError where they are damaged."""
        try:
            plain = self._inflated(data) if self._packed else data
        except zlib.error as error:
            self._refuse_packed(str(error))
        if final and self._inflating:
            self._refuse_packed("it ends too early")
        if self._text is None:
            return plain
        try:
            return self._text.decode(plain, final).encode()
        except UnicodeError:
            msg = f"{self._name} is not a text file in {self.encoding}"
            raise ValueError(msg) from None

    def _inflated(self, data: bytes) -> bytes:
        self._held += data
        if self._inflate.eof:
            self._held = self._held.lstrip(b"\0")  # tapes have them
            if not self._held:
                return b""
            self._inflate, self._inflating = zlib.decompressobj(zlib.MAX_WBITS | 16), False
        self._inflating = self._inflating or bool(self._held)
        found = self._inflate.decompress(self._held, _BLOCK)
        self._held = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
        self._inflating = self._inflating and not self._inflate.eof
        return found

    def _refuse_packed(self, why: str) -> NoReturn:
        msg = f"{self._name} is not a whole gzip file: {why}"
        raise ValueError(msg) from None
