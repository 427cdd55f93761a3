"""The extras of a model file, which chips skip: JSON, and behind it the arrays that the JSON lists."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapdpm.files import json_text
from mapdpm.files.errors import refuse_damaged
from mapdpm.protocol import Labels

_LENGTH = struct.Struct("<I")
_ARRAY_TYPES = {name: np.dtype(name) for name in ("<i8", "<i4", "<i2", "|i1", "<f8")}


def pack_extras(extras: dict[str, Any]) -> bytes:
    """The extras as bytes: JSON, and behind it the arrays that the JSON lists."""
    arrays = {name: value for name, value in extras.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in extras.items() if name not in arrays}
    listed = [[name, value.dtype.str, len(value)] for name, value in arrays.items()]
    text = json.dumps({"plain": plain, "arrays": listed}).encode()
    return _LENGTH.pack(len(text)) + text + b"".join(value.tobytes() for value in arrays.values())


def unpack_extras(data: bytes, file_bytes: int) -> dict[str, Any]:
    """The extras in ``data``, which are part of a file of ``file_bytes``; ModelFileError where they are damaged."""
    if not data:
        return {}
    try:
        (length,) = _LENGTH.unpack_from(data)
        content = json_text.loads(data[_LENGTH.size : _LENGTH.size + length], file_bytes)
        extras: dict[str, Any] = dict(content["plain"])
        position = _LENGTH.size + length
        for name, kind, n in content["arrays"]:
            extras[name] = np.frombuffer(data, _ARRAY_TYPES[kind], n, position).copy()
            position += extras[name].nbytes
    except (ValueError, KeyError, TypeError, ArithmeticError, RecursionError, struct.error) as error:
        refuse_damaged(f"its extras cannot be read ({type(error).__name__}: {error})")
    return extras


def smallest_integers(values: Labels) -> NDArray[Any]:
    """``values`` in the smallest little-endian integer type that holds them."""
    top = max(int(values.max(initial=0)), -1 - int(values.min(initial=0)))
    bits = next(b for b in (8, 16, 32, 64) if top < 2 ** (b - 1))
    return values.astype(np.dtype(f"int{bits}").newbyteorder("<"))


def checked_names(extras: dict[str, Any], n_features: int | None) -> NDArray[np.object_] | None:
    """The names of columns in the extras, checked; None where there are none. ``n_features`` None: any number."""
    names = extras.get("feature_names_in_")
    if names is None:
        return None
    are_names = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not are_names or n_features not in {None, len(names)}:
        refuse_damaged("its names of features do not fit")
    return np.array(names, dtype=object)
