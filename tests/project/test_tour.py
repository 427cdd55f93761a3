"""The tour of docs/design.md: the files that a point enters on its way from `mapdpm fit` to a label."""

import re
import sys

import numpy as np

import mapdpm
from mapdpm.cli import main
from repository import ROOT

N = 61  # no other array of a fit has so many rows of two numbers
MOST = 17


def holds_points(value, depth=3):
    if isinstance(value, np.ndarray):
        return value.dtype == np.float64 and value.shape == (N, 2)
    return isinstance(value, tuple) and depth > 0 and any(holds_points(each, depth - 1) for each in value)


def files_entered(run):
    """The files of the package whose functions take or return points during ``run``, in order."""
    package, entered = str(ROOT / "mapdpm") + "/", {}

    def look(frame, event, result):
        code = frame.f_code
        if not code.co_filename.startswith(package):
            return
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        given = [frame.f_locals.get(name) for name in names] if event == "call" else [result]
        if event in {"call", "return"} and any(map(holds_points, given)):
            entered.setdefault(code.co_filename.removeprefix(package).removesuffix(".py"))

    sys.setprofile(look)
    try:
        run()
    finally:
        sys.setprofile(None)
    return list(entered)


def test_the_tour_is_the_way_of_a_point(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    points = np.random.default_rng(0).normal(size=(N, 2))
    np.savetxt("your.csv", points, delimiter=",", header="height,width", comments="")
    assert mapdpm.MAPDPM(moves=()).fit(points).backend_ == "c"  # loads everything
    command = ["fit", "your.csv", "--empirical-prior", "--moves", "none", "--labels", "labels.csv"]
    entered = files_entered(lambda: main(command))
    assert "clusters   1" in capsys.readouterr().out
    tour = re.search(r"## A tour.*?```text\n(.*?)```", (ROOT / "docs" / "design.md").read_text(), re.DOTALL)[1]
    assert entered == [line.split()[0] for line in tour.splitlines()]
    assert len(entered) <= MOST
