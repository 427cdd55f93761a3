"""Made series in the layout of the Numenta Anomaly Benchmark, with windows, to choose a setting on. Seeded."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

START = datetime(2014, 4, 1, tzinfo=UTC)
STEP = timedelta(minutes=5)
DAY, WEEK = 288, 2016
SHARE = 0.1  # of a file is in windows
Series = NDArray[np.float64]
KINDS = ("spike", "shift", "drift", "burst", "flat", "variance", "dip", "day off")


def autocorrelated(rng: Any, n: int, phi: float) -> Series:
    """A process of order one with unit variance."""
    x = np.empty(n)
    last = rng.normal()
    for i, step in enumerate(rng.normal(0.0, np.sqrt(1.0 - phi * phi), n)):
        x[i] = last = phi * last + step
    return x


def base(rng: Any, kind: int, n: int) -> tuple[Series, float]:
    """A normal series and the size of its noise: one of six kinds."""
    i = np.arange(n)
    day = 1.0 + 0.6 * np.sin(2 * np.pi * i / DAY + rng.uniform(0, 6))
    week = np.where(i % WEEK < 2 * DAY, rng.uniform(0.5, 0.9), 1.0)
    if kind == 0:  # a season that multiplies its noise
        return 100.0 * day * week * np.exp(0.08 * rng.normal(size=n)), 8.0
    if kind == 1:  # counts with heavy tails
        return rng.poisson(5.0 * day * week * rng.pareto(2.5, n) + 1.0).astype(float), 10.0
    if kind == 2:  # a temperature
        return 70.0 + 3.0 * autocorrelated(rng, n, 0.995) + 2.0 * day + 0.2 * rng.normal(size=n), 1.5
    if kind == 3:  # a load with jobs, each hour or each few hours
        period = int(rng.choice([12, 72]))
        return 20.0 + 30.0 * (i % period < period // 4) + 2.0 * rng.normal(size=n), 6.0
    if kind == 4:  # a level with rare harmless peaks
        return 40.0 + rng.normal(size=n) + (rng.random(n) < 0.004) * rng.exponential(15.0, n), 4.0
    return np.round(np.maximum(0.0, 0.5 * autocorrelated(rng, n, 0.9) + 0.2 * day), 2), 0.5  # mostly zeros


def disturb(rng: Any, x: Series, kind: str, at: int, size: float) -> None:
    """Put an anomaly at a row."""
    n, sign = int(rng.integers(30, 250)), rng.choice([-1.0, 1.0])
    part = x[at : at + n]
    if kind == "spike":
        x[at : at + int(rng.integers(1, 4))] += rng.uniform(5, 15) * size
    elif kind == "shift":
        x[at:] += sign * rng.uniform(3, 6) * size
    elif kind == "drift":
        part += sign * np.linspace(0.0, 8.0 * size, len(part))
    elif kind == "burst":
        part *= 1.0 + rng.exponential(2.0, len(part))
    elif kind == "flat":
        part[:] = part[0]
    elif kind == "variance":
        part += 3.0 * size * rng.normal(size=len(part))
    elif kind == "dip":
        part[:40] = x.min()
    else:
        part[:] = np.median(x) + 0.3 * (part - np.median(x))


def write(folder: Path, files: int = 24, rows: tuple[int, int] = (4000, 15000), seed: int = 0) -> Path:
    """Write the series and ``windows.json``; return its path."""
    windows: dict[str, list[list[str]]] = {}
    (folder / "made").mkdir(parents=True, exist_ok=True)
    for k in range(files):
        rng = np.random.default_rng([seed, k])
        n = int(rng.integers(rows[0], rows[1] + 1))
        x, size = base(rng, k % 6, n)
        number = 0 if k % 8 == 7 else int(rng.integers(1, 5))
        width = int(SHARE * n / max(number, 1))
        name, times = f"made/series_{k:02}.csv", [f"{START + STEP * i:%F %T}" for i in range(n)]
        windows[name] = []
        for part in np.array_split(np.arange(int(0.25 * n), int(0.95 * n)), number) if number else ():
            at = int(rng.integers(part[0] + width // 2, part[-1] - width // 2))
            disturb(rng, x, str(rng.choice(KINDS)), at, size)
            windows[name].append([times[at - width // 2], times[at + width // 2]])
        with (folder / name).open("w", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(["timestamp", "value"])
            out.writerows([time, f"{value:.6g}"] for time, value in zip(times, x, strict=True))
    path = folder / "windows.json"
    path.write_text(json.dumps(windows, indent=1))
    return path
