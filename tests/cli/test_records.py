"""Messages as home automation, loggers and Telegraf write them: the cells of their points."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapdpm.cli.cells import value_of
from mapdpm.cli.records import RecordReader, kind_of
from mapdpm.cli.refused import RefusedInputError

SETTINGS = dict.fromkeys(("delimiter", "decimal", "thousands", "encoding", "na", "input_format"))


def read(text, **settings):
    return RecordReader(SETTINGS | settings, str).records(text.encode())


TASMOTA = (
    '{"Time":"2026-11-01T10:00:00","SI7021":{"Temperature":"20.5","Humidity":41},"Relay":true,"TempUnit":"C","x":null}'
)


LINE = (
    r"my\ air,room=a\,b\=c,x=1 temp=21.5,hum=40i,n=7u,on=t,off=FALSE,"
    r'note="a, b=\"c\" \\ d",e=-1e-3 1792843200000000000'
)
FIELDS = dict(temp="21.5", hum="40", n="7", on="1", off="0", note='a, b="c" \\ d', e="-1e-3")  # noqa: C408  (shorter)
TAGS = {"room": "a,b=c", "x": "1", "measurement": "my air", "time": "1792843200000000000"}


def test_an_object_has_paths():
    (cells,) = read(TASMOTA)
    assert cells == {
        "Time": "2026-11-01T10:00:00",
        "SI7021.Temperature": "20.5",
        "SI7021.Humidity": "41",
        "Relay": "1",
        "TempUnit": "C",
        "x": "",
    }
    assert list(cells)[1] == "SI7021.Temperature"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"readings": [{"value": 1.50}, {"value": false}]}', [{"readings.0.value": "1.50", "readings.1.value": "0"}]),
        ('{"a": {"b": 1}, "a.b": 2}', [{"a.b": "2"}]),
        ('{"a.b": 2, "a": {"b": 1}}', [{"a.b": "2"}]),
        ('{" a ": {" b ": 1}}', [{"a.b": "1"}]),
        ('[1, 2.50, null, true, "3", NaN]', [["1", "2.50", "", "1", "3", "nan"]]),
        ('[{"t": 1}, {"t": 2, "u": 3}]', [{"t": "1"}, {"t": "2", "u": "3"}]),
        ("[[1, 2], [3, 4]]", [["1", "2"], ["3", "4"]]),
        ("  [1]  \r", [["1"]]),
        ("1,2\r", [["1", "2"]]),
        ('"a, b",2', [["a, b", "2"]]),
        ("x" + "9" * 5000, [["x" + "9" * 5000]]),
        ("[" + "9" * 5000 + "]", [["9" * 5000]]),
        ("air temp=21.5", [{"temp": "21.5", "measurement": "air", "time": ""}]),
        (LINE, [FIELDS | TAGS]),
        ("# so\na b=1 5\na b=2 6\n", [{"b": b, "measurement": "a", "time": t} for b, t in (("1", "5"), ("2", "6"))]),
    ],
)
def test_cells(text, wanted):
    kind = "influx" if text.startswith("#") else None
    assert read(text, input_format=kind) == wanted


@pytest.mark.parametrize(
    ("text", "says", "kind"),
    [
        ("{", "is not JSON", None),
        ("[1, [2]]", "is an array of values and of points", None),
        ("[[1, [2]]]", "is an array within arrays", None),
        ("3", "is not JSON: neither an object nor an array", "jsonl"),
        ('{"a":' * 40 + "1" + "}" * 40, "is nested deeper than 32 levels", None),
        ('{"a":' * 900 + "1" + "}" * 900, "is nested", None),
        ("[" * 100_000, "is not JSON", None),
        ('{"' + "a" * 600 + '": {"b": 1}}', "is nested deeper than 32 levels, or its paths are too long", None),
        ('{"a": [' + "1," * 140_000 + "1]}", "has more than 131072 values", None),
        ("a b", "is not line protocol", "influx"),
        ("a b=1 x", "is not line protocol", "influx"),
        ("a,b c=1", "is not line protocol", "influx"),
        ("a b=", "is not line protocol", "influx"),
        ('a b="x', "is not line protocol", "influx"),
        ("a b=1 5\n\na b=2 6", "is blank", "influx"),
        ("1\n2", "has more than one line", None),
        ("", "is blank", None),
    ],
)
def test_what_is_refused(text, says, kind):
    with pytest.raises(RefusedInputError, match=says):
        read(text, input_format=kind)


def test_tags_and_times_are_beside_the_fields():
    (cells,) = read("air,room=x,temp=y temp=1,n=2 3")
    assert cells == {"temp": "1", "n": "2", "room": "x", "measurement": "air", "time": "3"}
    assert cells.beside == {"room", "measurement", "time"}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a,b\n1,2\n", "csv"),
        ("time,height [m] = 3,width\n", "csv"),
        ("t=1,2", "csv"),
        ("a x=hello", "csv"),
        ("", "csv"),
        ("\n\n {", "jsonl"),
        ("\ufeff{", "jsonl"),
        ("[1", "jsonl"),
        ("cpu,host=a usage=0.5 1\ncpu", "influx"),
        ("cpu usage=5i", "influx"),
    ],
)
def test_kinds_are_found(text, kind):
    assert kind_of(text) == kind


NAMES = st.text("abc", min_size=1, max_size=3)
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)


def leaves(value, path=()):
    """By recursion, in place of the stack."""
    if isinstance(value, (dict, list)):
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*path, str(name)))
    else:
        yield ".".join(path), value


@given(st.dictionaries(NAMES, VALUES, max_size=4))
def test_every_object(held):
    (cells,) = read(json.dumps(held))
    wanted = dict(leaves(held))
    assert list(cells) == list(wanted)
    for path, value in wanted.items():
        if isinstance(value, str):
            assert cells[path] == value
        elif value is None:
            assert cells[path] == ""
        else:
            assert value_of(cells[path]) == float(value) or math.isinf(float(value))


def test_missing_words_and_numbers_are_anywhere():
    for text in ("-999,1", "[-999.0, 1]", '{"a": "-999.00", "b": 1}', "m a=-999i,b=1"):
        (cells,) = read(text, na=["-999", "err"])
        values = list(cells.values()) if isinstance(cells, dict) else cells
        assert values[:2] == ["NA", "1"]


def test_forms_of_tables():
    settings, said = dict(SETTINGS), []
    reader = RecordReader(settings, said.append)
    reader.begin("höhe;breite".encode("cp1252"))
    assert said == ["cells separated by ';', text in Windows-1252 (Latin-1)"]
    assert reader.records("höhe;breite".encode("cp1252")) == [["höhe", "breite"]]
    assert reader.records(b"1;2\r") == [["1", "2"]]
    assert reader.records(b"1,5;2") == [["1.5", "2"]]
    assert said[1:] == ["decimals by commas"]
    assert {name: settings[name] for name in ("delimiter", "decimal", "encoding", "input_format")} == {
        "delimiter": ";",
        "decimal": ",",
        "encoding": "cp1252",
        "input_format": "csv",
    }
    again = RecordReader(settings, said.append)  # a run that is resumed
    again.begin(b"1,5;2,5")
    assert again.records(b"1,5;2,5") == [["1.5", "2.5"]]
    assert len(said) == 2
