"""Rows that cannot be read: an error, or counted; blank ones; and names that come again."""

from pathlib import Path

import numpy as np
import pytest

import mapdpm
from command_line import called

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


def test_texts_that_come_again_are_no_names():
    Path("x.csv").write_text("red\nblue\nred\ngreen\nred\nblue\n")
    assert "rows       5\n" in called("fit", "x.csv").stdout  # the first is taken for a name, as ever
