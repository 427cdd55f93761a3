"""The worst and the median learn call, in instructions: clusters come and go, and the buffer is full.

Run: python bench/worst_case.py [--points N] [--counted N] [--seed S]. Instructions do not depend on what else the
machine does. Needs valgrind (Debian: apt-get install valgrind) and cc; says so and ends where valgrind is missing.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

from streams import stream

import mapdpm

HERE = Path(__file__).resolve().parent
ROOMS = ("files", "groups", "stream", "surprise")
FLAGS = ("-std=gnu99", "-O2", "-ffp-contract=off", "-DMAPDPM_NO_CLONES")


def counts(folder: Path, real: str, room: int, half_life: float, counted: int, n_points: int) -> list[int]:
    """Instructions of each of the last learns."""
    kernels = Path(mapdpm.get_include())
    program = folder / f"worst_case_{real}"
    sources = [
        HERE / "worst_case.c",
        kernels / "mapdpm.c",
        *(path for room in ROOMS for path in (kernels / room).glob("*.c")),
    ]
    subprocess.run(["cc", *FLAGS, f"-DMAPDPM_REAL={real}", f"-I{kernels}", *sources, "-o", program], check=True)
    tool = ["valgrind", "--tool=callgrind", "--zero-before=learn_counted", "--dump-after=learn_counted"]
    out = folder / f"out_{real}_{room}_{half_life:g}"
    out.mkdir()
    arguments = [folder / f"points_{real}", n_points, 4, room, half_life, counted]
    command = [*tool, f"--callgrind-out-file={out}/c", program, *map(str, arguments)]
    subprocess.run(command, check=True, capture_output=True)
    totals = [re.search(r"^(?:totals|summary): (\d+)", path.read_text(), re.MULTILINE) for path in out.glob("c.*")]
    return [int(found.group(1)) for found in totals if found]


def main() -> None:
    """Count, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--counted", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("valgrind is missing; on Debian: apt-get install valgrind")
        return
    X = stream("churn", arguments.seed).X[: arguments.points]
    print(f"the last {arguments.counted} of {len(X)} points, 4 features; the hand-over is not among them")
    print("real    slots  half-life  median  99 %   worst  worst / median")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for real, kind in (("double", "f8"), ("float", "f4")):
            X.astype(kind).tofile(folder / f"points_{real}")
            for room in (12, 32):
                for half_life in (0.0, 1400.0):
                    found = sorted(counts(folder, real, room, half_life, arguments.counted, len(X)))
                    middle, high = statistics.median(found), found[int(0.99 * len(found))]
                    row = f"{middle:6.0f}  {high:5d}  {found[-1]:6d}  {found[-1] / middle:14.2f}"
                    print(f"{real:6}  {room:5d}  {half_life:9g}  {row}", flush=True)


if __name__ == "__main__":
    main()
