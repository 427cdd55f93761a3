"""``bench/nab.py``: the format of its results, causality, and its scorer on cases worked out by hand."""

import csv
import importlib
import math
import subprocess
import sys

import numpy as np
import pytest

from repository import ROOT


@pytest.fixture(scope="module")
def scorer():
    sys.path.insert(0, str(ROOT / "bench"))
    try:
        return importlib.import_module("nab_scorer"), importlib.import_module("nab_synthetic")
    finally:
        sys.path.remove(str(ROOT / "bench"))


def run(data, out):
    command = [sys.executable, ROOT / "bench" / "nab.py", "--data", data, "--out", out]
    subprocess.run(command, check=True, capture_output=True)
    found = {}
    for path in sorted(out.glob("*/*.csv")):
        with path.open(newline="") as file:
            found.setdefault(path.parent.name, {})[path.name] = list(csv.reader(file))
    return found


def test_results_are_in_the_format_and_causal(scorer, tmp_path):
    scorer[1].write(tmp_path / "data", files=2, rows=(1500, 1500))
    (tmp_path / "data" / "part").mkdir()
    for path in (tmp_path / "data" / "made").glob("*.csv"):
        lines = path.read_text().splitlines(keepends=True)
        (tmp_path / "data" / "part" / path.name).write_text("".join(lines[:1101]))
    found = run(tmp_path / "data", tmp_path / "out")
    whole, part = found["made"], found["part"]
    assert list(whole) == list(part) == ["series_00.csv", "series_01.csv"]
    for name, rows in whole.items():
        assert rows[0] == ["timestamp", "value", "anomaly_score"]
        assert len(rows) == 1501
        scores = np.array([float(row[2]) for row in rows[1:]])
        assert ((scores >= 0.0) & (scores <= 1.0)).all()
        assert not scores[:200].any()
        assert part[name] == rows[:1101]
    assert any(float(row[2]) > 0.0 for rows in part.values() for row in rows[1:])


def test_scorer_by_hand(scorer):
    nab = scorer[0]
    times, scores = np.arange(1000.0), np.zeros(1000)
    scores[500], scores[800] = 0.9, 0.5
    files = [nab.judged(times, scores, [(500.0, 599.0)])]
    assert nab.normalised(nab.raw(files, math.inf), 1) == 0.0
    assert nab.normalised(nab.raw(files, 0.9), 1) == pytest.approx(100.0)
    # row 800 is 201 / 99 widths after the window: the sigmoid there is about -1
    late = 0.11 * (2 / (1 + math.exp(5 * 201 / 99)) - 1)
    assert nab.raw(files, 0.5) == pytest.approx(1.0 + late)
    assert nab.best_threshold(files) == 0.9
