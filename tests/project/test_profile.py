"""How many files of the package a use enters, and how often one file calls another: each limit is a budget.

``python tests/project/test_profile.py`` prints the counts, and the pairs of files that call each other most.
"""

import collections
import sys
from pathlib import Path

import numpy as np
import pytest

import mapdpm
from mapdpm import HDPHMM, MAPDPM, DPMeans, HDPMixture, NormalGamma, OnlineMAPDPM
from mapdpm.cli import main

PACKAGE = str(Path(mapdpm.__file__).parent) + "/"


def points():
    """The points of README.md."""
    rng = np.random.default_rng(0)
    return np.vstack([rng.normal(centre, 1.0, (100, 2)) for centre in (0.0, 8.0, 16.0)])


X, GROUPS = points(), np.repeat(np.arange(6), 50)
PRIOR = NormalGamma(m0=8.0, c0=0.01, a0=1.0, b0=1.0)


class Profile:
    """The calls of functions of the package, by file, and those from one file to another."""

    def __init__(self, run):
        self.files, self.between = collections.Counter(), collections.Counter()
        run()  # what is imported or made once is not counted
        sys.setprofile(self._look)
        try:
            run()
        finally:
            sys.setprofile(None)

    def _look(self, frame, event, _):
        if event != "call" or not (file := self._file(frame)):
            return
        self.files[file] += 1
        caller = frame.f_back
        while caller and not self._file(caller):
            caller = caller.f_back
        if caller and (by := self._file(caller)) != file:
            self.between[by, file] += 1

    @staticmethod
    def _file(frame):
        path = frame.f_code.co_filename
        return path.removeprefix(PACKAGE) if path.startswith(PACKAGE) else None


def stream_of(folder):
    """A run of ``mapdpm stream`` on a file."""
    np.savetxt(folder / "points.csv", X, delimiter=",", header="a,b", comments="")
    command = ["stream", str(folder / "points.csv"), "--warmup", "20", "--out", str(folder / "out.csv")]
    return lambda: main(command)


FITS = {
    "a prior": (lambda: MAPDPM(likelihood=PRIOR).fit(X), 25, 300),
    "the default": (lambda: MAPDPM().fit(X), 66, 4800),  # it looks at columns, and fits clusters of two shapes
    "DP-means": (lambda: DPMeans(lam=100.0).fit(X), 25, 300),
    "groups": (lambda: HDPMixture(likelihood=PRIOR).fit(X, GROUPS), 35, 1000),
    "states": (lambda: HDPHMM(likelihood=PRIOR).fit(X), 40, 4000),
}


@pytest.mark.parametrize("name", FITS)
def test_a_fit_stays_within_its_budget(name):
    fit, most_files, most_calls = FITS[name]
    profile = Profile(fit)
    assert len(profile.files) <= most_files, sorted(profile.files)
    assert sum(profile.between.values()) <= most_calls, profile.between.most_common(10)


def test_a_fit_of_states_asks_c_once_a_pass():
    """All rounds of a drawn start are one call of C, so that Python makes fewer than 10,000 calls."""
    assert sum(Profile(FITS["states"][0]).files.values()) <= 10_000


def test_learning_a_point_is_one_call():
    stream = OnlineMAPDPM(warmup=20, max_clusters=8)
    stream.learn_many(X)
    point = X[0].tolist()
    profile = Profile(lambda: stream.learn_one(point))
    assert sum(profile.files.values()) == 1, profile.files


def test_a_stream_of_the_command_line_stays_within_its_budget(tmp_path, capsys):
    profile = Profile(stream_of(tmp_path))
    capsys.readouterr()
    assert len(profile.files) <= 45, sorted(profile.files)


if __name__ == "__main__":
    for name, (fit, _, _) in FITS.items():
        found = Profile(fit)
        calls = sum(found.files.values())
        print(f"{name}: {len(found.files)} files, {sum(found.between.values())} calls between them, {calls} calls")
        for (by, file), n in found.between.most_common(5):
            print(f"    {n:5} {by} -> {file}")
