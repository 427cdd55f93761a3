"""``mapdpm stream --states``: what OnlineHDPHMM finds comes out; pauses, resumed states, and what does not fit."""

import csv
import json
import math
import subprocess
from pathlib import Path

import numpy as np
import pytest

import mapdpm
from command_line import streamed
from mapdpm import OnlineHDPHMM, cli
from tests.search.test_states import machine

X, _ = machine(0, 1200, 4, apart=3.0, dwell=20)
TIMES = np.arange(1200.0) + 100.0 * (np.arange(1200) >= 700)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A current folder with data.csv: the time and two values of 1,200 points, with a pause before the 701st."""
    monkeypatch.chdir(tmp_path)
    rows = (",".join(map(repr, (float(t), *x))) for t, x in zip(TIMES, X.tolist(), strict=True))
    Path("data.csv").write_text("t,a,b\n" + "\n".join(rows) + "\n")


def expected(pause=None, **parameters):
    """The lines of a learner that Python makes."""
    model, found = OnlineHDPHMM(**parameters), []
    for i, x in enumerate(X.tolist()):
        before = model.n_events
        if pause is not None and i and TIMES[i] - TIMES[i - 1] > pause:
            model.gap()
        number, score = model.learn_scored(x, *([] if pause is None else [TIMES[i]]))
        new = model.events[len(model.events) - (model.n_events - before) :]
        events = [{"kind": e.kind, "id": e.id, "other": e.other} for e in new] or None
        found.append(
            {"id": number, "score": None if math.isnan(score) else score, "event": events, "run": model.run_length}
        )
    return found, model


def test_prints_what_python_finds(capsys):
    streamed("data.csv", "--columns", "a,b", "--states", "--max-clusters", 6, "--kappa", 2, "--gamma", 3, "--lag", 4)
    wanted, _ = expected(max_states=6, kappa=2.0, gamma=3.0, lag=4)
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == wanted
    assert sum(row["run"] == 1 for row in wanted) > 10


def test_csv_has_the_run_too(capsys):
    streamed("data.csv", "--columns", "a,b", "--states", "--format", "csv", "--quiet")
    header, *rows = csv.reader(capsys.readouterr().out.splitlines())
    assert header == ["id", "score", "event", "run"]
    assert [int(row[3]) for row in rows] == [each["run"] for each in expected()[0]]


def test_a_pause_ends_the_sequence(capsys):
    """Also where the command was stopped before the pause: the state knows the time of its last point."""
    command = [
        "data.csv",
        "--columns",
        "a,b",
        "--time",
        "t",
        "--states",
        "--pause",
        "50",
        "--state",
        "s.mdpm",
        "--quiet",
    ]
    streamed(*command, "--count", 700)
    streamed(*command)
    wanted, model = expected(pause=50.0)
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == wanted
    assert mapdpm.load("s.mdpm").transitions.tolist() == model.transitions.tolist()
    assert wanted != expected(pause=1000.0)[0]


def test_a_state_goes_on_without_its_options(capsys):
    whole, _ = expected(kappa=5.0)
    streamed("data.csv", "--columns", "a,b", "--states", "--kappa", 5, "--state", "s.mdpm", "--count", 333, "--quiet")
    streamed("data.csv", "--columns", "a,b", "--state", "s.mdpm", "--quiet")
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == whole


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--kappa", "3"], "--kappa: needs --states"),
        (["--lag", "3"], "--lag: needs --states"),
        (["--gamma", "3"], "--gamma: needs --states"),
        (["--pause", "3", "--time", "t"], "--pause: needs --states"),
        (["--states", "--pause", "3"], "--pause: needs --time"),
        (["--states", "--kappa", "-1"], "a number >= 0"),
        (["--states", "--lag", "5000"], "lag must be at most 1024"),
        (["--states", "--state", "plain.mdpm"], "was begun without it"),
        (["--kappa", "7", "--state", "states.mdpm"], "was begun with 5"),
    ],
)
def test_what_does_not_fit(argv, words, capsys):
    streamed("data.csv", "--columns", "a,b", "--state", "plain.mdpm", "--count", 300, "--quiet")
    streamed(
        "data.csv", "--columns", "a,b", "--states", "--kappa", 5, "--state", "states.mdpm", "--count", 300, "--quiet"
    )
    capsys.readouterr()
    streamed("data.csv", "--columns", "a,b", *argv, code=2)
    assert words in capsys.readouterr().err


def test_other_commands_know_the_file(capsys):
    """predict and score say what it is; export writes a program, which goes on with the same bits."""
    streamed("data.csv", "--columns", "a,b", "--states", "--state", "s.mdpm", "--quiet", "--output", "out.jsonl")
    for command in ("predict", "score"):
        assert cli.main([command, "s.mdpm", "data.csv"]) == 1
        assert "stream of states in time" in capsys.readouterr().err
    assert cli.main(["export", "s.mdpm", "--c", "c"]) == 2
    assert "only be exported as it is" in capsys.readouterr().err
    assert cli.main(["export", "s.mdpm", "--c", "c", "--dtype", "float64"]) == 0
    switches = ["-DMAPDPM_REAL=double", "-DMAPDPM_STATES"]
    subprocess.run(["cc", "-std=c99", *switches, "main.c", "mapdpm.c", "-o", "learn"], cwd="c", check=True)
    points = "\n".join(f"{a!r} {b!r}" for a, b in X[:50].tolist())
    said = subprocess.run(
        ["./learn", "model.mdpm"], cwd="c", input=points, capture_output=True, text=True, check=True
    ).stdout
    model = mapdpm.load("s.mdpm")
    assert [int(line.split()[0]) for line in said.splitlines()] == [model.learn_one(x) for x in X[:50].tolist()]
    assert OnlineHDPHMM.from_bytes(Path("c/model.mdpm").read_bytes()).belief.tolist() == model.belief.tolist()
