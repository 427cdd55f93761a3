"""The seven UCI sets of Raykov2014: their files, and the figures of its Tables 2 and 3."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

NO_FEATURES = ("label", "id", "name", "sp", "sex")


class Uci(NamedTuple):
    """A set: its file, and what Tables 2 and 3 print: NMI (of Gibbs with two standard deviations), and iterations."""

    name: str
    file: str
    means_nmi: float
    gibbs_nmi: tuple[float, float]
    map_nmi: float
    means_iterations: str
    gibbs_iterations: str
    map_iterations: str


SETS = (
    Uci("Wine", "wine.csv", 0.42, (0.72, 0.06), 0.86, "19", "2,365", "11"),
    Uci("Iris", "iris.csv", 0.76, (0.75, 0.06), 0.76, "8", "1,543", "5"),
    Uci("Breast cancer", "breast_cancer_wisconsin.csv", 0.75, (0.70, 0.01), 0.71, "8", "939", "8"),
    Uci("Soybean", "soybean_266.csv", 0.36, (0.49, 0.00), 0.40, "14", "10,000+", "9"),
    Uci("Parkinson's", "parkinsons.csv", 0.02, (0.13, 0.02), 0.12, "1000+", "1,307", "13"),
    Uci("Pima", "pima.csv", 0.03, (0.07, 0.01), 0.07, "20", "1,189", "17"),
    Uci("Vehicle", "vehicle.csv", 0.21, (0.15, 0.02), 0.15, "12", "939", "9"),
)


def read_set(path: Path) -> tuple[NDArray[np.float64], list[str]]:
    """Features and classes, of rows without a blank cell."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if all(cell.strip() for cell in row.values())]
    X = [[float(cell) for name, cell in row.items() if name not in NO_FEATURES] for row in rows]
    return np.array(X), [row["label"] for row in rows]
