"""Marks in numbers: what spreadsheets of many countries write is read as the numbers that they had."""

import re
from pathlib import Path

import numpy as np
import pytest

import mapdpm
from command_line import called
from mapdpm.cli import tables
from mapdpm.cli.forms import Given, form_of
from mapdpm.cli.marks import THOUSANDS, plain_number
from mapdpm.cli.records import RecordReader

STYLES = {  # separator, decimal mark, mark between thousands
    "Germany": (";", ",", "."),
    "France": (";", ",", "\u202f"),
    "Sweden": ("\t", ",", "\xa0"),
    "Switzerland": (";", ".", "\u2019"),
    "Excel in Switzerland": (",", ".", "'"),
    "the US, tabs": ("\t", ".", ","),
    "the US": (",", ".", ","),
}


def written(x, digits, decimal, mark):
    """A number as a spreadsheet shows it."""
    marks = str.maketrans({",": mark, ".": decimal})
    return f"{x:,.{digits}f}".translate(marks)


def read(path, lines, given=None):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tables.read_csv(path, form=form_of(path, given)).values


@pytest.mark.filterwarnings("ignore:.*(cells separated|thousands|decimals)")
@pytest.mark.parametrize("digits", [0, 1, 2, 3])
@pytest.mark.parametrize("style", STYLES)
def test_numbers_of_each_country(tmp_path, style, digits):
    sep, decimal, mark = STYLES[style]
    rng = np.random.default_rng(digits)
    X = np.round(rng.normal(size=(300, 2)) * [90.0, 4000.0] + [200.0, 2000.0], digits)
    quote = '"' if sep == mark else ""
    cells = [[f"{quote}{written(x, digits, decimal, mark)}{quote}" for x in row] for row in X.tolist()]
    lines = [sep.join(row) for row in [["a", "b"], *cells]]
    np.testing.assert_array_equal(read(tmp_path / "x.csv", lines), X)


DECIMALS = {
    "three digits, always": lambda rng: [f"{x:.3f}" for x in rng.uniform(1.0, 9.0, 60)],
    "zeros at the end are cut": lambda rng: [f"{x:.3f}".rstrip("0").rstrip(".") for x in rng.uniform(1.0, 9.0, 60)],
    "off, or kilowatts": lambda rng: [f"{x:.3f}" if i % 3 else "0" for i, x in enumerate(rng.uniform(1.0, 9.0, 60))],
    "below and above one": lambda rng: [f"{x:.3f}" for x in rng.uniform(0.0, 3.0, 60)],
    "two set points": lambda rng: [
        f"{x:.3f}" if i % 3 else str(20 + i % 2) for i, x in enumerate(rng.normal(21, 1, 60))
    ],
    "four digits before": lambda rng: [
        f"{x:.3f}" if i % 2 else f"{x:.0f}" for i, x in enumerate(rng.uniform(1, 2e3, 60))
    ],
}


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("kind", DECIMALS)
@pytest.mark.filterwarnings("ignore:.*(cells separated|decimals)")
def test_decimals_of_three_digits_stay(tmp_path, kind, decimal):
    column = DECIMALS[kind](np.random.default_rng(1))
    lines = ["a\tb", *(f"{i % 7}\t{cell.replace('.', decimal)}" for i, cell in enumerate(column))]
    np.testing.assert_array_equal(read(tmp_path / "x.csv", lines)[:, 1], list(map(float, column)))


@pytest.mark.parametrize(("sep", "mark"), [(";", "."), ("\t", ","), (";", " ")])
def test_a_column_of_whole_numbers_tells(tmp_path, sep, mark):
    numbers = [284, 1315, 4802, 249, 3012, 77, 1250, 63, 12_500, 2_000_100]
    lines = [sep.join(("day", "n")), *(f"{i}{sep}{written(x, 0, '?', mark)}" for i, x in enumerate(numbers))]
    with pytest.warns(UserWarning, match="thousands by"):
        assert read(tmp_path / "x.csv", lines)[:, 1].tolist() == numbers


@pytest.mark.filterwarnings("ignore:.*(cells separated|decimals)")
@pytest.mark.parametrize("numbers", [(284, 1315), (1315, 77, 4802, 12)])
@pytest.mark.parametrize(("sep", "mark"), [(";", "."), ("\t", ",")])
def test_weak_signs_are_said(tmp_path, sep, mark, numbers):
    lines = [sep.join(("n", "day")), *(f"{written(x, 0, '?', mark)}{sep}{i % 7}" for i, x in enumerate(numbers))]
    said = f"column 1 (n) {'points' if mark == '.' else 'commas'} come before three digits only; if they stand between"
    with pytest.warns(UserWarning, match=re.escape(f"{said} thousands, say --thousands {mark}")):
        read(tmp_path / "x.csv", lines)


@pytest.mark.parametrize("command", ["fit x.csv", "stream x.csv --warmup 20"])
def test_signs_that_come_late_are_said(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text("n;day\n" + "".join(f"{written(17 * i, 0, '?', '.')};{i % 7}\n" for i in range(120)))
    assert "come before three digits only" in called(*command.split()).stderr


def test_signs_are_found_line_by_line():
    """A pipe may give its names alone first, and names may have digits."""
    settings, said = dict.fromkeys(("delimiter", "decimal", "thousands", "encoding", "na", "input_format")), []
    reader = RecordReader(settings, said.append)
    reader.begin(b"n1;day\n")
    reader.records(b"n1;day")
    for i in range(40, 80):
        reader.records(f"{written(20 * i, 0, '?', '.')};{i % 7}".encode())
    assert [each for each in said if "come before three digits only" in each] == said[-1:]


OF_OTHERS = {  # marks that are decimal, or are where others are: the lines, of which the last column counts
    "addresses": ["ip,kw", *(f"192.168.178.{100 + i},{1 + i / 100:.3f}" for i in range(30))],
    "versions": ["v,kw", *(f"1.100.{200 + i},{1 + i / 100:.3f}" for i in range(30))],
    "sensors in one column": ["e,x", *(f"s,{1 + i / 1000:.3f}" if i % 2 else f"t,{40 + i}" for i in range(30))],
    "commas beside points": ["city\tlat\tn", *(f"c{i}\t{40 + i / 100:.2f}\t{3 + i},315" for i in range(4))],
}


@pytest.mark.filterwarnings("ignore:.*(cells separated|thousands by)")
@pytest.mark.parametrize("name", OF_OTHERS)
def test_what_stands_beside_tells(tmp_path, name):
    lines = OF_OTHERS[name]
    (tmp_path / "x.csv").write_text("\n".join([*lines, ""]))
    sep = "\t" if "\t" in lines[0] else ","
    at = len(lines[0].split(sep)) - 1
    table = tables.read_csv(tmp_path / "x.csv", lambda *_: tables.Columns([at]), form_of(tmp_path / "x.csv"))
    texts = [line.split(sep)[at].replace(",", "") for line in lines[1:]]
    assert table.values[:, 0].tolist() == [float(text) for text in texts]


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_resumed_stream_finds_no_marks(tmp_path, monkeypatch):
    """Decimals stay what they were, whatever comes first in the next run."""
    monkeypatch.chdir(tmp_path)
    first = [f"{i / 1000 + 0.5:.3f};{i}" for i in range(60)]
    second = [f"{1 + i / 1000:.3f};1" if i % 2 else f"{i + 1};2" for i in range(60)]
    argv = ["stream", "x.csv", "--state", "s.mdpm", "--warmup", "20"]
    Path("x.csv").write_text("\n".join(["x;n", *first, ""]))
    called(*argv)
    Path("x.csv").write_text("\n".join(["x;n", *first, *second, ""]))
    assert "thousands by" not in called(*argv).stderr
    called(*argv[:2], "--state", "t.mdpm", *argv[4:])
    points = [[0.5, 3.0], [1.02, 1.0], [1020.0, 1.0]]
    resumed, whole = (mapdpm.load(path).score_samples(points).tolist() for path in ("s.mdpm", "t.mdpm"))
    assert resumed == whole


def test_points_elsewhere_than_between_thousands_are_doubted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text("a;b\n" + "".join(f"1.{100 + i},5;2\n" for i in range(60)) + "0.512;3\n")
    for more in ([], ["--on-error", "skip"]):  # it is of the file, and not of this row
        done = called("fit", "x.csv", *more)
        assert done.returncode == 1
        assert "is '0.512', where others have decimal commas or points between thousands" in done.stderr


def messy(path, *late):
    """Commas are decimal in the first lines; further below comes what has a point."""
    Path(path).write_text("t;x\n" + "".join(f"{i};{i % 9},5\n" for i in range(80)) + "".join(f"{x}\n" for x in late))


@pytest.mark.parametrize("command", ["fit x.csv --columns x", "stream x.csv --columns x"])
def test_a_point_beside_decimal_commas_is_doubted(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    messy("x.csv", "80;1.315", "81;2,5")
    done = called(*command.split())
    assert done.returncode == 1
    assert "is '1.315', where others have decimal commas or points" in done.stderr
    assert re.search(r"say --thousands \., and if it is decimal, --thousands none", done.stderr)
    for mark in (".", "none"):
        assert called(*command.split(), "--thousands", mark).returncode == 0
    messy("x.csv", "80;1.234,5", "82;0.25")  # neither can be anything else
    assert called(*command.split()).returncode == 0


def test_options_say_the_marks(tmp_path):
    lines = ["a;b", *["1.315;2"] * 3]
    for mark, value in ((".", 1315.0), ("none", 1.315)):
        with pytest.warns(UserWarning, match="cells separated"):
            assert read(tmp_path / "x.csv", lines, Given(thousands=mark))[0, 0] == value
    done = called("fit", tmp_path / "x.csv", "--decimal", ".", "--thousands", ".")
    assert "argument --thousands: . is the decimal mark" in done.stderr


def test_texts_of_a_sheet(tmp_path):
    """The mark between thousands says the decimal mark, too."""
    openpyxl = pytest.importorskip("openpyxl", reason="no openpyxl: pip install 'mapdpm[excel]'")
    book = openpyxl.Workbook()
    for row in (["a", "b"], ["1.234,5", 1.0], ["1.315", 2.0], ["2,5", 3.0]):
        book.active.append(row)
    book.save(tmp_path / "x.xlsx")
    with pytest.warns(UserWarning, match="decimals by commas"):
        form = form_of(tmp_path / "x.xlsx", Given(thousands="."))
    assert tables.read_csv(tmp_path / "x.xlsx", form=form).values[:, 0].tolist() == [1234.5, 1315.0, 2.5]


def test_messages_with_marks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("x.jsonl").write_text('{"w": "1.234,5", "v": 1.315}\n{"w": "2,5", "v": "1.315"}\n' * 20)
    assert called("stream", "x.jsonl", "--decimal", ",").returncode == 0


@pytest.mark.parametrize("mark", THOUSANDS)
@pytest.mark.parametrize("cell", ["", "x", "1,2,3", "2026-01-02", "01.03.2026", "1.5", "0,5", "12:30", "1 2", "'", "-"])
def test_other_cells_stay(cell, mark):
    expected = {"0,5": "0.5" if mark != "," else "0,5", "1.5": "1.5?" if mark == "." else "1.5"}.get(cell, cell)
    assert plain_number(cell, "." if mark == "," else ",", mark) == expected
