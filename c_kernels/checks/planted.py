"""Plant bugs in a copy of the library, and see that the checks find them: `python3 checks/planted.py`.

A check that nothing can fail says nothing. Each bug is one that a tired person writes: an index one too far, a limit
that lets one value too many through, a constant that is a double. What the check prints must name the bug: a copy that
does not compile is not a catch.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

HERE = pathlib.Path(__file__).parent


class Bug(NamedTuple):
    """A text that stands once in a file, what it becomes, the program that shall notice, and what it then prints."""

    name: str
    file: str
    old: str
    new: str
    program: str  # of the Makefile, below its build
    arguments: str
    says: str
    needs: str  # a compiler


BUGS = (
    Bug(
        "index one too far",
        "choose.c",
        "            for (j = 0; j < n; j++)\n                u[j] =",
        "            for (j = 0; j <= n; j++)\n                u[j] =",
        "gcc-float-sanitized/test_stream",
        "",
        "out of bounds",
        "gcc",
    ),
    Bug(
        "limit that lets one value too many through",
        "stream_snapshot.c",
        "s->turn >= SLOTS(s)",
        "s->turn > SLOTS(s)",
        "fuzz/snapshot_fuzz-float-sanitized",
        "-seed=1 -runs=1000000 -max_len=1024 -len_control=0",
        "violated: s->warming ?",
        "clang",
    ),
    Bug(
        "constant that is a double",
        "mapdpm_math.h",
        "x * (mapdpm_real)1.4426950408889634",
        "x * 1.4426950408889634",
        "../firmware",
        "cortex-m4f-smallest",
        "-Werror=double-promotion",
        "arm-none-eabi-gcc",
    ),
)


def outcome(bug: Bug, folder: pathlib.Path) -> str:
    """What the check printed on the planted copy in `folder`."""
    path = folder / bug.file
    text = path.read_text()
    if text.count(bug.old) != 1:
        sys.exit(f"planted.py: expected once in {bug.file}, found {text.count(bug.old)} times: {bug.old!r}; adapt BUGS")
    path.write_text(text.replace(bug.old, bug.new))
    if bug.program == "../firmware":
        commands = [
            [sys.executable, "amalgamate.py"],
            [sys.executable, "firmware/firmware.py", *bug.arguments.split()],
        ]
    else:
        build = folder / "build"
        commands = [
            ["make", "-s", f"BUILD={build}", f"{build}/{bug.program}"],
            [str(build / bug.program), f"-artifact_prefix={folder}/", *bug.arguments.split()],
        ]
    printed = ""
    for command in commands:
        run = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder)
        printed += run.stdout + run.stderr
    return printed


def main() -> int:
    """Plant each bug by itself; 1 where one is not found."""
    missed = 0
    for bug in BUGS:
        if shutil.which(bug.needs) is None:
            print(f"skipped: {bug.name}: no {bug.needs}")
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name) / "c_kernels"
            shutil.copytree(HERE.parent, folder, ignore=shutil.ignore_patterns("build", "__pycache__"))
            printed = outcome(bug, folder)
        line = next((line.strip() for line in printed.splitlines() if bug.says in line), None)
        print(f"{bug.name}, {bug.file}: {line or 'NOT FOUND'}")
        if line is None:
            missed += 1
            print(printed[-2000:])
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
