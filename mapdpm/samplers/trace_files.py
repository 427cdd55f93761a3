"""The file of a trace: a .npz of numpy's, without pickles.

Format 2 has the arrays ``partitions`` (if kept), ``values/NAME``, ``extra/NAME``, ``best``, ``best/NAME`` and
``ends/CHAIN/NAME``; ``about`` is JSON in bytes. Format 1 had the partitions, four numbers of each draw by name, and the
ends in JSON.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
import zlib
from typing import Any

import numpy as np

from mapdpm.files import json_text
from mapdpm.files.json_text import RATIO, SPARE
from mapdpm.partition_priors import check_drawn
from mapdpm.protocol import LARGEST
from mapdpm.samplers.chain import Adapted, Array, is_partition
from mapdpm.samplers.ends import End
from mapdpm.validation import check_count, check_number

FORMAT = 2

_DAMAGE = (  # what reading a zip with a byte changed can end in
    *(ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, EOFError),
    *(NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error),
)
_VALUES = {"log_joint", "n_clusters", "largest_share", "acceptance"}
_VALUES_1 = ("log_joint", "alpha", "discount", "acceptance")


class UnreadableTraceError(ValueError):
    """A file that is no trace, or not a whole one."""


def written(trace: Any) -> bytes:
    """The file of ``trace``."""
    about = {
        "format": FORMAT,
        "best_log_joint": trace.best_log_joint,
        "thin": trace.thin,
        "sampler": trace.sampler,
        "dims": trace.dims,
        "ends": [{"adapted": list(end.adapted), "generator": end.generator} for end in trace.ends],
    }
    arrays = {"about": np.frombuffer(json.dumps(about).encode(), dtype=np.uint8), "best": trace.best}
    if trace.partitions is not None:
        arrays["partitions"] = trace.partitions
    folders = {"values": trace.values, "extra": trace.extra, "best": trace.best_variables}
    folders |= {f"ends/{number}": end.saved for number, end in enumerate(trace.ends)}
    arrays |= {f"{folder}/{name}": array for folder, named in folders.items() for name, array in named.items()}
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    if _memory_of(file) > _most_memory(file.tell()):  # as a chain that never moves
        file = io.BytesIO()
        np.savez(file, **arrays)
    return file.getvalue()


def read(data: bytes, path: str, max_bytes: int | None = None) -> dict[str, Any]:
    """The fields of the trace in ``data``; UnreadableTraceError for any other bytes."""
    try:
        needed = _memory_of(io.BytesIO(data))
        if needed > (_most_memory(len(data)) if max_bytes is None else max_bytes):
            msg = (
                f"{path} has {len(data)} bytes and takes {needed} bytes of memory: if you trust it, say "
                f"Trace.load(path, max_bytes={needed})"
            )
            raise UnreadableTraceError(msg)
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            about = json_text.loads(file["about"].tobytes(), len(data))
            arrays = {name: file[name] for name in file.files if name != "about"}
        found = check_count("format", about["format"])
        if found > FORMAT:
            msg = f"{path} is a trace of format {found}, and this version reads up to {FORMAT}: upgrade"
            raise UnreadableTraceError(msg)
        fields = _of_format_1(about, arrays) if found == 1 else _of_format_2(about, arrays)
        fields |= {"best": arrays["best"], "sampler": about["sampler"], "thin": check_count("thin", about["thin"])}
        fields["best_log_joint"] = check_number("best_log_joint", about["best_log_joint"])
        _check(fields)
    except _DAMAGE as error:
        if isinstance(error, UnreadableTraceError):
            raise
        msg = f"{path} is no trace file, or was cut short ({len(data)} bytes): draw it anew, or take a whole copy"
        raise UnreadableTraceError(msg) from None
    return fields


def _most_memory(n_bytes: int) -> int:
    """The memory that a file of ``n_bytes`` may take: a stranger's file may unpack to a thousand times its size."""
    return SPARE + RATIO * n_bytes


def _memory_of(file: io.BytesIO) -> int:
    """The bytes of the arrays in a .npz; ValueError where an array is larger than its part of the file."""
    total = 0
    with zipfile.ZipFile(file) as archive:
        for part in archive.infolist():
            with archive.open(part) as member:
                version = np.lib.format.read_magic(member)
                header = (
                    np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                )
                shape, _, dtype = header(member)
            if math.prod(shape) * dtype.itemsize > part.file_size:
                raise ValueError
            total += part.file_size
    return total


def _of_format_2(about: dict[str, Any], arrays: dict[str, Array]) -> dict[str, Any]:
    ends = [
        _end(_folder(arrays, f"ends/{number}"), end["adapted"], end["generator"])
        for number, end in enumerate(about["ends"])
    ]
    best = {
        name: check_number(name, array) if array.ndim == 0 else array for name, array in _folder(arrays, "best").items()
    }
    return {
        "partitions": arrays.get("partitions"),
        "values": _folder(arrays, "values"),
        "extra": _folder(arrays, "extra"),
        "dims": {name: tuple(dims) for name, dims in about["dims"].items()},
        "best_variables": best,
        "ends": tuple(ends),
    }


def _of_format_1(about: dict[str, Any], arrays: dict[str, Array]) -> dict[str, Any]:
    z = arrays["partitions"]
    sizes = np.array([np.bincount(row).max() for row in z.reshape(-1, z.shape[2])]).reshape(z.shape[:2])
    counted = {"n_clusters": z.max(axis=2).astype(np.int64) + 1, "largest_share": sizes / z.shape[2]}
    ends = []
    for end in about["ends"]:
        saved = {"labels": np.array(end["labels"])}
        saved |= {name: np.array(check_number(name, end[name])) for name in ("alpha", "discount")}
        ends.append(_end(saved, end["adapted"], end["generator"]))
    return {
        "partitions": z,
        "values": {name: arrays[name] for name in _VALUES_1} | counted,
        "extra": {},
        "dims": {},
        "best_variables": {name: check_number(name, about[f"best_{name}"]) for name in ("alpha", "discount")},
        "ends": tuple(ends),
    }


def _folder(arrays: dict[str, Array], folder: str) -> dict[str, Array]:
    start = f"{folder}/"
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


def _end(saved: dict[str, Array], adapted: list[Any], generator: dict[str, Any]) -> End:
    n_clusters, counts = adapted
    numbers = Adapted(check_number("clusters", n_clusters), tuple(check_count("counts", count) for count in counts))
    np.random.default_rng().bit_generator.state = generator  # or it says why not
    return End(saved, numbers, generator)


def _check(fields: dict[str, Any]) -> None:
    """ValueError for arrays that do not belong together. ``Chain.restore`` checks what an end has saved."""
    values, extra, z, ends = fields["values"], fields["extra"], fields["partitions"], fields["ends"]
    n_points, shape = len(fields["best"]), values["log_joint"].shape
    dims, best = fields["dims"], fields["best_variables"]
    whole = (
        set(values) >= _VALUES
        and all(array.shape == shape and array.dtype.kind in "fi" for array in values.values())
        and set(extra) == set(dims)
        and all(array.shape[:2] == shape and array.ndim == 2 + len(dims[name]) for name, array in extra.items())
        and all(isinstance(dim, str) for each in dims.values() for dim in each)
        and isinstance(fields["sampler"], str)
        and is_partition(fields["best"])
        and all(isinstance(best.get(name), float) for name in values if name not in _VALUES)
        and len(ends) == shape[0]
        and all(end.labels.shape == (n_points,) and end.labels.dtype.kind == "i" for end in ends)
    )
    if z is not None:
        whole = whole and z.shape == (*shape, n_points) and z.dtype.kind == "i" and z.min() >= 0 and z.max() < n_points
    if not whole or len(shape) != 2 or 0 in shape or not _are_numbers(values, n_points):  # noqa: PLR2004  (chains, draws)
        raise ValueError
    for variables in (values, best, *(end.saved for end in ends)):
        if {"alpha", "discount"} <= variables.keys():
            check_drawn(variables["alpha"], variables["discount"])


def _are_numbers(values: dict[str, Array], n_points: int) -> bool:
    """Whether numbers of draws can be those of ``n_points`` points; an acceptance is NaN where nothing is proposed."""
    K = values["n_clusters"]
    return bool(
        K.dtype.kind == "i"
        and K.min() >= 1
        and K.max() <= n_points
        and all(
            np.all(np.abs(array.astype(float)) <= LARGEST) for name, array in values.items() if name != "acceptance"
        )
    )
