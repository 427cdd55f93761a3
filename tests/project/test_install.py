"""The installation of README and first steps can be imported from everywhere, also beside a clone named mapdpm."""

import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from release.commands import why_no_index
from repository import ROOT

SCRIPT = """
from mapdpm import MAPDPM, OnlineMAPDPM

print(MAPDPM(backend="c").fit([[0.0], [1.0], [9.0]]).backend_, OnlineMAPDPM(n_features=1).nbytes > 0)
"""
LINE = re.compile(r"^(?:\$ )?pip install (?P<words>.*?mapdpm.*?|.*?'\..*?)(?: +#.*)?$", re.MULTILINE)


def installed_by(page):
    """The words after `pip install` in the first line of a page that installs mapdpm."""
    return shlex.split(LINE.search((ROOT / page).read_text(encoding="utf-8"))["words"])


def run_script(python, folder):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    (folder / "script.py").write_text(SCRIPT)
    done = subprocess.run([python, "script.py"], cwd=folder, capture_output=True, text=True, check=False, env=clean)
    assert (done.returncode, done.stdout) == (0, "c True\n"), done.stderr


def test_a_folder_mapdpm_beside_a_script_hides_nothing(tmp_path):
    (tmp_path / "mapdpm").mkdir()  # without an __init__.py, as a clone: a namespace package, if nothing else is found
    run_script(sys.executable, tmp_path)


def test_pages_install_alike():
    assert installed_by("README.md") == ["-e", ".[plot]"]
    assert installed_by("docs/first-steps.md") == ["-e", "path/to/mapdpm[plot]"]


@pytest.mark.slow  # it compiles
def test_a_clone_is_installed_and_imported_from_where_one_may_be(tmp_path):
    reason = why_no_index()
    if reason:
        pytest.skip(f"there is no package index: {reason}")
    clone = tmp_path / "mapdpm"
    foreign = shutil.ignore_patterns(".*", "*.so", "*.egg-info", "__pycache__", "build", "dist", "env")
    shutil.copytree(ROOT, clone, ignore=foreign)
    python = clone / "env" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "env"], cwd=clone, check=True)
    words = [python, "-m", "pip", "--disable-pip-version-check", "-qq", "install", *installed_by("README.md")]
    done = subprocess.run(words, cwd=clone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    other = tmp_path / "other"
    other.mkdir()
    for folder in (tmp_path, clone, other):
        run_script(python, folder)
