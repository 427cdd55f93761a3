"""scikit-learn's comparison of clusterings, with mapdpm beside KMeans, BayesianGaussianMixture and HDBSCAN.

Run: python bench/comparison.py [--picture FILE]. Rows: the six data sets of scikit-learn's page (500 points each),
and three more: many narrow clusters, correlated features, and a sensor whose points come in order of time. Columns:
KMeans and BayesianGaussianMixture (full), both told the number of classes; HDBSCAN; ``MAPDPM()``, its clusters merged
by overlap into as many groups as the tree suggests, and ``MAPDPM(likelihood=NormalInverseWishart)``. A line for each
data set: AMI with the classes, clusters, and seconds (the first call of each method is made before, on other points).
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from first_fit import aniso, blobs
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn import cluster, datasets, mixture
from sklearn.metrics import adjusted_mutual_info_score as ami
from sklearn.preprocessing import StandardScaler

from mapdpm import MAPDPM, NormalInverseWishart

Labels = NDArray[np.int64]
N = 500


def sensor() -> tuple[NDArray[np.float64], Labels]:
    """A machine with three states in turn, two of which differ in spread alone; temperature and current."""
    rng = np.random.default_rng(3)
    z = np.repeat([0, 1, 2, 1, 0, 2], [100, 60, 80, 60, 100, 100])
    centre, spread = np.array([[20.0, 0.2], [60.0, 4.0], [60.0, 4.0]]), np.array([[1.0, 0.05], [1.0, 0.1], [8.0, 1.0]])
    return centre[z] + spread[z] * rng.normal(size=(N, 2)), z


def correlated() -> tuple[NDArray[np.float64], Labels]:
    """Four clusters, each along a direction of its own."""
    rng = np.random.default_rng(1)
    z = np.arange(N) % 4
    turns = [np.linalg.qr(rng.normal(size=(2, 2)))[0] for _ in range(4)]
    along = rng.normal(size=(N, 2)) * [3.0, 0.3]
    return np.array([[0, 0], [6, 0], [0, 6], [6, 6]])[z] + np.einsum("ni,nij->nj", along, np.array(turns)[z]), z


SETS: dict[str, Callable[[], Any]] = {
    "circles": lambda: datasets.make_circles(N, factor=0.5, noise=0.05, random_state=30),
    "moons": lambda: datasets.make_moons(N, noise=0.05, random_state=30),
    "varied": lambda: datasets.make_blobs(N, cluster_std=[1.0, 2.5, 0.5], random_state=170),
    "aniso": aniso,
    "blobs": lambda: datasets.make_blobs(N, random_state=30),
    "no structure": lambda: (np.random.default_rng(30).uniform(size=(N, 2)), np.zeros(N, dtype=int)),
    "many narrow": lambda: blobs(50, 10),
    "correlated": correlated,
    "sensor": sensor,
}


def merged(X: NDArray[np.float64], _: int) -> Labels:
    """The groups that the tree by overlap suggests."""
    return MAPDPM().fit(X).merge_tree("overlap", X=X).labels()


METHODS: dict[str, Callable[[NDArray[np.float64], int], Labels]] = {
    "KMeans, told": lambda X, n: cluster.KMeans(n, n_init=10, random_state=0).fit_predict(X),
    "BGMM, told": lambda X, n: mixture.BayesianGaussianMixture(n_components=n, random_state=0).fit_predict(X),
    "HDBSCAN": lambda X, _: cluster.HDBSCAN(copy=True).fit_predict(X),
    "MAPDPM()": lambda X, _: MAPDPM().fit(X).labels_,
    "merged by overlap": merged,
    "full covariances": lambda X, _: MAPDPM(likelihood=NormalInverseWishart).fit(X).labels_,
}


def main() -> None:
    """Print a line for each data set, and draw them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", type=Path, help="where to draw")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # peers that do not converge
    for method in METHODS.values():
        method(np.random.default_rng(0).normal(size=(60, 2)), 2)
    figure = Figure(figsize=(12.0, 15.0), layout="constrained")
    axes = figure.subplots(len(SETS), len(METHODS))
    for row, (name, make) in zip(axes, SETS.items(), strict=True):
        X, classes = make()
        X, n = StandardScaler().fit_transform(X), max(len(np.unique(classes)), 1)
        line: dict[str, Any] = {"set": name}
        for ax, (title, method) in zip(row, METHODS.items(), strict=True):
            started = time.perf_counter()
            labels = method(X, n if name != "no structure" else 3)
            seconds = time.perf_counter() - started
            line[title] = [round(float(ami(classes, labels)), 2), len(set(labels.tolist()) - {-1}), round(seconds, 3)]
            ax.scatter(*X.T, c=np.where(labels < 0, 0.6, labels % 10), s=4, cmap="tab10", vmin=0, vmax=9)
            ax.set_title(f"{title}\n{name}" if ax is row[0] else title, fontsize=8)
            ax.text(0.99, 0.01, f"{seconds:.2g} s", transform=ax.transAxes, ha="right", va="bottom", fontsize=8)
            ax.set_xticks(())
            ax.set_yticks(())
        print(json.dumps(line), flush=True)
    if arguments.picture is not None:
        figure.savefig(arguments.picture, dpi=80)


if __name__ == "__main__":
    main()
