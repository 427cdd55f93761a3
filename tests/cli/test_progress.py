"""Progress in words, with the share that is done and the time that is left."""

import io
import re
import sys

import numpy as np
import pytest

from command_line import called
from mapdpm.cli import progress, tuning
from mapdpm.cli.progress import ProgressLine, in_words
from mapdpm.names import HDP_MOVES, MOVES
from mapdpm.search.ascent import FitProgress
from mapdpm.search.moves import neighbours
from mapdpm.selection import Selection, Step


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands until a test moves it."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def made(monkeypatch):
    """Makes the line of a terminal."""

    def make(**given):
        monkeypatch.setattr(sys, "stderr", Terminal())
        monkeypatch.setenv("COLUMNS", "200")
        return ProgressLine(quiet=False, verbose=False, **given)

    return make


def last_line():
    return sys.stderr.getvalue().split("\r\033[K")[-1]


def step(restart=0, move="sweep"):
    return FitProgress(restart, 1, 12, 3, -1234.5678, move)


def test_a_step_in_words():
    assert in_words(step()) == "12 points moved, 3 clusters, log joint -1234.568"
    assert in_words(FitProgress(0, 1, 1, 1, -2.0, "merge")) == "1 merge, 1 cluster, log joint -2.000"


def test_every_move_has_words():
    for name in {*MOVES, *HDP_MOVES, neighbours.Detour.name, "sweep", "pass", "path"}:
        assert name in progress._WORDS
        assert "detour" not in in_words(step(move=name))


def test_runs_give_a_share_and_a_time(clock, made):
    line = made(runs=5)
    clock[0] += 1.0
    line(step())
    assert last_line() == f"run 1 of 5: {in_words(step())}"  # nothing is over yet
    clock[0] += 9.0
    line(step(restart=2))
    assert last_line().startswith("run 3 of 5, 40%, about 15 s left: 12 points moved")


def test_a_time_limit_gives_both(clock, made):
    line = made(seconds=600.0)
    clock[0] += 60.0
    line(step())
    assert last_line().startswith("10%, about 9 min left: ")


def test_fits_of_tune_give_both(clock, made):
    line = made()
    clock[0] += 30.0
    line(Step(3, 12, {"alpha": 2.0}, 1, -3.25, 4))
    assert last_line() == "fit 3 of 12, 25%, about 90 s left: alpha 2, fold 1: -3.2500 nats per point, 4 clusters"


def test_without_runs_nothing_is_guessed(clock, made):
    line = made()
    clock[0] += 30.0
    line(step())
    assert last_line() == in_words(step())


def test_a_narrow_terminal_gets_a_short_line(clock, made, monkeypatch):
    line = made()
    monkeypatch.setenv("COLUMNS", "30")
    line.begin("x" * 99)
    assert last_line() == "x" * 29
    line.end()
    assert last_line() == ""


def test_nothing_of_a_line_is_written_where_nobody_looks(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    line = ProgressLine(quiet=False, verbose=False)
    line.begin("x")
    line(step())
    line.end()
    assert sys.stderr.getvalue() == ""


# ---- tune ------------------------------------------------------------------------------------------------------------


def selection(scores):
    scores = np.asarray(scores)
    settings = [{"alpha": float(k + 1)} for k in range(len(scores))]
    return Selection("cv", settings, scores, np.ones(scores.shape), int(np.argmax(scores.mean(axis=1))), None)


def test_settings_that_nothing_tells_apart():
    folds = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])  # a standard error of 0.354
    same = folds + np.array([[0.0], [-0.1], [-0.3]])
    assert tuning.verdict(selection(same)) == "; all 3 settings are the same within the standard error"
    one_worse = np.vstack([same, folds - 0.4])
    assert tuning.verdict(selection(one_worse)) == "; 3 of 4 settings are the same within the standard error"
    assert tuning.verdict(selection([folds, folds - 0.4])) == ""
    assert tuning.verdict(selection(same[:, :1])) == ""  # one fold has no standard error
    assert tuning.verdict(selection(same[:1])) == ""


def test_tune_says_so(tmp_path):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=60), rng.normal(size=60) + 30.0])
    (tmp_path / "x.csv").write_text("x\n" + "".join(f"{x:.3f}\n" for x in X))
    prior = ["--prior", "m0=0", "--prior", "c0=0.01", "--prior", "a0=1", "--prior", "b0=1"]
    done = called("tune", tmp_path / "x.csv", "--alphas", "0.999,1,1.001", "--folds", "3", *prior)
    assert done.returncode == 0
    assert re.search(r"alpha [\d.]+, by cv; all 3 settings are the same within the standard error", done.stderr)
