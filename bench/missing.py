"""Missing values: ``MAPDPM(missing="skip")`` beside imputation, with 10, 30 and 50 % of the values missing at random.

Run: python bench/missing.py [--seeds 10] [--only "NAME;NAME"] [--picture FILE]. Values are missing completely at
random, but not all of a point. Data sets: made mixtures of 8 normal clusters in 5 and in 10 features, of 500 points;
iris, wine and breast cancer of scikit-learn, standardised. A fifth of the points, without gaps, is held out. Ways:

skip         MAPDPM(missing="skip"): missing values are integrated out
mean         MAPDPM() of points in which a missing value is the mean of its column
iterative    scikit-learn's IterativeImputer, then BayesianGaussianMixture (diagonal), told the number of classes
whole        MAPDPM() of the points without gaps: nothing is missing

A JSON line for each data set and share, with medians over the seeds, in the order of the ways: K, the clusters found;
AMI, of the points of the fit with the classes; merged, that of our clusters merged into as many groups as there are
classes, which the mixture is told, by the log joint under the paper's prior; nats, the mean log density of the points
held out; seconds of the fit. The last line counts on how many lines "skip" is at least as good as both of "mean" and
"iterative".
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
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.experimental import enable_iterative_imputer  # noqa: F401  (allows the next but one)
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.metrics import adjusted_mutual_info_score as ami
from sklearn.mixture import BayesianGaussianMixture
from sklearn.preprocessing import StandardScaler

from mapdpm import MAPDPM, NormalGamma

Points = NDArray[np.float64]
Labels = NDArray[np.int64]

SHARES = (0.1, 0.3, 0.5)
WAYS = ("skip", "mean", "iterative", "whole")
N, K = 500, 8
HELD_OUT = 5  # of so many points, one
_REAL = {"iris": datasets.load_iris, "wine": datasets.load_wine, "breast cancer": datasets.load_breast_cancer}


def made(n_features: int) -> Callable[[int], tuple[Points, Labels]]:
    """A mixture of diagonal normals whose clusters touch, drawn anew for each seed."""

    def draw(seed: int) -> tuple[Points, Labels]:
        rng = np.random.default_rng([n_features, seed])
        centres = rng.normal(0.0, 6.0 / np.sqrt(n_features) + 1.0, (K, n_features))
        spreads = rng.uniform(0.5, 1.5, (K, n_features))
        z = rng.choice(K, N, p=rng.dirichlet(np.full(K, 5.0)))
        return centres[z] + spreads[z] * rng.normal(size=(N, n_features)), z

    return draw


def real(load: Callable[..., Any]) -> Callable[[int], tuple[Points, Labels]]:
    """A data set of scikit-learn, standardised, in the order of the seed."""

    def draw(seed: int) -> tuple[Points, Labels]:
        X, z = load(return_X_y=True)
        order = np.random.default_rng(seed).permutation(len(X))
        return StandardScaler().fit_transform(X)[order], z[order]

    return draw


SETS = {"made, 5 features": made(5), "made, 10 features": made(10)} | {n: real(load) for n, load in _REAL.items()}


def with_gaps(X: Points, share: float, seed: int) -> Points:
    """``X`` with that share of its values missing; each point keeps one."""
    rng = np.random.default_rng([seed, int(100 * share)])
    absent = rng.random(X.shape) < share
    absent[np.arange(len(X)), rng.integers(0, X.shape[1], len(X))] = False
    return np.where(absent, np.nan, X)


def fitted(way: str, X: Points, gaps: Points, n_classes: int, seed: int) -> tuple[Any, Labels]:
    """A model by one of the ways, and the labels of the points of the fit."""
    if way == "skip":
        model = MAPDPM(missing="skip").fit(gaps)
        return model, model.labels_
    if way in {"mean", "whole"}:
        model = MAPDPM().fit(X if way == "whole" else SimpleImputer().fit_transform(gaps))
        return model, model.labels_
    filled = IterativeImputer(random_state=seed).fit_transform(gaps)
    mixture = BayesianGaussianMixture(n_components=n_classes, covariance_type="diag", random_state=seed).fit(filled)
    return mixture, mixture.predict(filled)


def figures(draw: Callable[[int], tuple[Points, Labels]], share: float, seeds: int) -> dict[str, list[float]]:
    """The line of a data set and a share of missing values."""
    found = np.empty((5, seeds, len(WAYS)))
    for seed in range(seeds):
        points, classes = draw(seed)
        n = len(points) - len(points) // HELD_OUT
        X, z, others = points[:n], classes[:n], points[n:]
        gaps, n_classes = with_gaps(X, share, seed), len(np.unique(classes))
        for column, way in enumerate(WAYS):
            started = time.perf_counter()
            model, labels = fitted(way, X, gaps, n_classes, seed)
            seconds = time.perf_counter() - started
            groups = labels
            if isinstance(model, MAPDPM):
                tree = model.merge_tree(prior=NormalGamma.empirical(gaps, missing="skip"))
                groups = tree.labels(min(n_classes, model.n_clusters_))
            agreement = ami(z, labels), ami(z, groups)
            found[:, seed, column] = len(np.unique(labels)), *agreement, model.score(others), seconds
    middle = np.median(found, axis=1)
    digits = {"K": 1, "AMI": 3, "merged": 3, "nats": 2, "seconds": 2}
    return {name: np.round(row, n).tolist() for (name, n), row in zip(digits.items(), middle, strict=True)}


def draw_lines(lines: list[dict[str, Any]], path: Path) -> None:
    """AMI of the merged clusters against the share of missing values, a panel for each data set."""
    names = list(dict.fromkeys(line["set"] for line in lines))
    figure = Figure(figsize=(12.0, 3.2), layout="constrained")
    styles = {
        "skip": ("#0072b2", "o"),
        "mean": ("#d55e00", "s"),
        "iterative": ("#009e73", "^"),
        "whole": ("#777777", ""),
    }
    for ax, name in zip(figure.subplots(1, len(names), sharey=True, squeeze=False)[0], names, strict=True):
        own = [line for line in lines if line["set"] == name]
        for column, way in enumerate(WAYS):
            colour, marker = styles[way]
            shown = {"color": colour, "marker": marker, "linestyle": ":" if way == "whole" else "-", "label": way}
            ax.plot([line["missing"] for line in own], [line["merged"][column] for line in own], **shown)
        ax.set_title(name, fontsize=10)
        ax.set_xticks([100 * share for share in SHARES])
        ax.set_xlabel("% missing")
        ax.grid(alpha=0.3)
    figure.axes[0].set_ylabel("AMI of the groups with the classes")
    figure.axes[0].legend(fontsize=8)
    figure.savefig(path, dpi=100)


def main() -> None:
    """Print a line for each data set and share; draw them where a picture is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", default="", help="names of data sets, with semicolons between")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw AMI against the share of missing values")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # imputers and mixtures that do not converge
    lines: list[dict[str, Any]] = []
    for name, draw in SETS.items():
        for share in SHARES if not arguments.only or name in arguments.only.split(";") else ():
            line = {"set": name, "missing": round(100 * share), "ways": WAYS}
            lines.append(line | figures(draw, share, arguments.seeds))
            print(json.dumps(lines[-1]), flush=True)
    best = {name: sum(line[name][0] >= max(line[name][1:3]) for line in lines) for name in ("AMI", "merged", "nats")}
    print(json.dumps({"skip is best": best, "of": len(lines)}))
    if arguments.picture is not None:
        draw_lines(lines, arguments.picture)


if __name__ == "__main__":
    main()
