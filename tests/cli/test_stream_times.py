"""``mapdpm stream --time``: times as loggers write them, clocks that jump, and runs that are resumed."""

import datetime as dt
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

import mapdpm
from command_line import called, learned, made, started, streamed
from mapdpm import OnlineMAPDPM, cli
from mapdpm.cli.fields import Fields
from mapdpm.files import container
from mapdpm.files.errors import ModelFileError

BEGIN = 1_792_843_200  # 2026-10-24T12:00:00Z
TIMED = ["--time", "time", "--half-life", 600, "--warmup", 50]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(times, points=None, head="time,height,width"):
    points = made(len(times)) if points is None else points
    rows = "".join(f"{t},{x!r},{y!r}\n" for t, (x, y) in zip(times, points.tolist(), strict=True))
    return f"{head}\n{rows}" if head else rows


def text_of(seconds, form="%Y-%m-%dT%H:%M:%SZ", zone=dt.UTC):
    return dt.datetime.fromtimestamp(seconds, zone).strftime(form)


def wanted(seconds, points):
    model = OnlineMAPDPM(half_life=600, warmup=50)
    ids, scores = model.learn_many_scored(points, np.array(seconds, dtype=float))
    return [{"id": i, "score": None if np.isnan(s) else s} for i, s in zip(ids.tolist(), scores.tolist(), strict=True)]


def results(text):
    return [{name: row[name] for name in ("id", "score")} for row in map(json.loads, text.splitlines())]


SECONDS = [BEGIN + 10 * i for i in range(200)]
POINTS = made(200)


@pytest.mark.parametrize(
    ("head", "form", "options"),
    [
        ("time,height,width", "%Y-%m-%dT%H:%M:%SZ", ["--time", "time"]),
        ("time,height,width", "%Y-%m-%d %H:%M:%S", ["--time", "time"]),
        ("", "%Y-%m-%d %H:%M:%S", ["--time", "1"]),
        ("date,time,height,width", "%d.%m.%Y,%H:%M:%S", ["--time", "date,time"]),
        ("", "%Y-%m-%d,%H:%M:%S", ["--time", "1,2"]),
        ('"day, hour",height,width', "%Y-%m-%d %H:%M:%S", ["--time", "day, hour"]),
        ("time,height,width", "%s", ["--time", "time"]),
        ("time,height,width", "%s000", ["--time", "time"]),
        ("time,height,width", "%s000000", ["--time", "time"]),
        ("time,height,width", "%s000000000", ["--time", "time"]),
    ],
)
def test_forms_of_times(folder, capsys, head, form, options):
    """All are the seconds of Python; times are no features."""
    form = form.replace("%s", "{}")
    times = [form.format(s) if "{}" in form else text_of(s, form) for s in SECONDS]
    Path("x.csv").write_text(written(times, POINTS, head))
    streamed("x.csv", *options, "--half-life", 600, "--warmup", 50)
    captured = capsys.readouterr()
    assert results(captured.out) == wanted(SECONDS, POINTS)
    assert "200 points learned, 0 skipped" in captured.err
    assert "doubted" not in captured.err


def test_local_times_of_a_night_when_clocks_are_set_back(folder, capsys):
    zone = dt.timezone(dt.timedelta(hours=2)), dt.timezone(dt.timedelta(hours=1))
    change = 1_792_890_000  # 2026-10-25T01:00:00Z
    seconds = [change - 6000 + 60 * i for i in range(200)]
    times = [text_of(s, "%Y-%m-%d %H:%M", zone[s >= change]) for s in seconds]
    Path("x.csv").write_text(written(times, POINTS))
    streamed("x.csv", *TIMED, "--time-zone", "Europe/Berlin")
    captured = capsys.readouterr()
    assert results(captured.out) == wanted(seconds, POINTS)
    assert captured.err.count("comes twice in Europe/Berlin") == 1
    assert "doubted" not in captured.err


def test_one_time_two_days_ahead(folder, capsys):
    """As without it, but for its own point, which has the time before it; both times are in the message."""
    times = [text_of(s + 2 * 86400 * (i == 120)) for i, s in enumerate(SECONDS)]
    Path("x.csv").write_text(written(times, POINTS))
    streamed("x.csv", *TIMED)
    captured = capsys.readouterr()
    learned = SECONDS.copy()
    learned[120] = learned[119]
    assert results(captured.out) == wanted(learned, POINTS)
    warning = captured.err.splitlines()[0]
    assert warning.startswith(
        "mapdpm: warning: x.csv: line 122: the time 2026-10-26T12:20:00Z is 2 days after the last one, "
        "2026-10-24T12:19:50Z; the largest step believed at once is 16.7 minutes. The point is learned at the time"
    )
    assert captured.err.endswith("200 points learned, 0 skipped, 3 clusters, 1 time doubted; x.csv up to line 201\n")


def test_a_clock_that_is_set_back_by_a_day(folder, capsys):
    times = [text_of(s - 86400 * (i >= 120)) for i, s in enumerate(SECONDS)]
    Path("x.csv").write_text(written(times, POINTS))
    streamed("x.csv", *TIMED, "--state", "s.mdpm")
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 200
    assert "the clock was set back by 24 hours, from 2026-10-24T12:19:50Z to 2026-10-23T12:20:40Z" in captured.err
    assert mapdpm.load("s.mdpm").last_time == SECONDS[119] + 10 * 75


@pytest.mark.parametrize("at", [1, 60, 121, 123, 126])
def test_resumed_runs_read_times_the_same(folder, capsys, at):
    """Stopped before, within and after a jump of the clock: output and state are those of one run."""
    times = [text_of(s - 86400 * (i >= 120), "%Y-%m-%d %H:%M:%S") for i, s in enumerate(SECONDS)]
    Path("x.csv").write_text(written(times, POINTS))
    zone = ["--time-zone", "Europe/Berlin"]
    streamed("x.csv", *TIMED, *zone, "--state", "whole.mdpm", "--output", "whole.jsonl")
    streamed("x.csv", *TIMED, *zone, "--state", "part.mdpm", "--output", "part.jsonl", "--count", at)
    streamed("x.csv", "--state", "part.mdpm", "--output", "part.jsonl")
    assert Path("part.jsonl").read_text() == Path("whole.jsonl").read_text()
    assert learned("part.mdpm") == learned("whole.mdpm")
    clocks = [container.check_stream(Path(f"{name}.mdpm").read_bytes())[1]["stream"] for name in ("part", "whole")]
    assert clocks[0]["clock"] == clocks[1]["clock"]
    assert clocks[0]["settings"] == clocks[1]["settings"]


def test_what_is_decided_stays_with_the_state(folder, capsys):
    millis = [1000 * s for s in SECONDS]
    Path("x.csv").write_text(written(millis[:100], POINTS[:100]))
    streamed("x.csv", *TIMED, "--state", "s.mdpm")
    assert "times are in milliseconds, by their size; --time-unit says it otherwise" in capsys.readouterr().err
    streamed("x.csv", "--state", "s.mdpm", "--time-unit", "s", code=2)
    assert "--time-unit: s.mdpm was begun with ms, got s" in capsys.readouterr().err
    Path("y.csv").write_text(written(millis[100:], POINTS[100:]))
    streamed("y.csv", "--state", "s.mdpm", "--continue")
    captured = capsys.readouterr()
    assert results(captured.out) == wanted(SECONDS, POINTS)[100:]
    assert "milliseconds" not in captured.err


def test_alerts_have_the_time_as_it_is_written(folder, capsys):
    points = POINTS.copy()
    points[150] = 1000.0
    Path("x.csv").write_text(written([text_of(s) for s in SECONDS], points))
    streamed("x.csv", *TIMED, "--alarm", "1e-3", "--output", "o.jsonl", "--quiet")
    alert = json.loads(capsys.readouterr().err.splitlines()[-1])
    assert alert["time"] == text_of(SECONDS[150])


def test_a_pause_ends_the_sequence_at_once_where_the_clock_is_doubted(folder, capsys):
    """The first points after two days begin a sequence, though its time is believed later."""
    argv = ["--time", "time", "--states", "--pause", 3600, "--warmup", 50, "--quiet"]
    times = [s + 2 * 86400 * (i >= 120) for i, s in enumerate(SECONDS)]
    found = []
    for name, jump, largest in (("at once", times, ["--largest-step", 1e6]), ("doubted", times, [])):
        Path(f"{name}.csv").write_text(written(jump, POINTS))
        streamed(f"{name}.csv", *argv, *largest)
        found.append(capsys.readouterr().out)
    assert found[0] == found[1]


def test_a_season_goes_by_the_clock_that_was_set_back(folder, capsys):
    times = [text_of(s - 86400 * (i >= 120)) for i, s in enumerate(SECONDS)]
    Path("x.csv").write_text(written(times, POINTS))
    streamed("x.csv", *TIMED, "--features", 'Seasonal("hour")')
    assert len(capsys.readouterr().out.splitlines()) == 200


@pytest.mark.parametrize(
    ("code", "argv", "says"),
    [
        (2, "--time-zone UTC", "--time-zone: needs --time, the column with the time of each point"),
        (2, "--time time --time-zone Berlin", "got 'Berlin'; did you mean Europe/Berlin?"),
        (2, "--time time --time-unit m", "invalid choice: 'm'"),
        (2, "--time time --largest-step 0", "must be a number > 0"),
        (1, "--time time,depth", "has no column 'depth' for --time; it has time, height, width"),
        (1, "--time height --columns width", ", column 2 (height) is no time: 'x y'; times are numbers since 1970"),
        (1, "--time ,", "has no column '' for --time"),
    ],
)
def test_what_is_refused(folder, capsys, code, argv, says):
    Path("x.csv").write_text("time,height,width\n5,x y,1\n")
    assert cli.main(["stream", "x.csv", *argv.split()]) == code
    assert says in capsys.readouterr().err


def test_the_state_of_a_learner_in_python_goes_on(folder, capsys):
    model = OnlineMAPDPM(half_life=600, warmup=50)
    model.learn_many(POINTS[:100], t=np.array(SECONDS[:100], dtype="datetime64[s]"))
    model.save("s.mdpm")
    Path("x.csv").write_text(written([text_of(s) for s in SECONDS[100:]], POINTS[100:]))
    streamed("x.csv", "--time", "time", "--state", "s.mdpm")
    assert results(capsys.readouterr().out) == wanted(SECONDS, POINTS)[100:]


@pytest.mark.complete
def test_standard_input_with_windows_line_ends_and_a_mark(folder):
    text = "\ufeff" + written([text_of(s, "%Y-%m-%d %H:%M:%S") for s in SECONDS], POINTS).replace("\n", "\r\n")
    with started("stream", "-", *TIMED, stdin=subprocess.PIPE) as process:
        out, _ = process.communicate(text, timeout=60)
    assert results(out) == wanted(SECONDS, POINTS)


def test_columns_of_older_states():
    """They had one column of the time, and no group."""
    held = {"names": ["t", "x"], "width": 2, "places": [1], "time": 0}
    assert Fields.revived(held, 1) == Fields(["t", "x"], 2, [1], [0], None)
    for wrong in ({"time": [2]}, {"time": []}, {"time": "t"}, {"group": 2}, {"group": "x"}):
        with pytest.raises(ModelFileError, match="its columns do not fit"):
            Fields.revived(held | wrong, 1)


def test_a_row_of_dates_and_numbers_has_no_names(folder, capsys):
    """Its first value is 1, and no column is called so."""
    Path("x.csv").write_text("2026-10-24T12:00:00Z,1,2\n2026-10-24T12:00:10Z,5,6\n")
    for argv in (["--time", 1], ["--time", 1, "--columns", "2,3"], ["--time", 1, "--columns", "2-"]):
        streamed("x.csv", *argv)
        assert "2 points learned, 0 skipped" in capsys.readouterr().err
    Path("x.csv").write_text("2026-10-24,12:00:00,1,2\n2026-10-24,12:00:10,5,6\n")
    streamed("x.csv", "--time", "1,2", "--columns", 3)
    assert "2 points learned, 0 skipped" in capsys.readouterr().err


def test_alerts_keep_all_digits_of_a_time(folder, capsys):
    points = POINTS.copy()
    points[150] = 1000.0
    Path("x.csv").write_text(written([1_000_000_000 * s + 1 for s in SECONDS], points))
    streamed("x.csv", *TIMED, "--alarm", "1e-3", "--output", "o.jsonl", "--quiet")
    alert = json.loads(capsys.readouterr().err.splitlines()[-1])
    assert alert["time"] == 1_000_000_000 * SECONDS[150] + 1


def test_a_quoted_decimal_comma_says_the_option(folder, capsys):
    Path("x.csv").write_text('time,v\n1,"1,5"\n2,"2,5"\n')
    streamed("x.csv", "--time", "time", code=1)
    assert "is not a number: '1,5'; if its comma is a decimal mark, say so: --decimal ," in capsys.readouterr().err
    streamed("x.csv", "--time", "time", "--decimal", ",")


def test_a_column_of_times_is_named(folder):
    values = made(60)[:, 0].tolist()
    Path("x.csv").write_text("\n".join(["timestamp,a", *(f"{i},{a}" for i, a in enumerate(values)), ""]))
    assert "column 'timestamp' looks like a time" in called(*["stream", "x.csv", "--warmup", "20"]).stderr
    for more in ("--time timestamp", "--columns a", "--columns timestamp,a"):
        assert "looks like" not in called(*f"stream x.csv --warmup 20 {more}".split()).stderr
