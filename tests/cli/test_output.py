"""Every line of output arrives, or the command says that it does not; and every wait ends with a signal."""

import fcntl
import json
import os
import resource
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest

import mapdpm
from command_line import expected, learned, made, started, streamed, text_of
from mapdpm import MAPDPM
from tests.marks import complete_but

N = 6_000  # results, of which a pipe of 64 KiB holds some 1,400
WAIT = 60.0
FULL = 60_000  # bytes in a pipe that has no room for another piece


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A current folder with data.csv: N points."""
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text(text_of(made(N)))
    return tmp_path


def wait_until(fine):
    end = time.monotonic() + WAIT
    while not fine():
        assert time.monotonic() < end
        time.sleep(0.01)


def wait_until_blocked(pipe):
    """Wait until a pipe that nobody reads is full."""
    wait_until(lambda: struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0] > FULL)


def rows_of(text):
    """The results; ValueError where one of them is not whole."""
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("unbuffered", complete_but([True], [False, True]))
def test_a_process_that_is_stopped_for_a_while(folder, unbuffered):
    """The system then writes a part, and says so."""
    with started("stream", "data.csv", unbuffered=unbuffered) as process:
        wait_until_blocked(process.stdout)
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.1)  # a stop that is continued at once never comes
        process.send_signal(signal.SIGCONT)
        out, said = process.communicate(timeout=WAIT)
    assert process.returncode == 0
    assert said.startswith(f"mapdpm: {N} points learned")
    assert len(rows_of(out)) == N


@pytest.mark.parametrize("unbuffered", complete_but([False], [False, True]))
@pytest.mark.parametrize("argv", [["stream", "data.csv"], ["predict", "model.mdpm", "data.csv"]])
def test_a_disk_that_is_nearly_full(folder, argv, unbuffered):
    """A write takes a part, the next one none; both commands print some 60 KB or more."""
    MAPDPM(1.0).fit(made(50)).save("model.mdpm")
    Path("data.csv").write_text(4 * Path("data.csv").read_text())
    limit = 20_011

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    options = {"unbuffered": unbuffered, "preexec_fn": limited}
    with Path("out").open("wb") as out, started(*argv, stdout=out, **options) as process:
        said = process.communicate(timeout=WAIT)[1]
    assert process.returncode == 1
    assert said == "mapdpm: error: cannot write standard output: File too large\n"
    assert Path("out").stat().st_size == limit


def test_a_pipe_that_does_not_block(folder):
    """Another program may have set it so."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with started("stream", "data.csv", stdout=writer) as process:
        os.close(writer)
        wait_until_blocked(reader)
        with os.fdopen(reader) as file:
            assert len(rows_of(file.read())) == N
    assert process.wait(timeout=WAIT) == 0


@pytest.mark.parametrize("unbuffered", complete_but([False], [False, True]))
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.complete)]
)
def test_a_signal_while_nobody_reads(folder, number, code, unbuffered):
    """The state never knows more than was printed, and the next run prints the rest."""
    argv = ["stream", "data.csv", "--state", "state.mdpm", "--checkpoint-points", "500"]
    with started(*argv, unbuffered=unbuffered) as process:
        wait_until_blocked(process.stdout)
        sent = time.monotonic()
        process.send_signal(number)
        assert process.wait(timeout=WAIT) == code
        assert time.monotonic() - sent < 10.0
        printed, said = rows_of(process.stdout.read()), process.stderr.read()
    assert "nobody reads standard output" in said
    assert "the file stays at its last checkpoint" in said
    kept = mapdpm.load("state.mdpm").n_seen
    assert 500 <= kept <= len(printed) < N
    with started(*argv) as process:
        rest = rows_of(process.communicate(timeout=WAIT)[0])
    rows, model = expected(made(N))
    assert printed == rows[: len(printed)]
    assert rest == rows[kept:]
    assert learned("state.mdpm") == model._learner.write()


def test_a_signal_while_somebody_reads_slowly(folder):
    """The reader has time to take what is learned already."""
    with started("stream", "data.csv", "--state", "state.mdpm") as process:
        wait_until_blocked(process.stdout)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        out, said = process.communicate(timeout=WAIT)
    assert process.returncode == 143
    printed = rows_of(out)
    assert mapdpm.load("state.mdpm").n_seen == len(printed) < N
    assert f"{len(printed)} points learned" in said


@pytest.mark.parametrize(
    ("number", "code"), [pytest.param(signal.SIGINT, 130, marks=pytest.mark.complete), (signal.SIGTERM, 143)]
)
def test_a_signal_while_a_named_pipe_has_no_writer(folder, number, code):
    os.mkfifo("points")
    Path("few.csv").write_text(text_of(made(2)))
    start = time.monotonic()
    with started("stream", "few.csv") as process:
        process.communicate(timeout=WAIT)
    imports = time.monotonic() - start  # 0.3 s, or many where the machine is busy
    with started("stream", "points", "--state", "state.mdpm") as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=max(1.0, 3.0 * imports))  # it waits for a writer
        process.send_signal(number)
        assert process.wait(timeout=WAIT) == code
        assert "Traceback" not in process.stderr.read()
    assert not Path("state.mdpm").exists()


def test_a_named_pipe(folder):
    os.mkfifo("points")
    with started("stream", "points") as process:
        Path("points").write_text(text_of(made(300)))
        out, said = process.communicate(timeout=WAIT)
    assert process.returncode == 0
    assert len(rows_of(out)) == 300
    assert said.endswith("points up to line 300\n")


@pytest.mark.parametrize("state", complete_but([[]], [[], ["--state", "state.mdpm", "--checkpoint-points", "50"]]))
@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (lambda out: out.unlink(), "removed or replaced"),
        (lambda out: out.rename("older.jsonl"), "removed or replaced"),
        (lambda out: (out.rename("older.jsonl"), out.write_text("")), "removed or replaced"),
        (lambda out: os.truncate(out, 0), "cut off"),
    ],
    ids=["removed", "renamed", "replaced", "cut off"],
)
def test_output_that_is_gone(folder, harm, says, state):
    out = Path("out.jsonl")
    with started("stream", "--output", out, *state, stdin=subprocess.PIPE) as process:
        process.stdin.write(text_of(made(100)))
        process.stdin.flush()
        wait_until(lambda: out.exists() and out.read_text().count("\n") == 100)
        if state:
            wait_until(lambda: mapdpm.load("state.mdpm").n_seen == 100)
        before = Path("state.mdpm").read_bytes() if state else b""
        harm(out)
        said = process.communicate(text_of(made(100, 1)), timeout=WAIT)[1]
    assert process.returncode == 1
    assert said.splitlines()[-1] == f"mapdpm: error: cannot write out.jsonl: it was {says} while it was written"
    if state:
        assert Path("state.mdpm").read_bytes() == before


def test_a_name_that_leads_to_the_output(folder):
    """A symbolic link is no other file."""
    Path("target.jsonl").write_text("")
    Path("out.jsonl").symlink_to("target.jsonl")
    streamed("data.csv", "--count", 300, "--output", "out.jsonl")
    assert Path("target.jsonl").read_text().count("\n") == 300
