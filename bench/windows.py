"""Anomalies that last: VUS-PR and AUC-PR of single values, lags, windows and ``features.Series``, and of other methods.

Run: python bench/windows.py --data SERIES.npz [--jobs 1] [--only TEXT]

SERIES.npz holds NAME__x, a series, and NAME__y, 1 at anomalies. All methods but those called offline are causal: a
score depends on the points up to it, and is 0 where a method says nothing yet, as in a warm-up. Each method has one
setting for all series; lags and windows get the period of the first quarter, at most 1,000 points. Offline methods see
the whole series, and score a point by the window about it. The measure has buffers up to that period.
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
from river import anomaly
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score
from vus_pr import vus_pr

from mapdpm import Alarm, OnlineMAPDPM
from mapdpm.features import Centre, Lag, Series, Smooth, Window

Array = NDArray[Any]
LEAST, MOST, OTHERWISE = 4, 300, 100
SPAN = 30


def period_of(x: Array) -> int:
    """The highest local maximum of the autocorrelation; ``OTHERWISE`` where there is none."""
    c = x - x.mean()
    power = np.abs(np.fft.rfft(c, 2 * len(c))) ** 2
    a = np.fft.irfft(power)[: min(MOST + 1, len(c) // 2)]
    peaks = [k for k in range(LEAST, len(a) - 1) if a[k - 1] < a[k] >= a[k + 1] and a[k] > 0.1 * a[0]]
    return max(peaks, key=lambda k: a[k]) if peaks else OTHERWISE


def surprises(rows: Array, points: Array, n: int) -> Array:
    """The surprises of a learner of rows, each at its point; 1 where there are none."""
    found = np.asarray(OnlineMAPDPM().learn_many_assessed(np.ascontiguousarray(rows)).surprise)
    at = np.ones(n)
    at[points] = np.nan_to_num(found, nan=1.0)
    return np.maximum(at, 1e-300)


def half_space_trees(x: Array) -> Array:
    """river's, with its defaults, on values between 0 and 1."""
    trees = anomaly.HalfSpaceTrees(seed=0)
    found = []
    for value in (x - x.min()) / (np.ptp(x) + 1e-12):
        found.append(trees.score_one({"x": value}))
        trees.learn_one({"x": value})
    return np.array(found)


def windows_about(x: Array, w: int) -> Array:
    """The window about each point."""
    return np.lib.stride_tricks.sliding_window_view(np.pad(x, (w // 2, w - 1 - w // 2), mode="edge"), w)


def sub_pca(windows: Array) -> Array:
    """Aggarwal's score of standardised windows: squared components over their variances, of all of them."""
    known = (windows - windows.mean(axis=0)) / (windows.std(axis=0) + 1e-9)
    pca = PCA().fit(known)
    return (pca.transform(known) ** 2 / np.maximum(pca.explained_variance_, 1e-9)).sum(axis=1)


def scores(x: Array) -> tuple[int, dict[str, Array]]:
    """The period, and scores of each method."""
    begin = max(200, min(1000, len(x) // 4))
    w = min(period_of(x[:begin]), begin // 2)
    column, n, found = x[:, None], len(x), {}
    every = np.arange(n)
    found["value"] = surprises(column, every, n)
    found["lags"] = surprises(Lag(min(w, 20)).transform_many(column), every, n)
    found["window"] = surprises(Window(w, max(1, w // 10)).transform_many(column), every, n)
    found["Series()"] = surprises(*Series().transform_many(column, indices=True), n)
    for name in tuple(found):
        found[f"{name}, smooth={SPAN}"] = Alarm(smooth=SPAN).combined(found[name])
    found = {name: -np.log10(surprise) for name, surprise in found.items()}
    found["Series(), Smooth(20)"] = Smooth(20).transform_many(found["Series()"][:, None])[:, 0]
    residual = Centre(w).transform_many(column)[:, 0]
    square = Smooth(w).transform_many(residual[:, None] ** 2)[:, 0]
    found["z-score"] = np.abs(residual) / (np.sqrt(np.maximum(square, 0.0)) + 1e-9)
    found["river HalfSpaceTrees"] = half_space_trees(x)
    windows = windows_about(x, w)
    forest = IsolationForest(random_state=0).fit(windows[:: max(1, n // 3000)])
    found["IsolationForest of windows, offline"] = -forest.score_samples(windows)
    found["Sub-PCA, offline"] = sub_pca(windows)
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
