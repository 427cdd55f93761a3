"""Rows that cannot be read: an error, or counted; and lines that are no rows, wherever they stand."""

from pathlib import Path

import numpy as np
import pytest

import mapdpm
from command_line import called
from mapdpm import cli
from mapdpm.cli import feed, tables

TORN = ["3", "1.5,2,9", "x,1.25", "2.5,"]
"""Lines that a power cut leaves, or a bad cable."""


def written(path, lines, n=60):
    """A file of two clusters with these lines among them, evenly; which of its rows are good."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(n, 2)) + 9.0 * (np.arange(n) % 2)[:, None], 2)
    rows, good = [f"{x},{y}" for x, y in X.tolist()], [True] * n
    for i, line in enumerate(lines):
        at = (i + 1) * len(rows) // (len(lines) + 1)
        rows.insert(at, line)
        good.insert(at, False)
    Path(path).write_text("\n".join(["a,b", *rows, ""]))
    return X, np.array(good)


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_torn_lines_are_skipped_and_counted():
    X, good = written("x.csv", TORN)
    done = called(*["fit", "x.csv", "--on-error", "skip", "--out", "m.mdpm", "--labels", "l.csv"])
    assert (
        "x.csv: 4 of 64 rows left out; the first: x.csv: line 14 has 1 column, but the first row has 2" in done.stderr
    )
    assert "rows       60\n" in done.stdout
    labels = np.loadtxt("l.csv", skiprows=1, dtype=int)
    assert (labels[~good] == -1).all()
    assert (labels[good] == mapdpm.MAPDPM().fit(X).labels_).all()
    predicted = called(*["predict", "m.mdpm", "x.csv", "--on-error", "skip"]).stdout.split()[1:]
    assert [int(label) for label in predicted] == labels.tolist()
    scores = called(*["score", "m.mdpm", "x.csv", "--on-error", "skip"]).stdout.split("\n")[1:-1]
    assert [score != "" for score in scores] == good.tolist()


@pytest.mark.parametrize("command", ["fit x.csv", "tune x.csv", "predict m.mdpm x.csv", "score m.mdpm x.csv"])
def test_without_the_option_the_first_is_an_error(command):
    written("y.csv", [])
    called(*["fit", "y.csv", "--quiet", "--out", "m.mdpm"])
    written("x.csv", TORN)
    done = called(*command.split())
    assert done.returncode == 1
    assert (
        "line 14 has 1 column, but the first row has 2; --on-error skip leaves out what cannot be read" in done.stderr
    )


def test_a_file_of_which_most_rows_cannot_be_read_is_wrong():
    written("x.csv", ["3"] * 60)
    assert called(*["fit", "x.csv", "--on-error", "skip"]).returncode == 0
    written("x.csv", ["3"] * 61)
    done = called(*["fit", "x.csv", "--on-error", "skip"])
    assert done.returncode == 1
    assert "x.csv: 60 of 121 rows can be read; the first that cannot: x.csv: line" in done.stderr


def test_groups_and_texts_of_refused_rows():
    rows = [f"{i % 2 * 9 + i / 100},{'ab'[i % 2]},{'red' if i % 2 else 'blue'}" for i in range(40)]
    Path("x.csv").write_text("\n".join(["x,room,colour", *rows, "1,,red", "x,a,gre", "2", ""]))
    done = called(*["fit", "x.csv", "--groups", "room", "--on-error", "skip", "--labels", "l.csv", "--out", "m.mdpm"])
    assert "x.csv: 3 of 43 rows left out" in done.stderr
    assert Path("l.csv").read_text().split()[-3:] == ["-1"] * 3
    levels = [block.levels for block in mapdpm.load("m.mdpm").likelihood_.blocks if block.levels]
    assert levels == [("blue", "red")]  # the text of a refused row is no level


def test_names_that_come_again_are_no_rows():
    X, _ = written("x.csv", ["a,b", "a,b", "a,b"])
    done = called(*["fit", "x.csv", "--labels", "l.csv"])
    assert "x.csv: the names of columns come again in line 17 and 2 more: left out" in done.stderr
    assert np.loadtxt("l.csv", skiprows=1, dtype=int).tolist() == mapdpm.MAPDPM().fit(X).labels_.tolist()
    streamed = called(*["stream", "x.csv", "--warmup", "20"])
    assert "the names of columns come again in line 17" in streamed.stderr
    assert "60 points learned, 0 skipped" in streamed.stderr


def test_blank_lines_between_are_rows_without_values():
    X, good = written("x.csv", ["", "", ""])
    refused = called("fit", "x.csv").stderr
    assert "line 17, column 1 (a) is blank; remove or fill such rows, or learn with --missing skip" in refused
    done = called(*["fit", "x.csv", "--missing", "skip", "--labels", "l.csv"])
    assert "3 rows without any value left out, the first is row 16 of the data" in done.stderr
    labels = np.loadtxt("l.csv", skiprows=1, dtype=int)
    assert (labels[~good] == -1).all()
    assert (labels[good] == mapdpm.MAPDPM().fit(X).labels_).all()
    written("x.csv", ["\n" * 1001])
    done = called(*["fit", "x.csv", "--missing", "skip"])
    assert done.returncode == 1
    assert "line 32 is blank, and so are the 1000 after it" in done.stderr


@pytest.mark.parametrize("end", ["", "\n", "\r\n\n"])
def test_totals_of_a_stream_are_no_points(end):
    """They are learned where the end of the input is not known: in a pipe, and in a file that is followed."""
    X, _ = written("x.csv", [])
    rows = [f"{i},{a},{b}" for i, (a, b) in enumerate(X.tolist())]
    text = "\n".join(["n,a,b", *rows, f"Total,{X[:, 0].sum()},{X[:, 1].sum()}", "", "moved in May"]) + end
    Path("x.csv").write_text(text)
    done = called(*["stream", "x.csv", "--columns", "a,b", "--warmup", "20", "--state", "s.mdpm"])
    assert "x.csv: the last 3 lines left out, as no row of the table" in done.stderr
    assert "60 points learned, 0 skipped" in done.stderr
    again = called(*["stream", "x.csv", "--columns", "a,b", "--state", "s.mdpm"])
    assert "60 points learned, 0 skipped" in again.stderr
    Path("x.csv").write_text(text.replace("Total", "60").replace("\n\nmoved in May", "\n61,9.5,9"))
    more = called(*["stream", "x.csv", "--columns", "a,b", "--state", "t.mdpm", "--warmup", "20"])
    assert "62 points learned" in more.stderr


@pytest.mark.parametrize("command", ["fit x.csv --columns 2-", "stream x.csv --columns 2- --warmup 20"])
def test_years_are_names(command):
    X, _ = written("x.csv", [])
    rows = [f"p{i},{a},{b}" for i, (a, b) in enumerate(X.tolist())]
    Path("x.csv").write_text("\n".join(["place,2024,2025", *rows, ""]))
    done = called(*command.split())
    assert "x.csv: years as names of columns" in done.stderr
    assert "60 points learned" in done.stderr or "rows       60\n" in done.stdout


def test_a_switch_that_is_not_there_is_missing():
    rows = [f"{i % 2 * 9 + i / 100},{'on' if i % 2 else 'off'}" for i in range(40)]
    rows[7], rows[20] = "9.1,unavailable", "unavailable,unknown"
    Path("x.csv").write_text("\n".join(["t,heater", *rows, ""]))
    assert "line 22, column 1 (t) is missing: 'unavailable'" in called("fit", "x.csv").stderr
    Path("y.csv").write_text("\n".join(["t,heater", *rows[:20], ""]))
    refused = called("fit", "y.csv").stderr
    assert "column 2 (heater) has 'unavailable' beside off, on: it is missing; learn with --missing skip" in refused
    for more in ([], ["--kinds", "heater=flag"]):
        done = called(*["fit", "x.csv", "--missing", "skip", "--out", "m.mdpm", "--labels", "l.csv"], *more)
        assert "1 row without any value left out, the first is row 21 of the data" in done.stderr
        assert called("predict", "m.mdpm", "x.csv").stdout == Path("l.csv").read_text()
    called(*["fit", "x.csv", "--missing", "skip", "--out", "m.mdpm", "--kinds", "heater=category"])
    levels = [block.levels for block in mapdpm.load("m.mdpm").likelihood_.blocks if block.levels]
    assert levels == [("off", "on", "unavailable", "unknown")]


def test_a_column_of_times_is_named():
    X, _ = written("x.csv", [])
    Path("x.csv").write_text("\n".join(["timestamp,a", *(f"{i},{a}" for i, a in enumerate(X[:, 0].tolist())), ""]))
    assert "column 'timestamp' looks like a time" in called(*["stream", "x.csv", "--warmup", "20"]).stderr
    for more in ("--time timestamp", "--columns a", "--columns timestamp,a"):
        assert "looks like" not in called(*f"stream x.csv --warmup 20 {more}".split()).stderr


def test_lines_that_come_while_a_stream_reads_are_points(monkeypatch):
    """What stood at the end is no total any more, and what comes after it is not left out."""
    X, _ = written("x.csv", [])
    rows = [f"{i},{a},{b}" for i, (a, b) in enumerate(X.tolist())]
    Path("x.csv").write_text("\n".join(["n,a,b", *rows, "Total,3,4", "", ""]))
    taken = feed.Lines.taken

    def grows(self, item):
        taken(self, item)
        if item.number == 30:
            with Path("x.csv").open("a") as file:
                file.write("61,9.5,9\n62,0.5,1\n")

    monkeypatch.setattr(feed.Lines, "taken", grows)
    argv = "stream x.csv --columns a,b --warmup 20 --on-error skip --output o.jsonl"
    assert cli.main(argv.split()) == 0
    assert len(Path("o.jsonl").read_text().splitlines()) == 63


def test_columns_of_one_name_are_read_by_their_places(capsys):
    """The second one is no copy of the first, also beside a category."""
    rows = [f"{i % 2 * 9 + i / 100},{i % 7 / 8},{'red' if i % 4 < 2 else 'blue'}" for i in range(80)]
    Path("x.csv").write_text("\n".join(["t,t,colour", *rows, ""]))
    Path("y.csv").write_text("\n".join(["t,u,colour", *rows, ""]))
    assert cli.main(["fit", "x.csv", "--labels", "l.csv", "--out", "x.mdpm"]) == 0
    told = capsys.readouterr()
    assert "copy" not in told.err
    assert cli.main(["fit", "y.csv", "--quiet", "--labels", "m.csv", "--out", "y.mdpm"]) == 0
    assert Path("l.csv").read_text() == Path("m.csv").read_text()
    assert mapdpm.load("x.mdpm").log_joint_ == mapdpm.load("y.mdpm").log_joint_
    assert cli.main(["predict", "x.mdpm", "x.csv"]) == 0
    assert capsys.readouterr().out == Path("l.csv").read_text()


TOTALS = {  # rows of a table of names, or of times; and how many of the last are none
    "names that are words": (["Aisne,540,7369", "Oise,820,5860", "Somme,570,6170"], 0),
    "brands": (["Aral,1.7,1.8", "Esso,1.6,1.7", "Shell,1.65,1.7", "Total,1.64,1.71"], 0),
    "a table of statistics": (["mean,2,3", "std,1,1", "min,0,1", "max,4,5"], 0),
    "modes of a fan": (["low,2,3", "high,3,3", "min,1,1", "max,4,5"], 0),
    "a total": (["a,1,2", "b,3,4", "Total,4,6"], 1),
    "a total and a mean": (["a,1,2", "b,3,4", "Total,4,6", "Mean,2,3"], 2),
    "statistics of days": (["2026-01-01,1,2", "2026-01-02,3,4", "Min,1,2", "Max,3,4"], 2),
    "totals of each year": ([f"{a},{y},5" for y in (1, 2) for a in (*range(20), "Total")], 0),
    "thousands, of numbers below": (["a,1,249", "b,3,700", 'Total,4,"12.345"'], 1),
    "prices with three decimals": (["Aral,1,1.650", "Esso,1,1.700", "Total,1,1.640"], 0),
    "a negative one": (["a,-1,2", "b,3,4", "Total,2,6"], 1),
}


@pytest.mark.parametrize("name", TOTALS)
@pytest.mark.filterwarnings("ignore:.*left out")
def test_totals_and_names(name):
    rows, n = TOTALS[name]
    Path("x.csv").write_text("\n".join(["name,x,y", *rows, ""]))
    found = tables.read_csv("x.csv", lambda *_: tables.Columns([2])).values
    assert len(found) == len(rows) - n


def test_a_total_that_is_a_channel_is_learned_when_more_comes():
    """What stands at the end of a file is kept back: the next run knows better."""
    cycle = [*(f"room{i},{i % 3},{i}" for i in range(9)), "total,9,40"]
    lines = ["ch,x,y"]
    for _ in range(5):
        lines += cycle
        Path("x.csv").write_text("\n".join([*lines, ""]))
        done = called(*["stream", "x.csv", "--columns", "x,y", "--state", "s.mdpm", "--warmup", "20"])
    assert "50 points learned" in done.stderr


def test_texts_that_come_again_are_no_names():
    Path("x.csv").write_text("red\nblue\nred\ngreen\nred\nblue\n")
    assert "rows       5\n" in called("fit", "x.csv").stdout  # the first is taken for a name, as ever
