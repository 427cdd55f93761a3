"""The default fit beside columns of noise: eight tables with 0, 20 and 100 of them, and noise alone.

Run: python bench/columns.py --data FOLDER [--noise 20,100] [--alone 100] [--wide 500,1000,2000]. A line for each table
and number of columns:

K, relevant   clusters, and how many columns of the table and of noise carry them
same          AMI of the partition with that of the table without noise: 1 where it is found again
AMI           with the classes
seconds       of the fit, and their ratio to those without noise

Then, of ``--alone`` tables of noise alone (300 x 6), how many have one cluster and no relevant column. Then two groups
of 25 rows in ``--wide`` columns, a tenth of which part them by 3 sd: processor seconds of the default and of the
paper's prior, and the AMI of both. FOLDER holds tabular/ (or the environment variable MAPDPM_DATA names it).
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score as ami
from uci_sets import read_set

from mapdpm import MAPDPM

TABLES = ("wine", "iris", "breast_cancer_wisconsin", "parkinsons", "pima", "vehicle", "soybean_266", "crabs")


def main() -> None:
    """Print a line for each fit, and the counts of noise alone."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("MAPDPM_DATA"))
    parser.add_argument("--noise", default="20,100")
    parser.add_argument("--alone", type=int, default=100)
    parser.add_argument("--wide", default="500,1000,2000")
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("--data or MAPDPM_DATA must name the folder that holds tabular/")
    warnings.simplefilter("ignore")
    for name in TABLES:
        points, classes = read_set(Path(arguments.data) / "tabular" / f"{name}.csv")
        whole = ~np.isnan(points).any(axis=1)
        points, classes = points[whole], np.unique(classes, return_inverse=True)[1][whole]
        plain = None
        for n_noise in (0, *map(int, arguments.noise.split(","))):
            noise = np.random.default_rng(n_noise).normal(size=(len(points), n_noise))
            X = np.column_stack([points, noise * points.std(axis=0).mean()])
            start = time.perf_counter()
            model = MAPDPM().fit(X)
            seconds = time.perf_counter() - start
            plain = plain or (model.labels_, seconds)
            relevant = [int(part.sum()) for part in np.split(model.relevant_, [points.shape[1]])]
            found = {"table": name, "noise": n_noise, "K": model.n_clusters_, "relevant": relevant}
            found |= {"same": round(ami(plain[0], model.labels_), 3), "AMI": round(ami(classes, model.labels_), 3)}
            print(json.dumps(found | {"seconds": round(seconds, 2), "ratio": round(seconds / plain[1], 2)}), flush=True)
    fits = [MAPDPM().fit(np.random.default_rng(seed).normal(size=(300, 6))) for seed in range(arguments.alone)]
    one = sum(fit.n_clusters_ == 1 for fit in fits)
    print(json.dumps({"noise alone": len(fits), "one cluster": one, "none": sum(not f.relevant_.any() for f in fits)}))
    for n_columns in map(int, filter(None, arguments.wide.split(","))):
        print(json.dumps(of_wide(n_columns)), flush=True)


def of_wide(n_columns: int) -> dict[str, float]:
    """Seconds and AMI of two groups in many columns."""
    classes = np.arange(50) % 2
    X = np.random.default_rng(n_columns).normal(size=(50, n_columns))
    X[:, : n_columns // 10] += 3.0 * classes[:, None]
    found: dict[str, float] = {"wide": n_columns}
    for name, likelihood in (("default", "auto"), ("paper", None)):
        start = time.process_time()
        labels = MAPDPM(likelihood=likelihood).fit(X).labels_
        found |= {
            f"seconds {name}": round(time.process_time() - start, 2),
            f"AMI {name}": round(ami(classes, labels), 2),
        }
    return found


if __name__ == "__main__":
    main()
