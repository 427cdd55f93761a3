"""The machine and the versions of a measurement, for every line of JSON that a bench prints."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import numpy as np

from mapdpm import __version__

_CPU = Path("/proc/cpuinfo")


def about() -> dict[str, str]:
    """Processor, compiler, commit and versions."""
    return {
        "machine": processor(),
        "compiler": first_line("cc", "--version"),
        "python": platform.python_version(),
        "commit": first_line("git", "rev-parse", "--short", "HEAD"),
        "mapdpm": __version__,
        "numpy": np.__version__,
    }


def processor() -> str:
    """Its name, and the widest vectors it has."""
    if not _CPU.exists():
        return platform.processor() or platform.machine()
    fields = dict(line.split(":", 1) for line in _CPU.read_text().splitlines() if ":" in line)
    fields = {name.strip(): value.strip() for name, value in fields.items()}
    flags = fields.get("flags", "").split()
    widest = next((name for name in ("avx512f", "avx2", "avx", "sse2") if name in flags), platform.machine())
    return f"{fields.get('model name', platform.machine())}, {widest}"


def first_line(*command: str) -> str:
    """The first line of a program's output; empty where there is no program, or outside a repository."""
    try:
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.partition("\n")[0].strip()
