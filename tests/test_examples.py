"""The scripts in examples/ run, from another folder, and write what they say they write."""

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
}


def test_all_are_here():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(WRITES)


@pytest.mark.parametrize("name", WRITES)
def test_it_runs(name, tmp_path):
    home = str(Path(mapdpm.__file__).resolve().parent.parent)
    paths = os.pathsep.join([home, *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, EXAMPLES / name],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) > 5
    assert {path.name for path in tmp_path.iterdir()} == WRITES[name]
