"""`--with`: columns of the input beside results, as they were."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest

import mapdpm
from mapdpm.cli.results import lines
from readers import RefusedError, command

ROWS = [
    ["id;1", " 1,5 ", "2,5", "1.50"],
    [" x ", "9,5", "2,0", "2,5"],
    ["z", "1,4", "2,4", 'he said "hi"\nand left'],
    ["", "9,4", "2,1", "0007"],
]


@pytest.fixture
def data(tmp_path):
    """Decimals by commas, a quoted separator, quotes, a line end in a cell, blanks around texts, in Latin-1."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=";", lineterminator="\r\n")
    writer.writerows([["id", "höhe", "breite", "note"], *ROWS])
    path = tmp_path / "data.csv"
    path.write_bytes(text.getvalue().encode("cp1252"))
    command("fit", path, "--columns", "höhe,breite", "--out", tmp_path / "m.mdpm", "--quiet")
    return path


def test_texts_are_as_they_were(data, tmp_path):
    frame = pd.DataFrame([[1.5, 2.5], [9.5, 2.0], [1.4, 2.4], [9.4, 2.1]], columns=["höhe", "breite"])
    labels = mapdpm.load(tmp_path / "m.mdpm").predict(frame).tolist()
    out = command("predict", tmp_path / "m.mdpm", data, "--with", "note,id")
    rows = list(csv.reader(io.StringIO(out, newline="")))
    expected = [[row[3], row[0], str(label)] for row, label in zip(ROWS, labels, strict=True)]
    assert rows == [["note", "id", "label"], *expected]
    out = command("score", tmp_path / "m.mdpm", data, "--with", "note", "--with", "1", "--format", "jsonl")
    objects = [json.loads(line) for line in out.splitlines()]
    assert [(each["note"], each["id"]) for each in objects] == [(row[3], row[0]) for row in ROWS]
    assert all(isinstance(each["log_density"], float) for each in objects)


def test_labels_of_fit(data, tmp_path):
    command("fit", data, "--columns", "2-3", "--labels", tmp_path / "l.csv", "--with", "id,höhe", "--quiet")
    found = pd.read_csv(tmp_path / "l.csv", dtype=str, keep_default_na=False)
    assert found.columns.tolist() == ["id", "höhe", "label"]
    assert found["höhe"].tolist() == [row[1] for row in ROWS]


def test_rows_without_values_and_groups_stay_in_place(tmp_path):
    rng = np.random.default_rng(0)
    path, model = tmp_path / "x.csv", tmp_path / "m.mdpm"
    cells = [f"r{i},{'hall' if i % 2 else 'roof'},{'' if i == 3 else f'{rng.normal():.3f}'}" for i in range(20)]
    path.write_text("id,room,x\n" + "\n".join(cells) + "\n")
    command("fit", path, "--columns", "x", "--missing", "skip", "--out", model, "--quiet")
    rows = [line.split(",") for line in command("predict", model, path, "--with", "id").splitlines()[1:]]
    assert [row[0] for row in rows] == [f"r{i}" for i in range(20)]
    assert rows[3] == ["r3", "-1"]
    path.write_text(path.read_text().replace("hall,\n", "hall,0.5\n"))
    command("fit", path, "--columns", "x", "--groups", "room", "--out", model, "--quiet")
    rows = [line.split(",") for line in command("predict", model, path, "--groups", "room", "--with", "room").split()]
    assert rows[:3] == [["room", "label"], ["roof", rows[1][1]], ["hall", rows[2][1]]]
    assert len(command("predict", model, path, "--proba", "--with", "id", "--groups", "room").splitlines()) == 21


def test_a_file_without_a_header(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("1,5\n2,6\n9,7\n")
    command("fit", path, "--columns", "1", "--out", tmp_path / "m.mdpm", "--quiet")
    out = command("predict", tmp_path / "m.mdpm", path, "--columns", "1", "--with", "2").splitlines()
    assert [line.split(",")[0] for line in out] == ["2", "5", "6", "7"]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("predict", "m.mdpm", "data.csv", "--with", "ids"), "has no column 'ids'; it has id, höhe"),
        (("predict", "m.mdpm", "data.csv", "--with", "9"), "so --with cannot have 9"),
        (("predict", "m.mdpm", "data.csv", "--with", "id,1"), "--with id,1 has column 1 twice"),
        (("score", "m.mdpm", "data.csv", "--with", "id", "--mean"), "--with: not with --mean"),
        (("fit", "data.csv", "--with", "id"), "--with: needs --labels"),
    ],
)
def test_errors(data, monkeypatch, tmp_path, argv, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RefusedError, match=words):
        command(*argv)


def test_two_columns_of_one_name_are_refused(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("label,a,b,b\nu,1,2,3\nv,9,4,5\n")
    command("fit", path, "--columns", "a", "--out", tmp_path / "m.mdpm", "--quiet")
    for chosen in ("label", "3,4"):
        with pytest.raises(RefusedError, match="two columns of the output would be called"):
            command("predict", tmp_path / "m.mdpm", path, "--with", chosen)


@pytest.mark.parametrize("text", ["", "a", "a,b", 'say "x"', "two\nlines", "\r", " blank ", "0012", "é"])
def test_a_reader_of_csv_gets_the_text(text):
    written = lines(["text", "number"], [(text, 0.5)], "csv")
    assert list(csv.reader(io.StringIO(written, newline=""))) == [["text", "number"], [text, "0.5"]]
