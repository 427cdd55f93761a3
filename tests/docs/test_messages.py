"""docs/messages.md: every call in its tables is made, and says what the table says, word for word."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import mapdpm
from mapdpm import (
    MAPDPM,
    BetaBernoulli,
    DirichletMultinomial,
    DPMeans,
    NormalGamma,
    NormalInverseWishart,
    OnlineHDP,
    OnlineMAPDPM,
    cli,
    features,
    plots,
)
from mapdpm.likelihoods._template import GammaExponential
from repository import ROOT

PAGE = ROOT / "docs" / "messages.md"
ROW = re.compile(r"^\| `(?P<call>.*?)` \|(?: (?P<code>\d) \|)? (?P<says>.*?) \|$", re.MULTILINE)
VAGUE = re.compile(r"(?i)\b(invalid (value|input|data)|bad (value|input|data)|unknown error|something|failed)\b")


def rows():
    found = [match.groupdict() for match in ROW.finditer(PAGE.read_text(encoding="utf-8"))]
    return [{name: cell and cell.replace("\\|", "|") for name, cell in row.items()} for row in found]


def pattern(says):
    return re.escape(says).replace("…", ".*")


PYTHON = [(row["call"], row["says"]) for row in rows() if row["code"] is None]
COMMANDS = [(row["call"], int(row["code"]), row["says"]) for row in rows() if row["code"] is not None]


@pytest.fixture(scope="module")
def names():
    """The names that the calls on the page use."""
    X = np.array([[0.0, 1.0], [0.5, 1.5], [9.0, 8.0], [9.5, 8.5]])
    frame = pd.DataFrame(X, columns=["height", "width"])
    prior = NormalGamma(m0=0.0, c0=0.1, a0=1.0, b0=1.0)
    library = {"MAPDPM": MAPDPM, "DPMeans": DPMeans, "NormalGamma": NormalGamma, "load": mapdpm.load, "plots": plots}
    library |= {each.__name__: each for each in (BetaBernoulli, DirichletMultinomial, NormalInverseWishart)}
    library |= {
        "OnlineHDP": OnlineHDP,
        "OnlineMAPDPM": OnlineMAPDPM,
        "stream": OnlineMAPDPM(4, likelihood=prior, n_features=2, half_life=9.0),
    }
    library["stream"].learn_one([0.0, 1.0], t=5.0)
    library["waiting"] = MAPDPM(likelihood=GammaExponential(a0=1.0, b0=1.0), backend="python").fit([[0, 1], [2, 9]])
    libraries = {"features": features, "np": np, "pd": pd, "sparse": sparse}
    return library | libraries | {"X": X, "frame": frame, "prior": prior, "model": MAPDPM().fit(frame)}


@pytest.fixture
def folder(tmp_path, names, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names["frame"].to_csv("data.csv", index=False)
    Path("text.csv").write_text("height,width,who\n0,1,Ann\n0.5,1.5,Bob\n")
    Path("gap.csv").write_text("height,width\n0,1\n0.5,\n")
    Path("ragged.csv").write_text("height,width\n0,1\n0.5\n")
    Path("slashes.csv").write_text("height/width\n0 / 1\n0.5 / 1.5\n")
    Path("other.csv").write_text("height,weight\n0,1\n")
    Path("empty.csv").write_text("")
    names["model"].save("model.mdpm")
    names["stream"].save("stream.mdpm")
    OnlineMAPDPM().partial_fit(names["X"]).save("young.mdpm")
    Path("half.mdpm").write_bytes(Path("model.mdpm").read_bytes()[:100])
    return tmp_path


def test_there_are_forty():
    assert len(PYTHON) + len(COMMANDS) >= 40
    assert len(set(PYTHON)) + len(set(COMMANDS)) == len(PYTHON) + len(COMMANDS)
    assert not [says for *_, says in (*PYTHON, *COMMANDS) if VAGUE.search(says)]


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(("call", "says"), PYTHON)
def test_python(folder, names, call, says):
    with pytest.raises((ValueError, OSError, KeyError)) as caught:
        eval(call, dict(names))  # noqa: S307  (a page of ours)
    assert re.fullmatch(pattern(says), " ".join(str(caught.value).split()))


@pytest.mark.parametrize(("call", "code", "says"), COMMANDS)
def test_command_line(folder, capsys, call, code, says):
    before = {path: path.read_bytes() for path in Path().iterdir()}
    assert cli.main(shlex.split(call)[1:]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.fullmatch(f"mapdpm: error: {pattern(says)}\n", captured.err)
    assert {path: path.read_bytes() for path in Path().iterdir()} == before
