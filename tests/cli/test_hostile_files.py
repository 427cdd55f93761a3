"""Files from strangers: long lines, many columns, control characters, devices. Each is refused in a sentence."""

import csv
import gzip
import re
import time
from pathlib import Path

import numpy as np
import pytest

from mapdpm import MAPDPM, cli
from mapdpm.cli import table_rows, tables, text_rows
from tests.marks import complete_but

WIDE = 100_000
CPU_SECONDS = 10.0  # linear work takes .2 s, quadratic work 70 s


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys, code, *argv):
    started = time.process_time()
    assert cli.main([str(part) for part in argv]) == code
    assert time.process_time() - started < CPU_SECONDS
    return capsys.readouterr()


@pytest.fixture
def wide(folder):
    """wide.csv: a header of 100,000 names, a row of numbers, a row with a text in the middle."""
    names = [f"c{place}" for place in range(WIDE)]
    cells = ["1"] * WIDE
    rows = [names, cells, [*cells[: WIDE // 2], "what", *cells[WIDE // 2 + 1 :]]]
    Path("wide.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    return names


@pytest.mark.parametrize("command", complete_but(["fit"], ["fit", "stream"]))
def test_a_bad_cell_among_many_columns(wide, capsys, command):
    found = said(capsys, 1, command, "wide.csv", "--columns", "2-")
    column = WIDE // 2 + 1
    assert f"wide.csv: line 3, column {column} (c{WIDE // 2}) is not a number: 'what'" in found.err
    assert f"--columns 1-{WIDE // 2},{column + 1}-{WIDE}" in found.err


def test_many_columns_are_found_by_name(wide):
    cells = [f"c{place}" for place in np.random.default_rng(0).permutation(WIDE)]
    started = time.process_time()
    for choice in (cli.columns.model_columns(wide, "model.mdpm"), cli.columns.chosen(",".join(wide))):
        found = choice("data.csv", cells)
        assert [cells[place] for place in found.places] == wide
    assert time.process_time() - started < CPU_SECONDS


def test_other_columns_than_those_of_the_state(wide, capsys):
    """A message names the first columns, not 100,000."""
    Path("data.csv").write_text("a,b\n1,2\n")
    said(capsys, 0, "stream", "data.csv", "--state", "state.mdpm", "--columns", "a,b")
    Path("data.csv").write_text(",".join(wide) + "\n")
    found = said(capsys, 1, "stream", "data.csv", "--state", "state.mdpm", "--columns", "a,b")
    assert len(found.err) < 1000


@pytest.fixture
def short(monkeypatch):
    """The limit of a line, made small: what counts is that it does not grow with the file."""
    monkeypatch.setattr(text_rows, "LONGEST_LINE", 1000)


LONG = {
    "numbers": b"1," * 3000,
    "a number": b"1" * 3000,
    "nuls": b"\0" * 3000,
    "a quoted cell": b'1,"' + b"2" * 3000,
    "a quoted cell of many lines": b'1,"' + b"2\n" * 3000,
    "quoted cells of many lines": b"1" + b',"2\n3"' * 1000,
}


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("line", LONG.values(), ids=LONG.keys())
def test_a_line_that_is_too_long(folder, capsys, short, line, zipped):
    data = b"1,2\n3,4\n" + line
    Path("data.csv").write_bytes(gzip.compress(data) if zipped else data)
    assert said(capsys, 1, "fit", "data.csv").err == (
        "mapdpm: error: data.csv: line 3 is longer than 1000 characters\n"
    )


@pytest.mark.parametrize("command", ["fit", "stream"])
def test_a_line_of_too_many_columns(folder, capsys, monkeypatch, command):
    monkeypatch.setattr(text_rows, "MOST_COLUMNS", 3)
    Path("data.csv").write_text("1,2,3\n4,5,6\n7,8,9,10\n")
    assert "data.csv: line 3 has more than 3 columns" in said(capsys, 1, command, "data.csv").err


def test_lines_as_long_as_they_may_be(folder, short):
    """One row of exactly 1000 characters in one line, one in many lines; the count begins anew in each row."""
    cells = [["1" * 999], ['"' + "2\n" * 498 + '"'], ["3" * 999]]
    Path("data.csv").write_text("".join(",".join(row) + "\n" for row in cells))
    assert [len(row[0]) for _, row in table_rows.rows("data.csv")] == [999, 996, 999]
    assert [line for line, _ in table_rows.rows("data.csv")] == [1, 2, 501]


def test_a_small_file_that_unpacks_to_many_numbers(folder, capsys, monkeypatch):
    """A gzip of 20 KB holds 80 MB of numbers; what is random packs to little less than it takes as float64."""
    monkeypatch.setattr(tables, "SPARE", 0)
    Path("bomb.csv.gz").write_bytes(gzip.compress(b"1,2\n" * 10_000))
    said_of_it = said(capsys, 1, "fit", "bomb.csv.gz").err
    assert re.search(r"bomb.csv.gz: line \d+: the numbers so far take \d+ bytes of memory; if you trust it", said_of_it)
    numbers = np.random.default_rng(0).normal(size=(1000, 2))
    Path("data.csv.gz").write_bytes(gzip.compress("".join(f"{x},{y}\n" for x, y in numbers.tolist()).encode()))
    assert np.array_equal(tables.read_csv("data.csv.gz").values, numbers)
    Path("plain.csv").write_bytes(b"1,2\n" * 10_000)
    assert len(tables.read_csv("plain.csv").values) == 10_000


@pytest.mark.parametrize("command", [["fit", "/dev/zero"], ["predict", "model.mdpm", "/dev/zero"]])
def test_a_device_without_end_is_no_data(folder, capsys, command):
    MAPDPM(1.0).fit([[0.0], [1.0], [9.0]]).save("model.mdpm")
    found = said(capsys, 1, *command)
    assert found.err == f"mapdpm: error: /dev/zero: line 1 is longer than {text_rows.LONGEST_LINE} characters\n"


@pytest.mark.parametrize("command", [["predict", "/dev/zero", "data.csv"], ["export", "/dev/zero", "--c", "out"]])
def test_a_device_without_end_is_no_model(folder, capsys, command):
    Path("data.csv").write_text("1,2\n")
    assert "/dev/zero: not a mapdpm model: it starts with b'\\x00\\x00\\x00\\x00'" in said(capsys, 1, *command).err


def test_a_device_without_end_is_no_state(folder, capsys):
    Path("data.csv").write_text("1,2\n")
    Path("zero").symlink_to("/dev/zero")
    assert "it is not a file" in said(capsys, 1, "stream", "data.csv", "--state", "zero").err


CONTROLS = "".join(map(chr, [*range(9), *range(11, 32), *range(0x7F, 0xA0), 0x202E, 0x2028, 0xFEFF]))


@pytest.mark.parametrize(
    "argv",
    [
        "fit data.csv",
        "fit data.csv --columns depth",
        "fit text.csv",
        "tune data.csv --columns depth",
        "stream data.csv --columns depth",
        "stream text.csv",
        "predict model.mdpm other.csv",
    ],
)
def test_control_characters_of_a_header_are_not_printed(folder, capsys, argv):
    """A terminal would obey them."""
    name = f"\x1b[2J{CONTROLS}\x1b]0;title\x07"
    with Path("data.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[name, f"2{name}"], [1, 2], [3, 4], [5, 6]])
    with Path("text.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["a", "b"], [1, 2], [name, 4]])
    Path("other.csv").write_text("a,b\n1,2\n")
    if argv.startswith("predict"):
        cli.main(["fit", "data.csv", "--out", "model.mdpm", "--quiet"])
    cli.main(argv.split())
    captured = capsys.readouterr()
    shown = captured.out + captured.err
    assert "\\x1b[2J" in shown
    assert all(character.isprintable() or character == "\n" for character in shown)
