"""Two commands on one state, output or file of alerts: the second is refused, and the first loses nothing."""

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest

import mapdpm
from command_line import called, made, started, streamed, text_of

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and signals of POSIX")

PRIOR = [f"--prior={each}" for each in ("m0=0", "c0=0.1", "a0=1", "b0=1")]
FIRST = ["stream", *PRIOR, "--state", "state.mdpm", "--output", "out.jsonl", "--alarm", "1e-4", "--alerts", "bells"]
FIRST += ["--checkpoint-points", "1"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text(text_of(made(60)))
    return tmp_path


def wait_for(process, fine):
    """Wait until a process has done something; it must not end before."""
    while not fine():
        assert process.poll() is None
        os.sched_yield()


@pytest.fixture
def running(folder):
    """A command that has learned a point, and waits for more."""
    with started(*FIRST, stdin=-1) as process:
        process.stdin.write("1,2\n")
        process.stdin.flush()
        wait_for(process, Path("state.mdpm").exists)  # and so the line before it
        Path("bells").touch()
        yield process


@pytest.mark.parametrize("link", [os.symlink, os.link, None])
def test_the_second_is_refused(running, link):
    for option, held in (("--state", "state.mdpm"), ("--output", "out.jsonl")):
        name = held if link is None else f"other.{held}"
        if link is not None:
            link(os.path.abspath(held), name)  # noqa: PTH100
        before = Path("out.jsonl").read_bytes()
        done = called("stream", "data.csv", *PRIOR, option, name)
        assert (done.returncode, done.stdout) == (1, ""), option
        assert f"{name} is in use by " in done.stderr
        assert "end that process, or name another file" in done.stderr
        if link is None:
            assert f"process {running.pid}" in done.stderr
        assert Path("out.jsonl").read_bytes() == before
    running.communicate("3,4\n5,6\n")
    assert running.returncode == 0
    assert mapdpm.load("state.mdpm").n_seen == 3
    assert Path("out.jsonl").read_text().count("\n") == 3
    assert not list(Path().glob(".*.lock"))


def test_a_file_of_alerts_is_held_too(running):
    done = called("stream", "data.csv", *PRIOR, "--alarm", "0.1", "--alerts", "bells", "--output", "x.jsonl")
    assert done.returncode == 1
    assert "bells is in use by process" in done.stderr
    assert not Path("x.jsonl").exists()


def test_after_a_kill_the_files_are_free(running):
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert Path(".state.mdpm.lock").exists()  # nobody holds it
    with started(*FIRST[:-2], stdin=-1) as again:
        again.communicate("3,4\n")
        assert again.returncode == 0
    assert not list(Path().glob(".*.lock"))
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert len(rows) == mapdpm.load("state.mdpm").n_seen == 2


def test_files_are_free_after_errors(folder):
    streamed("data.csv", "--state", "state.mdpm", "--alpha", "2", "--count", 5, "--output", "out.jsonl")
    streamed("data.csv", "--state", "state.mdpm", "--alpha", "3", code=2)
    Path("bad.csv").write_text("x,y\n1\n")
    streamed("bad.csv", "--state", "new.mdpm", code=1)
    assert not list(Path().glob(".*.lock"))
    streamed("data.csv", "--state", "state.mdpm", "--output", "out.jsonl")
    assert mapdpm.load("state.mdpm").n_seen == 60
    assert np.isfinite(mapdpm.load("state.mdpm").weights).all()
