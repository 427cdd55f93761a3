"""Every reader, with bytes that a stranger may have changed: refused in a sentence, or as usable as any."""

import struct
import tempfile
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapdpm import cli
from readers import CSV, READERS, states, with_crc

NUMBERS = [
    *(struct.pack("<d", x) for x in (0.0, -1.0, 1e-320, 1e308, -1e308, float("nan"), float("inf"), 1e17)),
    *(struct.pack("<I", n) for n in (0, 1, 2**16, 2**31 - 1, 2**32 - 1)),
    *(struct.pack("<Q", n) for n in (2**53, 2**63, 2**64 - 1)),
]
WORDS = [
    b"null",
    b"-1",
    b"1e999",
    b"[]",
    b"{}",
    b'""',
    b'"\\ud800"',
    b"true",
    b"0",
    b"99999999999999999999",
    b"[[[[",
    b",",
    b"\n",
    b"\0",
]
PLACES = st.floats(0.0, 1.0)


@st.composite
def changes(draw):
    """A function that changes bytes in up to three places."""
    steps = draw(
        st.lists(
            st.one_of(
                st.tuples(
                    st.just("set"), PLACES, st.one_of(st.sampled_from(NUMBERS), st.binary(min_size=1, max_size=9))
                ),
                st.tuples(st.just("word"), PLACES, st.sampled_from(WORDS)),
                st.tuples(st.just("insert"), PLACES, st.binary(min_size=1, max_size=40)),
                st.tuples(st.just("cut"), PLACES, PLACES),
                st.tuples(st.just("copy"), PLACES, PLACES),
            ),
            min_size=1,
            max_size=3,
        )
    )

    def change(data):
        for kind, place, what in steps:
            at = int(place * len(data))
            if kind == "set":
                at -= at % min(len(what), 8)  # most numbers are aligned
                data = data[:at] + what + data[at + len(what) :]
            elif kind == "word":  # in place of a word of JSON
                end = next((i for i in range(at, min(at + 30, len(data))) if data[i : i + 1] in b",]}:"), at)
                data = data[:at] + what + data[end:]
            elif kind == "insert":
                data = data[:at] + what + data[at:]
            else:
                first, last = sorted((at, int(what * len(data))))
                data = data[:first] + (data[last:] if kind == "cut" else 2 * data[first:last] + data[last:])
        return data

    return change


def attempt(reader, data):
    """Read and use ``data``; whether it was accepted."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # points without names
        try:
            found = reader.read(data, Path(folder))
        except reader.errors as error:
            said = str(error)
            assert said
            assert "\n" not in said
            return False
        reader.use(found)
        return True


@pytest.fixture(scope="module", params=READERS, ids=lambda reader: reader.name)
def reader(request):
    return request.param


@pytest.fixture(scope="module")
def examples(reader):
    return reader.examples()


def test_the_examples_are_read(reader, examples):
    for data in examples:
        assert attempt(reader, data)
        assert reader.repaired(data) == data


WITH_CRC = [reader for reader in READERS if reader.repaired is not bytes]


@pytest.mark.parametrize("reader", WITH_CRC, indirect=True, ids=lambda reader: reader.name)
def test_every_number(reader, examples):
    """Each number of a file in turn is too large, too small, or none."""
    for data in examples[:3]:
        accepted = 0
        for at in range(40, min(len(data) - 4, 500), 8):
            for number in NUMBERS[:8]:
                accepted += attempt(reader, reader.repaired(data[:at] + number + data[at + 8 :]))
        assert accepted


def test_names_of_columns_that_are_no_text(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text(CSV)
    Path("state").write_bytes(with_crc(states()[0].replace(b'["x", "y"]', b'[  7, "y"]')))
    assert cli.main(["stream", "data.csv", "--state", "state"]) == 1
    assert "its columns do not fit" in capsys.readouterr().err


@settings(max_examples=3 * settings.default.max_examples)
@given(st.data())
def test_changed_bytes(reader, examples, data):
    number, change, repaired = data.draw(
        st.tuples(st.integers(0, len(examples) - 1), changes(), st.sampled_from([True] * 9 + [False]))
    )
    changed = change(examples[number])
    attempt(reader, reader.repaired(changed) if repaired else changed)
