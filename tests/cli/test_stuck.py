"""``mapdpm stream --alarm``: columns that hold a value, and silence; once an episode, also after a stop."""

import json
from pathlib import Path

import numpy as np
import pytest

from command_line import streamed
from mapdpm.cli import stuck
from mapdpm.cli.stuck import Watch

N, MINUTE = 4000, 60
ARGV = ["data.csv", "--alarm", 1e-5, "--output", "out.jsonl"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Readings of a minute: one column sticks, one is on and off, one never changes; three hours are missing."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    t, x = 1_700_000_000 + MINUTE * np.arange(N), np.round(20.0 + rng.normal(size=N), 9)
    t[3500:] += 180 * MINUTE
    x[2999:3039] = x[2999]
    rows = zip(t.tolist(), x.tolist(), (np.arange(N) // 20 % 2).tolist(), strict=True)
    Path("data.csv").write_text("time,warm,pump,same\n" + "".join(f"{t},{x},{on},7\n" for t, x, on in rows))
    return tmp_path


def told(text):
    alerts = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return [alert for alert in alerts if "alert" in alert]


def test_what_is_stuck_and_silent_is_told_once(folder, capsys):
    streamed(*ARGV, "--time", "time", "--largest-step", 1e6, "--quiet")
    held, silent = told(capsys.readouterr().err)
    assert held == {
        "point": 3015,
        "time": 1_700_000_000 + 3014 * MINUTE,
        "alert": "stuck for 16 readings",
        "column": "warm",
        "value": held["value"],
        "surprise": held["surprise"],
    }
    assert held["surprise"] < 1e-5 / 3  # of three columns
    assert (silent["point"], silent["alert"], silent["seconds"]) == (3501, "silent for 3.02 hours", 10860.0)


def test_without_names_and_times_and_only_after_so_many_readings(folder, capsys):
    Path("plain.csv").write_text(Path("data.csv").read_text().split("\n", 1)[1])
    streamed("plain.csv", *ARGV[1:], "--columns", "2-4", "--quiet")
    assert [(alert["point"], alert["column"]) for alert in told(capsys.readouterr().err)] == [(3015, 1)]
    for after in (0, 3050):
        streamed("plain.csv", *ARGV[1:], "--columns", "2-4", "--quiet", "--alarm-stuck", after)
        assert told(capsys.readouterr().err) == []


def test_a_day_comes_first_where_there_are_times(folder, capsys):
    streamed(*ARGV, "--time", "time", "--time-unit", "ms", "--quiet")
    assert told(capsys.readouterr().err) == []


@pytest.mark.parametrize("stops", [(3010, 3030), (3499, 3500)])
def test_a_stop_changes_nothing(folder, capsys, stops):
    argv = [*ARGV, "--time", "time", "--largest-step", 1e6, "--quiet"]
    streamed(*argv)
    whole = told(capsys.readouterr().err)
    done = 0
    for count in (*stops, N):
        streamed(*argv, "--state", "state.mdpm", "--count", count - done)
        done = count
    assert told(capsys.readouterr().err) == whole


def test_features_do_not_hide_what_is_stuck(folder, capsys):
    streamed(*ARGV, "--columns", "warm", "--features", "RMS(10)", "--quiet")
    assert [(alert["point"], alert["column"]) for alert in told(capsys.readouterr().err)] == [(3007, "warm")]


def test_a_missing_column_is_told(folder, capsys):
    lines = Path("data.csv").read_text().splitlines()
    for i in range(3200, 3240):
        time, _, pump, same = lines[i].split(",")
        lines[i] = f"{time},,{pump},{same}"
    Path("data.csv").write_text("\n".join(lines))
    streamed(*ARGV, "--columns", "2-4", "--missing", "skip", "--quiet")
    last = told(capsys.readouterr().err)[-1]
    assert (last["point"], last["alert"], last["value"]) == (3215, "missing for 16 readings", None)


# ---- live ------------------------------------------------------------------------------------------------------------


class Clock:
    """A clock that a test moves."""

    def __init__(self, monkeypatch):
        self.now = 5000.0
        monkeypatch.setattr(stuck.time, "monotonic", lambda: self.now)

    def wait(self, watch, seconds, came=True):
        """Wait, looking each second; what is told meanwhile."""
        found = []
        for _ in range(int(seconds)):
            self.now += 1.0
            found += watch.waited(came=False)
        return found + (watch.waited(came=True) if came else [])


def test_a_silence_is_told_while_it_lasts(monkeypatch):
    clock = Clock(monkeypatch)
    watch = Watch(1e-5, 100.0, 50, live=True, timed=False)
    assert [alert for _ in range(3000) for alert in clock.wait(watch, 10)] == []
    (alert,) = clock.wait(watch, 500)
    assert alert["alert"] == "silent for 1.33 minutes"
    again = Watch(1e-5, 100.0, 50, live=True, timed=False)
    again.resume(json.loads(json.dumps(watch.saved())))
    clock.now += 1e6  # the time between two runs is no silence
    assert clock.wait(again, 1e4, came=False) == []  # nor is it one before the first reading
    again.waited(came=True)
    assert len(clock.wait(again, 500)) == 1


def test_readings_that_had_queued_up_say_nothing_about_gaps(monkeypatch):
    clock = Clock(monkeypatch)
    watch = Watch(1e-5, 100.0, 50, live=True, timed=False)
    for _ in range(5000):
        clock.now += 0.001
        watch.waited(came=True)
    assert clock.wait(watch, 600) == []
