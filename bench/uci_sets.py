"""The seven UCI sets of Raykov2014: their files, and the figures of its Tables 2 and 3."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

NO_FEATURES = ("label", "id", "name", "sp", "sex")


class Uci(NamedTuple):
    """A set of Tables 2 and 3: its file, what is printed there, and log joints at alpha = 1 known before."""

    name: str
    file: str
    means_nmi: float
    map_nmi: float
    means_iterations: str
    map_iterations: str
    known_paper_mode: float
    best_known: float


SETS = (
    Uci("Wine", "wine.csv", 0.42, 0.86, "19", "11", -3776.2, -3526.7),
    Uci("Iris", "iris.csv", 0.76, 0.76, "8", "5", -469.5, -469.5),
    Uci("Breast cancer", "breast_cancer_wisconsin.csv", 0.75, 0.71, "8", "8", -9826.8, -9199.1),
    Uci("Soybean", "soybean_266.csv", 0.36, 0.40, "14", "9", -1054.4, 251.8),
    Uci("Parkinson's", "parkinsons.csv", 0.02, 0.12, "1000+", "13", 6771.9, 6842.6),
    Uci("Pima", "pima.csv", 0.03, 0.07, "20", "17", -21917.4, -21479.9),
    Uci("Vehicle", "vehicle.csv", 0.21, 0.15, "12", "9", -58592.6, -48602.9),
)


def read_set(path: Path) -> tuple[NDArray[np.float64], list[str]]:
    """Features and classes, of rows without a blank cell."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if all(cell.strip() for cell in row.values())]
    X = [[float(cell) for name, cell in row.items() if name not in NO_FEATURES] for row in rows]
    return np.array(X), [row["label"] for row in rows]
