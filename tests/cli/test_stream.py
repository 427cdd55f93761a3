"""``mapdpm stream`` on lines: what Python finds comes out, and no end loses or doubles a line."""

import csv
import errno
import json
import math
import os
import random
import resource
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import mapdpm
from command_line import expected, learned, made, started, streamed, text_of
from mapdpm import MAPDPM, OnlineMAPDPM, cli
from mapdpm.cli import options, text_rows
from mapdpm.files import container

PRIOR = ["--prior", "m0=0", "--prior", "c0=0.1", "--prior", "a0=1", "--prior", "b0=1"]
SKIP = ["--on-error", "skip"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A current folder with data.csv: a header and 1000 points."""
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("height,width\n" + text_of(made(1000)))
    return tmp_path


def refused(capsys, code, *argv):
    """``argv`` ends with ``code`` and one line, which is returned; no file has changed."""
    before = {path: path.read_bytes() for path in Path().iterdir()}
    streamed(*argv, code=code)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("mapdpm: error: ")
    assert captured.err.count("\n") == 1
    assert {path: path.read_bytes() for path in Path().iterdir()} == before
    return captured.err.removeprefix("mapdpm: error: ").rstrip()


# ---- what works ------------------------------------------------------------------------------------------------------


def test_prints_what_python_finds(folder, capsys):
    streamed("data.csv", "--state", "state.mdpm", "--max-clusters", 4)
    captured = capsys.readouterr()
    rows, model = expected(made(1000), max_clusters=4)
    assert [json.loads(line) for line in captured.out.splitlines()] == rows
    assert any(row["event"] for row in rows)
    assert [row["score"] is None for row in rows] == [True] * 200 + [False] * 800
    assert captured.err == (
        f"mapdpm: 1000 points learned, 0 skipped, {model.n_clusters} clusters; data.csv up to line 1001\n"
    )
    loaded = mapdpm.load("state.mdpm")
    assert learned("state.mdpm") == model._learner.write()
    assert list(loaded.feature_names_in_) == ["height", "width"]
    assert [loaded.learn_one(x) for x in made(50, 1)] == model.learn_many(made(50, 1)).tolist()


def test_csv_has_the_same(folder, capsys):
    streamed("data.csv", "--format", "csv", "--quiet")
    captured = capsys.readouterr()
    header, *rows = csv.reader(captured.out.splitlines())
    assert captured.err == ""
    assert header == ["id", "score", "event"]
    for row, wanted in zip(rows, expected(made(1000))[0], strict=True):
        events = ";".join(
            " ".join(str(part) for part in event.values() if part is not None) for event in wanted["event"] or ()
        )
        assert row == [str(wanted["id"]), "" if wanted["score"] is None else repr(wanted["score"]), events]


def test_every_option_reaches_the_learner(folder):
    wanted = {"max_clusters": 5, "alpha": 2.5, "half_life": 300.0, "warmup": 60, "when_full": "evict"}
    wanted |= {"missing": "skip", "dtype": "float32"}
    argv = [str(part) for name, value in wanted.items() for part in (f"--{name.replace('_', '-')}", value)]
    streamed("data.csv", *argv, "--state", "state.mdpm", "--output", "out.jsonl")
    assert learned("state.mdpm") == expected(made(1000), **wanted)[1]._learner.write()


KNOWN = ["--likelihood", "normal-known-variance", "--prior", "m0=1,2", "--prior", "variance=0.5"]


@pytest.mark.parametrize(
    ("argv", "likelihood"),
    [
        (PRIOR, mapdpm.NormalGamma(0.0, 0.1, 1.0, 1.0)),
        ([*KNOWN, "--prior", "prior_variance=100"], mapdpm.NormalKnownVariance([1.0, 2.0], 100.0, 0.5)),
    ],
)
def test_a_prior_instead_of_a_warm_up(folder, argv, likelihood):
    streamed("data.csv", *argv, "--output", "out.jsonl")
    rows, _ = expected(made(1000), likelihood=likelihood)
    assert [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()] == rows


@pytest.mark.parametrize(
    ("lines", "argv"),
    [
        ("who,width,height\n{who},{w},{h}", ["--columns", "height,width"]),
        ("{who},{w},{h}", ["--columns", "3,2"]),
        ('"a, b";height;width\n"x;y";{h};{w}', ["--columns", "2-", "--delimiter", ";"]),
        ("\ufeffheight,width\r\n{h},{w}\r", []),
    ],
)
def test_columns(folder, lines, argv):
    header, newline, row = lines.rpartition("\n")
    points = made(300)
    rows = "".join(row.format(who="Ann", h=h, w=w) + "\n" for h, w in points.tolist())
    Path("other.csv").write_bytes((header + newline + rows).encode())
    streamed("other.csv", *argv, "--output", "out.jsonl", "--state", "state.mdpm")
    assert learned("state.mdpm") == expected(points)[1]._learner.write()


def test_time(folder):
    points = made(500)
    times = np.cumsum(np.random.default_rng(1).exponential(0.5, 500))
    rows = "".join(f"{t!r},{x!r},{y!r}\n" for t, (x, y) in zip(times.tolist(), points.tolist(), strict=True))
    Path("timed.csv").write_text("t,x,y\n" + rows)
    model = OnlineMAPDPM(half_life=60.0)
    model.learn_many(points, times)
    for at in ("t", "1"):
        streamed("timed.csv", "--time", at, "--half-life", 60, "--output", "out.jsonl", "--state", f"{at}.mdpm")
        assert learned(f"{at}.mdpm") == model._learner.write()


def test_missing_values(folder):
    points = made(500)
    points[5::7, 0] = points[::11, 1] = np.nan
    rows = text_of(points).replace("nan,", ",")  # blank in one column, nan in the other
    Path("gaps.csv").write_text(rows)
    wanted = [x for x in points if not np.isnan(x).all()]
    streamed("gaps.csv", "--missing", "skip", *SKIP, "--output", "out.jsonl", "--state", "state.mdpm")
    assert learned("state.mdpm") == expected(np.array(wanted), missing="skip")[1]._learner.write()


def test_count_and_another_run(folder):
    streamed("data.csv", "--state", "state.mdpm", "--output", "out.jsonl", "--count", 300)
    assert mapdpm.load("state.mdpm").n_seen == len(Path("out.jsonl").read_text().splitlines()) == 300
    streamed("data.csv", "--state", "state.mdpm", "--output", "out.jsonl")
    rows, model = expected(made(1000))
    assert [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()] == rows
    assert learned("state.mdpm") == model._learner.write()


def test_examples_of_help_run(folder, capfd):
    for line in options._STREAM_EXAMPLES.splitlines():
        if "--mqtt" in line or "-f " in line:
            continue  # those run for ever
        program = f"{shlex.quote(sys.executable)} -m mapdpm"
        done = subprocess.run(line.replace("mapdpm", program, 1), shell=True, check=False, timeout=60)  # noqa: S602
        assert done.returncode == 0, capfd.readouterr().err
    assert Path("state.mdpm").exists()


# ---- lines that cannot be learned ------------------------------------------------------------------------------------


WRONG = [
    ("", "line 4 is blank"),
    ("1", "line 4 has 1 column, but the first has 2"),
    ("1,2,3", "line 4 has 3 columns, but the first has 2"),
    ("x,2", "line 4, column 1 (height) is not a number: 'x'; the columns of numbers are --columns 2"),
    (
        "1,",
        "line 4, column 2 (width) is blank; remove or fill such rows, or learn with --missing skip",
    ),
    ("nan,2", "line 4, column 1 (height) is not a finite number: 'nan'; remove or fill such rows"),
    ("1,-inf", "line 4, column 2 (width) is not a finite number: '-inf'; remove or fill such rows"),
    ('"1,2', "line 4 is not CSV: unexpected end of data"),
    ("\udcff,2", "line 4, column 1 (height) is not a number: 'ÿ'; the columns of numbers are --columns 2"),
    ("1e300,2", "line 4: x lies too far from the prior mean"),
]


@pytest.fixture
def garbage(folder):
    """Write garbage.csv: a header, two points, a wrong line, two points."""

    def write(line):
        text = f"height,width\n0.1,0.2\n0.3,0.4\n{line}\n0.5,0.6\n0.7,0.8\n"
        Path("garbage.csv").write_bytes(text.encode(errors="surrogateescape"))

    return write


@pytest.mark.parametrize(("line", "says"), WRONG)
def test_a_line_that_cannot_be_learned(garbage, capsys, line, says):
    garbage(line)
    argv = ["garbage.csv", *PRIOR, "--output", "out.jsonl", "--state", "state.mdpm"]
    streamed(*argv, code=1)
    said = capsys.readouterr().err
    assert said.removeprefix("mapdpm: garbage.csv: text in Windows-1252 (Latin-1)\n").startswith(
        f"mapdpm: error: garbage.csv: {says}"
    )
    assert said.endswith("; --on-error skip leaves out what cannot be learned\n")
    assert mapdpm.load("state.mdpm").n_seen == 2  # what was before is kept
    streamed(*argv, *SKIP)
    said = capsys.readouterr().err
    assert f"mapdpm: warning: garbage.csv: {says}" in said
    assert "mapdpm: 4 points learned, 1 skipped, 1 cluster; garbage.csv up to line 6\n" in said
    points = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]])
    rows, model = expected(points, likelihood=mapdpm.NormalGamma(0.0, 0.1, 1.0, 1.0))
    assert [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()] == rows
    assert learned("state.mdpm") == model._learner.write()


def test_a_line_that_was_mended(garbage):
    garbage("x,2")
    argv = ["garbage.csv", *PRIOR, "--state", "state.mdpm", "--output", "out.jsonl"]
    streamed(*argv, code=1)
    garbage("0.45,2")
    streamed(*argv)
    assert mapdpm.load("state.mdpm").n_seen == 5


def test_many_wrong_lines_are_counted(folder, capsys):
    Path("bad.csv").write_text("1,2\n" + "x,y\n" * 500)
    streamed("bad.csv", *SKIP, "--output", "out.jsonl", "--state", "state.mdpm", code=1)
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 12
    assert said[9].endswith("; others are only counted")
    assert said[-2] == "mapdpm: 1 point learned, 500 skipped, 0 clusters; bad.csv up to line 501"
    first = "the first that was skipped: bad.csv: line 2, column 1 is not a number"
    assert said[-1].startswith(f"mapdpm: error: bad.csv: 1 of 501 points used; {first}")
    assert mapdpm.load("state.mdpm").n_seen == 1
    streamed("bad.csv", *SKIP, "--output", "out.jsonl", "--state", "state.mdpm")  # nothing is new


def test_no_room_is_a_line_that_cannot_be_learned(folder, capsys):
    Path("far.csv").write_text("0,0\n1000,1000\n0.5,0.5\n")
    argv = ["far.csv", *PRIOR, "--max-clusters", 1, "--when-full", "error"]
    streamed(*argv, code=1)
    assert "far.csv: line 2: all 1 clusters are taken" in capsys.readouterr().err
    streamed(*argv, *SKIP)
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.parametrize(
    ("code", "argv", "says"),
    [
        (1, "gone.csv", "gone.csv: No such file or directory"),
        (1, ".", ".: Is a directory"),
        (1, "text.csv", "text.csv: line 2, column 1 (who) is not a number: 'Ann'; the columns of numbers are"),
        (1, "data.csv --columns depth --output old.jsonl", "data.csv has no column 'depth'; it has height, width"),
        (1, "data.csv --time when", "data.csv has no column 'when' for --time; it has height, width"),
        (1, "one.csv --time 1", "one.csv has no column but the time"),
        (1, "data.csv.gz", "data.csv.gz is not a whole gzip file: Error -3 while decompressing data: unknown"),
        (1, "data.csv --state batch.mdpm", "batch.mdpm: it holds a model of mapdpm fit"),
        (1, "data.csv --state text.csv", "text.csv: not a mapdpm model"),
        (1, "data.csv --output no/out.jsonl", "cannot write no/out.jsonl: there is no folder no"),
        (
            1,
            "data.csv --prior m0=0,0,0 --prior c0=1 --prior a0=1 --prior b0=1",
            "data.csv has 2 columns, but --prior is",
        ),
        (2, "data.csv --state data.csv", "data.csv cannot be written: another file of this command has that name"),
        (2, "data.csv --state a --output a", "a cannot be written: another file of this command has that name"),
        (2, "data.csv --warmup 1", "warmup must be"),
        (2, "data.csv --max-clusters 1000000000", "max_clusters must be at most"),
        (2, "data.csv --prior b0=1", "argument --prior: normal-gamma needs all of m0, c0, a0, b0 before there is"),
        (2, "data.csv --likelihood normal-known-variance", "argument --prior: normal-known-variance needs all of"),
        (2, "data.csv --warmup 9 --prior m0=0 --prior c0=1 --prior a0=1 --prior b0=1", "argument --warmup: with"),
        (2, "data.csv --prior m0=0 --prior c0=1 --prior a0=1 --prior b0=-1", "argument --prior: b0 must be > 0"),
        (2, "--follow", "argument --follow: needs a file"),
        (2, "data.csv --output out.gz", "argument --output: results are not compressed as they come"),
        (2, "data.csv --checkpoint-points 5", "argument --checkpoint-points: needs --state"),
        (2, "data.csv --topic a", "argument --topic: needs --mqtt"),
        (2, "--mqtt localhost", "argument --mqtt: needs --topic"),
        (2, "--mqtt localhost:0 --topic a", "argument --mqtt: must be [USER@]HOST[:PORT], or that"),
        (2, "data.csv --mqtt localhost --topic a", "argument --mqtt: points come from there or from a file"),
    ],
)
def test_what_cannot_be(folder, capsys, code, argv, says):
    Path("text.csv").write_text("who,height\nAnn,1\n")
    Path("one.csv").write_text("1\n2\n")
    Path("old.jsonl").write_text("results of yesterday\n")
    Path("data.csv.gz").write_bytes(b"\x1f\x8b and so on")
    mapdpm.MAPDPM().fit(made(20)).save("batch.mdpm")
    assert refused(capsys, code, *argv.split()).startswith(says)


# ---- states that do not fit ------------------------------------------------------------------------------------------


@pytest.fixture
def begun(folder, capsys):
    streamed("data.csv", "--state", "state.mdpm", "--output", "out.jsonl", "--count", 500, "--alpha", 2)
    capsys.readouterr()


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (
            "--alpha 3",
            "argument --alpha: state.mdpm was begun with 2.0, got 3.0; leave --alpha out, or name another file",
        ),
        ("--max-clusters 3", "argument --max-clusters: state.mdpm was begun with 16, got 3"),
        ("--half-life 3", "argument --half-life: state.mdpm was begun without it, got 3.0"),
        ("--dtype float32", "argument --dtype: state.mdpm was begun with float64, got float32"),
        ("--missing skip", "argument --missing: state.mdpm was begun with error, got skip"),
        ("--columns width", "argument --columns: state.mdpm was begun without it, got width"),
        ("--time width", "argument --time: state.mdpm was begun without it, got width"),
        ("--format csv", "argument --format: state.mdpm was begun with jsonl, got csv"),
        ("--prior b0=1", "argument --prior: state.mdpm was begun without it, got b0=1.0"),
    ],
)
def test_parameters_of_another_checkpoint(begun, capsys, argv, says):
    said = refused(capsys, 2, "data.csv", "--state", "state.mdpm", "--output", "out.jsonl", *argv.split())
    assert said.startswith(says)


def test_parameters_that_are_said_again_or_not_at_all(begun, capsys):
    streamed("data.csv", "--state", "state.mdpm", "--output", "out.jsonl", "--alpha", "2", "--count", 100)
    streamed("data.csv", "--state", "state.mdpm", "--output", "out.jsonl")
    assert learned("state.mdpm") == expected(made(1000), alpha=2.0)[1]._learner.write()


def test_another_file_than_that_of_the_state(begun, capsys):
    argv = ["data.csv", "--state", "state.mdpm", "--output", "out.jsonl"]
    whole = Path("data.csv").read_text()
    Path("data.csv").write_text(whole[:1000])
    assert "data.csv has 1000 bytes, but state.mdpm goes on after byte" in refused(capsys, 1, *argv)
    Path("data.csv").write_text(whole.replace("1", "2"))
    assert "data.csv has changed before byte" in refused(capsys, 1, *argv)
    Path("data.csv").write_text(whole)
    results = Path("out.jsonl").read_text()
    Path("out.jsonl").write_text(results[:50])
    assert "out.jsonl has 50 bytes, but state.mdpm goes on after byte" in refused(capsys, 1, *argv)
    Path("out.jsonl").unlink()
    assert "out.jsonl is gone, but state.mdpm goes on after byte" in refused(capsys, 1, *argv)
    Path("other.csv").write_text("width,height\n1,2\n")
    said = cli.main(["stream", "other.csv", "--state", "state.mdpm", "--continue"])
    captured = capsys.readouterr().err
    assert said == 1
    assert "data.csv; other.csv is read from its beginning" in captured
    assert "other.csv has the columns width, height, but state.mdpm is of others: height, width" in captured


def test_the_file_of_the_next_day(begun, capsys):
    Path("tuesday.csv").write_text("height,width\n" + text_of(made(100, 1)))
    argv = ("tuesday.csv", "--state", "state.mdpm", "--output", "tuesday.jsonl")
    held = f"state.mdpm holds 500 points, up to line 501 of {Path('data.csv').resolve()}"
    asked = refused(capsys, 2, *argv)
    assert f"{held}, and this input is tuesday.csv: --continue goes on" in asked
    assert "--restart forgets it and begins anew; or name another file for --state" in asked
    streamed(*argv, "--continue")
    assert f"{held}; tuesday.csv is read from its beginning" in capsys.readouterr().err
    both = np.concatenate([made(1000)[:500], made(100, 1)])
    rows, model = expected(both, alpha=2.0)
    assert learned("state.mdpm") == model._learner.write()
    assert [json.loads(line) for line in Path("tuesday.jsonl").read_text().splitlines()] == rows[500:]


def test_a_checkpoint_that_begins_anew(begun, capsys):
    Path("tuesday.csv").write_text("height,width\n" + text_of(made(100, 1)))
    streamed("tuesday.csv", "--state", "state.mdpm", "--output", "out.jsonl", "--restart", "--warmup", 20)
    rows, model = expected(made(100, 1), warmup=20)
    assert learned("state.mdpm") == model._learner.write()
    assert [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()] == rows
    streamed(
        "tuesday.csv", "--state", "state.mdpm", "--output", "out.jsonl", "--restart", "--warmup", 20
    )  # or the same
    assert [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()] == rows
    Path("model.mdpm").write_bytes(MAPDPM().fit(made(50)).to_bytes())
    capsys.readouterr()
    assert "holds a model of mapdpm fit" in refused(capsys, 1, "data.csv", "--state", "model.mdpm", "--restart")
    assert "not allowed with argument" in refused(
        capsys, 2, "data.csv", "--state", "state.mdpm", "--restart", "--continue"
    )
    for option in ("--restart", "--continue"):
        assert f"{option}: needs --state" in refused(capsys, 2, "data.csv", option)


def test_another_kind_of_input_is_asked_about(begun, capsys, monkeypatch):
    reader, writer = os.pipe()
    os.close(writer)
    with os.fdopen(reader) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert "and this input is standard input: --continue" in refused(capsys, 2, "--state", "state.mdpm")


def test_a_learner_that_python_saved(folder, capsys):
    model = OnlineMAPDPM(max_clusters=7).partial_fit(made(300, 1))
    model.save("state.mdpm")
    streamed("data.csv", "--state", "state.mdpm", "--output", "out.jsonl", "--max-clusters", 7)
    assert learned("state.mdpm") == model.partial_fit(made(1000))._learner.write()
    model.save("other.mdpm")
    capsys.readouterr()
    Path("three.csv").write_text("1,2,3\n")
    assert "three.csv has 3 columns, but other.mdpm is of 2" in refused(capsys, 1, "three.csv", "--state", "other.mdpm")
    assert "--alpha: other.mdpm was begun with 1.0" in refused(
        capsys, 2, "data.csv", "--state", "other.mdpm", "--alpha", 9
    )


def test_a_damaged_state(begun, capsys):
    data = Path("state.mdpm").read_bytes()
    held = container.check_stream(data)[1]["stream"]
    changes = [{name: None} for name in held] + [{name: {}} for name in held]
    changes += [{"input": held["input"] | {"offset": "x"}}, {"columns": held["columns"] | {"places": [0, 5]}}]
    changes += [{"counts": {"learned": "x", "skipped": []}}, {"counts": {"learned": math.inf, "skipped": 0}}]
    changes += [{"input": held["input"] | {"line": line}} for line in ("x", -1, 1.5, None, 10**400)]
    changes += [{"settings": held["settings"] | {"delimiter": mark}} for mark in (3, "", "::", '"', "\n")]
    changes += [{"settings": held["settings"] | {"format": ["csv"]}}]
    for change in changes:
        Path("state.mdpm").write_bytes(container.with_extras(data, {"stream": held | change}))
        assert mapdpm.load("state.mdpm").n_seen == 500
        streamed("data.csv", "--state", "state.mdpm", "--output", "out.jsonl", code=1)
        said = capsys.readouterr().err
        assert said.startswith("mapdpm: error: ")
        assert said.count("\n") == 1


@pytest.mark.parametrize("names", [[1, 2], ["x", None], [["x"], "y"], [{}, {}], "xy", {"x": 0, "y": 1}], ids=str)
def test_names_that_are_no_texts(folder, capsys, names):
    """In a state that goes on with another file, whose header is compared with them."""
    Path("named.csv").write_text("x,y\n1,2\n")
    Path("other.csv").write_text("a,b\n1,2\n")
    streamed("named.csv", "--state", "state.mdpm")
    capsys.readouterr()
    data = Path("state.mdpm").read_bytes()
    held = container.check_stream(data)[1]["stream"]
    assert held["columns"]["names"] == ["x", "y"]
    held["columns"]["names"] = names
    Path("state.mdpm").write_bytes(container.with_extras(data, {"stream": held}))
    streamed("other.csv", "--state", "state.mdpm", code=1)
    assert capsys.readouterr().err.endswith("the model file is damaged: its columns do not fit)\n")
    Path("state.mdpm").write_bytes(container.with_extras(data, {"feature_names_in_": names}))
    streamed("other.csv", "--state", "state.mdpm", code=1)
    assert capsys.readouterr().err == (
        "mapdpm: error: state.mdpm: the model file is damaged: its names of features do not fit\n"
    )


def test_an_output_that_is_gone_and_has_no_position(begun, capsys):
    data = Path("state.mdpm").read_bytes()
    held = container.check_stream(data)[1]["stream"]
    del held["output"]["offset"]
    Path("state.mdpm").write_bytes(container.with_extras(data, {"stream": held}))
    Path("out.jsonl").unlink()
    assert "out.jsonl is gone" in refused(capsys, 1, "data.csv", "--state", "state.mdpm", "--output", "out.jsonl")


@pytest.mark.parametrize("unsent", [{}, {"unsent": 3}, {"unsent": None}], ids=str)
def test_results_for_a_broker_that_are_none(begun, capsys, unsent):
    pytest.importorskip("paho.mqtt.client", reason="no paho-mqtt: pip install 'mapdpm[mqtt]'")
    data = Path("state.mdpm").read_bytes()
    held = container.check_stream(data)[1]["stream"] | {"output": {"path": "results", **unsent}}
    Path("state.mdpm").write_bytes(container.with_extras(data, {"stream": held}))
    broker = ("--mqtt", "127.0.0.1:1", "--topic", "points", "--publish", "results", "--client-id", "test")
    assert "its position cannot be read" in refused(capsys, 1, *broker, "--state", "state.mdpm")


# ---- the last line, and files that grow ------------------------------------------------------------------------------


def test_the_last_line_may_have_no_end(folder, capsys):
    argv = ["grows.csv", *PRIOR, "--state", "state.mdpm", "--output", "out.jsonl"]
    Path("grows.csv").write_text("1,2\n3,4")
    streamed(*argv)
    streamed(*argv)
    assert mapdpm.load("state.mdpm").n_seen == 2
    with Path("grows.csv").open("a") as file:
        file.write("\n5,6\n")
    streamed(*argv)
    assert mapdpm.load("state.mdpm").n_seen == 3
    Path("grows.csv").write_text("1,2\n3,4\n5,6\n7,8")
    streamed(*argv)
    capsys.readouterr()
    Path("grows.csv").write_text("1,2\n3,4\n5,6\n7,89\n")
    streamed(*argv, code=1)
    assert "grows.csv: line 4 has grown since it was learned" in capsys.readouterr().err
    assert mapdpm.load("state.mdpm").n_seen == 4


def test_following(folder):
    prior = mapdpm.NormalGamma(0.0, 0.1, 1.0, 1.0)
    rows, model = expected(np.array([[1.0, 2.0], [3.0, 45.0], [5.0, 6.0]]), likelihood=prior)
    with Path("grows.csv").open("w") as file:
        file.write("x,y\n1,2\n3,4")
        file.flush()
        with started("stream", "grows.csv", "--follow", *PRIOR, "--state", "state.mdpm") as process:
            assert json.loads(process.stdout.readline()) == rows[0]
            file.write("5\n")
            file.flush()
            assert json.loads(process.stdout.readline()) == rows[1]
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=60) == 143
        assert mapdpm.load("state.mdpm").n_seen == 2
        with started("stream", "grows.csv", "--follow", "--state", "state.mdpm") as process:
            file.write("5,6\n")
            file.flush()
            assert json.loads(process.stdout.readline()) == rows[2]
            file.truncate(5)
            assert process.wait(timeout=60) == 1
            said = process.stderr.read()
            assert "mapdpm: error: grows.csv has become shorter while it was followed" in said
            assert "Traceback" not in said
    assert learned("state.mdpm") == model._learner.write()


# ---- no end loses or doubles a line ----------------------------------------------------------------------------------


@pytest.mark.complete
def test_killed_at_any_moment(folder):
    """SIGKILL, ten times; the output is that of a run that nobody killed, byte for byte."""
    lines = text_of(made(6000)).splitlines()
    for at in range(100, 6000, 500):
        lines[at] = "garbage"
    Path("big.csv").write_text("height,width\n" + "\n".join(lines) + "\n")
    argv = ["big.csv", *SKIP, "--quiet", "--half-life", 500, "--checkpoint-points", 40]
    streamed(*argv, "--state", "whole.mdpm", "--output", "whole.jsonl")
    whole = Path("whole.jsonl").read_bytes()
    argv += ["--state", "state.mdpm", "--output", "out.jsonl"]
    out, state = Path("out.jsonl"), Path("state.mdpm")
    dice = random.Random(0)  # of how far each run comes; the moment within a checkpoint is chance
    offsets = []
    for kill in range(10):
        goal = len(whole) * (kill + dice.random()) / 11
        with started("stream", *argv) as process:
            while process.poll() is None and not (out.exists() and out.stat().st_size >= goal and state.exists()):
                time.sleep(0.0005)
            time.sleep(dice.random() * 0.01)
            process.kill()
            assert process.wait() == -signal.SIGKILL
        held = container.check_stream(state.read_bytes())[1]["stream"]
        offsets.append(held["output"]["offset"])
        assert 0 < offsets[-1] <= out.stat().st_size < len(whole)
    assert len(set(offsets)) >= 8
    streamed(*argv)
    assert out.read_bytes() == whole
    assert learned("state.mdpm") == learned("whole.mdpm")
    held = [container.check_stream(Path(name).read_bytes())[1]["stream"] for name in ("state.mdpm", "whole.mdpm")]
    assert held[0]["counts"] == held[1]["counts"] == {"learned": 5988, "skipped": 12}


def test_results_after_the_last_checkpoint_are_cut_off(begun, folder):
    with Path("out.jsonl").open("a") as file:
        file.write('{"id": 7, "sc')
    streamed("data.csv", "--state", "state.mdpm", "--output", "out.jsonl")
    rows, _ = expected(made(1000), alpha=2.0)
    assert [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()] == rows


def full(after):
    """A function of ``os`` that fails from its ``after``-th call on, as on a full disk."""
    calls = iter(range(after))

    def fail(*args):
        if next(calls, None) is None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*args)

    real = os.fsync
    return fail


@pytest.mark.parametrize(("after", "what"), [(6, "out.jsonl"), (7, "state.mdpm")])
def test_a_full_disk_at_a_checkpoint(folder, capsys, monkeypatch, after, what):
    """Each checkpoint syncs the output, the state and its folder: the third one fails at one of the first two."""
    argv = ["data.csv", "--state", "state.mdpm", "--output", "out.jsonl", "--checkpoint-points", 100]
    monkeypatch.setattr(os, "fsync", full(after))
    streamed(*argv, code=1)
    monkeypatch.undo()
    os.chdir(folder)
    captured = capsys.readouterr()
    assert captured.err == f"mapdpm: error: cannot write {what}: No space left on device\n"
    assert mapdpm.load("state.mdpm").n_seen == 200
    assert not [path for path in folder.iterdir() if path.name.startswith(".mdpm")]
    streamed(*argv)
    rows, _ = expected(made(1000))
    assert [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()] == rows


def test_a_file_that_may_not_grow(folder):
    """A limit of the system: a write takes a part, the next one none."""
    argv = ["data.csv", "--state", "state.mdpm", "--output", "out.jsonl", "--checkpoint-points", 50]
    limit = 20_011

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    with started("stream", *argv, preexec_fn=limited) as process:
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 1
    assert said == "mapdpm: error: cannot write out.jsonl: File too large\n"
    assert Path("out.jsonl").stat().st_size == limit
    assert 0 < mapdpm.load("state.mdpm").n_seen < 1000
    streamed(*argv)
    rows, _ = expected(made(1000))
    assert [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()] == rows


@pytest.mark.complete
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_save_the_state(folder, number, code):
    points = made(400)
    rows, model = expected(points)
    with started("stream", "--state", "state.mdpm", stdin=subprocess.PIPE) as process:
        process.stdin.write(text_of(points[:300]) + "1,2")  # the last line is not whole
        process.stdin.flush()
        found = [json.loads(process.stdout.readline()) for _ in range(300)]
        process.send_signal(number)
        assert process.wait(timeout=60) == code
        said = process.stderr.read()
        assert said.endswith("; standard input up to line 300\n")
        assert "Traceback" not in said
    assert mapdpm.load("state.mdpm").n_seen == 300
    with started("stream", "--state", "state.mdpm", stdin=subprocess.PIPE) as process:
        out, said = process.communicate(text_of(points[300:]), timeout=60)
    assert said.startswith("mapdpm: state.mdpm: standard input must go on with line 301\n")
    assert found + [json.loads(line) for line in out.splitlines()] == rows
    assert learned("state.mdpm") == model._learner.write()


def test_checkpoints_by_time(folder):
    """A checkpoint comes while nothing else does."""
    with started("stream", "--state", "state.mdpm", "--checkpoint-seconds", 0.2, stdin=subprocess.PIPE) as process:
        process.stdin.write(text_of(made(50)))
        process.stdin.flush()
        end = time.monotonic() + 60
        while not Path("state.mdpm").exists() and time.monotonic() < end:
            time.sleep(0.01)
        assert mapdpm.load("state.mdpm").n_seen == 50
        process.kill()
        process.wait()


def test_a_reader_that_has_gone(folder):
    Path("long.csv").write_text(text_of(made(6000)))  # a pipe holds some 1,400 results
    with started("stream", "long.csv", "--state", "state.mdpm") as process:
        assert json.loads(process.stdout.readline())["id"] == 0
        process.stdout.close()
        assert process.wait(timeout=60) == 0
        assert process.stderr.read() == ""
    seen = mapdpm.load("state.mdpm").n_seen
    assert 0 < seen < 6000
    streamed("long.csv", "--state", "state.mdpm", "--output", "rest.jsonl")
    rows, model = expected(made(6000))
    assert learned("state.mdpm") == model._learner.write()
    assert [json.loads(line) for line in Path("rest.jsonl").read_text().splitlines()] == rows[seen:]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_standard_output_that_is_full(begun):
    before = Path("state.mdpm").read_bytes()
    with (
        Path("/dev/full").open("w") as device,
        started("stream", "data.csv", "--state", "state.mdpm", stdout=device) as process,
    ):
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 1
    assert said.endswith("mapdpm: error: cannot write standard output: No space left on device\n")
    assert Path("state.mdpm").read_bytes() == before


def test_nothing_comes(folder, capsys):
    Path("empty.csv").write_text("")
    streamed("empty.csv", "--state", "state.mdpm")
    assert capsys.readouterr().err == "mapdpm: 0 points learned, 0 skipped, 0 clusters; empty.csv up to line 0\n"
    assert not Path("state.mdpm").exists()


def test_a_line_without_end(folder, capsys, monkeypatch):
    monkeypatch.setattr(text_rows, "LONGEST_LINE", 1000)
    Path("long.csv").write_text("1,2\n" + "3" * 2000)
    streamed("long.csv", code=1)
    assert "long.csv: line 2 is longer than 1000 bytes" in capsys.readouterr().err
