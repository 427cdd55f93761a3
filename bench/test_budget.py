"""The cost of `make test` from nothing: wall and CPU of each part, on a clean clone with cold caches.

    python bench/test_budget.py [--rest] [--python PYTHON]

Clones the last commit into a temporary folder and runs the parts one after another, with caches of their own; then all
of `make test` at once, as a user does, in a second clone. Prints a table of seconds. With --rest the parts of
`make test-rest` come last. Run it on a quiet machine: the budget is 300 s of wall and 600 s of CPU on two cores.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS = (".venv/tested", "lint", "test-c", "test-firmware", "test-python")
REST = (".venv/complete", "test-c-all", "test-firmware-all", "test-wheel", "test-python-rest", "papers-quick")
COUNTED = re.compile(r"(\d+) passed")


def clone(folder: Path) -> Path:
    """A clone of the last commit."""
    subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
    return folder


def run(target: str, tree: Path, python: str) -> int:
    """Run a target and print its row; return its exit code."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "NUMBA", "PYTHON"))
    }
    with tempfile.TemporaryFile("w+") as log:
        start = time.monotonic()
        command = ["make", target, f"PYTHON={python}"]
        process = subprocess.Popen(command, cwd=tree, env=environment, stdout=log, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)  # and of all children that ended
        process.returncode = code = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - start
        log.seek(0)
        said = log.read()
    tests = sum(map(int, COUNTED.findall(said)))
    print(f"| `make {target}` | {tests or ''} | {wall:.0f} | {used.ru_utime + used.ru_stime:.0f} |", flush=True)
    if code:
        print(said[-4000:], file=sys.stderr)
    return code


def main() -> int:
    """Print the table; return 1 if a part failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rest", action="store_true", help="the parts of test-rest, too")
    parser.add_argument("--python", default="python3")
    arguments = parser.parse_args()
    print("| part | tests | wall (s) | CPU (s) |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        parts = clone(Path(name) / "parts")
        codes = [run(target, parts, arguments.python) for target in PARTS]
        codes.append(run("test", clone(Path(name) / "whole"), arguments.python))
        codes += [run(target, parts, arguments.python) for target in (REST if arguments.rest else ())]
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())
