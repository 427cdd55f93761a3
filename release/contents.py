"""What lies in the sdist and in a wheel: exactly the files that these lists name, neither less nor more."""

from __future__ import annotations

import email
import re
import runpy
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from release.commands import BIN, ROOT, run

ROOMS = runpy.run_path(str(ROOT / "c_kernels" / "amalgamate.py"))["ROOMS"]
IN_A_WHEEL = {  # folders of the wheel, and the files of the sources that they hold
    "mapdpm": ("mapdpm", ("**/*.py", "py.typed")),
    "mapdpm/c_kernels": ("c_kernels", ("*.[ch]", *(f"{room}/*" for room in ROOMS), "amalgamation/src/*")),
    "mapdpm/example_data": ("examples/data", ("smartwatch.csv", "README.md")),
}
MADE_FOR_A_WHEEL = ("mapdpm/backends/_c16.abi3.so", "mapdpm/backends/_c32.abi3.so", "mapdpm/backends/_c64.abi3.so")
ABOUT_A_WHEEL = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE", "top_level.txt")
# build/ has what a build writes, such as the C of the families
NOT_IN_AN_SDIST = re.compile(
    r"(.*/)?__pycache__/|build/|\.(ci|github|githooks)/|\.editorconfig|\.gitignore|[^/]*\.egg-info/"
)
MADE_FOR_AN_SDIST = ("PKG-INFO", "setup.cfg")
ABOUT_AN_SDIST = (
    "PKG-INFO",
    "SOURCES.txt",
    "dependency_links.txt",
    "entry_points.txt",
    "requires.txt",
    "top_level.txt",
)
PLACES = re.compile(rb"/(?:home|root|tmp|build|work)/[ -~]*")
"""Paths of whoever built a compiled module: they name a person's folder, and differ from one build to the next."""


def members(archive: Path) -> dict[str, bytes]:
    """Return the files of a wheel, or of an sdist without its folder, with their contents."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist() if not name.endswith("/")}
    with tarfile.open(archive) as sdist:
        files = {member.name: sdist.extractfile(member) for member in sdist.getmembers() if member.isfile()}
        return {name.partition("/")[2]: file.read() for name, file in files.items() if file is not None}


def expected_in_wheel(source: Path, version: str) -> set[str]:
    """Return the names that a wheel of these sources must have."""
    names = {f"mapdpm-{version}.dist-info/{name}" for name in ABOUT_A_WHEEL} | set(MADE_FOR_A_WHEEL)
    for there, (here, patterns) in IN_A_WHEEL.items():
        found = [path for pattern in patterns for path in (source / here).glob(pattern)]
        names |= {f"{there}/{path.relative_to(source / here).as_posix()}" for path in found}
    return names


def expected_in_sdist(source: Path) -> set[str]:
    """Return the names that an sdist of these sources must have: all but those that serve only a checkout."""
    files = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    kept = {name for name in files if not NOT_IN_AN_SDIST.match(name)}
    return kept | set(MADE_FOR_AN_SDIST) | {f"mapdpm.egg-info/{name}" for name in ABOUT_AN_SDIST}


def compare(archive: Path, found: set[str], expected: set[str]) -> None:
    """End with the names that are missing or too many."""
    if found != expected:
        sys.exit(
            f"release check: {archive.name} lacks {sorted(expected - found)} and should not have "
            f"{sorted(found - expected)}: see release/contents.py, pyproject.toml and MANIFEST.in"
        )


def look_into_sdist(sdist: Path, source: Path) -> None:
    """Check the contents of the sdist against those of its sources."""
    compare(sdist, set(members(sdist)), expected_in_sdist(source))


def look_into_wheel(wheel: Path, source: Path) -> list[str]:
    """Check the name, the contents and the compiled modules of a wheel; return its requirements."""
    named = re.fullmatch(r"mapdpm-([\w.]+)-cp311-abi3-manylinux[\w.]+\.whl", wheel.name)
    assert named, wheel.name
    version = named[1]
    inside = members(wheel)
    compare(wheel, set(inside), expected_in_wheel(source, version))
    for name in MADE_FOR_A_WHEEL:
        found = PLACES.search(inside[name])
        assert not found, f"{name} names a place of whoever built it: {found.group().decode()}"
    metadata = email.message_from_bytes(inside[f"mapdpm-{version}.dist-info/METADATA"])
    requirements = metadata.get_all("Requires-Dist") or []
    return [requirement for requirement in requirements if "extra ==" not in requirement]


def ask_the_tools(sdist: Path, wheels: list[Path]) -> None:
    """Let twine read the descriptions as an index does, and abi3audit the symbols that the compiled modules use."""
    run(BIN / "twine", "check", "--strict", sdist, *wheels)
    run(BIN / "abi3audit", "--strict", *wheels, stdin=subprocess.DEVNULL)
