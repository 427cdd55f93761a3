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


def excel(rows, name="x.xlsx", **others):
    openpyxl = pytest.importorskip("openpyxl", reason="no openpyxl: pip install 'mapdpm[excel]'")
    book = openpyxl.Workbook()
    for sheet, held in [(book.active, rows), *((book.create_sheet(title), held) for title, held in others.items())]:
        for row in held:
            sheet.append(row)
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
    assert "x.xlsx: row 10, column 1 (height) is blank; remove or fill" in called("fit", "x.xlsx").stderr
    excel([*rows[:9], [1, 2, 3], *rows[9:]])
    assert "x.xlsx: row 10 has 3 columns, but the first row has 2" in called("fit", "x.xlsx").stderr
    excel(rows)
    assert called("fit", "x.xlsx", "--delimiter", ";").stderr == (
        "mapdpm: error: argument --delimiter: is of text, and x.xlsx is none; leave it out\n"
    )


def test_a_sheet_by_name_or_number():
    rows = [NAMES, *POINTS.tolist()]
    excel([["Readme"]], Data=rows, **{"3": [["a"], *[[1.0]] * 9]})
    wanted = called("fit", "x.xlsx", "--sheet", "Data").stdout
    assert wanted.startswith("rows       60\ncolumns    2 (height, width)\n")
    assert called("fit", "x.xlsx", "--sheet", "2", "--out", "m.mdpm").stdout.split("seconds")[0] in wanted
    assert len(called("predict", "m.mdpm", "x.xlsx", "--sheet", "Data").stdout.splitlines()) == 61
    assert "rows       9\n" in called("fit", "x.xlsx", "--sheet", "3").stdout  # a name comes before a number
    for sheet, message in (
        (None, "mapdpm: warning: x.xlsx: sheet Sheet, the first of 3; --sheet names another one\n"),
        ("4", "mapdpm: error: x.xlsx has no sheet '4' for --sheet; it has Sheet, Data, 3\n"),
        ("data", "mapdpm: error: x.xlsx has no sheet 'data' for --sheet; it has Sheet, Data, 3\n"),
    ):
        run = called("fit", "x.xlsx", *(() if sheet is None else ("--sheet", sheet)))
        assert run.returncode == 1
        assert message in run.stderr
    text(rows)
    run = called("fit", "x.csv", "--sheet", "1")
    assert run.returncode == 2
    assert run.stderr == "mapdpm: error: argument --sheet: is of Excel, and x.csv is none; leave it out\n"


SHEETS = {
    "a title": ([["Attic, 2026"], [], NAMES], [], "rows 1-2 left out, as no row of the table"),
    "two titles": ([["Attic"], ["made by", "Ada", "in", "May"], NAMES], [], "rows 1-2 left out"),
    "units": ([NAMES, ["cm", "cm"]], [], "row 2 left out"),
    "totals": ([NAMES], [["Total", 99.5], ["Average:", 1.5]], "rows 62-63 left out"),
    "a blank row, a total": ([NAMES], [[], ["Total", 99.5]], "row 63 left out"),
    "a note": ([NAMES], [[], ["Sensor moved in May"]], "row 63 left out"),
}


@pytest.mark.parametrize("name", SHEETS)
def test_what_is_no_row_of_a_sheet(name):
    before, after, said = SHEETS[name]
    excel([*before, *POINTS.tolist(), *after])
    text([NAMES, *POINTS.tolist()])
    run, wanted = called("fit", "x.xlsx", "--labels", "-"), called("fit", "x.csv", "--labels", "-")
    assert run.stdout == wanted.stdout
    assert said in run.stderr


def test_an_empty_column_and_names_in_two_rows():
    rows = [[f"{i}", x, y, None, x + 9, y] for i, (x, y) in enumerate(POINTS.tolist())]
    for write, name, thing in ((excel, "x.xlsx", "rows"), (text, "x.csv", "lines")):
        write([["id", "Indoor", None, None, "Outdoor"], [None, "T", "H", None, "T", "H"], *rows][-62:])
        if write is text:
            Path(name).write_text(Path(name).read_text().replace("id,Indoor,,,Outdoor", "id,Indoor,,,Outdoor,"))
        run = called("fit", name, "--columns", "2-", "--labels", "l.csv", "--with", "id")
        assert run.returncode == 0, run.stderr
        assert "columns    4 (Indoor T, Indoor H, Outdoor T, Outdoor H)" in run.stdout
        assert f"names of columns in two {thing}, empty column 4 left out" in run.stderr
        assert Path("l.csv").read_text().startswith("id,label\n0,")
    notes = [
        ["id", "a", "b", None, "c", "d"],
        *([*row, "opened"] if i in {7, 9} else row for i, row in enumerate(rows)),
    ]
    excel([["Forest"], [None, "in", None, None, "out", None, "notes"], *notes])
    run = called("fit", "x.xlsx", "--columns", "all-but:id,notes")
    assert "columns    4 (in a, in b, out c, out d)" in run.stdout, run.stderr
    rows[55][3] = 7
    excel([["id", "a", "b", None, "c", "d"], *rows])
    wrong = "x.xlsx: row 57, column 4 has a value, but neither a name nor a value before; name the column, or clear"
    assert wrong in called("fit", "x.xlsx", "--columns", "2-3").stderr


def test_names_in_two_rows_and_units():
    rows = ([i, x, y, x + 9] for i, (x, y) in enumerate(POINTS.tolist()))
    excel([["Attic"], [None, "In", None, "Out"], ["id", "T", "H", "T"], [None, "C", "%", "C"], *rows])
    run = called("fit", "x.xlsx", "--columns", "2-")
    assert "columns    3 (In T, In H, Out T)" in run.stdout, run.stderr
    assert "rows 1,4 left out, as no row of the table, names of columns in two rows\n" in run.stderr


def test_a_column_without_a_name_may_be_filled_later_if_no_column_has_one():
    text([*[["1", "", "2"]] * 60, ["3", "4", "5"]])
    run = called("fit", "x.csv", "--missing", "skip")
    assert "columns    3\n" in run.stdout, run.stderr


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
