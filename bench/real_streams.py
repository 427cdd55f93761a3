"""OnlineMAPDPM and river's learners by their default settings on real streams: agreement, anomalies, time a point.

Run: python bench/real_streams.py [--data FOLDER] [--limit POINTS] [--seconds 10]. FOLDER (or the environment variable
MAPDPM_DATA) holds streams/occupancy.csv.gz, skab.csv.gz, elec2.csv.gz, mocap6.csv.gz and
nab/machine_temperature_system_failure.csv.gz, each with a header. river's rows need river: pip install river.

For streams with labels: AMI of the label that each point got when it came, after the first 200 points, and in brackets
the number of different labels among the last 1000. The labels of elec2, prices up or down, are no clusters. For streams
with anomalies: AUC of the score that each point had before it was learned. skab is the mean of 16 recordings of some
1100 points, with a new learner each. MAP-DPM gets the features as they are; river's clusterers and MiniBatchKMeans
(told how many classes there are, in batches of 100 that it may learn first) get them scaled by a running mean and
deviation, half-space trees scaled to [0, 1] by a running minimum and maximum. A learner that takes longer than
--seconds for a stream is stopped, and judged by the points until then. Time includes learning, the label or score, and
scaling. river gets Python dicts, one point at a time; MAP-DPM gets all points in one call.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import importlib.util
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler
from tables import print_table
from threadpoolctl import threadpool_limits

from mapdpm import OnlineMAPDPM, __version__, metrics

HEAD, TAIL, BATCH = 200, 1000, 100
NO_ANSWER = (
    AttributeError,
    IndexError,
    KeyError,
    TypeError,
    ValueError,
    ZeroDivisionError,
)  # of river before it has one


class Source(NamedTuple):
    """A file, the column of its truth, columns that are neither truth nor features, and one that names recordings."""

    name: str
    file: str
    truth: str
    others: tuple[str, ...] = ()
    recordings: str = ""
    has_anomalies: bool = False


class Stream(NamedTuple):
    """Points in their order, and the class of each or whether it is an anomaly."""

    X: NDArray[np.float64]
    truth: NDArray[Any]


class Answer(NamedTuple):
    """The answer for each point that was reached in the time limit, and the seconds that it took."""

    said: NDArray[Any]
    seconds: float


SOURCES = (
    Source("occupancy", "occupancy.csv.gz", "label", ("date", "split")),
    Source("elec2", "elec2.csv.gz", "label"),
    Source("mocap6", "mocap6.csv.gz", "label", ("seq_id", "tstep_id")),
    Source("skab", "skab.csv.gz", "anomaly", ("datetime", "changepoint"), "experiment", has_anomalies=True),
    Source(
        "machine temperature",
        "nab/machine_temperature_system_failure.csv.gz",
        "anomaly_window",
        ("timestamp", "anomaly_point"),
        has_anomalies=True,
    ),
)


def read(path: Path, source: Source, limit: int | None) -> list[Stream]:
    """The stream in a file, or those of its recordings; recordings without a truth are left out."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row[source.truth]]
    left_out = {source.truth, source.recordings, *source.others}
    features = [name for name in rows[0] if name not in left_out]
    named: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        named.setdefault(row.get(source.recordings, ""), []).append(row)
    streams = []
    for each in named.values():
        truth = [row[source.truth] for row in each[:limit]]
        X = np.array([[float(row[name]) for name in features] for row in each[:limit]])
        streams.append(Stream(X, np.array(truth, dtype=float) > 0.0 if source.has_anomalies else np.array(truth)))
    return streams


# ---- learners: each says something of every point, a label or how strange it is --------------------------------------


def map_dpm(half_life: float | None) -> Callable[..., Answer]:
    """OnlineMAPDPM by its defaults."""

    def run(stream: Stream, has_anomalies: bool, _seconds: float) -> Answer:
        start = time.perf_counter()
        ids, scores = OnlineMAPDPM(half_life=half_life).learn_many_scored(stream.X)
        return Answer(-scores if has_anomalies else ids, time.perf_counter() - start)

    return run


def mini_batches(stream: Stream, has_anomalies: bool, _seconds: float) -> Answer | None:
    """MiniBatchKMeans with the true number of classes."""
    if has_anomalies:
        return None
    model, scaler = MiniBatchKMeans(len(np.unique(stream.truth)), random_state=0, n_init=3), StandardScaler()
    said = []
    start = time.perf_counter()
    with threadpool_limits(1):  # more only wait for each other, at this size
        for i in range(0, len(stream.X), BATCH):
            batch = scaler.partial_fit(stream.X[i : i + BATCH]).transform(stream.X[i : i + BATCH])
            said.append(model.partial_fit(batch).predict(batch))
    return Answer(np.concatenate(said), time.perf_counter() - start)


def river_clusters(make: Callable[[], Any]) -> Callable[..., Answer | None]:
    """A clusterer of river: the point is scaled and learned, and then the model says its label."""

    def run(stream: Stream, has_anomalies: bool, seconds: float) -> Answer | None:
        from river.preprocessing import StandardScaler as Scaler  # noqa: PLC0415

        if has_anomalies:
            return None
        model, scaler = make(), Scaler()

        def step(x: dict[int, float]) -> int:
            scaler.learn_one(x)
            scaled = scaler.transform_one(x)
            model.learn_one(scaled)
            try:
                label = model.predict_one(scaled)
            except NO_ANSWER:
                return -1
            return -1 if label is None else int(label)

        return follow(stream, step, seconds)

    return run


def half_space_trees(stream: Stream, has_anomalies: bool, seconds: float) -> Answer | None:
    """river's HalfSpaceTrees on features in [0, 1]: first the score, then the point is learned."""
    from river import anomaly, preprocessing  # noqa: PLC0415

    if not has_anomalies:
        return None
    model, scaler = anomaly.HalfSpaceTrees(seed=0), preprocessing.MinMaxScaler()

    def step(x: dict[int, float]) -> float:
        scaler.learn_one(x)
        scaled = scaler.transform_one(x)
        score = model.score_one(scaled)
        model.learn_one(scaled)
        return score

    return follow(stream, step, seconds)


def follow(stream: Stream, step: Callable[[dict[int, float]], float], seconds: float) -> Answer:
    """One point after the other, until the time is over."""
    points = [dict(enumerate(x)) for x in stream.X.tolist()]
    said: list[float] = []
    start = time.perf_counter()
    for x in points:
        said.append(step(x))
        if time.perf_counter() - start > seconds:
            break
    return Answer(np.array(said), time.perf_counter() - start)


def learners() -> dict[str, Callable[..., Answer | None]]:
    """All of them; river's where it is installed."""
    there: dict[str, Callable[..., Answer | None]] = {
        "OnlineMAPDPM()": map_dpm(None),
        "OnlineMAPDPM(half_life=1400)": map_dpm(1400.0),
        "MiniBatchKMeans, told K": mini_batches,
    }
    if importlib.util.find_spec("river") is None:
        print("no rows of river: it is not installed (pip install river)")
        return there
    from river import cluster  # noqa: PLC0415

    made: dict[str, Callable[[], Any]] = {
        "KMeans()": lambda: cluster.KMeans(seed=0),
        "STREAMKMeans()": lambda: cluster.STREAMKMeans(seed=0),
        "CluStream()": lambda: cluster.CluStream(seed=0),
        "DBSTREAM()": cluster.DBSTREAM,
        "DenStream()": cluster.DenStream,
    }
    there |= {f"river {name}": river_clusters(make) for name, make in made.items()}
    return there | {"river HalfSpaceTrees()": half_space_trees}


# ---- judging ---------------------------------------------------------------------------------------------------------


def judge(run: Callable[..., Answer | None], source: Source, streams: list[Stream], seconds: float) -> tuple[str, str]:
    """The cell of the learner and source in either table: the figure, and microseconds a point."""
    figures, n_points, taken, stopped, n_labels = [], 0, 0.0, False, 0
    for stream in streams:
        answer = run(stream, source.has_anomalies, seconds / len(streams))
        if answer is None:
            return "", ""
        said, truth = answer.said, stream.truth[: len(answer.said)]
        n_points += len(said)
        taken += answer.seconds
        stopped |= len(said) < len(stream.X)
        said, truth = said[HEAD:], truth[HEAD:]
        if len(np.unique(truth)) < 2:
            continue
        if source.has_anomalies:
            figures.append(roc_auc_score(truth, said))
        else:
            figures.append(metrics.adjusted_mutual_info(truth, said))
            n_labels = len(np.unique(said[-TAIL:]))
    figure = f"{np.mean(figures):.3f}" if figures else "-"
    if not source.has_anomalies and figures:
        figure += f" ({n_labels})"
    if stopped and len(streams) == 1:
        head = Stream(streams[0].X[:n_points], streams[0].truth[:n_points])
        beside, _ = judge(map_dpm(None), source, [head], seconds)
        figure += f" of {n_points}: {beside}"
    elif stopped:
        figure += f" of {n_points}"
    return figure, f"{1e6 * taken / n_points:.1f}"


def main() -> None:
    """Run all on all, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("MAPDPM_DATA") or None, help="holds streams/")
    parser.add_argument("--limit", type=int, help="use so many points of each stream, or recording")
    parser.add_argument("--seconds", type=float, default=10.0, help="the most that one of river's may take a stream")
    arguments = parser.parse_args()
    folder = None if arguments.data is None else arguments.data / "streams"
    there = [source for source in SOURCES if folder is not None and (folder / source.file).is_file()]
    if len(there) < len(SOURCES):
        missing = ", ".join(source.file for source in SOURCES if source not in there)
        where = "no folder of data is named" if folder is None else f"not in {folder}"
        print(f"missing: {missing} ({where}): name the folder above streams/ by --data or MAPDPM_DATA.")
    if folder is None or not there:
        return
    data = {source: read(folder / source.file, source, arguments.limit) for source in there}
    print(f"mapdpm {__version__}, {platform.processor() or platform.machine()}, {os.cpu_count()} cores")
    figures, times = [], []
    for name, run in learners().items():
        cells = [judge(run, source, streams, arguments.seconds) for source, streams in data.items()]
        figures.append((name, *(figure for figure, _ in cells)))
        times.append((name, *(taken for _, taken in cells)))
    sizes = [sum(len(stream.X) for stream in streams) for streams in data.values()]
    shapes = [f"{n} x {streams[0].X.shape[1]}" for n, streams in zip(sizes, data.values(), strict=True)]
    names = ("", *(source.name for source in data))
    measures = ("", *("AUC" if source.has_anomalies else "AMI (labels)" for source in data))
    print_table(
        f"After the first {HEAD} points; 'of n: y': stopped after {arguments.seconds:g} s and n points, of which "
        "OnlineMAPDPM() makes y",
        names,
        [("", *shapes), measures, *figures],
    )
    print_table("Microseconds a point", names, times)


if __name__ == "__main__":
    main()
