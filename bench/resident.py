"""Resident memory over many calls: fits, learned points, snapshots. It must stay flat.

Run: python bench/resident.py [--share 1.0]: 1e5 fits, 1e7 calls of ``learn_one``, 1e6 snapshots, or a share of them. A
line each: how often, and how many kB resident memory grew from a tenth of the calls to the end. Exits with 1 where that
is more than 1 MB.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from mapdpm import MAPDPM, NormalGamma, OnlineMAPDPM

LIMIT = 1024  # kB
TIMES = {"fits": 10**5, "calls of learn": 10**7, "snapshots": 10**6}


def main() -> None:
    """Print a line for each kind of call."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=1.0)
    share = parser.parse_args().share
    X = np.random.default_rng(0).normal(size=(20, 2)) + 9.0 * (np.arange(20) % 2)[:, None]
    prior, points = NormalGamma(np.zeros(2), 0.1, 1.0, np.ones(2)), list(X)
    stream = OnlineMAPDPM(8, likelihood=prior)
    stream.learn_many(X)
    calls: dict[str, Callable[[int], object]] = {
        "fits": lambda _: MAPDPM(likelihood=prior).fit(X),
        "calls of learn": lambda i: stream.learn_one(points[i % 20]),
        "snapshots": lambda _: OnlineMAPDPM.from_bytes(stream.to_bytes()),
    }
    held = True
    for name, call in calls.items():
        n, start = max(1000, int(share * TIMES[name])), time.monotonic()
        for i in range(n // 10):
            call(i)
        before = resident()
        for i in range(n // 10, n):
            call(i)
        grown = resident() - before
        held &= grown <= LIMIT
        print(
            json.dumps({"calls": name, "times": n, "grown kB": grown, "seconds": round(time.monotonic() - start)}),
            flush=True,
        )
    sys.exit(not held)


def resident() -> int:
    """Resident memory, in kB."""
    gc.collect()
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(status.read_text().split("VmRSS:")[1].split()[0])


if __name__ == "__main__":
    main()
