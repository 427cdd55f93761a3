"""States of motion capture under an HDP-HMM, and beside it: mocap6.

Run: python bench/states.py [--data FOLDER]. --data is the folder above streams/mocap6.csv.gz (the environment variable
MAPDPM_DATA may name it). Needs scipy, scikit-learn and hmmlearn (pip install hmmlearn). All run on one thread. Letters
are in bench/papers/teh2004.py.

The share of times whose state is not the exercise of its label, after the best matching of states to exercises, one to
one (Hamming distance), and the adjusted mutual information. Samplers take 500 steps from the clusters of MAPDPM, then
50 draws, one in 5; the partition that is nearest to the draws (Binder). alpha, gamma ~ Gamma(1, 1), and the prior of
all families is the empirical Normal-Gamma. hmmlearn is told the number of exercises: the best of ten starts by its
likelihood.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from machine import about
from tables import print_table

from mapdpm import HDPHMM, MAPDPM, OnlineMAPDPM
from mapdpm.samplers import GammaPrior, HDPHMMBeam, HDPHMMDirectAssignment, sample

_PRIORS: dict[str, Any] = {"alpha_prior": GammaPrior(1, 1), "gamma_prior": GammaPrior(1, 1)}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("MAPDPM_DATA"))
    arguments = parser.parse_args()
    if arguments.data is None:
        print("no --data and no MAPDPM_DATA: nothing to do")
        return
    print(about())
    mocap6(Path(arguments.data) / "streams" / "mocap6.csv.gz")


def mocap6(path: Path) -> None:
    """Print how the states of each method agree with the exercises."""
    from hmmlearn.hmm import GaussianHMM  # noqa: PLC0415  (a peer)

    with gzip.open(path, "rt", encoding="utf-8") as file:
        records = list(csv.DictReader(file))
    names = [name for name in records[0] if name not in {"seq_id", "label", "tstep_id"}]
    X = np.array([[float(record[name]) for name in names] for record in records])
    ids, exercises = ([record[name] for record in records] for name in ("seq_id", "label"))
    begin, rows = time.perf_counter(), []

    def said(name: str, labels: Any) -> None:
        nonlocal begin
        hamming, ami = agreement(labels, exercises)
        seconds = f"{time.perf_counter() - begin:.0f}"
        rows.append((name, str(len(np.unique(labels))), f"{hamming:.3f}", f"{ami:.3f}", seconds))
        begin = time.perf_counter()

    pooled = MAPDPM(likelihood=None).fit(X)
    said("MAPDPM, without time", pooled.labels_)
    said("OnlineMAPDPM, as it learns", OnlineMAPDPM(64).learn_many(X))
    for kappa in (0.0, 10.0, 100.0):
        said(f"HDPHMM, kappa {kappa:g}", HDPHMM(kappa=kappa, likelihood=None, **_PRIORS).fit(X, ids).labels_)
    steps = {"draws": 50, "burn_in": 500, "thin": 5, "random_state": 0, "init": pooled.labels_}
    for kappa in (0.0, 10.0, 100.0):
        for kind in (HDPHMMDirectAssignment, HDPHMMBeam):
            trace = sample(X, kind(kappa=kappa, **_PRIORS), sequences=ids, **steps)
            said(f"{kind.__name__}, kappa {kappa:g}", trace.binder_estimate())
    lengths, K = [sum(1 for i in ids if i == name) for name in dict.fromkeys(ids)], len(set(exercises))
    fits = [GaussianHMM(K, "diag", n_iter=200, random_state=s).fit(X, lengths) for s in range(10)]
    best = max(fits, key=lambda fit: fit.monitor_.history[-1])
    said(f"hmmlearn, told {K}", best.predict(X, lengths))
    print_table("mocap6", ("method", "states", "Hamming", "AMI", "s"), rows)


def agreement(labels: Any, exercises: list[str]) -> tuple[float, float]:
    """The Hamming distance after the best matching, and the adjusted mutual information."""
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415  (both from extras)
    from sklearn.metrics import adjusted_mutual_info_score  # noqa: PLC0415

    _, z = np.unique(labels, return_inverse=True)
    _, named = np.unique(exercises, return_inverse=True)
    together = np.zeros((z.max() + 1, named.max() + 1))
    np.add.at(together, (z, named), 1.0)
    matched = together[linear_sum_assignment(-together)].sum()
    return 1.0 - matched / len(z), adjusted_mutual_info_score(named, z)


if __name__ == "__main__":
    main()
