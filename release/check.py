"""Build the release into build/release, and check everything about it that can be checked before it is published.

python -m release.check [--tree] [--quick]

- Without options it builds the last commit: what lies in the tree besides cannot get in. --tree builds the tree as it
  is. Both leave the same files: the sdist, a wheel for each processor, the list of contents (SBOM) and SHA256SUMS.
- --quick builds the sdist and the wheel of this processor, looks inside, and uses the wheel on the newest Python.
- Without a package index nothing can be built. Then a test of the tree is skipped, and says so; a release fails.
"""

from __future__ import annotations

import argparse
import hashlib
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from release import aarch64, builds, contents, use
from release.builds import AARCH64, HERE
from release.commands import RELEASE, missing_tool, say, why_no_index


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(prog="release.check", description=__doc__.partition("\n")[0])
    parser.add_argument("--tree", action="store_true", help="build the working tree, not the last commit")
    parser.add_argument("--quick", action="store_true", help="build and use one wheel, on the newest Python only")
    options = parser.parse_args()
    reason = why_not()
    if reason and not options.tree:
        sys.exit(f"release check: {reason}")
    if reason:
        say(f"SKIPPED, {reason}")
        return
    begun = time.monotonic()
    shutil.rmtree(RELEASE, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        check(Path(folder), tree=options.tree, quick=options.quick)
    say(f"all passed in {time.monotonic() - begun:.0f} s: {RELEASE}")


def why_not() -> str:
    """Return why nothing can be built here; empty where it can."""
    if platform.machine() != HERE.name:
        return f"this machine is {platform.machine()}: the wheels are made on {HERE.name}"
    tool = missing_tool(HERE.compiler)
    if tool:
        return f"{tool} is missing; on Debian: apt-get install build-essential"
    reason = why_no_index()
    return f"there is no package index: {reason}" if reason else ""


def check(scratch: Path, *, tree: bool, quick: bool) -> None:
    """Run the steps in their order; each ends the program where it fails."""
    source = builds.sources(scratch / "sources", tree=tree)
    sdist = builds.build("sdist", source, RELEASE)
    version = sdist.name.removeprefix("mapdpm-").removesuffix(".tar.gz")
    contents.look_into_sdist(sdist, source)
    wheel = builds.wheel_of(sdist, scratch / HERE.name)
    requirements = contents.look_into_wheel(wheel, source)
    say(f"built {sdist.name} and {wheel.name}; they hold what they should")
    oldest, newest = use.pythons()
    found = [use.use(newest, version, requirements)] if quick or newest != oldest else []
    if quick:
        return
    found.append(use.use(oldest, version, requirements, use.OLDEST_SCIKIT_LEARN))
    builds.same_bytes(sdist, wheel, scratch)
    say("both have the same bytes when they are built again from the sdist, elsewhere")
    wheels = [wheel, *on_aarch64(scratch, sdist, source, requirements, found)]
    use.agree(*found)
    contents.ask_the_tools(sdist, wheels)
    say("twine and abi3audit find nothing")
    describe(version, sdist, wheels, requirements)


def on_aarch64(
    scratch: Path, sdist: Path, source: Path, requirements: list[str], found: list[dict[str, Any]]
) -> list[Path]:
    """Return the wheel for aarch64, if it can be made here; add to ``found`` what it answers, if it can be used."""
    reason = aarch64.why_not()
    if reason:
        say(f"no wheel for aarch64: SKIPPED, {reason}")
        return []
    wheel = builds.wheel_of(sdist, scratch / AARCH64.name, machine=AARCH64)
    contents.look_into_wheel(wheel, source)
    say(f"built {wheel.name}; it holds what it should")
    reason = aarch64.why_not_used()
    if reason:
        say(f"the wheel for aarch64 is not used: SKIPPED, {reason}")
    else:
        found.append(aarch64.use(wheel, requirements, scratch))
    return [wheel]


def describe(version: str, sdist: Path, wheels: list[Path], requirements: list[str]) -> None:
    """Write the list of contents and the check sums of all files."""
    from release import sbom  # noqa: PLC0415  (only this step needs its packages)

    sbom.write(RELEASE / f"mapdpm-{version}.cdx.json", sbom.described(version, sdist, wheels, requirements))
    files = sorted(RELEASE.iterdir())
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (RELEASE / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
    for path in files:
        say(f"{path.stat().st_size:>9,} bytes  {path.name}")


if __name__ == "__main__":
    main()
