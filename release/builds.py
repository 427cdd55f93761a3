"""The sdist, the wheel from it, and the proof that whoever builds them again gets the same bytes (decision 150).

Three things would change the bytes. The names of folders, in what compilers and linkers write: compilers get flags of
their own. The time: that of the commit stands for it. The rights of new files: they are those of umask 022.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gzip
import io
import os
import shlex
import shutil
import sys
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from release.commands import BIN, RELEASE, ROOT, run
from release.contents import members

UMASK = 0o022


class Machine(NamedTuple):
    """A processor that has a wheel: its compiler, and the oldest manylinux that ``old_glibc.h`` allows."""

    name: str
    compiler: str

    @property
    def manylinux(self) -> str:
        """The tag of the platform."""
        return f"manylinux_2_17_{self.name}"


HERE = Machine("x86_64", "gcc")
AARCH64 = Machine("aarch64", "aarch64-linux-gnu-gcc")


def sources(folder: Path, *, tree: bool) -> Path:
    """Put the files of the last commit into a folder, or with ``tree`` those of the working tree that git may see."""
    if not (ROOT / ".git").exists():  # an sdist that was unpacked
        made = shutil.ignore_patterns(".*", "*.so", "*.egg-info", "__pycache__", "build", "dist", "env")
        return Path(shutil.copytree(ROOT, folder, ignore=made))
    folder.mkdir()
    archive = folder.with_suffix(".tar")
    if tree:
        listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).split("\0")
        names = {name for name in listed if (ROOT / name).is_file()}
        with tarfile.open(archive, "w") as file:
            for name in sorted(names):
                file.add(ROOT / name, name)
    else:
        run("git", "archive", "-o", archive, "HEAD", cwd=ROOT)
    unpack(archive, folder)
    return folder


@functools.cache  # once: a commit during the check does not count
def seconds() -> str:
    """Return the time of the last commit, in seconds since 1970; in an sdist, that of its files."""
    if (ROOT / ".git").exists():
        return run("git", "log", "-1", "--format=%ct", cwd=ROOT).strip()
    return os.environ.get("SOURCE_DATE_EPOCH", str(int((ROOT / "pyproject.toml").stat().st_mtime)))


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a tar file, with the rights that it says."""
    with tarfile.open(archive) as file:
        if hasattr(tarfile, "data_filter"):
            file.extractall(folder, filter="data")
        else:  # Python 3.11.3 and older
            file.extractall(folder)  # noqa: S202  (made here)


def build(what: str, source: Path, out: Path, machine: Machine = HERE) -> Path:
    """Build the "sdist" or the "wheel" of a folder, in an environment with the build requirements and no more."""
    from build import ProjectBuilder  # noqa: PLC0415  (not there in `make test`)

    flags = shlex.join(["-g0", "-include", str(source / "release" / "old_glibc.h")])
    compilers = {"CC": machine.compiler, "LDSHARED": f"{machine.compiler} -shared -Wl,-s", "CFLAGS": flags}
    # A cache of a compiler would compare an object with itself.
    environment = os.environ | compilers | {"SOURCE_DATE_EPOCH": seconds(), "CCACHE_DISABLE": "1"}

    def runs(command: Sequence[str], cwd: str | None = None, extra_environ: Mapping[str, str] | None = None) -> None:
        run(*command, cwd=cwd, env=environment | dict(extra_environ or {}), umask=UMASK)

    isolated = environment_with(frozenset(ProjectBuilder(source).build_system_requires))
    builder = ProjectBuilder.from_isolated_env(isolated, source, runs)
    builder.build(what, out, {"--build-option": f"--plat-name=linux_{machine.name}"} if what == "wheel" else {})
    (built,) = out.glob("*.tar.gz" if what == "sdist" else f"*{machine.name}.whl")
    if what == "sdist":
        normalise(built)
    return built


@functools.cache  # pip takes as long as a build of an sdist
def environment_with(requirements: frozenset[str]) -> Any:
    """Return an environment of Python with these requirements and no more; it lasts until the program ends."""
    from build.env import DefaultIsolatedEnv  # noqa: PLC0415  (not there in `make test`)

    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    isolated = stack.enter_context(DefaultIsolatedEnv())
    isolated.install(requirements)
    return isolated


def normalise(sdist: Path) -> None:
    """Pack an sdist again: in the order of names, with one time, one owner and plain rights."""
    when = int(seconds())
    plain = io.BytesIO()
    with tarfile.open(sdist) as old, tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            executable = member.isdir() or member.mode & 0o100
            named = tarfile.TarInfo(member.name)
            named.type, named.size, named.mtime = member.type, member.size, when
            named.mode = 0o755 if executable else 0o644
            new.addfile(named, old.extractfile(member) if member.isfile() else None)
    sdist.write_bytes(gzip.compress(plain.getvalue(), mtime=when))


def repaired(wheel: Path, out: Path, machine: Machine = HERE) -> Path:
    """Let auditwheel check the symbols of a wheel, and name the oldest systems that have them."""
    environment = os.environ | {"SOURCE_DATE_EPOCH": seconds(), "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    run(BIN / "auditwheel", "repair", "--wheel-dir", out, wheel, env=environment, umask=UMASK)
    (built,) = out.glob(f"*{machine.name}.whl")
    if not built.stem.endswith(machine.manylinux):
        sys.exit(f"release check: {built.name} needs a newer glibc than {machine.manylinux}: see release/old_glibc.h")
    return built


def wheel_of(sdist: Path, scratch: Path, out: Path = RELEASE, machine: Machine = HERE) -> Path:
    """Build the wheel of an sdist, in a new folder below ``scratch``: what the sdist lacks fails here."""
    unpack(sdist, scratch / "unpacked")
    (inside,) = (scratch / "unpacked").iterdir()
    return repaired(build("wheel", inside, scratch / "plain", machine), out, machine)


def same_bytes(sdist: Path, wheel: Path, scratch: Path) -> None:
    """Build both again from the sdist, in folders of other names and with other rights; they must be the same bytes."""
    unpack(sdist, scratch / "from itself")
    (inside,) = (scratch / "from itself").iterdir()
    before = os.umask(0o077)
    try:
        again = build("sdist", inside, scratch / "again"), wheel_of(sdist, scratch / "elsewhere", scratch / "again")
    finally:
        os.umask(before)
    for first, second in zip((sdist, wheel), again, strict=True):
        if first.read_bytes() != second.read_bytes():
            old, new = members(first), members(second)
            names = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
            sys.exit(f"release check: {first.name} is not the same when it is built again: {names or 'the frame only'}")
