"""Labels of a default fit on sets with other people's classes: clusters, groups of them, and other methods.

Run: python bench/batteries.py [--data FOLDER] [--only NAME,NAME]. A line for each set of ``first_fit.py`` and of the
batteries of shapes in FOLDER (or where the environment variable MAPDPM_DATA says): K and the number of groups
(``groups="auto"``), then the adjusted mutual information (AMI) with the classes of

clusters  MAPDPM(), and its groups
HDBSCAN   of scikit-learn, smallest cluster 5
GMM-BIC   full normals, 1 to 20 of them by the BIC
BGMM      BayesianGaussianMixture of at most 30, full
KMeans    told the number of classes
Genie     of genieclust, told the number of classes, where it is installed

of standardised columns for all but the first. A set with several labellings has the best of them; points that a
labelling calls noise (0) are left out. At the end the mean of each battery, and of all.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import first_fit
import numpy as np
from numpy.typing import NDArray
from sklearn import cluster, mixture, preprocessing
from sklearn.metrics import adjusted_mutual_info_score

from mapdpm import MAPDPM

SHAPES = "shapes/batteries_fcps_graves_uci.npz"
SMALLEST, MOST_NORMALS, MOST_OF_BAYES = 5, 20, 30
MOST_POINTS = 20_000

Labellings = list[NDArray[np.int64]]


def all_sets(folder: Path | None) -> Iterator[tuple[str, NDArray[np.float64], Labellings]]:
    """BATTERY/NAME, points, and each labelling, in which 0 is noise."""
    for name, (X, classes) in first_fit.sets(folder):
        if name != "digits" and len(X) <= MOST_POINTS:  # others take minutes
            yield f"first_fit/{name}", np.asarray(X, dtype=float), [np.unique(classes, return_inverse=True)[1] + 1]
    if folder is None or not (folder / SHAPES).is_file():
        return
    with np.load(folder / SHAPES) as arrays:
        for key in sorted(name for name in arrays.files if name.endswith("__X")):
            stem = key.removesuffix("X")
            labellings = [arrays[name] for name in sorted(arrays.files) if name.startswith(f"{stem}y")]
            yield stem.removesuffix("__").replace("__", "/"), np.asarray(arrays[key], dtype=float), labellings


def agreement(labellings: Labellings, labels: NDArray[Any]) -> float:
    """The best AMI over the labellings, without the points that each calls noise."""
    return max(float(adjusted_mutual_info_score(own[own > 0], labels[own > 0])) for own in labellings)


def by_bic(X: NDArray[np.float64]) -> NDArray[Any]:
    """The normals whose BIC is lowest."""
    fits = (mixture.GaussianMixture(k, random_state=0, reg_covar=1e-4).fit(X) for k in range(1, MOST_NORMALS + 1))
    return np.asarray(min(fits, key=lambda fit: fit.bic(X)).predict(X))


def others(n_classes: int) -> dict[str, Callable[[NDArray[np.float64]], NDArray[Any]]]:
    """What the other methods say of standardised points."""
    bayes = mixture.BayesianGaussianMixture(n_components=MOST_OF_BAYES, random_state=0, max_iter=500, reg_covar=1e-4)
    found: dict[str, Callable[[NDArray[np.float64]], NDArray[Any]]] = {
        "HDBSCAN": cluster.HDBSCAN(min_cluster_size=SMALLEST, copy=True).fit_predict,
        "GMM-BIC": by_bic,
        "BGMM": bayes.fit_predict,
        "KMeans": cluster.KMeans(n_classes, n_init=10, random_state=0).fit_predict,
    }
    try:
        import genieclust  # noqa: PLC0415
    except ImportError:
        return found
    return found | {"Genie": genieclust.Genie(n_clusters=n_classes).fit_predict}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("MAPDPM_DATA"))
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    wanted = tuple(filter(None, arguments.only.split(",")))
    rows: dict[str, list[dict[str, float]]] = {}
    for name, X, labellings in all_sets(None if arguments.data is None else Path(arguments.data)):
        if wanted and not any(each in name for each in wanted):
            continue
        model = MAPDPM(groups="auto").fit(X)
        row = {"clusters": agreement(labellings, model.components_), "groups": agreement(labellings, model.labels_)}
        scaled = preprocessing.StandardScaler().fit_transform(X)
        row |= {each: agreement(labellings, fit(scaled)) for each, fit in others(int(labellings[0].max())).items()}
        rows.setdefault(name.partition("/")[0], []).append(row)
        figures = "  ".join(f"{each} {value:.3f}" for each, value in row.items())
        print(f"{name:34} {X.shape!s:12} K {model.n_clusters_:3} in {model.n_groups_:3}  {figures}", flush=True)
    rows["all"] = [row for battery in rows.values() for row in battery]
    for battery, own in rows.items():
        figures = "  ".join(f"{each} {np.mean([row[each] for row in own]):.3f}" for each in own[0])
        print(f"{battery:34} {len(own):3} sets{'':18} {figures}")


if __name__ == "__main__":
    main()
