"""``mapdpm stream --features``: what a pipeline and a learner find in Python comes out; resumed states; refusals."""

import datetime as dt
import json
import math
import signal
import time
import zoneinfo
from pathlib import Path

import numpy as np
import pytest

import mapdpm
from command_line import expected, made, started, streamed, text_of
from mapdpm import cli, features
from mapdpm.cli import checkpoint
from mapdpm.files import container

TEXT = "Lag(1) | Centre(40) + Seasonal('day', 9)"
X = made(1500)
TIMES = 5000.0 * np.arange(1500)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A current folder with data.csv: the time and two values of 1,500 points."""
    monkeypatch.chdir(tmp_path)
    lines = text_of(np.column_stack([X, TIMES])[:, :2]).splitlines()
    rows = [f"{t!r},{line}" for t, line in zip(TIMES.tolist(), lines, strict=True)]
    Path("data.csv").write_text("t,a,b\n" + "\n".join(rows) + "\n")


def printed(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def lines_of(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def wanted(text, **parameters):
    """The lines of a learner of the features, by the Python interface."""
    pipeline = features.parse(text, parameters.get("dtype"))
    return expected(pipeline.transform_many(X, TIMES), **parameters)[0]


def test_the_learner_gets_the_features(capsys):
    streamed(
        "data.csv", "--columns", "a,b", "--features", "Lag(2) | Centre(30)", "--max-clusters", 5, "--state", "s.mdpm"
    )
    assert printed(capsys) == wanted("Lag(2) | Centre(30)", max_clusters=5)
    model = mapdpm.load("s.mdpm")
    assert model.feature_names_in_.tolist()[2] == "a lag 1 centred"
    assert model.n_features_in_ == 6


def test_seasons_have_the_times(capsys):
    streamed("data.csv", "--time", "t", "--features", "Seasonal('day', 9)", "--half-life", 1e6, "--dtype", "float32")
    rows = features.parse("Seasonal('day', 9)", "float32").transform_many(X, TIMES)
    model = mapdpm.OnlineMAPDPM(half_life=1e6, dtype="float32")
    ids = [model.learn_scored(x, t)[0] for x, t in zip(rows.tolist(), TIMES.tolist(), strict=True)]
    assert [row["id"] for row in printed(capsys)] == ids


def test_where_nothing_comes_out_nothing_is_printed(capsys):
    streamed("data.csv", "--columns", "a,b", "--features", "RMS(4) + CrestFactor(4)", "--count", 1000, "--warmup", 20)
    captured = capsys.readouterr()
    assert "250 points learned" in captured.err
    found = [json.loads(line) for line in captured.out.splitlines()]
    assert found == wanted("RMS(4) + CrestFactor(4)", warmup=20)[:250]


@pytest.mark.parametrize("text", [TEXT, f"RMS(7) | {TEXT}"])
def test_a_resumed_stream_is_the_uninterrupted_one(text):
    argv = ["data.csv", "--time", "t", "--features", text, "--quiet", "--warmup", 30]
    streamed(*argv, "--state", "whole.mdpm", "--output", "whole.jsonl")
    for count in (1, 99, 3, 400, 7):
        streamed(*argv, "--state", "s.mdpm", "--output", "out.jsonl", "--count", count)
    streamed("data.csv", "--quiet", "--state", "s.mdpm", "--output", "out.jsonl")  # the state knows its features
    assert lines_of("out.jsonl") == lines_of("whole.jsonl")
    states = [container.check_stream(Path(name).read_bytes())[1] for name in ("s.mdpm", "whole.mdpm")]
    assert states[0]["stream_features"].tobytes() == states[1]["stream_features"].tobytes()


@pytest.mark.complete
def test_killed_and_resumed():
    """SIGKILL, three times; the output is that of a run that nobody killed."""
    argv = ["data.csv", "--time", "t", "--features", TEXT, "--quiet", "--checkpoint-points", 20]
    streamed(*argv, "--state", "whole.mdpm", "--output", "whole.jsonl")
    argv += ["--state", "s.mdpm", "--output", "out.jsonl"]
    out, state, whole = Path("out.jsonl"), Path("s.mdpm"), Path("whole.jsonl").stat().st_size
    for kill in range(1, 4):
        with started("stream", *argv) as process:
            while process.poll() is None and not (
                out.exists() and out.stat().st_size >= whole * kill / 5 and state.exists()
            ):
                time.sleep(0.0005)
            process.kill()
            assert process.wait() == -signal.SIGKILL
        assert out.stat().st_size < whole
    streamed(*argv)
    assert lines_of("out.jsonl") == lines_of("whole.jsonl")


def test_a_refused_point_leaves_the_features_as_they_were(capsys):
    lines = Path("data.csv").read_text().splitlines()
    Path("wild.csv").write_text("\n".join([*lines[:500], "1.0,1e200,0", "2.0,1e140,0", *lines[500:]]) + "\n")
    argv = ["--columns", "a,b", "--features", "Difference(3)", "--on-error", "skip"]
    streamed("wild.csv", *argv)
    captured = capsys.readouterr()
    assert [json.loads(line) for line in captured.out.splitlines()] == wanted("Difference(3)")
    assert captured.err.count("wild.csv: line 50") == 2


def test_what_does_not_fit_is_refused(capsys):
    def says(code, *argv):
        assert cli.main(["stream", *argv]) == code
        captured = capsys.readouterr()
        assert captured.out == ""
        return captured.err

    assert "argument --features: Lag: n must be an integer >= 1, got 0" in says(2, "data.csv", "--features", "Lag(0)")
    assert "seasons need --time" in says(2, "data.csv", "--features", "Seasonal('hour')")
    streamed(
        "data.csv", "--columns", "a,b", "--features", "Lag(1)", "--state", "s.mdpm", "--quiet", "--output", "out.jsonl"
    )
    streamed("data.csv", "--columns", "a,b", "--state", "plain.mdpm", "--quiet", "--output", "plain.jsonl")
    assert "s.mdpm was begun with Lag(1), got Lag(2)" in says(
        2, "data.csv", "--features", "Lag(2)", "--state", "s.mdpm"
    )
    assert "was begun without it" in says(2, "data.csv", "--features", "Lag(2)", "--state", "plain.mdpm")
    data = Path("s.mdpm").read_bytes()
    for wrong in (
        features.parse("Lag(2)").fit(X).to_bytes(),
        container.check_stream(data)[1]["stream_features"].tobytes()[:-1],
        b"nothing",
    ):
        array = np.frombuffer(wrong, dtype=np.int8)
        Path("s.mdpm").write_bytes(container.with_extras(data, {"stream_features": array}))
        assert "s.mdpm" in says(1, "data.csv", "--state", "s.mdpm")
    Path("s.mdpm").write_bytes(container.with_extras(data, {"stream_features": "text"}))
    assert "no array of bytes" in says(1, "data.csv", "--state", "s.mdpm")
    assert math.isfinite(Path("s.mdpm").stat().st_size)


@pytest.mark.parametrize("written", ["local", "epoch"])
def test_seasons_are_those_of_the_zone(written):
    """Twelve days over the end of summer time: the local hour, against features that are told the local time."""
    zone = zoneinfo.ZoneInfo("Europe/Berlin")
    rows = [(1792500000 + 1800 * i, float(i % 7)) for i in range(48 * 12)]
    local = [dt.datetime.fromtimestamp(t, zone) for t, _ in rows]
    texts = [f"{at:%Y-%m-%dT%H:%M}" if written == "local" else f"{t}" for at, (t, _) in zip(local, rows, strict=True)]
    Path("x.csv").write_text("t,v\n" + "".join(f"{at},{v}\n" for at, (_, v) in zip(texts, rows, strict=True)))
    argv = ["x.csv", "--time", "t", "--features", "Seasonal('hour')", "--state", "s.mdpm"]
    streamed(*argv, "--time-zone", "Europe/Berlin", "--count", "300")
    streamed(*argv)
    told = features.parse("Seasonal('hour')")
    hours = [t + at.utcoffset().total_seconds() for at, (t, _) in zip(local, rows, strict=True)]
    told.transform_many([[v] for _, v in rows], t=hours)
    held = checkpoint.read(Path("s.mdpm")).features
    for k in range(24):
        at = hours[-1] + 3600 * k
        assert held.transform_one([3.0], at) == told.transform_one([3.0], at)


def test_gaps_are_those_of_time_itself_where_clocks_are_set(capsys):
    """Spring and autumn: no silence of an hour, and none that ends before it begins."""
    zone = zoneinfo.ZoneInfo("Europe/Berlin")
    for begin in (1774659600, 1792803600):
        times = [begin + 600 * i for i in range(200)]
        texts = [f"{dt.datetime.fromtimestamp(t, zone):%Y-%m-%dT%H:%M}" for t in times]
        Path("x.csv").write_text("t,v\n" + "".join(f"{text},{i % 7}\n" for i, text in enumerate(texts)))
        argv = ["x.csv", "--time", "t", "--time-zone", "Europe/Berlin", "--restart", "--state", "s.mdpm", "--features"]
        streamed(*argv, "Silence(20)")
        told = features.parse("Silence(20)")
        told.transform_many([[0.0]] * len(times), t=times)
        held = checkpoint.read(Path("s.mdpm")).features
        assert held.transform_one([0.0], times[-1] + 900) == told.transform_one([0.0], times[-1] + 900)
    capsys.readouterr()
    streamed(*argv, "Seasonal('hour') + Silence(20)", code=2)
    assert "Silence would find them; leave silence to --alarm, or say --time-zone +01:00" in capsys.readouterr().err
    streamed(*argv, "Window(1) + Clock('day', utc_offset=1)", code=2)
    assert "leave utc_offset out" in capsys.readouterr().err
    streamed(*argv, "Lag(1) | Spread('hour', utc_offset=1)", code=2)
    assert "with --time-zone hours are those of the zone; leave utc_offset out" in capsys.readouterr().err
    streamed(*argv[:4], "+01:00", *argv[5:], "Seasonal('hour') + Silence(20)")
