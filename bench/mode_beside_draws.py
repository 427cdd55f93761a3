"""The log joint of MAPDPM above the best that SubClusterSplits reaches in 100 times its time, on MNIST and sets of UCI.

Run: python bench/mode_beside_draws.py [--data FOLDER]. --data holds images/ and tabular/ (the environment variable
MAPDPM_DATA may name it).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from tables import print_table

from mapdpm import MAPDPM, NormalGamma
from mapdpm.samplers import SubClusterSplits, sample

sys.path.append(str(Path(__file__).with_name("papers")))
from climbs import Clock, Start, climb
from digits_and_news import digits
from exhibits import Setting

TABULAR = {"wine": "wine", "breast cancer": "breast_cancer_wisconsin", "pima": "pima", "vehicle": "vehicle"}
LEFT_OUT = {"label", "id", "name"}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("MAPDPM_DATA") or None)
    arguments = parser.parse_args()
    if arguments.data is None:
        print("no MNIST and UCI: name the folder above images/ and tabular/ by --data or MAPDPM_DATA")
        return
    beside(arguments.data)


def beside(folder: Path) -> None:
    """Print the log joint of MAPDPM above that of the best draw in 100 times its time."""
    sets = {"MNIST, 50 components": digits(Setting(quick=False, data=folder, pictures=folder), 10_000, 50)}
    for name, stem in TABULAR.items():
        X = columns(next((folder / "tabular").glob(f"{stem}*.csv")))
        sets[f"{name}, {X.shape[0]} x {X.shape[1]}"] = X
    rows = []
    for name, X in sets.items():
        likelihood = NormalGamma.empirical(X)
        MAPDPM(1.0, likelihood=likelihood).fit(X)
        start = time.process_time()
        model = MAPDPM(1.0, likelihood=likelihood).fit(X)
        spent = time.process_time() - start
        more = MAPDPM(1.0, likelihood=likelihood, n_restarts=10, random_state=0).fit(X)
        cells = [f"{1e3 * spent:.3g} ms", f"{model.log_joint_:.1f} ({model.n_clusters_})"]
        cells.append(f"{more.log_joint_ - model.log_joint_:.1f} ({more.n_clusters_})")
        for variant in ("printed", "exact"):
            sampler = SubClusterSplits(1.0, likelihood=likelihood, variant=variant)
            sample(X[:100], sampler, draws=3, random_state=0)
            curve = climb(Start(X, likelihood, "single"), sampler, Clock(100.0 * spent), 0)
            best = max(curve, key=lambda moment: moment.log_joint)
            cells.append(f"{model.log_joint_ - best.log_joint:.1f} ({best.n_clusters}, {len(curve)} noted)")
        rows.append((name, *cells))
    head = ("", "MAPDPM takes", "its log joint (K)", "ten restarts add (K)", "above printed (K)", "above exact (K)")
    print_table("MAPDPM above the best that SubClusterSplits reaches in 100 times its time, nats", head, rows)


def columns(file: Path) -> Any:
    """The numbers of a file, rows with all of them, each column in units of its standard deviation."""
    names = file.read_text(encoding="utf-8").partition("\n")[0].strip().split(",")
    kept = [number for number, name in enumerate(names) if name not in LEFT_OUT]
    X = np.genfromtxt(file, delimiter=",", skip_header=1, usecols=kept)
    X = X[np.isfinite(X).all(axis=1)]
    return (X - X.mean(axis=0)) / X.std(axis=0)


if __name__ == "__main__":
    main()
