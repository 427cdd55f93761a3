r"""The line protocol of InfluxDB and Telegraf: ``air,room=kitchen temperature=21.5,humidity=40i 1792843200000000000``.

Fields are columns by their names; so are tags, ``measurement`` and ``time``, but not unless they are asked for.
"""

from __future__ import annotations

import re

from mapdpm.cli.json_records import Record
from mapdpm.cli.refused import refuse_input

_NAME = r"(?:[^\\,= \"]|\\.)(?:[^\\,= ]|\\.)*"
_VALUE = r"(?:\"(?:[^\"\\]|\\.)*\"|[^\", ]+)"
_MEASUREMENT = r"(?:[^\\,= \"]|\\.)(?:[^\\, ]|\\.)*"
_LINE = re.compile(
    rf"(?P<measurement>{_MEASUREMENT})(?P<tags>(?:,{_NAME}={_NAME})*)"
    rf" +(?P<fields>{_NAME}={_VALUE}(?:,{_NAME}={_VALUE})*)(?: +(?P<time>-?\d+))?\s*"
)
_TAG = re.compile(rf",({_NAME})=({_NAME})")
_FIELD = re.compile(rf"({_NAME})=({_VALUE})")
_ESCAPED = re.compile(r"\\([,= \"\\])")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?[iu]?", re.IGNORECASE)
_FLAGS = {**dict.fromkeys(("t", "true"), "1"), **dict.fromkeys(("f", "false"), "0")}
_MEASUREMENT_OF, _TIME_OF = "measurement", "time"


def is_line_protocol(line: str) -> bool:
    """Whether a line is of this form, with a number: no table has lines like that."""
    found = _LINE.fullmatch(line.strip()) if "=" in line else None
    return found is not None and any(_value(value) is not None for _, value in _FIELD.findall(found["fields"]))


def record_of_line(line: str) -> Record | None:
    """The cells of a line; None of a comment; RefusedInputError where it has another form."""
    line = line.strip()
    if line.startswith("#"):
        return None
    found = _LINE.fullmatch(line)
    if found is None:
        refuse_input(" is not line protocol (measurement,tag=text field=number time)" if line else " is blank")
    record = Record()
    for name, value in _FIELD.findall(found["fields"]):
        record[_plain(name)] = (_value(value) or _plain(value)) if value[0] != '"' else _plain(value[1:-1])
    beside = {_plain(name): _plain(value) for name, value in _TAG.findall(found["tags"])}
    beside |= {_MEASUREMENT_OF: _plain(found["measurement"]), _TIME_OF: found["time"] or ""}
    record.beside = frozenset(beside.keys() - record.keys())
    for name in beside:
        record.setdefault(name, beside[name])
    return record


def _value(text: str) -> str | None:
    """The number of a field, as text; None where it has none."""
    if _NUMBER.fullmatch(text):
        return text.rstrip("iuIU")
    return _FLAGS.get(text.lower())


def _plain(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)
