"""Streams for measurements: four kinds of mixtures in four features, with true labels and those of the best classifier.

stationary: ten normal clusters with weights 0.8^k. drift: the same, each mean moving 12 units, some twelve standard
deviations, in a straight line. churn: thirty clusters that begin and end, each living for about a third of the stream.
outliers: stationary, and two points in a hundred replaced by uniform ones, labelled -1.

Run: python bench/streams.py. A line a kind: clusters that occur, how many at once, and the AMI of the best classifier.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapdpm import metrics

KINDS = ("stationary", "drift", "churn", "outliers")
FEATURES, POINTS = 4, 50_000
OUTLIERS, CUBE = 0.02, 20.0
_SPREAD, _DEVIATIONS = 5.0, (0.5, 1.5)
_CLUSTERS, _TRAVEL = 10, 12.0
_CHURNING, _FROM_THE_START = 30, 6


class Stream(NamedTuple):
    """Points (n, 4); true labels, -1 an outlier; labels by the true parameters of the time; their log density."""

    X: NDArray[np.float64]
    labels: NDArray[np.int64]
    oracle: NDArray[np.int64]
    log_density: NDArray[np.float64]


def stream(kind: str, seed: int, n_points: int = POINTS) -> Stream:
    """One stream of the ``kind``: the same arrays for the same seed and size.

    The oracle's labels are Bayes': none are right more often on average, though AMI may be a little higher where a
    small cluster is given up. ``log_density`` is that of the clusters alone, without outliers; no score tells those
    apart better.
    """
    rng = np.random.default_rng(seed)
    return _churn(rng, n_points) if kind == "churn" else _mixture(kind, rng, n_points)


def _mixture(kind: str, rng: np.random.Generator, n: int) -> Stream:
    share = 0.8 ** np.arange(_CLUSTERS)
    share /= share.sum()
    means = rng.normal(0.0, _SPREAD, (_CLUSTERS, FEATURES))
    deviations = rng.uniform(*_DEVIATIONS, (_CLUSTERS, FEATURES))
    labels = rng.choice(_CLUSTERS, n, p=share)
    where = means[None]
    if kind == "drift":
        way = rng.normal(size=(_CLUSTERS, FEATURES))
        way /= np.linalg.norm(way, axis=1, keepdims=True)
        way *= _TRAVEL
        where = where + (np.arange(n)[:, None, None] / n - 0.5) * way
    where = np.broadcast_to(where, (n, _CLUSTERS, FEATURES))
    X = where[np.arange(n), labels] + rng.normal(size=(n, FEATURES)) * deviations[labels]
    joint = _log_joint(X, np.log(share), where, deviations)
    oracle = joint.argmax(axis=1)
    if kind == "outliers":
        strange = rng.random(n) < OUTLIERS
        X[strange] = rng.uniform(-CUBE, CUBE, (strange.sum(), FEATURES))
        labels[strange] = -1
        joint = _log_joint(X, np.log(share), where, deviations)
    return Stream(X, labels, oracle, np.logaddexp.reduce(joint, axis=1))


def _churn(rng: np.random.Generator, n: int) -> Stream:
    means = rng.normal(0.0, _SPREAD, (_CHURNING, FEATURES))
    deviations = rng.uniform(*_DEVIATIONS, (_CHURNING, FEATURES))
    weights = rng.gamma(2.0, size=_CHURNING)
    life = n / 3
    born = rng.uniform(-life, n, _CHURNING)
    born[:_FROM_THE_START] = -1.0
    ends = born + rng.uniform(0.6, 1.4, _CHURNING) * life
    now = np.arange(n)[:, None]
    share = ((now >= born) & (now < ends)) * weights
    share /= share.sum(axis=1, keepdims=True)
    labels = (share.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    X = means[labels] + rng.normal(size=(n, FEATURES)) * deviations[labels]
    with np.errstate(divide="ignore"):
        joint = _log_joint(X, np.log(share), means, deviations)
    return Stream(X, labels, joint.argmax(axis=1), np.logaddexp.reduce(joint, axis=1))


def _log_joint(
    X: NDArray[np.float64],
    log_share: NDArray[np.float64],
    means: NDArray[np.float64],
    deviations: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Log share and density of each point under each cluster, shape (n, K)."""
    terms = -0.5 * ((X[:, None] - means) / deviations) ** 2 - np.log(deviations) - 0.5 * np.log(2.0 * np.pi)
    return log_share + terms.sum(axis=-1)


def main() -> None:
    """Say what the streams are like."""
    for kind in KINDS:
        s = stream(kind, 0)
        inside = s.labels >= 0
        at_once = np.mean([len(np.unique(part[part >= 0])) for part in s.labels.reshape(-1, 1000)])
        ami = metrics.adjusted_mutual_info(s.labels[inside], s.oracle[inside])
        clusters = len(np.unique(s.labels[inside]))
        print(f"{kind:<10}  {clusters} clusters, {at_once:.1f} in a thousand points, best classifier's AMI {ami:.3f}")


if __name__ == "__main__":
    main()
