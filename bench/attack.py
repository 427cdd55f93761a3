"""Every attack of docs/security.md: a line each, and 1 as the exit code where one succeeds.

Run: make attack, or python bench/attack.py [--runs 20000] [--only fuzz,files,...]. It takes minutes; --runs are the
inputs of each fuzzer and real type. ``tries`` counts inputs of fuzzers, calls, or tests.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path

from machine import about

ROOT = Path(__file__).resolve().parents[1]
TESTS = {
    "files": ["tests/files/test_fuzz_readers.py", "tests/files/test_container.py"],
    "memory": ["tests/files/test_reader_memory.py"],
    "tables": ["tests/cli/test_hostile_files.py"],
    "browser": ["tests/web/test_hostile.py"],
    "broker": ["tests/cli/test_mqtt_hostile.py"],
    "encryption and secrets": ["tests/cli/test_mqtt_security.py", "tests/cli/test_mqtt_secrets.py"],
    "output": ["tests/cli/test_output.py"],
    "locks": ["tests/files/test_locks.py", "tests/cli/test_stream_locks.py"],
    "interrupts": ["tests/test_interrupts.py", "tests/stream/test_liveness.py"],
    "workers": ["tests/dask/test_dask.py"],
    "scales": ["tests/stream/test_prior.py", "tests/stream/test_pooling.py"],
}


def main() -> None:
    """Print a line for each group of attacks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    chosen = set(filter(None, arguments.only.split(",")))
    print(json.dumps(about()), flush=True)
    held = True
    if not chosen or "fuzz" in chosen:
        held &= told("fuzz", ["make", "-C", "c_kernels", "fuzz", f"RUNS={arguments.runs}"], r": (\d+) runs")
    if not chosen or "leaks" in chosen:
        held &= told("leaks", [sys.executable, "bench/resident.py", "--share", "0.01"], r'"times": (\d+)')
    for name, files in TESTS.items():
        if not chosen or name in chosen:
            pytest = [sys.executable, "-m", "pytest", "-q", "--hypothesis-profile=slow", *files]
            held &= told(name, pytest, r"(\d+) passed")
    sys.exit(not held)


def told(name: str, command: list[str], tries: str) -> bool:
    """Run ``command``, and say how many tries it counts; whether it held."""
    start = time.monotonic()
    run = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    n = sum(map(int, re.findall(tries, run.stdout)))
    found = {"attack": name, "tries": n, "held": run.returncode == 0, "seconds": round(time.monotonic() - start)}
    print(json.dumps(found), flush=True)
    if run.returncode:
        print(run.stdout[-4000:], run.stderr[-2000:], sep="\n", file=sys.stderr)
    return run.returncode == 0


if __name__ == "__main__":
    main()
