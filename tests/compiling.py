"""Compiling the C library with programs, for the tests of what lies around it."""

import functools
import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import time

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
OBJECTS = ROOT / "build" / "objects"
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


def object_of(source, *flags, compiler="gcc"):
    """The object of a file of the library, compiled once with these flags for all tests, until a file changes."""
    need(shlex.split(compiler)[0])
    words = [*shlex.split(compiler), *flags, f"-I{KERNELS}", "-c", source]
    key = hashlib.sha256("\0".join([of_all_sources(), version_of(words[0]), *map(str, words)]).encode()).hexdigest()
    compiled = OBJECTS / f"{key[:16]}.o"
    if not compiled.exists():
        OBJECTS.mkdir(parents=True, exist_ok=True)
        ours = compiled.with_suffix(f".{os.getpid()}")  # another worker may compile it, too
        run(*words, "-o", ours)
        ours.replace(compiled)
    return compiled


@functools.cache
def version_of(tool):
    return run(tool, "--version")


@functools.cache
def of_all_sources():
    """A hash of the files of the library. Objects of a week ago are removed."""
    for old in OBJECTS.glob("*.o"):
        if time.time() - old.stat().st_mtime > 7 * 24 * 3600:
            old.unlink(missing_ok=True)
    files = [*KERNELS.glob("*.[ch]"), *(path for room in amalgamate.ROOMS for path in (KERNELS / room).glob("*.[ch]"))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(files))).hexdigest()


def library_object(real):
    """The two files for this machine."""
    return object_of(SOURCE / "mapdpm.c", "-std=c99", "-O1", "-DMAPDPM_NO_CLONES", f"-DMAPDPM_REAL={real}")


def kconfig_options():
    """The options of Zephyr and ESP-IDF, without their prefix."""
    return re.findall(r"^ *config MAPDPM_(\w+)$", (FOLDER / "Kconfig.switches").read_text(), re.MULTILINE)
