"""The command line: its results equal those of Python, and an error is one line and no traceback."""

import gzip
import io
import json
import os
import re
import signal
import struct
import subprocess
import sys
import time
import warnings
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_moons

import mapdpm
from command_line import called
from mapdpm import backends, cli, selection
from mapdpm.cli import columns, options, progress, stream_options, tables
from mapdpm.likelihoods._registry import family_named
from mapdpm.names import BACKENDS, METHODS, MOVES
from mapdpm.search.moves import catalogue
from mapdpm.selection.grid import ALPHA_STARTS
from repository import ROOT
from tests.marks import complete_but

OLD_AND_NEW = ("--n-groups", "--merge-to")


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(0, 1, (30, 2)), rng.normal(20, 1, (20, 2))])


@pytest.fixture(scope="module")
def model_bytes(points):
    return mapdpm.MAPDPM().fit(points).to_bytes()


@pytest.fixture
def folder(tmp_path, points, model_bytes, monkeypatch):
    """A current folder with data.csv and model.mdpm."""
    monkeypatch.chdir(tmp_path)
    lines = ["height,width", *(",".join(map(repr, row)) for row in points.tolist())]
    Path("data.csv").write_text("\n".join(lines) + "\n")
    Path("model.mdpm").write_bytes(model_bytes)
    return tmp_path


def lines_of(capsys):
    return capsys.readouterr().out.splitlines()


def assert_refused(capsys, argv, code, *parts):
    """``argv`` fails with ``code`` and one line that has ``parts``, and changes no file."""
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    assert cli.main(argv) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("mapdpm: error: ")
    assert captured.err.count("\n") == 1
    assert captured.err.endswith("\n")
    for part in parts:
        assert part in captured.err
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


# ---- what works ------------------------------------------------------------------------------------------------------


def test_fit_prints_what_python_finds(folder, points, capsys):
    assert cli.main(["fit", "data.csv"]) == 0
    facts = capsys.readouterr().out.split("\n\n")[0]
    printed = dict(line.split(maxsplit=1) for line in facts.splitlines())
    expected = mapdpm.MAPDPM().fit(points)
    assert (printed["rows"], printed["columns"]) == ("50", "2 (height, width)")
    assert printed["clusters"] == str(expected.n_clusters_)
    assert printed["sizes"] == " ".join(map(str, expected.cluster_sizes_))
    assert printed["log"] == f"joint  {expected.log_joint_:.6f} nats"
    assert (printed["sweeps"], printed["converged"]) == (str(expected.n_sweeps_), "yes")
    assert printed["backend"] == expected.backend_
    assert float(printed["seconds"]) >= 0


def test_fit_prints_which_columns_carry_clusters(folder, points, capsys):
    noise = np.sin(np.arange(len(points))[:, None] * [1.0, 2.0, 3.0])  # alike in both clusters
    rows = np.column_stack([noise, points[:, 0]])
    Path("noisy.csv").write_text("\n".join(["a,b,c,height", *(",".join(map(repr, row)) for row in rows.tolist())]))
    assert cli.main(["fit", "noisy.csv", "--out", "noisy.mdpm"]) == 0
    assert "relevant   1 of 4 (height)" in lines_of(capsys)
    assert cli.main(["score", "noisy.mdpm", "noisy.csv", "--mean"]) == 0
    assert float(capsys.readouterr().out) == mapdpm.MAPDPM().fit(rows).score(rows)
    for relevance, prior, expected in (("all", [], None), ("search", ["--empirical-prior"], ["height"])):
        assert cli.main(["fit", "noisy.csv", "--format", "jsonl", "--relevance", relevance, *prior]) == 0
        assert json.loads(capsys.readouterr().out).get("relevant") == expected
    refused = "this model reads 1 of 4: fit it on these columns (height), or with relevance='all'"
    assert_refused(capsys, ["export", "noisy.mdpm", "--c", "firmware"], 2, refused)


def test_fit_predict_score_equal_the_python_api(folder, points, capsys):
    assert cli.main(["fit", "data.csv", "--out", "new.mdpm", "--labels", "labels.csv"]) == 0
    lines_of(capsys)
    model = mapdpm.load("new.mdpm")
    expected = mapdpm.MAPDPM().fit(points)
    assert np.array_equal(model.labels_, expected.labels_)
    assert model.log_joint_ == expected.log_joint_
    assert Path("labels.csv").read_text().split() == ["label", *map(str, expected.labels_)]

    assert cli.main(["predict", "new.mdpm", "data.csv"]) == 0
    assert lines_of(capsys) == ["label", *map(str, expected.predict(points))]

    assert cli.main(["predict", "new.mdpm", "data.csv", "--proba"]) == 0
    header, *rows = lines_of(capsys)
    assert header.split(",") == [*(f"cluster_{k}" for k in range(expected.n_clusters_)), "new"]
    assert list(model.feature_names_in_) == ["height", "width"]
    frame = pd.DataFrame(points, columns=["height", "width"])
    assert np.array_equal([list(map(float, row.split(","))) for row in rows], model.predict_proba(frame))

    assert cli.main(["score", "new.mdpm", "data.csv"]) == 0
    header, *values = lines_of(capsys)
    assert header == "log_density"
    assert np.array_equal(np.array(values, dtype=float), model.score_samples(frame))

    assert cli.main(["score", "new.mdpm", "data.csv", "--mean"]) == 0
    assert lines_of(capsys) == [repr(model.score(frame))]


def test_novelty(folder, points, capsys):
    Path("far.csv").write_text("height,width\n1e9,-1e9\n0,0\n")
    assert cli.main(["predict", "model.mdpm", "far.csv", "--novelty"]) == 0
    X = [[1e9, -1e9], [0, 0]]
    assert lines_of(capsys) == ["label", *map(str, mapdpm.load("model.mdpm").predict(X, novelty=True))]


def test_every_option_reaches_the_model(folder, points):
    wanted = {"alpha": 2.5, "discount": 0.25, "max_clusters": 3, "n_restarts": 2, "max_sweeps": 7, "random_state": 5}
    wanted |= {"time_limit": 99.0, "n_jobs": 2}
    names = {"n_restarts": "restarts", "random_state": "seed", "n_jobs": "jobs"}
    argv = [
        "fit",
        "data.csv",
        "--out",
        "new.mdpm",
        "--init",
        "single",
        "--backend",
        "python",
        "--moves",
        "regroup,split",
    ]
    for name, value in wanted.items():
        argv += ["--" + names.get(name, name).replace("_", "-"), str(value)]
    assert cli.main([*argv, "--likelihood", "normal-known-variance"]) == 0
    assert mapdpm.load("new.mdpm").likelihood is mapdpm.NormalKnownVariance
    assert cli.main([*argv, "--likelihood", "normal-known-variance", "--empirical-prior"]) == 0
    model = mapdpm.load("new.mdpm")
    assert {name: getattr(model, name) for name in wanted} == wanted
    assert (model.init, model.backend, model.moves) == ("single", "python", ("regroup", "split"))
    assert model.likelihood_ == mapdpm.NormalKnownVariance.empirical(points)


def test_merged_clusters(folder, points, capsys):
    """Labels and summary are those of the tree; the option's old name gives the same, and warns."""
    narrow = ("--likelihood", "normal-known-variance", "--prior", "variance=0.1")
    commands = [["fit", "data.csv", *narrow, option, "2", "--labels", "-"] for option in OLD_AND_NEW]
    found = []
    for command in commands:
        assert cli.main(command) == 0
        found.append(capsys.readouterr())
    prior = mapdpm.NormalKnownVariance.empirical(points)._replace(variance=0.1)
    model = mapdpm.MAPDPM(likelihood=prior).fit(points)
    assert model.n_clusters_ > 2
    assert found[1].out.split() == ["label", *map(str, model.merge_tree().labels(2))]
    assert found[0].out == found[1].out
    assert "merged     30 20\n" in found[1].err
    assert f"clusters   {model.n_clusters_} components in 2 groups\n" in found[1].err
    assert "warning" not in found[1].err
    warning = "warning: --n-groups is now called --merge-to; the old name works for one version more"
    assert warning in found[0].err
    assert cli.main([*commands[0], "--quiet"]) == 0
    assert "--n-groups" not in capsys.readouterr().err + options.parser().format_help()
    assert_refused(
        capsys, ["fit", "data.csv", "--merge-to", "9999"], 2, "argument --merge-to: n_groups must be at most"
    )


def test_rows_without_any_value_keep_their_places(folder, capsys):
    """Left out of the fit with a warning; label -1, and no score."""
    Path("gaps.csv").write_text("a,b\n0.1,0.2\n,\n0.3,\nNA,unavailable\n9.1,8.8\n9.2,9.3\n")
    fit = ["fit", "gaps.csv", "--missing", "skip", "--out", "gaps.mdpm", "--labels", "labels.csv"]
    assert cli.main(fit) == 0
    assert "2 rows without any value left out, the first is row 2 of the data" in capsys.readouterr().err
    labels = Path("labels.csv").read_text().split()[1:]
    assert [labels[1], labels[3]] == ["-1", "-1"]
    assert len(labels) == 6
    assert cli.main(["predict", "gaps.mdpm", "gaps.csv"]) == 0
    assert capsys.readouterr().out.split()[1:] == labels
    assert cli.main(["score", "gaps.mdpm", "gaps.csv"]) == 0
    scores = capsys.readouterr().out.splitlines()[1:]
    assert [line == "" for line in scores] == [False, True, False, True, False, False]
    assert cli.main(["predict", "gaps.mdpm", "gaps.csv", "--proba", "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in lines_of(capsys)]
    assert set(rows[1].values()) == {None}
    assert sum(rows[0].values()) == pytest.approx(1.0)
    Path("empty.csv").write_text("a,b\n,\nNA,\n")
    assert_refused(capsys, [*fit[:1], "empty.csv", *fit[2:4]], 1, "empty.csv has no value at all")
    Path("words.csv").write_text("a,kind\n1,unknown\nunknown,unknown\n3,known\n4,known\n")
    assert cli.main(["fit", "words.csv", "--missing", "skip", "--kinds", "kind=category"]) == 0
    assert "warning" not in capsys.readouterr().err  # a category may be called so


def test_groups_that_belong_together(folder, capsys):
    """Labels of ``fit`` and of ``predict`` are of groups, and the summary says so; with none, of clusters."""
    X, _ = make_moons(400, noise=0.05, random_state=0)
    np.savetxt("moons.csv", X, delimiter=",", fmt="%.6f")
    fit = ["fit", "moons.csv", "--out", "moons.mdpm", "--labels", "labels.csv"]
    assert cli.main(fit) == 0
    model = mapdpm.load("moons.mdpm")
    assert re.search(rf"^clusters   {model.n_clusters_} components in 2 groups$", capsys.readouterr().out, re.MULTILINE)
    assert cli.main(["predict", "moons.mdpm", "moons.csv", "--out", "predicted.csv"]) == 0
    assert Path("labels.csv").read_text() == Path("predicted.csv").read_text()
    assert set(Path("labels.csv").read_text().split()[1:]) == {"0", "1"}
    assert cli.main(["predict", "moons.mdpm", "moons.csv", "--proba"]) == 0
    assert capsys.readouterr().out.startswith("cluster_0,cluster_1,new\n")
    assert cli.main([*fit, "--merge-to", "none"]) == 0
    assert mapdpm.load("moons.mdpm").n_groups_ == model.n_clusters_
    assert cli.main([*fit, "--merge-to", "3"]) == 0
    assert mapdpm.load("moons.mdpm").n_groups_ == 3
    capsys.readouterr()
    assert_refused(capsys, [*fit, "--merge-to", "few"], 2, "must be auto, none or an integer >= 1, got few")


def test_missing_values(folder, points, capsys):
    """A blank cell, NA or nan, in fit, tune, predict and score; the model says whether they may be there."""
    gaps = points.copy()
    gaps[::3, 0] = np.nan
    blank = {0: "", 3: "NA", 6: "nan"}
    cells = [[blank.get(i, "?") if np.isnan(x) else repr(x) for x in row] for i, row in enumerate(gaps.tolist())]
    Path("gaps.csv").write_text("height,width\n" + "".join(f"{a},{b}\n" for a, b in cells))
    assert_refused(capsys, ["fit", "gaps.csv"], 1, "line 2, column 1 (height) is blank")
    assert_refused(capsys, ["predict", "model.mdpm", "gaps.csv"], 1, "line 2, column 1 (height) is blank")
    argv = ["fit", "gaps.csv", "--missing", "skip", "--out", "new.mdpm", "--labels", "labels.csv", "--picture", "p.png"]
    assert cli.main([*argv, "--standardize", "--prior", "b0=0.1"]) == 0
    frame, model = pd.DataFrame(gaps, columns=["height", "width"]), mapdpm.load("new.mdpm")
    assert model.missing == "skip"
    np.testing.assert_array_equal(model.fit(frame).labels_, np.loadtxt("labels.csv", skiprows=1, dtype=int))
    assert model.likelihood_.b0[0] == pytest.approx(0.1 * np.nanvar(gaps[:, 0]), rel=1e-9)
    capsys.readouterr()
    assert cli.main(["predict", "new.mdpm", "gaps.csv"]) == 0
    assert lines_of(capsys)[1:] == [str(label) for label in model.predict(frame)]
    assert cli.main(["score", "new.mdpm", "gaps.csv", "--mean"]) == 0
    assert lines_of(capsys) == [repr(model.score(frame))]
    tuned = ["tune", "gaps.csv", "--missing", "skip", "--method", "nll", "--alphas", "1,2", "--out", "tuned.mdpm"]
    assert cli.main(tuned) == 0
    assert mapdpm.load("tuned.mdpm").missing == "skip"


def test_choices_are_those_of_the_library():
    assert backends.names() == ("auto", *BACKENDS)
    assert tuple(catalogue.MOVES[MOVES]) == MOVES
    assert MOVES[:2] == mapdpm.MAPDPM().moves


def test_data_without_a_header(folder, points, capsys):
    Path("bare.csv").write_text(Path("data.csv").read_text().split("\n", 1)[1])
    assert cli.main(["score", "model.mdpm", "bare.csv"]) == 0
    assert len(lines_of(capsys)) == 1 + len(points)


@pytest.mark.parametrize(
    ("text", "names", "values"),
    [
        ("1,2\n3,4", None, [[1, 2], [3, 4]]),
        ("\ufeffa,b\r\n1,2\r\n", ("a", "b"), [[1, 2]]),
        ('"a, really",b\n" 1 ","-2e3"\n\n\n', ("a, really", "b"), [[1, -2000]]),
        (",a\n0,5\n", ("", "a"), [[0, 5]]),
        ("x\n1\n2\n", ("x",), [[1], [2]]),
    ],
)
def test_tables_that_are_read(tmp_path, text, names, values):
    (tmp_path / "t.csv").write_bytes(text.encode())
    table = tables.read_csv(tmp_path / "t.csv")
    assert table.columns == names
    assert np.asarray(table).tolist() == values
    assert np.asarray(table).dtype == np.float64


def test_help_and_version(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"mapdpm {mapdpm.__version__}\n"
    for command in ("fit", "predict", "score", "stream", "demo"):
        assert cli.main([command, "--help"]) == 0
        assert command in capsys.readouterr().out


def test_warnings_are_lines(capsys):
    with cli._warnings_as_lines():
        warnings.simplefilter("always")
        warnings.warn("slow", RuntimeWarning, stacklevel=1)
    assert capsys.readouterr().err == "mapdpm: warning: slow\n"


# ---- columns, compression, standard input and output -----------------------------------------------------------------


@pytest.fixture
def wide(folder, points):
    """wide.csv: an index, the two features in another order, text; and the same without a header."""
    rows = [f"{i},{w!r},walk,{h!r}" for i, (h, w) in enumerate(points.tolist())]
    Path("wide.csv").write_text("\n".join([",width,activity,height", *rows]) + "\n")
    Path("bare.csv").write_text("\n".join(rows) + "\n")
    return folder


def labels_of(path):
    header, *labels = Path(path).read_text().split()
    assert header == "label"
    return list(map(int, labels))


@pytest.mark.parametrize(
    ("file", "columns"),
    [("bare.csv", "4,2"), *(("wide.csv", text) for text in ("height,width", "4,2", "height,2", " 4 , width"))],
)
def test_columns_by_name_and_by_position(wide, points, file, columns):
    assert cli.main(["fit", file, "--columns", columns, "--out", "new.mdpm", "--labels", "labels.csv"]) == 0
    model, expected = mapdpm.load("new.mdpm"), mapdpm.MAPDPM().fit(points)
    assert labels_of("labels.csv") == expected.labels_.tolist()  # no row is lost to a header that is none
    assert model.log_joint_ == expected.log_joint_
    names = getattr(model, "feature_names_in_", None)
    assert names is None if file == "bare.csv" else list(names) == ["height", "width"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2-3", [1, 2]),
        ("3-", [2, 3]),
        ("4,1-2", [3, 0, 1]),
        ("1-", [0, 1, 2, 3]),
        ("b-d", [1, 2, 3]),
        ("c-,a", [2, 3, 0]),
    ],
)
def test_ranges(text, expected):
    assert list(columns.chosen(text)("file", list("abcd")).places) == expected


def test_ranges_of_names_with_hyphens():
    cells = ["time", "in-1", "in-2", "out-1", "-"]
    assert list(columns.chosen("in-1-out-1")("file", cells).places) == [1, 2, 3]
    assert list(columns.chosen("out-1-")("file", cells).places) == [3, 4]
    assert list(columns.chosen("all-but:in-1-in-2,-")("file", cells).places) == [0, 3]


def test_names_win_over_positions_and_may_be_quoted():
    assert columns.chosen("2")("file", ["1", "id", "2"])[:2] == ([2], True)
    assert columns.chosen("2")("file", ["1", "3", "2"])[:2] == ([1], False)  # a row of numbers is no header
    assert columns.chosen("2020")("file", ["2020", "2021"])[:2] == ([0], True)  # but that can be no position
    assert columns.chosen('"a, b",2-3')("file", ["a, b", "x", "2-3"])[:2] == ([0, 2], True)


def test_years_for_names(folder, capsys):
    rows = "1,2\n3,4\n9,8\n7,7\n"
    Path("years.csv").write_text("2020,2021\n" + rows)
    Path("id.csv").write_text("id,2020,2021\n" + "".join(f"{i},{row}\n" for i, row in enumerate(rows.split())))
    fitted("--columns", "2020,2021", file="years.csv")
    for file in ("years.csv", "id.csv"):
        assert cli.main(["predict", "new.mdpm", file]) == 0
        assert len(lines_of(capsys)) == 1 + 4
    assert len(fitted("--columns", "2-3", file="id.csv").labels_) == 4
    Path("swapped.csv").write_text("2021,2020\n2,1\n")
    Path("straight.csv").write_text("2020,2021\n1,2\n")
    scores = []
    for file in ("swapped.csv", "straight.csv"):
        assert cli.main(["score", "new.mdpm", file]) == 0
        scores.append(lines_of(capsys))
    assert scores[0] == scores[1]  # by name, though all cells of the header are numbers


def test_a_position_in_a_row_of_numbers_is_a_position(folder):
    Path("int.csv").write_text("0,1\n1,0\n1,1\n0,0\n9,9\n9,8\n8,9\n")
    model = fitted("--columns", "1", file="int.csv")
    assert model.means_.min() >= 0.0
    assert len(model.labels_) == 7
    assert not hasattr(model, "feature_names_in_")
    assert len(fitted("--columns", "1,2", file="int.csv").labels_) == 7


def test_a_model_finds_its_columns_by_name(wide, points, capsys):
    assert cli.main(["fit", "data.csv", "--out", "named.mdpm", "--quiet"]) == 0
    expected = mapdpm.MAPDPM().fit(points)
    for argv in (["wide.csv"], ["data.csv"], ["bare.csv", "--columns", "4,2"], ["wide.csv", "--columns", "4,2"]):
        assert cli.main(["predict", "named.mdpm", *argv]) == 0
        assert lines_of(capsys) == ["label", *map(str, expected.labels_)]
    Path("plain.csv").write_text("".join(f"{h!r},{w!r}\n" for h, w in points.tolist()))
    assert cli.main(["score", "named.mdpm", "plain.csv", "--mean"]) == 0  # no header: by position
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == (f"{expected.score(points)!r}\n", "")


def test_an_index_is_warned_of(folder, points, capsys):
    pd.DataFrame(points, columns=["height", "width"]).to_csv("indexed.csv")
    assert cli.main(["fit", "indexed.csv"]) == 0
    first, *others = capsys.readouterr().err.splitlines()
    assert first == (
        "mapdpm: warning: column 1 of indexed.csv has no name, like an index, and is used as a feature; "
        "--columns leaves it out"
    )
    assert all("column ''" in line for line in others)  # that its numbers rise
    for argv in (["--columns", "2-"], ["--quiet"]):
        assert cli.main(["fit", "indexed.csv", *argv]) == 0
        assert capsys.readouterr().err == ""


def test_gzip_in_and_out(folder, points, capsys):
    Path("data.bin").write_bytes(gzip.compress(Path("data.csv").read_bytes()))  # known by its contents
    assert cli.main(["fit", "data.bin", "--labels", "labels.csv.gz", "--quiet"]) == 0
    assert gzip.decompress(Path("labels.csv.gz").read_bytes()).decode().split()[1:] == [
        *map(str, mapdpm.MAPDPM().fit(points).labels_)
    ]
    for damaged in (Path("data.bin").read_bytes()[:-20], b"\x1f\x8b nothing"):
        Path("bad.csv").write_bytes(damaged)
        assert_refused(capsys, ["fit", "bad.csv"], 1, "bad.csv is not a whole gzip file")


def test_standard_input_and_output(folder, points):
    data = (folder / "data.csv").read_bytes()
    done = run("fit", "-", "--labels", "-", input=data.decode())  # as a process: the pipes of a shell
    labels = ["label", *map(str, mapdpm.MAPDPM().fit(points).labels_)]
    assert done.stdout.split() == labels
    assert done.stderr.startswith("rows  ")  # what is piped on is labels only
    done = called("predict", "model.mdpm", "-", "--out", "out.csv", data=data)
    assert (done.stdout, labels_of(folder / "out.csv")) == ("", list(map(int, labels[1:])))
    packed = called("score", "model.mdpm", "-", "--mean", data=gzip.compress(data))
    assert float(packed.stdout) == mapdpm.load(folder / "model.mdpm").score(points)
    bad = called("fit", "-", data=b"1,2\n3\n")
    assert (bad.returncode, bad.stderr) == (
        1,
        (
            "mapdpm: error: standard input: line 2 has 1 column, but the first row has 2; "
            "--on-error skip leaves out what cannot be read\n"
        ),
    )


def test_other_delimiters(folder, points, capsys):
    for name, mark in (("tab", "\t"), (";", ";"), ("space", " ")):
        Path("other.csv").write_text(Path("data.csv").read_text().replace(",", mark))
        assert cli.main(["fit", "other.csv", "--delimiter", name, "--labels", "labels.csv"]) == 0
        assert labels_of("labels.csv") == mapdpm.MAPDPM().fit(points).labels_.tolist()


def test_json_lines(folder, points, capsys):
    model = mapdpm.load("model.mdpm")
    assert cli.main(["predict", "model.mdpm", "data.csv", "--format", "jsonl"]) == 0
    assert [json.loads(line) for line in lines_of(capsys)] == [{"label": k} for k in model.predict(points)]
    assert cli.main(["predict", "model.mdpm", "data.csv", "--format", "jsonl", "--proba"]) == 0
    rows = [list(json.loads(line).values()) for line in lines_of(capsys)]
    assert np.array_equal(rows, model.predict_proba(points))
    assert cli.main(["score", "model.mdpm", "data.csv", "--format", "jsonl"]) == 0
    assert [json.loads(line)["log_density"] for line in lines_of(capsys)] == model.score_samples(points).tolist()
    assert cli.main(["score", "model.mdpm", "data.csv", "--format", "jsonl", "--mean"]) == 0
    assert json.loads(capsys.readouterr().out) == {"mean_log_density": model.score(points)}
    assert cli.main(["fit", "data.csv", "--format", "jsonl", "--labels", "labels.jsonl"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["rows"], facts["columns"]) == (50, ["height", "width"])
    assert facts["sizes"] == model.cluster_sizes_.tolist()
    assert facts["log_joint"] == model.log_joint_
    assert facts["converged"] is True
    assert [
        json.loads(line)["label"] for line in Path("labels.jsonl").read_text().splitlines()
    ] == model.labels_.tolist()


# ---- the prior -------------------------------------------------------------------------------------------------------


def fitted(*argv, file="data.csv"):
    assert cli.main(["fit", file, "--out", "new.mdpm", "--quiet", *argv]) == 0
    return mapdpm.load("new.mdpm")


def test_repeated_columns_add_up(wide, points):
    model = fitted("--columns", "height", "--columns", "width", file="wide.csv")
    assert model.log_joint_ == mapdpm.MAPDPM().fit(points).log_joint_


@pytest.mark.parametrize(("name", "begins"), [("p.png", b"\x89PNG"), ("p.pdf", b"%PDF"), ("p.svg", b"<?xml")])
@pytest.mark.parametrize("columns", complete_but(["1-2"], ["1", "1-2"]))
def test_pictures(folder, name, begins, columns):
    fitted("--columns", columns, "--picture", name)
    assert Path(name).read_bytes().startswith(begins)


def test_prior(folder, points):
    empirical = mapdpm.NormalGamma.empirical(points)
    model = fitted("--prior", "b0=0.5,2", "--prior", "c0=0.25")
    assert model.likelihood_ == empirical._replace(b0=[0.5, 2.0], c0=0.25)
    model = fitted("--likelihood", "normal-known-variance", "--prior", "variance=0.5")
    assert model.likelihood_ == mapdpm.NormalKnownVariance.empirical(points)._replace(variance=0.5)


@pytest.mark.parametrize("family", stream_options.STREAM_LIKELIHOODS)
def test_standardize_is_a_prior_in_standard_units(folder, points, family):
    name = {"normal-gamma": "b0", "normal-known-variance": "variance"}[family]
    model = fitted("--standardize", "--likelihood", family, "--prior", f"{name}=0.02", "--prior", "m0=0.5")
    # The same by the long way: data in standard units.
    mean, scale = points.mean(axis=0), points.std(axis=0)
    Z = (points - mean) / scale
    prior = family_named(family).empirical(Z)._replace(m0=0.5, **{name: 0.02})
    other = mapdpm.MAPDPM(likelihood=prior).fit(Z)
    assert np.array_equal(model.labels_, other.labels_)
    # A density of data in its own units: less the logarithm of the stretch, a point.
    stretch = np.log(scale).sum()
    frame = pd.DataFrame(points, columns=["height", "width"])
    assert model.score_samples(frame) == pytest.approx(other.score_samples(Z) - stretch, rel=1e-9)
    assert model.log_joint_ == pytest.approx(other.log_joint_ - len(points) * stretch, rel=1e-9)


def test_standardize_alone_changes_nothing(folder, points, capsys):
    assert np.array_equal(fitted("--standardize").labels_, mapdpm.MAPDPM().fit(points).labels_)
    assert cli.main(["fit", "data.csv", "--standardize"]) == 0
    assert (
        capsys.readouterr().err
        == "mapdpm: warning: --standardize changes nothing without --prior, whose units it chooses\n"
    )


# ---- talk ------------------------------------------------------------------------------------------------------------


def test_quiet_and_verbose(folder, capsys):
    assert cli.main(["fit", "data.csv", "--quiet"]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")
    assert cli.main(["fit", "data.csv", "--verbose"]) == 0
    captured = capsys.readouterr()
    model = mapdpm.MAPDPM().fit(np.loadtxt("data.csv", delimiter=",", skiprows=1))
    assert len(captured.err.splitlines()) == len(model.history_) - 1
    first, last = captured.err.splitlines()[0], captured.err.splitlines()[-1]
    assert re.fullmatch(r"\d+ points? moved, 2 clusters, log joint -?[\d.]+", first)
    assert last.endswith(f"log joint {model.log_joint_:.3f}")
    assert captured.out.startswith("rows  ")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_on_a_terminal_leaves_nothing_behind(folder, monkeypatch):
    monkeypatch.setattr(progress, "_DELAY", 0.0)
    monkeypatch.setattr(progress, "_INTERVAL", 0.0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert cli.main(["fit", "data.csv"]) == 0
    said = sys.stderr.getvalue()
    assert said.startswith("\r\033[K50 rows of 2 columns: looking for the prior")
    assert re.search(r"\r\x1b\[K\d+ points? moved, 2 clusters", said)
    assert said.endswith("\r\033[K")
    assert "\n" not in said
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert cli.main(["fit", "data.csv", "--quiet"]) == 0
    assert sys.stderr.getvalue() == ""


@pytest.mark.parametrize("closed", ["2>&-", "2>&1 >/dev/null | true", "2>/dev/full"])
def test_nobody_listens_and_the_fit_is_kept(folder, closed):
    if "/dev/full" in closed and not Path("/dev/full").exists():
        closed = "2>&-"
    command = (
        f"{sys.executable} -m mapdpm fit data.csv --verbose --restarts 20 --out new.mdpm --labels new.csv {closed}"
    )
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    subprocess.run(command, shell=True, check=False, capture_output=True, env=os.environ | {"PYTHONPATH": paths})  # noqa: S602
    assert mapdpm.load("new.mdpm").n_clusters_ >= 1
    assert len(Path("new.csv").read_text().split()) == 51


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("fit - <&-", 1, "mapdpm: error: standard input is closed\n"),
        ("predict model.mdpm data.csv >&-", 1, "mapdpm: error: standard output is closed\n"),
        ("fit gone.csv 2>&-", 1, ""),
        ("predict model.mdpm data.csv --out /dev/stdout", 1, "cannot write /dev/stdout: it is not a file"),
    ],
)
def test_closed_streams_and_devices(folder, command, code, said):
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    ours = ["bash", "-c", f"{sys.executable} -m mapdpm {command}"]
    done = subprocess.run(ours, check=False, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": paths})
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert done.stdout == ""


def test_outputs_and_columns_that_cannot_be(folder, capsys):
    assert_refused(capsys, ["fit", "data.csv", "--out", "-"], 2, "models and pictures are no text")
    says = "--columns must be names or positions separated by commas"
    assert_refused(capsys, ["fit", "data.csv", "--columns", "a\nb"], 2, says)


@pytest.mark.complete
def test_examples_of_help_run(folder, capsys, monkeypatch):
    examples = [options._FIT_EXAMPLES, options._PREDICT_EXAMPLES, options._SCORE_EXAMPLES, options._DEMO_EXAMPLES]
    Path("data.csv.gz").write_bytes(gzip.compress(Path("data.csv").read_bytes()))
    Path("rooms.csv").write_text("room,t\nhall,1\nhall,2\nroof,9\nroof,8\n")
    ours = f"{sys.executable} -m mapdpm"
    for line in "\n".join(examples).splitlines():
        command = re.sub(r"(^|\| )mapdpm ", rf"\1{ours} ", line)
        paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        known = {"capture_output": True, "env": os.environ | {"PYTHONPATH": paths}}
        done = subprocess.run(command, shell=True, check=False, **known)  # noqa: S602  (there are pipes in them)
        assert (done.returncode, done.stderr) == (0, b""), (line, done.stderr)
    assert Path("model.mdpm").exists()


def test_completion_knows_the_options(folder):
    pytest.importorskip("argcomplete")
    line = "mapdpm fit data.csv --st"
    asked = {
        "_ARGCOMPLETE": "1",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "COMP_TYPE": "63",
        "_ARGCOMPLETE_IFS": "|",
    }
    done = subprocess.run(  # it answers on file descriptor 8
        ["sh", "-c", f"exec 8>&1; {sys.executable} -m mapdpm"],
        cwd=ROOT,
        env=os.environ | asked,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "--standardize" in done.stdout


@pytest.mark.complete
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_leave_nothing_half_written(folder, number, code):
    """Stopped at any time: either the whole model is there, or none and nothing besides."""
    rng = np.random.default_rng(0)
    big = rng.normal(size=(4000, 4)) + 5.0 * rng.integers(0, 9, (4000, 1))
    np.savetxt(folder / "big.csv", big, delimiter=",")
    for delay in (0.0, 0.02, 0.05, 0.1, 0.3, 0.8, 1.2):
        out = folder / "new.mdpm"
        command = [sys.executable, "-m", "mapdpm", "fit", folder / "big.csv", "--restarts", "99999", "--out", out]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            _wait_until_it_runs(process)
            time.sleep(delay)
            said = _signalled(process, number)
        assert process.returncode == code
        assert "Error" not in said
        assert "Traceback" not in said
        assert not out.exists()
        assert not [path.name for path in folder.iterdir() if path.name.startswith(".mdpm")]


def _wait_until_it_runs(process):
    """Wait until the command takes SIGTERM. Before, Python and numpy end in ways of their own."""
    status = Path(f"/proc/{process.pid}/status")
    bit = 1 << (signal.SIGTERM - 1)
    while status.exists() and process.poll() is None:
        caught = next(line for line in status.read_text().splitlines() if line.startswith("SigCgt:"))
        if int(caught.split()[1], 16) & bit:
            return
        time.sleep(0.005)
    if not status.exists():  # not Linux
        time.sleep(5.0)


def _signalled(process, number):
    """Send a signal, again if need be: Python drops one that comes in a callback from which nothing can be raised."""
    for _ in range(20):
        process.send_signal(number)
        try:
            return process.communicate(timeout=15)[1]
        except subprocess.TimeoutExpired:
            continue
    process.kill()
    return process.communicate()[1]


# ---- bad data: exit code 1 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["bad.csv is empty"]),
        ("\n\n", ["bad.csv is empty"]),
        ("height,width\n", ["header but no rows"]),
        ("height,width\n1,2\n3,nan\n", ["line 3, column 2 (width)", "not a finite number: 'nan'"]),
        ("height,width\n1,2\n-inf,4\n", ["line 3, column 1 (height)", "not a finite number: '-inf'"]),
        ("1,2\n1e999,4\n", ["line 2, column 1 is", "not a finite number: '1e999'"]),
        ("nan,2\n3,4\n", ["line 1, column 1 is", "not a finite number: 'nan'"]),
        ("height,width\n1,2\n3,four\n", ["line 3, column 2 (width)", "not a number: 'four'"]),
        ("1,2\n3,four\n", ["line 2, column 2 is not a number: 'four'"]),
        ("1,2\n3,1_000\n", ["line 2, column 2 is not a number: '1_000'"]),
        ('a,b\n"1",2\n"3\n3",4\n', ["line 3, column 1 (a) is not a number"]),
        ("height/width\n1 / 2\n", ["line 2, column 1 (height/width)", "separated by commas"]),
        ("height,width\n1,2\n3,\n", ["line 3, column 2 (width) is blank"]),
        ("height,width\n1,2\n3,NA\n", ["line 3, column 2 (width) is missing: 'NA'; remove or fill"]),
        ("1,\n3,4\n", ["line 1, column 2 is blank"]),
        ("height,width\n1,2\n3\n", ["line 3 has 1 column, but the first row has 2"]),
        ("height,width\n1,2\n3,4,5\n", ["line 3 has 3 columns, but the first row has 2"]),
        (
            "height\n1\n\n3\n",
            ["line 3, column 1 (height) is blank; remove or fill such rows"],
        ),
        (b"\xff\xfe1,2\n", ["not a text file in UTF-8"]),
        ("1,2\n" + "9" * 200_000 + ",2\n", ["line 2", "not CSV"]),
        ("1e200,2\n-1e200,4\n", ["contains 1e+200, beyond 1e+49"]),
    ],
)
def test_bad_data(folder, capsys, text, parts):
    Path("bad.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert_refused(capsys, ["fit", "bad.csv", "--out", "new.mdpm", "--labels", "labels.csv"], 1, *parts)
    if "must be between" not in parts:  # that is the prior's business
        assert_refused(capsys, ["predict", "model.mdpm", "bad.csv"], 1, *parts)
        assert_refused(capsys, ["score", "model.mdpm", "bad.csv"], 1, *parts)


@pytest.mark.parametrize(
    "argv",
    [
        ["fit", "gone.csv", "--out", "new.mdpm"],
        ["predict", "model.mdpm", "gone.csv"],
        ["predict", "gone.csv", "data.csv"],
        ["score", "model.mdpm", "gone.csv"],
        ["demo", "gone.csv"],
    ],
)
def test_missing_files(folder, capsys, argv):
    assert_refused(capsys, argv, 1, "gone.csv: No such file")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("heigth", "wide.csv has no column 'heigth'; it has , width, activity, height. Did you mean height?"),
        ("5", "wide.csv has 4 columns, so --columns cannot have 5: they count from 1"),
        ("0", "cannot have 0: they count from 1"),
        ("4-2", "--columns cannot have 4-2: a range goes up"),
        ("height-width", "--columns cannot have height-width: a range goes up"),
        ("width-heights", "wide.csv has no column 'width-heights'"),
        ("height,4", "--columns height,4 has column 4 twice"),
        ("", "--columns names no column"),
        ("all-but:height,width,activity,1", "--columns leaves no column"),
    ],
)
def test_bad_columns(wide, capsys, text, part):
    assert_refused(capsys, ["fit", "wide.csv", "--columns", text], 1, part)


def test_columns_that_a_model_does_not_find(wide, capsys):
    assert cli.main(["fit", "data.csv", "--out", "named.mdpm", "--quiet"]) == 0
    Path("other.csv").write_text("height,weight\n1,2\n")
    part = "other.csv has no column 'width', on which named.mdpm was fitted; it has height, weight. Choose columns"
    assert_refused(capsys, ["predict", "named.mdpm", "other.csv"], 1, part)
    Path("twice.csv").write_text("height,width,width\n1,2,3\n")
    part = "twice.csv has 2 columns of the name 'width'; choose by position with --columns"
    assert_refused(capsys, ["score", "named.mdpm", "twice.csv"], 1, part)
    part = "--columns has 1 column, but named.mdpm was fitted on 2"
    assert_refused(capsys, ["score", "named.mdpm", "wide.csv", "--columns", "height"], 1, part)


def test_a_folder_is_no_data(folder, capsys):
    assert_refused(capsys, ["fit", "."], 1, "directory")


def test_wrong_width(folder, capsys):
    Path("wide.csv").write_text("1,2,3\n")
    for command in ("predict", "score"):
        assert_refused(
            capsys, [command, "model.mdpm", "wide.csv"], 1, "wide.csv has 3 columns", "was fitted on 2; choose"
        )


def test_bad_model_files(folder, capsys, model_bytes):
    newer = bytearray(model_bytes[:-4])
    struct.pack_into("<H", newer, 4, 999)
    damaged = {
        "truncated": [model_bytes[:n] for n in (4, 30, 60, len(model_bytes) // 2, len(model_bytes) - 1)],
        "not a mapdpm model": [b"", b"PK\x03\x04 a zip file", Path("data.csv").read_bytes()],
        "newer": [bytes(newer) + struct.pack("<I", zlib.crc32(newer))],
        "": [flipped(model_bytes, bit) for bit in range(0, 8 * len(model_bytes), 101)],
    }
    for part, files in damaged.items():
        for data in files:
            Path("bad.mdpm").write_bytes(data)
            assert_refused(capsys, ["predict", "bad.mdpm", "data.csv"], 1, "bad.mdpm: ", part)
    assert_refused(capsys, ["score", "bad.mdpm", "data.csv", "--mean"], 1, "bad.mdpm: ")


def flipped(data, bit):
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@pytest.mark.parametrize(
    ("target", "part"), [("taken", "it is not a file"), ("gone/file", "there is no folder gone"), ("", "cannot write")]
)
@pytest.mark.parametrize("argv", [["fit", "data.csv", "--out"], ["fit", "data.csv", "--labels"], ["demo", "--picture"]])
def test_unwritable_outputs(folder, capsys, argv, target, part):
    Path("taken").mkdir()
    assert_refused(capsys, [*argv, target], 1, "cannot write", part)


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="no devices")
def test_devices_are_not_replaced(folder, capsys):
    assert_refused(capsys, ["fit", "data.csv", "--out", os.devnull], 1, "it is not a file")
    assert not Path(os.devnull).is_file()


# ---- bad usage: exit code 2 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--alpha", "0"], "argument --alpha: must be a number > 0, got 0"),
        (["--alpha", "-1"], "argument --alpha: must be a number > 0, got -1"),
        (["--alpha", "nan"], "argument --alpha: must be a number > 0, got nan"),
        (["--alpha", "inf"], "argument --alpha: must be a number > 0, got inf"),
        (["--alpha", "many"], "argument --alpha: must be a number > 0, got many"),
        (["--discount", "1"], "argument --discount: must be a number in [0, 1), got 1"),
        (["--max-clusters", "0"], "argument --max-clusters: must be an integer >= 1, got 0"),
        (["--max-clusters", "2.5"], "argument --max-clusters: must be an integer >= 1, got 2.5"),
        (["--max-clusters", "9" * 20], "must be an integer of at most 9223372036854775807, got 99999999999999999999 "),
        (["--seed", "9" * 5000], "of at most 4300 digits, got 9999999999"),
        (["--seed", "9" * 5000], "9999... (5000 characters) (see"),
        (["--alpha", "1e400"], "argument --alpha: must be a number below 1.8e308, got 1e400"),
        (["--discount", "1e400"], "argument --discount: must be a number in [0, 1), got 1e400"),
        (["--merge-to", "9" * 20], "must be auto, none or an integer of at most 9223372036854775807, got 9"),
        (["--restarts", "0"], "argument --restarts: must be an integer >= 1"),
        (["--max-sweeps", "x"], "argument --max-sweeps: must be an integer >= 1"),
        (["--seed", "-3"], "argument --seed: must be an integer >= 0"),
        (["--backend", "abacus"], "argument --backend: invalid choice: 'abacus'"),
        (["--init", "nowhere"], "argument --init: invalid choice"),
        (["--likelihood", "cauchy"], "argument --likelihood: no family is registered as 'cauchy'"),
        (
            ["--moves", "merge,swap"],
            "argument --moves: must be some of merge,split,permutation,regroup,cell,delete, or none",
        ),
        (["--moves", ""], "argument --moves: must be some of"),
        (["--time-limit", "0"], "argument --time-limit: must be a number > 0, got 0"),
        (
            ["--prior", "b0"],
            "argument --prior: must be NAME=NUMBER, or NAME=NUMBER,NUMBER,... with one a column, got 'b0'",
        ),
        (["--prior", "b0=wide"], "argument --prior: must be NAME=NUMBER"),
        (["--prior", "b1=2"], "argument --prior: normal-gamma has no parameter 'b1'; it has m0, c0, a0, b0"),
        (["--prior", "b0=-1"], "argument --prior: b0 must be > 0, got -1.0"),
        (["--delimiter", "::"], "argument --delimiter: must be one character, or tab, got '::'"),
        (["--labels", "new.mdpm"], "new.mdpm cannot be written: another file of this command has that name"),
        (["--labels", "data.csv"], "data.csv cannot be written: another file of this command has that name"),
        (["--quiet", "--verbose"], "argument --verbose: not allowed with argument --quiet"),
        (["--format", "xml"], "argument --format: invalid choice: 'xml'"),
        (["--colour"], "unrecognized arguments: --colour"),
        (
            ["--warmup", "2"],
            "unrecognized arguments: --warmup 2; --warmup is an option of mapdpm stream (see mapdpm fit",
        ),
        (["--alph", "2"], "unrecognized arguments: --alph 2; did you mean --alpha? (see mapdpm fit --help)"),
        (["--prior", "b0=1", "--prior", "b0=2"], "argument --prior: each parameter at most once, got b0, b0"),
        (["--picture", "clusters.gif"], "the name of a picture ends in one of .png, .pdf, .svg, got clusters.gif"),
    ],
)
def test_bad_parameters(folder, capsys, options, part):
    assert_refused(capsys, ["fit", "data.csv", "--out", "new.mdpm", *options], 2, part)


@pytest.mark.parametrize(
    "argv",
    [
        ["cluster", "data.csv"],
        ["fit"],
        ["predict", "model.mdpm"],
        ["predict", "model.mdpm", "data.csv", "--novelty", "--proba"],
        ["demo", "--picture", "a.png", "--no-picture"],
    ],
)
def test_bad_usage(folder, capsys, argv):
    assert_refused(capsys, argv, 2, "--help")


def test_without_a_command_there_is_help(capsys):
    assert cli.main([]) == 2
    assert "mapdpm COMMAND --help" in capsys.readouterr().err


# ---- as a process ----------------------------------------------------------------------------------------------------


def run(*argv, **options):
    # In the folder of the sources, which need not be installed.
    command = [sys.executable, "-m", "mapdpm", *map(str, argv)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False, **options)


def test_as_a_module(folder):
    good = run("fit", folder / "data.csv", "--labels", folder / "labels.csv")
    assert (good.returncode, good.stderr) == (0, "")
    assert good.stdout.startswith("rows  ")
    assert len((folder / "labels.csv").read_text().split()) == 51
    bad = run("fit", folder / "data.csv", "--alpha", "nan")  # 2: an error that Python reports itself has 1
    assert (bad.returncode, bad.stdout, bad.stderr.count("\n")) == (2, "", 1)
    assert bad.stderr.startswith("mapdpm: error: ")


def test_version_is_quick_for_what_it_does_not_load():
    code = "import sys, mapdpm.cli; mapdpm.cli.main(['--version']); print(*sys.modules)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=300)
    loaded = set(done.stdout.split())
    assert not loaded & {"numba", "scipy", "sklearn", "matplotlib", "mapdpm.estimators", "mapdpm.cli.demo"}


def test_a_reader_that_has_seen_enough_is_no_error(folder):
    command = [sys.executable, "-m", "mapdpm", "score", folder / "model.mdpm", folder / "data.csv"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=300) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_behind_stdout(folder):
    command = [sys.executable, "-m", "mapdpm", "score", folder / "model.mdpm", folder / "data.csv"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, check=False, timeout=300)
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
    assert done.stderr.startswith(b"mapdpm: error: ")


# ---- tune ------------------------------------------------------------------------------------------------------------


def test_tune_chooses_what_python_does(folder, points, capsys):
    assert cli.main(["tune", "data.csv", "--alphas", "0.5:5:3", "--folds", "4", "--out", "tuned.mdpm"]) == 0
    header, *rows = lines_of(capsys)
    found = mapdpm.select_alpha(points, np.geomspace(0.5, 5.0, 3), folds=4)
    assert header == "alpha,score,standard_error,clusters,chosen"
    assert [row.split(",")[0] for row in rows] == [f"{alpha:.6g}" for alpha in found.alphas]
    assert [row.endswith("*") for row in rows] == [number == found.chosen for number in range(3)]
    assert mapdpm.load("tuned.mdpm").alpha == found.alpha


def test_default_starts_are_of_the_methods_that_find_alpha():
    assert set(ALPHA_STARTS) == set(selection._ALTERNATING)


@pytest.mark.parametrize("method", METHODS)
def test_tune_by_each_method(folder, capsys, method):
    more = ["--folds", "2", "--prior", "b0=2"] if method == "prequential" else []
    assert cli.main(["tune", "data.csv", "--method", method, "--alphas", "0.5,2", "--format", "jsonl", *more]) == 0
    rows = [json.loads(line) for line in lines_of(capsys)]
    assert sum(row["chosen"] for row in rows) == 1
    assert len(rows) == 2


def test_tune_varies_the_width(folder, points, capsys):
    argv = ["tune", "data.csv", "--alphas", "0.5,2", "--vary", "b0=0.1:10:3", "--vary", "c0_scale=1,3", "--folds", "3"]
    assert cli.main([*argv, "--out", "tuned.mdpm"]) == 0
    captured = capsys.readouterr()
    header, *rows = captured.out.splitlines()
    assert header == "alpha,b0,c0_scale,score,standard_error,clusters,chosen"
    widths = np.geomspace(0.1, 10.0, 3)
    grid = [{"alpha": a, "b0": b, "c0_scale": c} for a in (0.5, 2.0) for b in widths for c in (1.0, 3.0)]
    found = mapdpm.select_alpha(points, grid, folds=3)
    values = [tuple(map(float, row.split(",")[:4])) for row in rows]
    settings = [tuple(setting.values()) for setting in grid]
    np.testing.assert_allclose(values, np.column_stack([settings, found.mean_scores]), rtol=1e-5)
    assert [row.endswith("*") for row in rows].index(True) == found.chosen
    assert mapdpm.load("tuned.mdpm").likelihood_ == found.model.likelihood_
    assert captured.err.startswith(f"alpha {found.alpha:.6g}, b0 {found.params['b0']:.6g}, ")


@pytest.mark.parametrize(("method", "more"), [("empirical-bayes", []), ("map", ["--vary", "b0=0.5,2"])])
def test_tune_starts_where_the_library_does(folder, points, capsys, method, more):
    assert cli.main(["tune", "data.csv", "--method", method, *more, "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in lines_of(capsys)]
    starts = [{"alpha": alpha, "b0": b0} for alpha in (0.1, 1.0, 10.0) for b0 in (0.5, 2.0)] if more else None
    found = mapdpm.select_alpha(points, starts, method=method)
    assert [{name: row[name] for name in found.params} for row in rows] == found.settings
    assert [row["score"] for row in rows] == found.mean_scores.tolist()


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--vary", "b0"], "argument --vary: must be NAME=GRID, as b0=0.1:10:5 or b0=0.5,1,2, got 'b0'"),
        (["--vary", "b0=0,1"], "argument --vary: must be a number > 0, got 0"),
        (["--vary", "b=1,2"], "argument --vary: normal-gamma has no parameter 'b'; it has m0, c0, a0, b0"),
        (
            ["--vary", "b0=1,2", "--vary", "b0_scale=1"],
            "argument --vary: each parameter at most once, got b0, b0_scale",
        ),
        (["--vary", "b0=1,1e300"], "argument --vary: b0 must be"),
        (["--vary", "b0=1", "--standardize", "--prior", "c0=1"], "with --standardize name multiples of what the prior"),
        (
            ["--vary", "b0=1", "--likelihood", "normal-known-variance"],
            "has no parameter 'b0'; it has m0, prior_variance",
        ),
    ],
)
def test_tune_refuses_to_vary(folder, capsys, argv, says):
    assert_refused(capsys, ["tune", "data.csv", *argv], 2, says)


def test_tune_refuses(folder, capsys):
    assert_refused(capsys, ["tune", "data.csv", "--alphas", "0:1:3"], 2, "must be a number > 0, got 0")
    assert_refused(capsys, ["tune", "data.csv", "--alphas", "1:2"], 2, "must be an integer >= 1")
    assert_refused(
        capsys, ["tune", "data.csv", "--alphas", "1:2:9999999999"], 2, "must have at most 100000 values, got"
    )
    assert_refused(capsys, ["tune", "data.csv", "--alphas", "1"], 1, "at least 2 to choose from")
    assert_refused(capsys, ["tune", "data.csv", "--folds", "51"], 1, "51 folds of 50 points")
