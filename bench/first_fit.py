"""A first fit with all defaults, over 25 data sets, beside the paper's prior and methods that are told what they want.

Run: python bench/first_fit.py [--data FOLDER] [--only NAME,NAME]. A line for each data set:

K        clusters: of the paper's prior (``likelihood=None``), and of the fitted one (``likelihood="auto"``)
kinds    of columns that are found; the shape of clusters; and how many columns are relevant
AMI      with the classes: the same two; the fitted clusters merged into as many groups as there are classes, by the log
         joint, by that under the paper's prior where all columns are normal, and by overlap at the points; then KMeans
         and BayesianGaussianMixture on standardised data, told that number, and HDBSCAN
nats     log density of held-out points, in five folds: paper's prior, fitted prior, and the best of a grid of
         twelve widths (b0 times 1 to 1e-5), with the standard error of the difference to the fitted prior; where all
         columns are normal, for probabilities and densities do not compare
seconds  of both fits, and their ratio

Then the normalised mutual information with the true labels on 100 data sets of section 4.1, for both priors.

"wins" at the end: how many sets a tree does not fall behind KMeans on, and how many fitted priors predict no worse than
the best of the grid by more than a standard error. Data sets with more than 4,000 points have no folds. FOLDER holds
tabular/ (or the environment variable MAPDPM_DATA names it); without it, these sets are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from peers import mixture as mixture_of
from sklearn import cluster, datasets, mixture, preprocessing
from sklearn.metrics import adjusted_mutual_info_score as ami
from uci_sets import read_set

from mapdpm import MAPDPM, NormalGamma, NormalInverseWishart, columns
from mapdpm.likelihoods._shape import is_full
from mapdpm.metrics import normalized_mutual_info
from mapdpm.testing.data import crp_mixture

TABULAR = ("wine", "iris", "breast_cancer_wisconsin", "parkinsons", "pima", "vehicle", "soybean_266", "crabs")
WIDTHS = np.geomspace(1.0, 1e-5, 12)
FOLDS, MOST_IN_FOLDS = 5, 4000

Set = tuple[NDArray[np.float64], NDArray[Any]]


def blobs(n_clusters: int, each: int) -> Set:
    """Clusters of variance 1 whose centres are 8 apart at least, at random places in a square."""
    rng = np.random.default_rng([n_clusters, each])
    centres: list[NDArray[np.float64]] = []
    while len(centres) < n_clusters:
        place = rng.uniform(0.0, 12.0 * np.sqrt(n_clusters), 2)
        if all(np.hypot(*(place - other)) > 8.0 for other in centres):
            centres.append(place)
    z = rng.permutation(np.repeat(np.arange(n_clusters), each))
    return np.array(centres)[z] + rng.normal(size=(len(z), 2)), z


def aniso() -> Set:
    """The sheared blobs of scikit-learn's comparison."""
    X, y = datasets.make_blobs(500, random_state=170)
    return X @ np.array([[0.6, -0.6], [-0.4, 0.8]]), y


def sets(folder: Path | None) -> Iterator[tuple[str, Set]]:
    """Names, points and classes."""
    for name in TABULAR if folder is not None else ():
        points, classes = read_set(folder / "tabular" / f"{name}.csv")  # type: ignore[operator]
        whole = ~np.isnan(points).any(axis=1)
        yield name, (points[whole], np.unique(classes, return_inverse=True)[1][whole])
    yield "breast cancer (30)", datasets.load_breast_cancer(return_X_y=True)
    yield "digits", datasets.load_digits(return_X_y=True)
    for n_clusters, each in ((30, 30), (50, 20), (50, 10), (100, 50), (300, 10)):
        yield f"blobs {n_clusters} x {each}", blobs(n_clusters, each)
    yield "blobs 50 x 20, some near", datasets.make_blobs(1000, centers=50, center_box=(-60, 60), random_state=1)
    for seed in range(3):
        yield f"section 4.1, {seed}", crp_mixture(np.random.default_rng([41, seed]))[:2]
    for N, D, K in ((10_000, 2, 10), (100_000, 10, 20)):
        yield f"{N:,} x {D}, {K} clusters", mixture_of(D, K).draw(N, 0)
    yield "moons", datasets.make_moons(500, noise=0.05, random_state=30)
    yield "circles", datasets.make_circles(500, factor=0.5, noise=0.05, random_state=30)
    yield "aniso", aniso()
    yield "varied", datasets.make_blobs(500, cluster_std=[1.0, 2.5, 0.5], random_state=170)


def held_out(X: NDArray[np.float64], prior_of: Any) -> NDArray[np.float64]:
    """The log density of each point, by a fit to the other folds."""
    order, scores = np.random.default_rng(0).permutation(len(X)), np.empty(len(X))
    for fold in range(FOLDS):
        test = order[fold::FOLDS]
        train = np.delete(X, test, axis=0)
        scores[test] = MAPDPM(likelihood=prior_of(train)).fit(train).score_samples(X[test])
    return scores


def of_width(width: float) -> Any:
    """The paper's prior with narrower clusters."""

    def prior_of(X: NDArray[np.float64]) -> NormalGamma:
        paper = NormalGamma.empirical(X)
        return paper._replace(b0=width * paper.b0)

    return prior_of


def figures(X: NDArray[np.float64], classes: NDArray[Any]) -> dict[str, Any]:
    """The line of a data set."""
    n = len(np.unique(classes))
    started = time.process_time()
    paper = MAPDPM(likelihood=None).fit(X)
    between = time.process_time()
    auto = MAPDPM(likelihood="auto").fit(X)
    seconds = (between - started, time.process_time() - between)
    is_normal = isinstance(auto.likelihood_, (NormalGamma, NormalInverseWishart))
    trees = [auto.merge_tree(), auto.merge_tree("overlap", X=X)]
    if is_normal:
        trees.insert(1, auto.merge_tree(prior=type(auto.likelihood_).empirical(X)))
    standard = preprocessing.StandardScaler().fit_transform(X)
    peers = [
        cluster.KMeans(n, n_init=10, random_state=0).fit_predict(standard),
        mixture.BayesianGaussianMixture(n_components=n, covariance_type="diag", random_state=0).fit_predict(standard),
        cluster.HDBSCAN(copy=True).fit_predict(standard) if len(X) <= MOST_IN_FOLDS else np.zeros(len(X)),
    ]
    merged = [tree.labels(min(n, auto.n_clusters_)) for tree in trees]
    found = {
        "classes": n,
        "K": [paper.n_clusters_, auto.n_clusters_],
        "kinds": "-".join(sorted({column.kind for column in columns(X)})),
        "covariance": "full" if is_full(auto.likelihood_) else "diagonal",
        "relevant": int(auto.relevant_.sum()),
        "AMI": [round(float(ami(classes, z)), 3) for z in (paper.labels_, auto.labels_, *merged, *peers)],
        "seconds": [round(each, 3) for each in seconds],
        "ratio": round(seconds[1] / seconds[0], 1),
    }
    if len(X) <= MOST_IN_FOLDS and is_normal:  # probabilities and densities do not compare
        fitted = held_out(X, lambda _: "auto")
        grid = [held_out(X, of_width(width)) for width in WIDTHS]
        best = max(grid, key=np.mean)
        behind = best - fitted
        found["nats"] = [round(float(each.mean()), 3) for each in (grid[0], fitted, best)]
        found["behind"] = [round(float(behind.mean()), 3), round(float(behind.std() / np.sqrt(len(X))), 3)]
    return found


def section_4_1(n_sets: int) -> dict[str, Any]:
    """Mean agreement with the true labels on data sets of Raykov2014, section 4.1, and the error of the difference."""
    found = []
    for seed in range(n_sets):
        X, z, _ = crp_mixture(np.random.default_rng([41, seed]))
        found.append([normalized_mutual_info(z, MAPDPM(likelihood=each).fit(X).labels_) for each in (None, "auto")])
    paper, auto = np.array(found).T
    error = float((auto - paper).std() / np.sqrt(n_sets))
    return {"paper": round(float(paper.mean()), 3), "auto": round(float(auto.mean()), 3), "error": round(error, 3)}


def main() -> None:
    """Print a line for each data set, and how often the first fit wins."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("MAPDPM_DATA") or None, help="holds tabular/")
    parser.add_argument("--only", default="", help="names of data sets, with commas between")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # peers that do not converge
    lines = []
    for name, (X, classes) in sets(arguments.data):
        if not arguments.only or name in arguments.only.split(","):
            lines.append({"set": name, "points": len(X), "features": X.shape[1]} | figures(X, classes))
            print(json.dumps(lines[-1]), flush=True)
    if not arguments.only:
        print(json.dumps({"NMI on section 4.1, 100 data sets": section_4_1(100)}), flush=True)
    trees = sum(max(line["AMI"][2:-3]) >= line["AMI"][-3] for line in lines)
    folds = [line for line in lines if "behind" in line]
    predicts = sum(line["behind"][0] <= line["behind"][1] for line in folds)
    wins = {"a tree >= KMeans": trees, "of": len(lines), "predicts": predicts, "with folds": len(folds)}
    print(json.dumps({"wins": wins}))


if __name__ == "__main__":
    main()
