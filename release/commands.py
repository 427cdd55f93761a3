"""Commands that must succeed, and the folders that the steps share."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RELEASE = ROOT / "build" / "release"  # what is published, and nothing else
BIN = Path(sys.executable).parent  # the tools of the extra "release"


def run(*command: object, **options: Any) -> str:
    """Run a command and return its output; if it fails, print its output and end."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)  # noqa: S603
    if done.returncode:
        sys.exit(f"release check: failed: {' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def say(line: str) -> None:
    """Print a line at once: the next step may take minutes."""
    print(f"release check: {line}", flush=True)


def pip(python: str | Path, *arguments: object) -> tuple[object, ...]:
    """Return the words of a quiet pip of an interpreter."""
    return (python, "-m", "pip", "--disable-pip-version-check", "-qq", *arguments)


def without_python() -> dict[str, str]:
    """Return the environment without variables that change what an interpreter finds."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def missing_tool(*names: str) -> str:
    """Return the first of the programs that is not there; empty where all are."""
    return next((name for name in names if shutil.which(name) is None), "")


def why_no_index() -> str:
    """Return why nothing can be had from a package index; empty where it can."""
    with tempfile.TemporaryDirectory() as folder:
        ask = ("download", "--no-deps", "--no-cache-dir", "--retries=1", "--timeout=20", "-d", folder, "pycparser")
        words = [str(word) for word in pip(sys.executable, *ask)]
        probe = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603
    lines = probe.stderr.strip().splitlines() or ["pip said nothing"]
    return lines[-1] if probe.returncode else ""
