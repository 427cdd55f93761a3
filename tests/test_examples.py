"""The scripts in examples/ run, from another folder, and write what they say they write."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import mapdpm

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
WRITES = {
    "activities.py": {"activities.png", "activities.mdpm"},
    "anomalies.py": set(),
    "density.py": {"density.png"},
    "follow_stream.py": set(),
    "life_of_clusters.py": {"life_of_clusters.png"},
}


def test_all_are_here():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(WRITES)


def environment():
    home = str(Path(mapdpm.__file__).resolve().parent.parent)
    return os.environ | {"PYTHONPATH": os.pathsep.join([home, *filter(None, [os.environ.get("PYTHONPATH")])])}


def run(name, folder, *arguments, **options):
    return subprocess.run(
        [sys.executable, EXAMPLES / name, *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=300,
        **options,
    )


@pytest.mark.parametrize("name", WRITES)
def test_it_runs(name, tmp_path):
    done = run(name, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) > 5
    assert {path.name for path in tmp_path.iterdir()} == WRITES[name]


def test_a_stream_from_standard_input_with_gaps(tmp_path):
    rows = ["at,a,b", *(f"noon,{i % 2 * 90 + i / 100},{'' if i % 7 else i}" for i in range(60)), "noon,,"]
    done = run("follow_stream.py", tmp_path, "--csv", "-", "--half-life", "0", input="\n".join(rows))
    assert (done.returncode, done.stderr) == (0, "")
    assert "30  cluster 30 begins" in done.stdout
    assert "60  the end; id and weight of each cluster: " in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
def test_a_stream_in_a_terminal(tmp_path):
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, EXAMPLES / "follow_stream.py", "--rate", "0"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=theirs, stderr=subprocess.PIPE) as process:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # the other end has closed, says Linux
            while some := os.read(ours, 65536):
                shown += some
        os.close(ours)
        assert process.stderr.read() == b""
    assert process.returncode == 0
    text = shown.decode("utf-8")
    assert "800 points" in text
    assert "█" in text
    assert text.startswith("\x1b[2J\x1b[?25l")
    assert text.endswith("\x1b[?25h")


def test_the_picture_goes_where_it_is_asked_for(tmp_path):
    assert run("life_of_clusters.py", tmp_path, "--picture", "lives.png").returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["lives.png"]
