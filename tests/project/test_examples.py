"""The scripts in examples/ run, from another folder, and write what they say they write."""

import ast
import contextlib
import importlib
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mapdpm
from repository import ROOT
from tests.cli.test_mqtt import Broker, needs_broker
from tests.marks import complete_but

EXAMPLES = ROOT / "examples"
WRITES = {
    "activities.py": {"activities.png", "activities.mdpm"},
    "anomalies.py": set(),
    "density.py": {"density.png"},
    "devices_and_gateway.py": set(),
    "follow_stream.py": set(),
    "gas_sensor.py": {"gas_sensor.png"},
    "large_data.py": set(),
    "life_of_clusters.py": {"life_of_clusters.png"},
    "on_a_chip.py": set(),
    "states_of_a_watch.py": {"states_of_a_watch.png"},
    "storms.py": {"storms.png"},
    "vibration.py": {"vibration.png"},
}


GALLERY = sorted(path.stem for path in (EXAMPLES / "gallery").glob("*.py"))


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


NEEDS_BROKER = "devices_and_gateway.py"


@pytest.mark.parametrize("name", complete_but(["anomalies.py", "density.py"], sorted(set(WRITES) - {NEEDS_BROKER})))
def test_it_runs(name, tmp_path):
    done = run(name, tmp_path)
    if "apt-get install" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) > 1
    assert {path.name for path in tmp_path.iterdir()} == WRITES[name]


@pytest.mark.parametrize("name", complete_but([], GALLERY))
def test_a_script_of_the_gallery_draws_one_picture(name, tmp_path):
    """All are of one size, which fits the grid on the front page of the documentation."""
    done = run(f"gallery/{name}.py", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}.png"]
    header = (tmp_path / f"{name}.png").read_bytes()[:24]
    assert struct.unpack(">8x4x4sII", header) == (b"IHDR", 720, 540)


@pytest.mark.parametrize("name", GALLERY)
def test_a_script_of_the_gallery_is_short_and_uses_public_names(name):
    """A reader copies it, and changes the data."""
    text = (EXAMPLES / "gallery" / f"{name}.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 30
    taken = [
        (node.module, each.name)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and node.module.startswith("mapdpm")
        for each in node.names
    ]
    assert taken
    assert not [each for module, each in taken if each not in dir(importlib.import_module(module))]
    assert not [module for module, _ in taken if module not in {"mapdpm", "mapdpm.samplers"}]


@pytest.mark.complete
def test_the_chip_finds_what_python_finds(tmp_path):
    done = run("on_a_chip.py", tmp_path)
    if "apt-get install" in done.stderr:
        pytest.skip(done.stderr.strip())
    lines = done.stdout.splitlines()
    assert lines[-1] == "8000 readings: 0 clusters or scores differ."
    assert sum(line.endswith("100 of 100") for line in lines) == 80


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


@pytest.mark.complete
@needs_broker
def test_devices_and_their_gateway(tmp_path):
    """Over a real broker: devices begin with what the others know, and messages are small."""
    broker = Broker(tmp_path)
    done = run(NEEDS_BROKER, tmp_path, f"127.0.0.1:{broker.port}")
    broker.stop()
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    pattern = (
        r"watch-\d+: the first 20 points (\S+) nats each, without the others (\S+); sent (\d+) bytes, received (\d+)"
    )
    found = [re.fullmatch(pattern, line) for line in lines[:-1]]
    assert len(found) == 12
    sent, received = ([int(each[i]) for each in found] for i in (3, 4))
    assert received[0] == 0
    assert min(received[1:]) > 0
    assert max(sent + received) < 2000
    gained = [float(each[1]) - float(each[2]) for each in found]
    assert gained[0] == 0.0
    assert np.mean(gained[1:]) > 0.5


def test_without_a_broker_it_says_so(tmp_path):
    done = run(NEEDS_BROKER, tmp_path, "127.0.0.1:1")
    assert done.returncode == 1
    assert done.stderr.startswith("no broker at 127.0.0.1:1: ")
