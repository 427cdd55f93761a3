"""Columns of several kinds, and every family, on the command line."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mapdpm
from mapdpm import MAPDPM, BetaBernoulli, Categorical, GammaPoisson, Mixed, NormalGamma, cli
from mapdpm.likelihoods import FAMILIES
from repository import ROOT

Z = np.arange(60) % 2
FRAME = pd.DataFrame(
    {
        "temperature": np.random.default_rng(1).normal(size=60) + 8.0 * Z,
        "mode": np.array(["heat", "off"])[Z],
        "relay": np.array(["on", "off"])[Z],
        "events": 3 + 9 * Z,
        "label": Z,
    }
)
KINDS = ["--columns", "all-but:label", "--kinds", "relay=flag,events=count"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("data.csv", index=False)


def says(capsys, *words):
    assert cli.main(list(words)) == 0
    return capsys.readouterr().out


def refuses(capsys, *words):
    assert cli.main(list(words)) in {1, 2}
    return capsys.readouterr().err


def test_it_does_what_python_does(capsys):
    out = says(capsys, "fit", "data.csv", *KINDS, "--out", "model.mdpm", "--labels", "labels.csv")
    assert "clusters   2" in out
    assert "mode.beta" in out
    model = mapdpm.load("model.mdpm")
    parts = {("temperature",): NormalGamma, "mode": Categorical, "relay": BetaBernoulli, "events": GammaPoisson}
    frame = FRAME.drop(columns="label").assign(relay=FRAME.relay == "on")
    own = MAPDPM(likelihood=Mixed(parts)).fit(frame)
    assert model.log_joint_ == own.log_joint_
    assert model.feature_names_in_.tolist() == list(frame)
    turned = FRAME[["label", "events", "relay", "mode", "temperature"]].to_csv(index=False)
    Path("turned.csv").write_text(turned)
    assert says(capsys, "predict", "model.mdpm", "turned.csv").split()[1:] == [str(k) for k in own.labels_]
    scores = says(capsys, "score", "model.mdpm", "data.csv").split()[1:]
    assert np.array(scores, dtype=float) == pytest.approx(own.score_samples(frame))
    Path("new.csv").write_text("temperature,mode,relay,events\n0,dry,on,3\n")
    assert float(says(capsys, "score", "model.mdpm", "new.csv", "--mean")) < own.score_samples(frame).min()


def test_gaps_and_the_empirical_prior(capsys):
    gaps = FRAME.astype(object).drop(columns="label")
    gaps.iloc[0, 0], gaps.iloc[1, 1], gaps.iloc[2, 2] = "", "NA", ""
    gaps.to_csv("gaps.csv", index=False)
    assert "line 2, column 1 (temperature) is blank" in refuses(capsys, "fit", "gaps.csv")
    common = ["fit", "gaps.csv", "--missing", "skip", "--kinds", "relay=flag", "--out", "model.mdpm"]
    assert "clusters   2" in says(capsys, *common)
    assert "clusters" in says(capsys, *common, "--empirical-prior")
    assert "alpha" in says(capsys, "tune", "gaps.csv", "--missing", "skip", "--alphas", "0.5,1", "--folds", "2")


def test_pictures(capsys):
    pytest.importorskip("matplotlib")
    says(capsys, "fit", "data.csv", *KINDS, "--picture", "columns.png")
    assert Path("columns.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("text", "options", "part"),
    [
        ("a,b\n1,x\n2,3\n", [], None),  # a number among texts is a level
        ("a,b\n1,2\n2,x\n", [], "line 3, column 2 (b) is not a number: 'x'"),
        ('a,b\n1,"20,5"\n2,"20,6"\n', [], "column 2 (b) is not a number: '20,5'"),
        ("a,b\n1,2026-01-01\n2,2026-01-02\n", [], "column 2 (b) is not a number: '2026-01-01'"),
        ("a;b\n1;x\n", [], "say by what: --delimiter"),
        ("a,b\n1,maybe\n2,on\n", ["--kinds", "b=flag"], "column 2 (b) is no flag: 'maybe'; flags are 0 and 1, true"),
        ("a,b\n1,0.5\n2,1\n", ["--kinds", "b=count"], "b: X must hold counts"),
        ("a,b\n1,x\n2,y\n", ["--kinds", "c=flag"], "--kinds: there is no column 'c' among those to use"),
        ("a,b\n1,x\n2,y\n", ["--kinds", "b=colour"], "--kinds: must be COLUMN=KIND, with one of number, category"),
        ("a,b\n1,x\n2,y\n", ["--kinds", "b=flag,b=count"], "--kinds: b has two kinds"),
        ("a,b\n1,x\n2,y\n", ["--prior", "b0=1"], "--prior: is for columns of numbers only"),
    ],
)
def test_what_cells_say(text, options, part, capsys):
    Path("odd.csv").write_text(text)
    if part is None:
        assert "b.beta" in says(capsys, "fit", "odd.csv", *options)
    else:
        assert part in refuses(capsys, "fit", "odd.csv", *options)


def test_names_warn(capsys):
    FRAME.assign(label=[f"row {i}" for i in range(60)]).to_csv("names.csv", index=False)
    assert cli.main(["fit", "names.csv", "--labels", "l.csv"]) == 0
    assert "column 'label' has 60 different values in 60 rows, like names" in capsys.readouterr().err


@pytest.mark.parametrize("family", [each for each in FAMILIES if each is not Categorical])
def test_every_family_by_its_name(family, capsys):
    with Path("counts.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["a", "b"], *np.column_stack([Z, 1 - Z]).tolist()])
    out = says(capsys, "fit", "counts.csv", "--likelihood", family.name, "--out", "model.mdpm")
    assert "rows       60" in out
    assert isinstance(mapdpm.load("model.mdpm").likelihood_, family)


def test_a_family_of_the_user(capsys):
    """In a process that has not imported it, as a user's shell is."""
    source = (ROOT / "tests" / "beta_geometric.py").read_text()
    Path("mine.py").write_text(source.replace('name="beta-geometric"', 'name="mine"'))
    pd.DataFrame({"tries": 40 * Z + Z, "others": 3 * Z}).to_csv("tries.csv", index=False)

    def run(*words):
        command = [sys.executable, "-m", "mapdpm", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    named = ["--likelihood", "mine:BetaGeometric"]
    done = run("fit", "tries.csv", *named, "--out", "model.mdpm")
    assert (done.returncode, done.stderr) == (0, "")
    assert "clusters   2" in done.stdout
    assert run("predict", "model.mdpm", "tries.csv", *named).stdout.split()[1:] == [str(k) for k in Z]
    without = run("predict", "model.mdpm", "tries.csv")
    assert "no family is registered as 'mine'; import the file that defines it" in without.stderr
    assert "must name a family" in refuses(capsys, "fit", "tries.csv", "--likelihood", "pathlib:Path")
    assert "No module named 'nowhere'" in refuses(capsys, "fit", "tries.csv", "--likelihood", "nowhere:Thing")
