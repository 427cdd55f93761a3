"""Compiling the C library with programs, for the tests of what lies around it."""

import importlib.util
import re
import shutil
import subprocess

import pytest

from repository import ROOT

KERNELS = ROOT / "c_kernels"


def program(path):
    """A program of c_kernels, as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


amalgamate = program(KERNELS / "amalgamate.py")
SOURCE = amalgamate.current()
FIRMWARE = KERNELS / "firmware"
FOLDER = KERNELS / "amalgamation"
STUBS = ROOT / "tests" / "c_kernels" / "stubs"
SKETCH = FOLDER / "examples" / "Wristband" / "Wristband.ino"


def finished(*command, cwd=None, env=None):
    """A program that has run, with its outputs."""
    return subprocess.run([*map(str, command)], cwd=cwd, env=env, capture_output=True, text=True, check=False)


def run(*command, cwd=None, env=None):
    """The output of a program; fails with its output if it does."""
    done = finished(*command, cwd=cwd, env=env)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def need(tool, package=None):
    """The name of a tool; skips the test if there is none."""
    if shutil.which(tool) is None:
        pytest.skip(f"there is no {tool}; apt-get install {package or tool}")
    return tool


def links(*command, cwd=None):
    """Whether a program links. If not, the linker must have missed the function that makes learners of a real type."""
    done = finished(*command, cwd=cwd)
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
