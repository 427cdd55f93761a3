"""Whether windows find anomalies of series that single values do not: VUS-PR and AUC-PR, causal.

Run: python bench/windows.py --data SERIES.npz [--jobs 1] [--only TEXT]

SERIES.npz holds NAME__x, a series, and NAME__y, 1 at anomalies. All methods are causal: the period and the directions
come from the first quarter of a series, at most 1,000 points, whose scores are 0, and a score depends on the points up
to it.
"""

from __future__ import annotations

import argparse
import time
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
from machine import about
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score
from vus_pr import vus_pr

from mapdpm import OnlineMAPDPM
from mapdpm.features import Centre, Lag, Window

Array = NDArray[Any]
LEAST, MOST, OTHERWISE = 4, 300, 100
COMPONENTS = (4, 10)


def period_of(x: Array) -> int:
    """The highest local maximum of the autocorrelation; ``OTHERWISE`` where there is none."""
    c = x - x.mean()
    power = np.abs(np.fft.rfft(c, 2 * len(c))) ** 2
    a = np.fft.irfft(power)[: min(MOST + 1, len(c) // 2)]
    peaks = [k for k in range(LEAST, len(a) - 1) if a[k - 1] < a[k] >= a[k + 1] and a[k] > 0.1 * a[0]]
    return max(peaks, key=lambda k: a[k]) if peaks else OTHERWISE


def smoothed(score: Array, w: int) -> Array:
    """The mean of the last w scores."""
    c = np.cumsum(np.r_[0.0, score])
    at = np.arange(1, len(c))
    first = np.maximum(0, at - w)
    return (c[at] - c[first]) / (at - first)


def learned(rows: Array, begin: int) -> tuple[Array, Array]:
    """-log10 of surprises, and depths: minus log densities, cut above those of the points right after the begin."""
    found = OnlineMAPDPM().learn_many_assessed(np.ascontiguousarray(rows))
    surprise = -np.log10(np.maximum(np.nan_to_num(np.asarray(found.surprise), nan=1.0), 1e-300))
    depth = -np.nan_to_num(np.asarray(found.log_density), nan=np.nanmax(found.log_density))
    middle = np.sort(depth[begin : 2 * begin])
    depth = np.minimum(depth, middle[int(0.999 * (len(middle) - 1))] + 10.0)
    surprise[:begin] = 0.0
    depth[:begin] = depth.min()
    return surprise, depth


def components(x: Array, w: int, begin: int, m: int) -> Array:
    """Windows of w points up to each point, as m components and the log residual; directions from the begin."""
    windows = np.lib.stride_tricks.sliding_window_view(np.r_[np.full(w - 1, x[0]), x], w)
    mean = windows[w:begin].mean(axis=0)
    axes = np.linalg.svd(windows[w:begin] - mean, full_matrices=False)[2][:m]
    found = (windows - mean) @ axes.T
    rest = ((windows - mean - found @ axes) ** 2).sum(axis=1)
    return np.column_stack([found, np.log(rest + 1e-9 * x[:begin].var() + 1e-300)])


def scores(x: Array) -> tuple[int, dict[str, Array]]:
    """The period, and scores of each method. Sums are of -log10 of surprises: products of surprises."""
    begin = max(200, min(1000, len(x) // 4))
    w = min(period_of(x[:begin]), begin // 2)
    column, found = x[:, None], {}
    found["value"], depth = learned(column, begin)
    found["value, depth, smooth"] = smoothed(depth, w)
    residual = Centre(w).transform_many(column)
    found["z-score"] = np.abs(residual[:, 0]) / (np.sqrt(smoothed(residual[:, 0] ** 2, w)) + 1e-9)
    found["lags"] = learned(Lag(min(w, 20)).transform_many(column), begin)[0]
    window, depth = learned(Window(w, max(1, w // 10)).transform_many(column), begin)
    found |= {"window of w": window, "window of w, depth, smooth": smoothed(depth, w)}
    widths = (max(LEAST, w // 2), w, min(2 * w, begin // 2))
    for m in COMPONENTS:
        parts = [learned(components(x, width, begin, m), begin) for width in widths]
        found[f"{m} components of w"] = parts[1][0]
        found[f"{m} components of w, depth, smooth"] = smoothed(parts[1][1], w)
        found[f"{m} components of w / 2 and w"] = parts[0][0] + parts[1][0]
        every = sum(surprise for surprise, _ in parts)
        found[f"{m} components of w / 2, w and 2 w"] = every
        found[f"{m} components of w / 2, w and 2 w, smooth"] = smoothed(every, max(2, w // 4))
    return w, found


def measured(task: tuple[str, Array, Array]) -> tuple[str, int, float, dict[str, tuple[float, float]]]:
    """VUS-PR and AUC-PR of each method for a series."""
    name, x, y = task
    begun = time.perf_counter()
    w, found = scores(x.astype(float))
    step = max(1, w // 25)
    rated = {each: (vus_pr(y, s, w, step), float(average_precision_score(y, s))) for each, s in found.items()}
    return name, w, time.perf_counter() - begun, rated


def main() -> None:
    """Measure all series, and print the means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    print(about())
    held = np.load(arguments.data)
    names = [name[:-3] for name in held.files if name.endswith("__x") and arguments.only in name]
    tasks = [(name, held[f"{name}__x"], held[f"{name}__y"]) for name in names]
    total: dict[str, list[tuple[float, float]]] = {}
    with Pool(arguments.jobs) as pool:
        for name, w, seconds, rated in pool.imap_unordered(measured, tasks):
            print(f"{name:50s} w {w:4d} {seconds:6.1f} s ", " ".join(f"{v[0]:.3f}" for v in rated.values()), flush=True)
            for each, values in rated.items():
                total.setdefault(each, []).append(values)
    print(f"\n{len(tasks)} series{'':32s} VUS-PR  AUC-PR")
    for each, values in total.items():
        print(f"{each:42s} {np.mean([v[0] for v in values]):7.3f} {np.mean([v[1] for v in values]):7.3f}")


if __name__ == "__main__":
    main()
