"""The command line in tests: points for it, commands here and in a process, what ``mapdpm stream`` must print."""

import contextlib
import io
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mapdpm import OnlineMAPDPM, cli
from repository import ROOT


def made(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) + rng.choice([0.0, 9.0, 20.0], size=(n, 1))


def text_of(points):
    return "".join(f"{x!r},{y!r}\n" for x, y in points.tolist())


def streamed(*argv, code=0):
    assert cli.main(["stream", *map(str, argv)]) == code


def called(*argv, data=b""):
    """A command in this process, which reads ``data``: its code and what it printed, as ``subprocess.run`` has them."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))
        code = cli.main(list(map(str, argv)))
    return subprocess.CompletedProcess(argv, code, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def started(*argv, unbuffered=False, **options):
    """A process in the current folder, which does not outlive the test."""
    command = [sys.executable, *["-u"] * unbuffered, "-m", "mapdpm", *map(str, argv)]
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    with subprocess.Popen(command, env=os.environ | {"PYTHONPATH": paths}, **pipes) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def expected(points, **parameters):
    """The expected output, by the Python interface."""
    model, found = OnlineMAPDPM(**parameters), []
    for x in points.tolist():
        before = model.n_events
        number, score = model.learn_scored(x)
        new = model.n_events - before
        events = [{"kind": e.kind, "id": e.id, "other": e.other} for e in model.events[-new:]] if new else None
        found.append({"id": number, "score": None if math.isnan(score) else score, "event": events})
    return found, model


def learned(path):
    """The learner of a state, as bytes without what the command line adds."""
    return OnlineMAPDPM.from_bytes(Path(path).read_bytes())._learner.write()
