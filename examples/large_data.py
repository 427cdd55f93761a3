"""Cluster points that no process holds: two workers of Dask make them, chunk by chunk, in each pass.

Thirty chunks stand for as many files or days of a fleet of machines: temperature, current and vibration in five ways of
running, one of them rare. Each pass is one task a chunk; workers keep nothing between passes. Then the rare way is
counted in each chunk, also by the workers. The cluster listens on the loopback only; on many machines give the address
of their scheduler: ``Client("tcp://scheduler:8786")``.

    python examples/large_data.py         # prints the clusters, and the chunks with most points of the rarest one
"""

import logging

import dask
import numpy as np
from distributed import Client, LocalCluster

import mapdpm.dask
from mapdpm import MAPDPM

CHUNKS, POINTS = 30, 20_000
MEANS = np.array([[20.0, 0.5, 0.1], [45.0, 8.0, 1.0], [60.0, 12.0, 1.4], [55.0, 9.0, 4.0], [85.0, 15.0, 6.0]])
DEVIATIONS = np.array([[2.0, 0.1, 0.05], [3.0, 1.0, 0.2], [3.0, 1.0, 0.3], [3.0, 1.0, 0.6], [4.0, 2.0, 1.0]])


def made(day: int) -> np.ndarray:
    """The points of a day, made on a worker; read a file here instead."""
    rng = np.random.default_rng([1, day])
    rare = 0.002 if day == 17 else 0.0001
    way = rng.choice(5, POINTS, p=[0.3, 0.35, 0.25, 0.1 - rare, rare])
    return MEANS[way] + DEVIATIONS[way] * rng.normal(size=(POINTS, 3))


def main() -> None:
    """Fit, and count."""
    days = [dask.delayed(made)(day) for day in range(CHUNKS)]
    local = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "threads_per_worker": 1}
    local["silence_logs"] = logging.CRITICAL  # closing may cut a heartbeat, which workers report
    with LocalCluster(n_workers=2, **local) as cluster, Client(cluster) as client:
        model = mapdpm.dask.fit(MAPDPM(), days, client)
        labels = dask.compute(*mapdpm.dask.labels(model, days))
    print(f"{CHUNKS * POINTS:,} points: {model.n_clusters_} clusters after {model.n_sweeps_} passes")
    for size, mean in zip(model.cluster_sizes_, model.means_, strict=True):
        print(f"{size:>8,} points at {mean[0]:5.1f} degrees, {mean[1]:5.2f} A, {mean[2]:4.2f} mm/s")
    rarest = int(np.argmin(model.cluster_sizes_))
    counts = [int(np.count_nonzero(day == rarest)) for day in labels]
    print(f"most of the rarest on day {int(np.argmax(counts))}: {max(counts)} of {sum(counts)} points")


if __name__ == "__main__":
    main()
