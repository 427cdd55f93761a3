"""Compilers and other tools, for tests of the C library."""

import shutil
import subprocess

import pytest


def need(*tools):
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"there is no {tool}")


def run(*command, cwd=None, check=True):
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False)
    assert not check or done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done
