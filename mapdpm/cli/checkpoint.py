"""The checkpoint of a stream: the learner, the settings of its input, and the positions in input and output.

They are written together, and the file is replaced in one step, so after a crash they still agree.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from mapdpm.cli import values
from mapdpm.cli.table_options import FORMATS
from mapdpm.cli.usage import refuse_argument
from mapdpm.features import Transformer
from mapdpm.files import container, disk
from mapdpm.files.errors import ModelFileError, refuse_damaged
from mapdpm.likelihoods import STREAM_FAMILIES
from mapdpm.stream.hdp import OnlineHDP
from mapdpm.stream.hdp_hmm import OnlineHDPHMM
from mapdpm.stream.online import OnlineMAPDPM
from mapdpm.stream.selector import BANK_KEY
from mapdpm.stream.settings import on_command_line

STATES = tuple(name for name in on_command_line(OnlineHDPHMM) if name not in on_command_line(OnlineMAPDPM))
"""Settings of a learner of states, by the names of the command line, which ``OnlineMAPDPM`` does not have."""
GROUPS = tuple(name for name in on_command_line(OnlineHDP) if name not in on_command_line(OnlineMAPDPM))
"""The settings of a learner of groups."""
LEARNER = tuple(dict.fromkeys((*on_command_line(OnlineMAPDPM), *STATES, *GROUPS)))
ALARM = ("alarm", "alarm_hold", "alarm_debounce", "alarm_smooth", "alarm_stuck")
"""Settings of the alarm, which a run may change."""
OTHERS = {
    "likelihood": "normal-gamma",
    "prior": None,
    **dict.fromkeys(("delimiter", "decimal", "thousands", "encoding", "na", "input_format")),
    "columns": None,
    "time": None,
    "time_zone": None,
    "time_unit": None,
    "date_order": None,
    "largest_step": None,
    "features": None,
    "format": "jsonl",
    "states": None,
    "groups": None,
    "pause": None,
    **dict.fromkeys(ALARM),
}
"""Settings that are no parameters of a learner, with their defaults."""

ANOTHER = "name another file for --state"
"""The way out where a checkpoint does not fit, for messages."""

_KEY, _FEATURES = "stream", "stream_features"
_MOST = 1 << 63
_MARKED = 4096  # bytes before a position whose check sum identifies a file


_LEARNERS: dict[int, Any] = {
    container.STREAM: OnlineMAPDPM,
    container.STREAM_OF_GROUPS: OnlineHDP,
    container.STREAM_OF_STATES: OnlineHDPHMM,
}


class Saved(NamedTuple):
    """The contents of a checkpoint; in a file that Python wrote, all but the first two are None."""

    model: OnlineMAPDPM | OnlineHDPHMM | OnlineHDP
    settings: dict[str, Any]
    columns: dict[str, Any] | None
    input: dict[str, Any] | None
    output: dict[str, Any] | None
    counts: dict[str, int] | None
    alarm: dict[str, Any] | None = None
    """The alarm, and the position in its alerts; None without an alarm."""
    clock: dict[str, Any] | None = None
    """The clock of times; None in the files of versions without one."""
    features: Transformer | None = None


def read(path: Path) -> Saved | None:
    """The contents of the checkpoint ``path``; None where there is no file, ModelFileError where it is another kind."""
    try:
        data = container.read_file(path)
    except FileNotFoundError:
        return None
    try:
        extras = _checked_extras(data)
        model = _LEARNERS[_kind_of(data)].from_bytes(data)
        held = extras.get(_KEY)
        if held is None:
            own = parameters_of(model)
            family = (STREAM_FAMILIES[0] if model.likelihood_ is None else type(model.likelihood_)).name
            return Saved(model, own | {"likelihood": family, "prior": None}, None, None, None, None)
        parts = [held[name] for name in Saved._fields[1:6]]
        others = {"alarm": held.get("alarm"), "clock": held.get("clock"), "features": _features_of(extras)}
        found = Saved(model, *parts)._replace(**others)
        settings, _, read_to, written_to, counts = parts
        for name, value in parameters_of(model).items():
            settings.setdefault(name, value)  # one that the version of the file did not know
        settings["states"] = isinstance(model, OnlineHDPHMM) or None
        for name in ("features", "thousands"):
            settings.setdefault(name, None)
        if not (
            all(isinstance(part, dict) for part in (*parts, found.alarm or {}, found.clock or {}))
            and values.is_character(settings["delimiter"])
            and settings["format"] in FORMATS
            and all(isinstance(part["path"], str) for part in (read_to, written_to))
            and all(_is_whole(number) for number in (read_to["line"], counts["learned"], counts["skipped"]))
        ):
            refuse_damaged("its position is none")  # one sentence for all of them
    except (KeyError, TypeError, AttributeError) as error:
        refuse_damaged(f"its position cannot be read ({type(error).__name__}: {error})", path)
    except ModelFileError as error:
        msg = f"{path}: {error}"
        raise ModelFileError(msg) from None
    return found


def parameters_of(model: OnlineMAPDPM | OnlineHDPHMM | OnlineHDP) -> dict[str, Any]:
    """The settings of a learner, by the names of the command line, as a file has them."""
    own = on_command_line(model)
    found = {name: getattr(model, own[name][0]) for name in LEARNER if name in own}
    found |= {name: list(value) for name, value in found.items() if isinstance(value, tuple)}
    return found | ({"states": True} if isinstance(model, OnlineHDPHMM) else {})


def write(path: Path, saved: Saved) -> None:
    """Replace the file ``path``; UnwritableError where that fails, and the old file is unchanged."""
    held = saved._asdict()
    del held["model"]
    for name in ("alarm", "clock"):
        if held[name] is None:
            del held[name]
    features = held.pop("features")
    extras: dict[str, Any] = {_KEY: held}
    if features is not None:
        extras[_FEATURES] = np.frombuffer(features.to_bytes(), dtype=np.int8)
    disk.write_file(path, container.with_extras(saved.model.to_bytes(), extras))


def _features_of(extras: dict[str, Any]) -> Transformer | None:
    """The features of a stream, as they were saved; ModelFileError where they are damaged."""
    kept = extras.get(_FEATURES)
    if kept is None:
        return None
    if not isinstance(kept, np.ndarray):
        refuse_damaged("its features are no array of bytes")
    return Transformer.from_bytes(kept.tobytes())


def merged_settings(given: dict[str, Any], saved: Saved | None, path: Path | None) -> dict[str, Any]:
    """The settings of the checkpoint, then those given, then defaults; UsageError where it and the command disagree."""
    if saved is None:
        return OTHERS | given
    for name, value in given.items():
        was = value if name in ALARM else saved.settings.get(name, value)
        if value != was:
            option = f"--{name.replace('_', '-')}"
            begun = "without it" if was is None else f"with {_shown(was)}"
            hint = f"leave {option} out, or {ANOTHER}, or begin anew with --restart"
            refuse_argument(f"{option}: {path} was begun {begun}, got {_shown(value)}; {hint}")
    return OTHERS | given | saved.settings | {name: given[name] for name in ALARM if name in given}


def mark(file: int, offset: int) -> dict[str, int]:
    """A position in a file, and a check sum of the bytes before it."""
    first = max(0, offset - _MARKED)
    return {"offset": offset, "crc": zlib.crc32(os.pread(file, offset - first, first))}


def check(file: int, position: dict[str, Any], name: str, saved: Path) -> int:
    """The offset of ``position``; ValueError where the file ends before it, or has other bytes there."""
    offset, size = offset_of(position), os.fstat(file).st_size
    if size < offset:
        refuse_shorter(name, size, offset, saved)
    if mark(file, offset)["crc"] != position.get("crc"):
        refuse_changed(name, offset, saved)
    return offset


def offset_of(position: dict[str, Any]) -> int:
    """The offset of a position; ModelFileError where it is none."""
    return _whole(position.get("offset"))


def refuse_shorter(name: str, size: int, offset: int, saved: Path) -> NoReturn:
    """ValueError for a file that ends before a position."""
    wrong = f"has {size} bytes, but {saved} goes on after byte {offset}: it is shorter than it was"
    msg = f"{name} {wrong}; {ANOTHER}"
    raise ValueError(msg)


def refuse_changed(name: str, offset: int, saved: Path) -> NoReturn:
    """ValueError for a file that has other bytes before a position."""
    wrong = f"has changed before byte {offset}, after which {saved} goes on: it is another file"
    msg = f"{name} {wrong}; {ANOTHER}"
    raise ValueError(msg)


def _checked_extras(data: bytes) -> dict[str, Any]:
    """The extras of a stream; ModelFileError for any other model file, which a checkpoint would overwrite."""
    if data.startswith(container.MAGIC) and container.kind_of(data) == container.BATCH:
        msg = "it holds a model of mapdpm fit, for mapdpm predict and score, and no stream; name another file"
        raise ModelFileError(msg)
    extras = container.check_stream(data, _kind_of(data))[1]
    if BANK_KEY in extras:
        msg = (
            "it holds a bank of alphas, of which one learner only would be kept; learn with it in Python (mapdpm.load)"
        )
        raise ModelFileError(msg)
    return extras


def _kind_of(data: bytes) -> int:
    """The kind of a stream; that of ``OnlineMAPDPM`` for all else, which its reader refuses."""
    kind = container.kind_of(data) if data.startswith(container.MAGIC) else container.STREAM
    return kind if kind in _LEARNERS else container.STREAM


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and 0 <= value < _MOST


def _whole(value: Any) -> int:
    if not _is_whole(value):
        refuse_damaged(f"a position is {value!r}")
    return int(value)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={number}" for name, number in value.items())
    return str(value)
