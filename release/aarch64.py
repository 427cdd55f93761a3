"""The wheel for aarch64, made by a cross-compiler, and used by a Python for aarch64 in an emulator.

The limited interface of Python has the same layout on both machines, so this machine's Python.h serves. Nothing is
installed on the machine: apt fetches the packages of that Python into a folder of their own.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from release.builds import AARCH64
from release.commands import missing_tool, pip, run, say, without_python
from release.use import SMOKE

EMULATOR = "qemu-aarch64"
PLATFORMS = tuple(f"--platform=manylinux_2_{minor}_aarch64" for minor in (17, 27, 28))  # of numpy and cffi


def why_not() -> str:
    """Return why there is no wheel for aarch64; empty where there is one."""
    if missing_tool(AARCH64.compiler):
        return f"{AARCH64.compiler} is missing; on Debian: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
    return ""


def fetched_python(scratch: Path) -> tuple[Path, str]:
    """Unpack Debian's Python for aarch64 into a folder; return the folder and the version."""
    root, state, cache = scratch / "root", scratch / "apt", scratch / "cache"
    for folder in (state / "lists" / "partial", cache / "archives" / "partial"):
        folder.mkdir(parents=True)
    (state / "status").touch()
    options = {
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "APT::Sandbox::User": "",
        "Debug::NoLocking": "true",
        "Dir::Cache": cache,
        "Dir::State": state,
        "Dir::State::status": state / "status",
    }
    apt = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in options.items())]
    run(*apt, "update")
    # numpy needs the library of C++.
    run(*apt, "install", "--download-only", "--yes", "--no-install-recommends", "python3", "libstdc++6")
    for package in (cache / "archives").glob("*.deb"):
        run("dpkg", "-x", package, root)
    (python,) = (root / "usr" / "bin").glob("python3.*")
    return root, python.name.removeprefix("python")


def use(wheel: Path, requirements: list[str], scratch: Path) -> dict[str, Any]:
    """Install the wheel and its requirements as for aarch64, and use them in the emulator."""
    root, version = fetched_python(scratch)
    site = scratch / "site-packages"
    install = pip(sys.executable, "install", "--only-binary=:all:", f"--target={site}", f"--python-version={version}")
    run(*install, *PLATFORMS, wheel, *requirements)
    emulated = (EMULATOR, "-L", root, root / "usr" / "bin" / f"python{version}")
    environment = without_python() | {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    answer: dict[str, Any] = json.loads(run(*emulated, "-c", SMOKE, cwd=scratch, env=environment))
    say(f"the wheel for aarch64 works on Python {answer['python']} in {EMULATOR}, with numpy {answer['numpy']}")
    return answer


def why_not_used() -> str:
    """Return why the wheel for aarch64 cannot be used here; empty where it can."""
    if missing_tool(EMULATOR):
        return f"{EMULATOR} is missing; on Debian: apt-get install qemu-user"
    if missing_tool("apt-get", "dpkg"):
        return "only Debian and its kin have apt-get, which fetches a Python for aarch64"
    return ""
