"""The learner in whole numbers beside the one of doubles: agreement of labels, errors of scores, alarms.

Run: python bench/integers.py [--data FOLDER] [--seeds 0 1 2]. FOLDER (or MAPDPM_DATA) is that of real_streams.py, whose
streams come first; then those of streams.py; of each 20,000 points. Both learners get the same whole numbers and the
same prior, 16 slots, and a half-life of 1400 for drift and churn. A stream is scaled so that its range is 60,000. The
prior is the one that the warm-up of OnlineMAPDPM finds in these numbers. AMI is of the id that each point got when it
came, after the first 200; for streams with anomalies AUC of the score before. Scores: the difference in nats, median,
95 % and most, of the points until the learners first gave different ids. Instructions on chips: c_kernels/README.md.
"""

from __future__ import annotations

import argparse
import os
import platform
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from real_streams import HEAD, SOURCES, read
from sklearn.metrics import roc_auc_score
from streams import KINDS, stream
from tables import print_table

from mapdpm import NormalGamma, OnlineMAPDPM, __version__, metrics

POINTS, SLOTS, RANGE = 20_000, 16, 60_000
HALF_LIVES = {"drift": 1400.0, "churn": 1400.0}


def whole_numbers(X: NDArray[Any]) -> NDArray[np.float64]:
    """The points as whole numbers; a column has the range that fits."""
    low, high = X.min(axis=0), X.max(axis=0)
    scale = RANGE / np.where(high > low, high - low, 1.0)
    return np.rint((X - (low + high) / 2) * scale)


def prior_of(X: NDArray[Any], half_life: float | None) -> NormalGamma:
    """The prior that a warm-up finds, as the learner in whole numbers takes it."""
    found = OnlineMAPDPM(SLOTS, half_life=half_life, relevance="all", resolution=0.0).partial_fit(X[:HEAD]).likelihood_
    return NormalGamma(np.rint(found.m0), found.c0, found.a0, np.maximum(found.b0, found.a0 / 12.0))


def row(name: str, X: NDArray[Any], truth: NDArray[Any], *, has_anomalies: bool) -> list[str]:
    """A row of the table."""
    points, half_life = whole_numbers(X), HALF_LIVES.get(name.split(maxsplit=1)[0])
    said = []
    for dtype in ("float64", "int16"):
        learner = OnlineMAPDPM(
            SLOTS, likelihood=prior_of(points, half_life), half_life=half_life, surprise=False, dtype=dtype
        )
        said.append(learner.learn_many_scored(points))
    (ids, scores), (mine, of_mine) = said
    if has_anomalies:
        figures = [roc_auc_score(truth[HEAD:], -each[HEAD:]) for each in (scores, of_mine)]
    else:
        figures = [metrics.adjusted_mutual_info(truth[HEAD:], each[HEAD:]) for each in (ids, mine)]
    same = np.minimum.accumulate(ids == mine)
    errors = np.abs(scores - of_mine)[same]
    return [
        name,
        *(f"{each:.3f}" for each in figures),
        f"{np.mean(ids == mine):.3f}",
        *(f"{each:.4f}" for each in (np.median(errors), np.percentile(errors, 95), errors.max())),
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("MAPDPM_DATA"))
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    options = parser.parse_args()
    print(f"mapdpm {__version__}, Python {platform.python_version()}, {platform.processor() or platform.machine()}\n")
    rows = []
    for source in SOURCES if options.data else ():
        each = read(Path(options.data, "streams", source.file), source, POINTS)[0]
        rows.append(row(source.name, each.X, each.truth, has_anomalies=source.has_anomalies))
    for kind in KINDS:
        for seed in options.seeds:
            made = stream(kind, seed)
            rows.append(row(f"{kind} {seed}", made.X[:POINTS], made.labels[:POINTS], has_anomalies=False))
    head = ["stream", "float64", "int16", "same ids", "nats: median", "95 %", "most"]
    print_table("agreement (AMI; AUC where there are anomalies) and scores", head, rows)


if __name__ == "__main__":
    main()
