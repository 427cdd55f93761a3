"""Plant bugs in copies of the library and require that the checks find them: `python3 checks/planted.py`.

A check that cannot fail proves nothing. Each bug is a usual mistake: an index one too far, a limit that lets one value
too many through, a constant that is a double. The output of the check must name the bug. A copy that does not compile
does not count as found.
"""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

HERE = pathlib.Path(__file__).parent


class Bug(NamedTuple):
    """A text that a file has once, its replacement, the program that must notice it, and what that program prints."""

    name: str
    file: str
    old: str
    new: str
    program: str  # a target of the Makefile, below its build folder
    arguments: str
    says: str
    needs: str  # the compiler


BUGS = (
    Bug(
        "index one too far",
        "stream/choose.c",
        "            for (j = 0; j < n; j++)\n                u[j] =",
        "            for (j = 0; j <= n; j++)\n                u[j] =",
        "gcc-float-sanitized/test_stream",
        "",
        "out of bounds",
        "gcc",
    ),
    Bug(
        "limit that lets one value too many through",
        "stream/stream_checks.c",
        "s->turn >= MD_SLOTS(s)",
        "s->turn > MD_SLOTS(s)",
        "clang-float-sanitized/snapshot_fuzz",
        "-seed=1 -runs=1000000 -max_len=1024 -len_control=0",
        "violated: s->warming ?",
        "clang",
    ),
    Bug(
        "constant that is a double",
        "arithmetic/mapdpm_math.h",
        "x * (mapdpm_real)1.4426950408889634",
        "x * 1.4426950408889634",
        "../firmware",
        "cortex-m4f-smallest",
        "-Werror=double-promotion",
        "arm-none-eabi-gcc",
    ),
)


def outcome(bug: Bug, folder: pathlib.Path) -> str:
    """Return the output of the check on the planted copy in `folder`."""
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
        run = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            cwd=folder,
            env=os.environ | {"BUILD": str(folder / "build")},
        )
        printed += run.stdout + run.stderr
    return printed


def found(bug: Bug) -> tuple[bool, str]:
    """Plant a bug in a copy of its own; return whether the check found it, and the report."""
    if shutil.which(bug.needs) is None:
        return True, f"skipped: {bug.name}: no {bug.needs}"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "c_kernels"
        shutil.copytree(HERE.parent, folder, ignore=shutil.ignore_patterns("build", "__pycache__"))
        printed = outcome(bug, folder)
    line = next((line.strip() for line in printed.splitlines() if bug.says in line), None)
    report = f"{bug.name}, {bug.file}: {line or 'NOT FOUND'}"
    return line is not None, report if line is not None else f"{report}\n{printed[-2000:]}"


def main() -> int:
    """Plant each bug by itself; return 1 if one is not found."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(found, BUGS))
    for _, report in results:
        print(report)
    return int(not all(is_found for is_found, _ in results))


if __name__ == "__main__":
    sys.exit(main())
