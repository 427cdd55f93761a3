"""Excel and Parquet as input: the same values, labels and messages as those of the CSV file."""

import datetime as dt
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from command_line import called, made
from mapdpm import cli

POINTS = np.round(made(60), 3)
NAMES = ["height", "width"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def excel(rows, name="x.xlsx"):
    openpyxl = pytest.importorskip("openpyxl", reason="no openpyxl: pip install 'mapdpm[excel]'")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.create_sheet("another").append(["not", "this"])
    book.save(name)


def parquet(rows, name="x.parquet"):
    pyarrow = pytest.importorskip("pyarrow", reason="no pyarrow: pip install 'mapdpm[parquet]'")
    pytest.importorskip("pyarrow.parquet")
    names, *rows = rows
    columns = [list(column) for column in zip(*rows, strict=True)]
    pyarrow.parquet.write_table(pyarrow.table(dict(zip(names, columns, strict=True))), name)


def text(rows, name="x.csv"):
    Path(name).write_text("".join(",".join("" if x is None else str(x) for x in row) + "\n" for row in rows))


WRITERS = [pytest.param(excel, "x.xlsx", id="excel"), pytest.param(parquet, "x.parquet", id="parquet")]


@pytest.mark.parametrize(("write", "name"), WRITERS)
def test_commands_give_what_they_give_of_csv(write, name):
    rows = [["id", *NAMES], *([i, *point] for i, point in enumerate(POINTS.tolist()))]
    write(rows)
    text(rows)
    found = {}
    for file in (name, "x.csv"):
        for command in (
            ["fit", file, "--columns", "2-", "--out", "m.mdpm", "--quiet", "--labels", "-"],
            ["predict", "m.mdpm", file, "--with", "id"],
            ["score", "m.mdpm", file],
            ["tune", file, "--columns", "height,width", "--alphas", "1,2", "--folds", "2", "--quiet"],
        ):
            run = called(*command)
            assert run.returncode == 0, run.stderr
            found.setdefault(file, []).append(run.stdout)
    assert found[name] == found["x.csv"]


@pytest.mark.parametrize(("write", "name"), WRITERS)
def test_missing_flags_and_times(write, name):
    rows = [["time", "height", "door"]]
    rows += [[dt.datetime(2026, 10, 25, 8, i % 60), x, i % 3 > 0] for i, (x, _) in enumerate(POINTS.tolist())]  # noqa: DTZ001
    rows[5][1] = rows[9][1] = rows[9][2] = None
    write(rows)
    run = called("fit", name, "--columns", "2-", "--missing", "skip", "--labels", "l.csv", "--with", "time")
    assert run.returncode == 0, run.stderr
    assert "1 row without any value left out, the first is row 9 of the data" in run.stderr
    assert "door" in run.stdout
    assert Path("l.csv").read_text().splitlines()[9] == "2026-10-25 08:08:00,-1"
    row = 6 if write is excel else 5
    for columns, message in (
        (
            "2-",
            f"{name}: row {row}, column 2 (height) is blank; remove or fill such rows, or learn with --missing skip",
        ),
        ("1", f"{name}: row {row - 4}, column 1 (time) is not a number: '2026-10-25 08:00:00'; a date or a time"),
    ):
        run = called("fit", name, "--columns", columns)
        assert run.returncode == 1
        assert message in run.stderr


def test_rows_of_a_sheet():
    rows = [NAMES, *POINTS.tolist()]
    excel([[], *rows, [], []])  # blank ones around it
    run = called("fit", "x.xlsx", "--quiet", "--labels", "l.csv")
    assert run.returncode == 0, run.stderr
    assert len(Path("l.csv").read_text().splitlines()) == 61
    excel([*rows[:9], [], *rows[9:]])
    assert "x.xlsx: row 10 is blank" in called("fit", "x.xlsx").stderr
    excel([*rows[:9], [1, 2, 3], *rows[9:]])
    assert "x.xlsx: row 10 has 3 columns, but the first row has 2" in called("fit", "x.xlsx").stderr
    excel(rows)
    assert called("fit", "x.xlsx", "--decimal", ",").stderr == (
        "mapdpm: error: argument --decimal: is of text, and x.xlsx is none; leave it out\n"
    )


def test_names_of_parquet_may_be_numbers():
    parquet([["0", "1"], *POINTS.tolist()])
    run = called("fit", "x.parquet")
    assert "rows       60\ncolumns    2 (0, 1)" in run.stdout


@pytest.mark.parametrize(
    ("module", "name", "begins", "message"),
    [
        ("openpyxl", "x.xlsx", None, "x.xlsx is a file of Excel, which needs openpyxl: pip install 'mapdpm[excel]'"),
        ("pyarrow", "x.pq", b"PAR1", "x.pq is a Parquet file, which needs pyarrow: pip install 'mapdpm[parquet]'"),
    ],
)
def test_without_the_extra(monkeypatch, capsys, module, name, begins, message):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, f"{module}.parquet", None)
    if begins is None:
        with zipfile.ZipFile(name, "w") as archive:
            archive.writestr("xl/workbook.xml", "")
    else:
        Path(name).write_bytes(begins)
    assert cli.main(["fit", name]) == 1
    assert capsys.readouterr().err == f"mapdpm: error: {message}\n"


def test_files_that_are_none(capsys):
    with zipfile.ZipFile("x.zip", "w") as archive:
        archive.writestr("x.csv", "1,2\n")
    Path("x.xls").write_bytes(b"\xd0\xcf\x11\xe0" + bytes(99))
    for name, message in (
        ("x.zip", "x.zip is a ZIP archive and no file of Excel; unpack it, or save the table as .xlsx or CSV"),
        ("x.xls", "x.xls is an old file of Excel (.xls); save it as .xlsx or as CSV"),
    ):
        assert cli.main(["fit", name]) == 1
        assert capsys.readouterr().err == f"mapdpm: error: {message}\n"
    run = called("fit", "-", data=Path("x.zip").read_bytes())
    assert run.stderr == "mapdpm: error: Excel and Parquet are not read from standard input; name the file\n"


def test_streams_read_text(capsys):
    for begins in (b"PK\x03\x04", b"PAR1", b"\xd0\xcf\x11\xe0"):
        Path("x").write_bytes(begins + bytes(99))
        assert cli.main(["stream", "x"]) == 1
        wanted = "mapdpm: error: x is a file of Excel, Parquet or ZIP, and streams read text; save it as CSV\n"
        assert capsys.readouterr().err == wanted


def test_damaged_files(capsys):
    parquet([NAMES, *POINTS.tolist()])
    whole = Path("x.parquet").read_bytes()
    for n in (4, 40, len(whole) - 9):
        Path("x.parquet").write_bytes(whole[:n])
        assert cli.main(["fit", "x.parquet"]) == 1
        assert capsys.readouterr().err.startswith("mapdpm: error: x.parquet is no whole file of Parquet: ")
    pytest.importorskip("openpyxl")
    with zipfile.ZipFile("x.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "<no")
    assert cli.main(["fit", "x.xlsx"]) == 1
    assert capsys.readouterr().err.startswith("mapdpm: error: x.xlsx is no whole file of Excel: ")
