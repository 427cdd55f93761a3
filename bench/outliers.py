"""Outliers of tables: the area under the curve (AUC) of a default fit's surprise, beside IsolationForest.

Run: python bench/outliers.py [--data FOLDER]. FOLDER (or the environment variable MAPDPM_DATA) has
outliers/adbench_part.npz. Columns are standardised, and scores are those of the points of the fit. A line for each:
share of outliers, clusters, and the AUC of ``MAPDPM().assess(X).surprise``, of less ``score_samples``, and of
IsolationForest (mean of three seeds); then the means.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path

import numpy as np
from sklearn import ensemble, metrics, preprocessing

from mapdpm import MAPDPM

SEEDS = 3


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("MAPDPM_DATA"))
    folder = parser.parse_args().data
    if folder is None:
        parser.error("say where the data is: --data FOLDER, or MAPDPM_DATA")
    warnings.simplefilter("ignore")
    areas = []
    with np.load(Path(folder) / "outliers" / "adbench_part.npz") as arrays:
        for key in sorted(name for name in arrays.files if name.endswith("__X")):
            is_outlier = arrays[f"{key[:-1]}y"].ravel()
            X = preprocessing.StandardScaler().fit_transform(arrays[key].astype(float))
            model = MAPDPM().fit(X)
            forests = [ensemble.IsolationForest(random_state=seed).fit(X) for seed in range(SEEDS)]
            by_forest = [metrics.roc_auc_score(is_outlier, -forest.score_samples(X)) for forest in forests]
            own = (-model.assess(X).surprise, -model.score_samples(X))
            areas.append([*(metrics.roc_auc_score(is_outlier, each) for each in own), np.mean(by_forest)])
            shown = "  ".join(f"{area:.3f}" for area in areas[-1])
            print(f"{key[:-3]:18} {is_outlier.mean():.3f}  K {model.n_clusters_:3}  {shown}", flush=True)
    print("mean: surprise, density, IsolationForest", *np.round(np.mean(areas, axis=0), 3))


if __name__ == "__main__":
    main()
