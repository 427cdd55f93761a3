"""Whole fits with default settings, of mapdpm and other libraries, on the same data: time, agreement, density, memory.

Run: python bench/peers.py [--sizes 100000,2,10 ...] [--ways mapdpm KMeans BayesianGaussianMixture bnpy] [--rounds 3]
> peers.jsonl (sizes: points, features, clusters). Diagonal normal mixtures with sizes as a Chinese restaurant process
makes them (no cluster below half a percent), means N(0, s^2), variances inverse gamma (3, 2). All on one core, in one
process, in turn in each round:

mapdpm                     MAPDPM(likelihood=None), which is told nothing
KMeans                     scikit-learn, told K, n_init=1
BayesianGaussianMixture    scikit-learn, told K, diagonal; in the first round only
bnpy                       memoized variational inference with birth, merge, delete and shuffle moves, from one cluster,
                           diagonal; in the first round only, and where it is installed (Python 3.10, numpy 1.23)

A JSON line for each fit: seconds, AMI with the true labels, and that of the classifier which knows the true parameters
(nothing can do better on average), clusters found, mean log density of 100,000 other points and the true one, and peak
memory beyond what was there before (Linux). bench/report.py makes tables of the lines.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sklearn
from machine import about
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.mixture import BayesianGaussianMixture
from threadpoolctl import threadpool_limits

from mapdpm import MAPDPM, metrics
from mapdpm.testing.data import crp

_SIZES = ("100000,2,10", "100000,10,20", "100000,50,30", "1000000,2,10")
_SPREAD = {2: 8.0, 10: 1.35, 50: 0.53}
_HELD_OUT = 100_000
_MEMORY = Path("/proc/self")


class Bnpy:
    """bnpy with the interface of the others."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, X: NDArray[np.float64]) -> None:
        """As its authors set it for a mixture whose number of clusters is unknown."""
        import bnpy  # noqa: PLC0415  (few have it)

        self._data = bnpy.data.XData
        moves = {"moves": "birth,merge,delete,shuffle", "nLap": 50, "K": 1, "initname": "randexamples"}
        kind = ("DPMixtureModel", "DiagGauss", "memoVB")
        with tempfile.TemporaryDirectory() as folder:
            self.model, _ = bnpy.run(
                self._data(X), *kind, output_path=folder, doWriteStdOut=False, taskid=1 + self.seed, **moves
            )

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
        """The likeliest cluster of each point."""
        labels: NDArray[np.int64] = self.model.calc_local_params(self._data(X))["resp"].argmax(axis=1)
        return labels


WAYS: dict[str, Callable[[int, int], Any]] = {
    "mapdpm": lambda _, __: MAPDPM(likelihood=None),
    "KMeans": lambda K, seed: KMeans(K, n_init=1, random_state=seed),
    "BayesianGaussianMixture": lambda K, seed: BayesianGaussianMixture(
        n_components=K, covariance_type="diag", random_state=seed
    ),
    "bnpy": lambda _, seed: Bnpy(seed),
}
SLOW = {"BayesianGaussianMixture", "bnpy"}


class Mixture(NamedTuple):
    """The mixture that the data is drawn from."""

    share: NDArray[np.float64]
    means: NDArray[np.float64]
    variances: NDArray[np.float64]

    def draw(self, N: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Points and labels."""
        rng = np.random.default_rng([seed, N, *self.means.shape])
        labels = rng.choice(len(self.share), N, p=self.share)
        shape = (N, self.means.shape[1])
        return self.means[labels] + np.sqrt(self.variances[labels]) * rng.normal(size=shape), labels

    def log_terms(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """The log of share times density, by cluster."""
        terms = np.empty((len(X), len(self.share)))
        for k, (share, mean, variance) in enumerate(zip(*self, strict=True)):
            squares = ((X - mean) ** 2 / variance).sum(axis=1)
            terms[:, k] = np.log(share) - 0.5 * (np.log(2.0 * np.pi * variance).sum() + squares)
        return terms


def mixture(D: int, K: int) -> Mixture:
    """One with K clusters in D features."""
    rng = np.random.default_rng([0, D, K])
    alpha = 0.1
    while len(sizes := np.bincount(crp(rng, 3000, alpha))) != K:
        alpha *= 1.02 if len(sizes) < K else 0.98
    share = np.maximum(sizes / sizes.sum(), 0.005)
    means = rng.normal(0.0, _SPREAD.get(D, 4.0 / np.sqrt(D)), (K, D))
    return Mixture(share / share.sum(), means, 2.0 / rng.gamma(3.0, 1.0, (K, D)))


def main() -> None:
    """Fit, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=_SIZES)
    parser.add_argument("--ways", nargs="+", default=[*WAYS][:3], choices=[*WAYS])
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    setting = about() | {"scikit-learn": sklearn.__version__}
    MAPDPM().fit(np.zeros((10, 1)))  # loads what there is to load
    for size in arguments.sizes:
        N, D, K = map(int, size.split(","))
        made = mixture(D, K)
        (X, labels), (others, _) = made.draw(N, 0), made.draw(_HELD_OUT, 1)
        best = made.log_terms(X).argmax(axis=1)
        truth = {
            "points": N,
            "features": D,
            "clusters": K,
            "AMI_oracle": round(metrics.adjusted_mutual_info(labels, best), 4),
            "log_density_true": round(float(np.logaddexp.reduce(made.log_terms(others), axis=1).mean()), 4),
        }
        for number in range(arguments.rounds):
            for way in arguments.ways:
                if number == 0 or way not in SLOW:
                    figures = fitted(WAYS[way](K, number), X, labels, others)
                    print(
                        json.dumps({"bench": "peers", "way": way, "round": number} | truth | figures | setting),
                        flush=True,
                    )


def fitted(
    model: Any, X: NDArray[np.float64], labels: NDArray[np.int64], others: NDArray[np.float64]
) -> dict[str, Any]:
    """The results and the cost of one fit."""
    forget_peak()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has not converged is no wonder
        before, start = peak_megabytes(), time.perf_counter()
        model.fit(X)
        seconds, memory = time.perf_counter() - start, peak_megabytes() - before
    found = model.labels_ if hasattr(model, "labels_") else model.predict(X)
    is_density = isinstance(model, (MAPDPM, BayesianGaussianMixture))
    density = round(float(model.score(others)), 4) if is_density else None
    return {
        "seconds": round(seconds, 4),
        "AMI": round(metrics.adjusted_mutual_info(labels, found), 4),
        "K": len(np.unique(found)),
        "log_density": density,
        "extra_MB": round(memory, 1),
    }


def forget_peak() -> None:
    """Start the count of peak memory anew, where the system allows that."""
    if (_MEMORY / "clear_refs").exists():
        (_MEMORY / "clear_refs").write_text("5")


def peak_megabytes() -> float:
    """Peak resident memory of this process; nan where it is not known."""
    if not (_MEMORY / "status").exists():
        return float("nan")
    line = next(line for line in (_MEMORY / "status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024.0


if __name__ == "__main__":
    main()
