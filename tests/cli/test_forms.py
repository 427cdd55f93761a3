"""Separators, decimal marks and encodings as spreadsheets and loggers write them: the same table, said in one line."""

import gzip
import io
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from command_line import called
from mapdpm import cli
from mapdpm.cli import tables
from mapdpm.cli.forms import PLAIN, Form, Given, form_of

HEADER = ["höhe", "breite"]
ROWS = [[f"{i % 7}.{i % 10}5", f"-{i % 3}.5"] for i in range(60)]


def written(delimiter, decimal, header=True):
    lines = ([HEADER] if header else []) + [[cell.replace(".", decimal) for cell in row] for row in ROWS]
    return "\n".join(delimiter.join(line) for line in lines) + "\n"


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
@pytest.mark.parametrize(
    ("delimiter", "decimal"), [(",", "."), (";", ","), (";", "."), ("\t", ","), ("\t", "."), ("|", ".")]
)
def test_every_form_is_found(tmp_path, delimiter, decimal, encoding, header):
    plain, text = np.array(ROWS, dtype=float), written(delimiter, decimal, header).encode(encoding)
    for name, data in (("x.csv", text), ("x.csv.gz", gzip.compress(text))):
        path = tmp_path / name
        path.write_bytes(data)
        usual = (delimiter, decimal) == (",", ".") and (
            encoding in {"utf-8", "utf-8-sig"} or not (header or "16" in encoding)
        )
        if usual:
            form = form_of(path)
            assert form == PLAIN
        else:
            with pytest.warns(UserWarning, match=re.escape(str(path))):
                form = form_of(path)
        table = tables.read_csv(path, form=form)
        np.testing.assert_array_equal(table.values, plain)
        assert table.columns == (tuple(HEADER) if header else None)


def test_what_is_given_is_not_found(tmp_path, recwarn):
    path = tmp_path / "x.csv"
    path.write_bytes(written(";", ",").encode("cp1252"))
    assert form_of(path, Given(";", ",", encoding="cp1252")) == Form(";", ",", "cp1252")
    assert not recwarn
    path.write_text("a,b\n1;2,3\n4;5,6\n")  # commas and semicolons, and the numbers are nowhere
    assert form_of(path).delimiter == ","


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"a\n1.5\n2.5\n",
        b"a,b\n1,2\n",
        b"\x00\xff\x81" * 99,
        b"MDPM\xff\xff",
        b'"a;b",c\n1,2\n',
        b"x" * 9000,
        b"\x1f\x8bno",
    ],
)
def test_other_files_are_read_as_before(tmp_path, data, recwarn):
    path = tmp_path / "x.csv"
    path.write_bytes(data)
    assert form_of(path) == PLAIN
    assert not recwarn
    assert form_of(tmp_path / "gone.csv") == PLAIN


def test_a_stray_byte_makes_no_other_encoding(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes("höhe,größe\n1,2\n".encode() + b"\xff,2\n")
    assert form_of(path) == PLAIN


def test_standard_input_is_looked_at_and_kept(monkeypatch, capsys):
    for data in (written(";", ",").encode(), gzip.compress(written(";", ",").encode())):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))
        assert cli.main(["fit", "-"]) == 0
        captured = capsys.readouterr()
        assert "rows       60" in captured.out
        assert captured.err == "mapdpm: warning: standard input: cells separated by ';', decimals by commas\n"


def test_commands_agree_on_the_form(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_bytes(written(";", ",").encode("cp1252"))
    assert cli.main(["fit", "x.csv", "--out", "m.mdpm", "--labels", "labels.csv", "--quiet"]) == 0
    assert cli.main(["predict", "m.mdpm", "x.csv", "--quiet"]) == 0
    assert capsys.readouterr().out == (tmp_path / "labels.csv").read_text()
    assert cli.main(["score", "m.mdpm", "x.csv", "--mean", "--quiet", "--decimal", ",", "--encoding", "latin-1"]) == 0
    assert cli.main(["fit", "x.csv", "--encoding", "klingon"]) == 2
    assert "must be the name of an encoding, such as utf-8, cp1252 or utf-16, got 'klingon'" in capsys.readouterr().err
    assert cli.main(["fit", "x.csv", "--encoding", "ascii"]) == 1
    assert "x.csv is not a text file in ascii" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["fit x.csv --columns 2-", "stream x.csv --columns 2- --warmup 20"])
def test_years_are_names(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    rows = [f"p{i},{a},{b}" for i, (a, b) in enumerate(ROWS)]
    Path("x.csv").write_text("\n".join(["place,2024,2025", *rows, ""]))
    done = called(*command.split())
    assert "x.csv: years as names of columns" in done.stderr
    assert "60 points learned" in done.stderr or "rows       60\n" in done.stdout
