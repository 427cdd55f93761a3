"""Compiling the pair of files with programs, for the tests of what lies around it."""

import re
import shutil
import subprocess

import pytest

from repository import ROOT

FOLDER = ROOT / "c_kernels" / "amalgamation"
SOURCE = FOLDER / "src"
SKETCH = FOLDER / "examples" / "Wristband" / "Wristband.ino"


def run(*command, cwd=None, env=None):
    """The output of a program; fails with its output if it does."""
    done = subprocess.run([*map(str, command)], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def need(tool, package=None):
    """The name of a tool; skips the test if there is none."""
    if shutil.which(tool) is None:
        pytest.skip(f"there is no {tool}; apt-get install {package or tool}")
    return tool


def links(*command, cwd=None):
    """Whether a program links. If not, the linker must have missed the function that makes learners of a real type."""
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or re.search(r"undefined reference to .mapdpm_init_(float|double)", done.stderr), done
    return done.returncode == 0


def library_object(folder, real):
    """The library for this machine, compiled into a folder if it is not there yet."""
    compiled = folder / f"mapdpm_{real}.o"
    if not compiled.exists():
        flags = ["-std=c99", "-O1", "-DMAPDPM_NO_CLONES", f"-DMAPDPM_REAL={real}"]
        run(need("gcc"), *flags, "-c", SOURCE / "mapdpm.c", "-o", compiled)
    return compiled


def kconfig_options():
    """The options of Zephyr and ESP-IDF, without their prefix."""
    return re.findall(r"^ *config MAPDPM_(\w+)$", (FOLDER / "Kconfig.switches").read_text(), re.MULTILINE)
