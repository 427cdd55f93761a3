"""Mutated files: what a fuzzer makes of valid examples. Each function takes a ``random.Random`` and the examples.

``data`` are bytes. A mutation that keeps a format whole (its CRC, its sizes, its zip) reaches the checks behind them.
"""

import csv
import gzip
import io
import json
import math
import struct
import zipfile
import zlib

import numpy as np

from mapdpm.files import container
from mapdpm.files.extras import pack_extras, unpack_extras

INTEGERS = (0, 1, 2, 3, -1, 127, 128, 255, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**62, 2**63 - 1, -(2**63))
REALS = (0.0, -0.0, 1.0, -1.0, math.nan, math.inf, -math.inf, 5e-324, 1e-308, 1e-100, 1e35, 1e60, 1e100, 1e154, 1e308)
NUMBERS = (*INTEGERS, *REALS, *(-x for x in REALS[7:]), 2**64, 10**400)
TEXTS = ("", "x", "0", "1", "-1", "nan", "\x1b[2J", "\ud800", "\0", "a" * 300, "é", ",", '"', "_", "m0")
VALUES = (None, True, False, *NUMBERS, *TEXTS, [], {}, [[]], [None], ["x"], [1, "x"], {"x": []}, [[0.0, 1.0], [2.0]])
_SIGNS = (
    "",
    ",",
    ";",
    "\n",
    "\r",
    "\r\n",
    "\0",
    '"',
    '""',
    " ",
    "\t",
    "-",
    "_",
    "1_0",
    "=",
    ":",
    "1:2:3",
    "\ufeff",
    "é",
)
_WRONG_NUMBERS = ("nan", "inf", "-inf", "1e999", "-1e-999", "1e308", "0x1", "\u0661", "9" * 400)
_JSON = ("[", "]", "{", "}", "[" * 3000, "null", '{"a":1}')
_ARGUMENTS = ("2-", "-2", "1-9", "999999999", "9999999999", "m0=", "b0=0", "c0=-1", "a0=1e9", "x=1,y", "\x1b[2J")
WORDS = (*_SIGNS, *_WRONG_NUMBERS, *_JSON, *_ARGUMENTS)


def mutated(random, data, examples):
    """``data`` with one to four changes of bytes."""
    for _ in range(random.randint(1, 4)):
        data = random.choice(_CHANGES)(random, data, examples)
    return data


def _flipped(random, data, _):
    at = random.randrange(len(data)) if data else 0
    return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :] if data else b"\0"


def _integer(random, data, _):
    """2, 4 or 8 bytes replaced by an extreme integer; half of the places are multiples of the size."""
    size, number = random.choice((2, 4, 8)), random.choice(INTEGERS)
    return _replaced(random, data, (number % 2 ** (8 * size)).to_bytes(size, "little"))


def _real(random, data, _):
    return _replaced(random, data, _packed(random.choice((4, 8)), random.choice(REALS)))


def _replaced(random, data, new):
    size = len(new)
    if len(data) < size:
        return new
    at = random.randrange(len(data) - size + 1)
    at -= at % size if random.random() < 0.7 else 0
    return data[:at] + new + data[at + size :]


def _packed(size, real):
    with np.errstate(over="ignore", under="ignore"):
        return np.array(real, f"<f{size}").tobytes()


def _places(random, data):
    """Two places of ``data`` in order, mostly near each other."""
    first = random.randrange(len(data) + 1)
    return first, min(len(data), first + random.choice((1, 4, 8, random.randrange(1, 200))))


def _cut(random, data, _):
    first, last = _places(random, data)
    return data[:first] + data[last:] if random.random() < 0.8 else data[:first]


def _inserted(random, data, _):
    first, last = _places(random, data)
    return data[:first] + bytes(random.choice(b"\0\1\xff,[") for _ in range(last - first)) + data[first:]


def _doubled(random, data, _):
    first, last = _places(random, data)
    return data[:last] + data[first:]


def _spliced(random, data, examples):
    """The beginning of ``data``, and the end of another example."""
    other = random.choice(examples)
    return data[: random.randrange(len(data) + 1)] + other[random.randrange(len(other) + 1) :]


_CHANGES = (_flipped, _integer, _integer, _real, _real, _cut, _inserted, _doubled, _spliced)


# ---- JSON ------------------------------------------------------------------------------------------------------------


def mutated_json(random, tree, depth=0):
    """``tree`` with one entry anywhere in it replaced, renamed, doubled or removed."""
    if depth and (not isinstance(tree, (dict, list)) or not tree or random.random() < 0.25):
        return random.choice((*VALUES, [tree], {"x": tree}, str(tree)))
    if isinstance(tree, dict):
        tree = dict(tree)
        name = random.choice(list(tree)) if tree else "x"
        if random.random() < 0.2:
            value = tree.pop(name, None)
            return tree | ({random.choice(TEXTS): value} if random.random() < 0.5 else {})
    elif isinstance(tree, list):
        tree = list(tree)
        name = random.randrange(len(tree)) if tree else 0
        if not tree or random.random() < 0.2:
            return [*tree, *tree] if random.random() < 0.5 else tree[:name]
    else:
        return random.choice(VALUES)
    tree[name] = mutated_json(random, tree.get(name) if isinstance(tree, dict) else tree[name], depth + 1)
    return tree


# ---- model files -----------------------------------------------------------------------------------------------------

_HEADER, _CRC = 40, 4


def repaired(data):
    """A model file with its size and its CRC made right."""
    if len(data) < _HEADER + _CRC:
        return data
    body = data[:32] + struct.pack("<Q", len(data)) + data[40:-_CRC]
    return body + struct.pack("<I", zlib.crc32(body))


def mutated_model(random, data, examples):
    """A model file with a change in its body, in its extras, or anywhere."""
    kind = random.random()
    if kind < 0.1:
        return mutated(random, data, examples)
    if kind < 0.2:
        return repaired(mutated(random, data, examples))
    (n_extras,) = struct.unpack_from("<I", data, 28)
    end = len(data) - _CRC - n_extras
    if n_extras and kind < 0.55:
        return with_tail(data, _mutated_extras(random, data[end:-_CRC], examples))
    real = data[7]
    for _ in range(random.randint(1, 3)):  # numbers of the body in their places
        size = real if random.random() < 0.7 else random.choice((1, 4, 8))
        at = random.randrange(_HEADER if random.random() < 0.9 else 4, end - size + 1)
        at -= (at - end) % size  # statistics are the last
        new = random.choice((_packed(max(size, 4), random.choice(REALS)), struct.pack("<q", random.choice(INTEGERS))))
        data = data[:at] + new[:size] + data[at + size :]
    return repaired(data)


def with_tail(data, tail):
    """A model file with other bytes as its extras."""
    (n_extras,) = struct.unpack_from("<I", data, 28)
    body = data[: len(data) - _CRC - n_extras]
    return repaired(body[:28] + struct.pack("<I", len(tail)) + body[32:] + tail + bytes(_CRC))


def _mutated_extras(random, tail, examples):
    extras = unpack_extras(tail, 1 << 30)
    arrays = [name for name, value in extras.items() if isinstance(value, np.ndarray)]
    if random.random() < 0.1:
        return mutated(random, tail, [tail])
    if arrays and random.random() < 0.4:
        name = random.choice(arrays)
        held = extras[name]
        new = held.tobytes()
        new = (mutated_model if new[:4] == container.MAGIC else mutated)(random, new, examples)
        size = held.itemsize
        extras[name] = np.frombuffer(new[: len(new) - len(new) % size], held.dtype)
        return pack_extras(extras)
    plain = {name: value for name, value in extras.items() if name not in arrays}
    listed = [[name, extras[name].dtype.str, len(extras[name])] for name in arrays]
    tree = {"plain": plain, "arrays": listed}
    change = mutated_json(random, tree if random.random() < 0.2 else plain)
    text = json.dumps(change if isinstance(change, dict) and "plain" in change else tree | {"plain": change}).encode()
    return struct.pack("<I", len(text)) + text + b"".join(extras[name].tobytes() for name in arrays)


# ---- .npz ------------------------------------------------------------------------------------------------------------


def mutated_npz(random, data, examples):
    """A .npz with a changed array, or a change anywhere."""
    if random.random() < 0.2:
        return mutated(random, data, examples)
    with np.load(io.BytesIO(data)) as file:
        arrays = dict(file)
    name = random.choice(list(arrays)) if random.random() < 0.7 else "about"
    if name == "about":
        text = json.dumps(mutated_json(random, json.loads(arrays[name].tobytes())))
        arrays[name] = np.frombuffer(text.encode(), np.uint8)
    else:
        with np.errstate(all="ignore"):
            arrays |= _changed_array(random, name, arrays.pop(name))
    file = io.BytesIO()
    random.choice((np.savez, np.savez_compressed))(file, **arrays)
    return file.getvalue() if random.random() < 0.9 else _with_header(random, file)


def _changed_array(random, name, array):
    kind = random.randrange(6)
    if kind == 0:
        return {}
    if kind == 1:
        return {random.choice(("values/x", "extra/x", "best/x", "ends/9/labels", "x")): array}
    if kind == 2:
        return {name: array.astype(random.choice(("i1", "u8", "f4", "f8", "c16", "S3", "U2", "?", "M8[s]")))}
    if kind == 3:
        shape = random.choice(((), (-1,), (1, -1), (-1, 1), (*array.shape, 1)))
        return {name: array.ravel()[:1].reshape(shape) if shape == () and array.size else array.reshape(shape or (-1,))}
    if kind == 4:
        return {name: array[:-1] if array.ndim and random.random() < 0.5 else np.stack([array, array])}
    changed = array.copy().ravel()
    if changed.size:
        number = random.choice(REALS if array.dtype.kind == "f" else INTEGERS)
        changed[random.randrange(changed.size)] = np.asarray(number).astype(array.dtype)
    return {name: changed.reshape(array.shape)}


def _with_header(random, file):
    """The .npz with the text of one array's header changed: another shape, another type."""
    out = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(out, "w") as new:
        names = old.namelist()
        chosen = random.choice(names)
        for name in names:
            part = old.read(name)
            if name == chosen:
                word, other = random.choice(((b"(", b"(9,"), (b"<", b">"), (b"i", b"O"), (b"'", b'"'), (b"1", b"9")))
                part = part.replace(word, other, 1)
            new.writestr(name, part)
    return out.getvalue()


# ---- text ------------------------------------------------------------------------------------------------------------


def mutated_text(random, data, examples):
    """A text with words put in, or with a change of bytes."""
    if random.random() < 0.2:
        return mutated(random, data, examples)
    for _ in range(random.randint(1, 3)):
        first, last = _places(random, data)
        last = random.choice((first, last))
        data = data[:first] + random.choice(WORDS).encode() + data[last:]
    return data


def mutated_json_text(random, data, examples):
    """A JSON text with an entry replaced, or with a change of bytes."""
    try:
        tree = json.loads(data)
    except ValueError:
        return mutated_text(random, data, examples)
    if random.random() < 0.3:
        return mutated_text(random, data, examples)
    return json.dumps(mutated_json(random, tree)).encode()


def mutated_table(random, data, examples):
    """A CSV file, gzip or not, with cells exchanged for words, or with a change of bytes."""
    if data[:2] == b"\x1f\x8b" and random.random() < 0.7:
        return gzip.compress(mutated_table(random, gzip.decompress(data), examples), 1)
    if random.random() < 0.5 or data[:2] == b"\x1f\x8b":
        return mutated_text(random, data, examples)
    rows = [line.split(",") for line in data.decode().splitlines()]
    row = random.choice(rows)
    row[random.randrange(len(row))] = random.choice((*WORDS, *map(repr, REALS)))
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()
