"""How fast tables and streams are read, and the peak of memory, beside another checkout of mapdpm.

Run on Linux: python bench/reading.py [--other FOLDER] [--rows N] [--times N]. Each reading is a process of its own,
and both versions run in turn. Prints the median of the processor time in seconds, and the peak in MB above that
of the imports.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parents[1]
READ = """
import sys, time
from pathlib import Path
from mapdpm import cli
from mapdpm.cli import commands, tables
def peak():  # of this program alone: that of getrusage begins with the peak of the one that started it
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024
before, begun = peak(), time.process_time()
path, *more = sys.argv[1:]
if more:
    code = cli.main(["stream", path, "--quiet", "--output", path + ".out", *more[1:]])
    code and sys.exit(code)
else:
    tables.read_csv(path)
print(time.process_time() - begun, peak() - before)
"""


def files(folder: Path, n: int) -> dict[str, list[str]]:
    """A table of n rows and ten columns, and streams of a fifth as many points and three columns."""
    rng = np.random.default_rng(0)
    np.savetxt(folder / "table.csv", rng.normal(size=(n, 10)), fmt="%.6f", delimiter=",", header="a,b,c,d,e,f,g,h,i,j")
    points = rng.normal(size=(n // 5, 3)) + rng.choice([0.0, 9.0], size=(n // 5, 1))
    rows = [",".join(f"{x:.4f}" for x in point) for point in points.tolist()]
    dates = np.datetime64("2026-10-01T00:00:00") + 7 * np.arange(len(rows))
    (folder / "plain.csv").write_text("\n".join(["a,b,c", *rows, ""]))
    epoch = (f"{1790812800 + 7 * i},{row}" for i, row in enumerate(rows))
    (folder / "epoch.csv").write_text("\n".join(["t,a,b,c", *epoch, ""]))
    iso = (f"{date}Z,{row}" for date, row in zip(dates, rows, strict=True))
    (folder / "iso.csv").write_text("\n".join(["t,a,b,c", *iso, ""]))
    return {"table": [], "plain": ["stream"], "epoch": ["stream", "--time", "t"], "iso": ["stream", "--time", "t"]}


def main() -> None:
    """Print a line for each file and version."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--other", type=Path, help="the folder of another version")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=5)
    arguments = parser.parse_args()
    versions = [HERE] if arguments.other is None else [arguments.other.resolve(), HERE]
    with tempfile.TemporaryDirectory() as folder:
        for name, more in files(Path(folder), arguments.rows).items():
            found: dict[Path, list[list[float]]] = {version: [] for version in versions}
            for _ in range(arguments.times):
                for version in versions:
                    command = [sys.executable, "-c", READ, f"{folder}/{name}.csv", *more]
                    run = subprocess.run(
                        command,
                        cwd=folder,  # the folder of the run comes before PYTHONPATH
                        env=os.environ | {"PYTHONPATH": str(version)},
                        capture_output=True,
                        text=True,
                        check=False,
                    )
                    if run.returncode == 0:
                        found[version].append([float(word) for word in run.stdout.split()])
            for version, runs in found.items():
                told = [statistics.median(column) for column in zip(*runs, strict=True)]
                figures = f"{told[0]:.2f} s, {told[1]:.0f} MB" if told else "not read"
                print(f"{name:6} {version}: {figures}", flush=True)


if __name__ == "__main__":
    main()
