"""Columns of several kinds, and every family, on the command line."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mapdpm
from command_line import called
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
        ("a;b\nv;x\n", ["--kinds", "1=continuous", "--delimiter", ","], "say by what: --delimiter"),
        (
            "a,b\n1,maybe\n2,on\n",
            ["--kinds", "b=flag"],
            "(b) is no flag: 'maybe'; flags are two numbers, true",
        ),
        ("a,b\n1,0.5\n2,1\n", ["--kinds", "b=count"], "column 'b' is no count, whole numbers from 0 to 1e9"),
        ("a,b\n1,x\n2,y\n", ["--kinds", "c=flag"], "--kinds: there is no column 'c' among those to use"),
        ("a,b\n1,x\n2,y\n", ["--kinds", "b=colour"], "--kinds: b: 'colour' is no kind; use continuous, rounded"),
        ("a,b\n1,x\n2,y\n", ["--kinds", "flag"], "--kinds: must be COLUMN=KIND, with one of continuous, rounded"),
        ("a,b\n1,x\n2,y\n", ["--kinds", "b=spiked"], "--kinds: b: 'spiked' needs its values, as in 'spiked:0'"),
        ("a,b\n1,x\n2,y\n", ["--kinds", "b=rounded"], "column 2 (b) is not a number: 'x'"),
        (
            "a,b\n1,x\n2,y\n",
            ["--likelihood", "normal-gamma", "--kinds", "a=circular:9"],
            "'circular:9' is for columns without --likelihood; with it there are number, category, flag, count",
        ),
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
    without = refuses(capsys, "predict", "model.mdpm", "tries.csv")  # here, where nothing has imported it
    assert "no family is registered as 'mine'; import the file that defines it" in without
    assert "must name a family" in refuses(capsys, "fit", "tries.csv", "--likelihood", "pathlib:Path")
    assert "No module named 'nowhere'" in refuses(capsys, "fit", "tries.csv", "--likelihood", "nowhere:Thing")


SENSORS = pd.DataFrame(
    {
        "row": np.arange(200),
        "humidity": np.random.default_rng(0).normal(50.0, 5.0, 200).round(),
        "noise": np.random.default_rng(1).normal(30.0, 5.0, 200).round(),
        "pressure": np.random.default_rng(2).normal(size=200),
        "rain": np.maximum(np.random.default_rng(3).normal(size=200), 0.0).round(2),
        "relay": np.where(np.random.default_rng(4).random(200) < 0.3, 7, 3),
        "wind": np.random.default_rng(5).uniform(0.0, 360.0, 200),
    }
)


def test_unusual_kinds_are_printed(capsys):
    SENSORS.to_csv("sensors.csv", index=False)
    assert cli.main(["fit", "sensors.csv", "--kinds", "wind=circular:360", "--out", "model.mdpm"]) == 0
    out, err = capsys.readouterr()
    line = next(line for line in out.splitlines() if line.startswith("kinds"))
    assert line == (
        "kinds      row: whole numbers, is all distinct and rising by 1 a row: is it a row number or a time?; "
        "humidity, noise: whole numbers; rain: rounded to 0.01, 0 far too often; relay: two values; "
        "wind: angles of period 360"
    )
    assert "column 'row' is all distinct and rising by 1 a row" in err
    model = mapdpm.load("model.mdpm")
    assert str(model.likelihood_.parts["rain",]).startswith("Spiked(0.0, NormalGamma(")
    scores = says(capsys, "score", "model.mdpm", "sensors.csv").split()[1:]
    assert np.array(scores, dtype=float) == pytest.approx(model.score_samples(SENSORS))


def test_steps_that_make_few_values_equal_are_not_unusual(capsys):
    rng = np.random.default_rng(0)
    frame = {f"a{k}": rng.normal(size=200).round(3) for k in range(3)} | {
        f"b{k}": rng.normal(size=200).round(1) for k in range(12)
    }
    pd.DataFrame(frame).to_csv("steps.csv", index=False)
    line = next(line for line in says(capsys, "fit", "steps.csv").splitlines() if line.startswith("kinds"))
    assert line == "kinds      b0, b1, b2, b3, b4, b5, ..., b11: rounded to 0.1"


def test_kinds_are_said_as_python_takes_them(capsys):
    """Also by position, in a file without a header; both values of a spike have one comma."""
    SENSORS.drop(columns="row").to_csv("plain.csv", index=False, header=False)
    kinds = "4=spiked:0,1.5,6=circular:360,2=constant,5=category"
    out = says(capsys, "fit", "plain.csv", "--kinds", kinds, "--format", "jsonl")
    assert json.loads(out)["kinds"] == {
        "0": "rounded:1",
        "1": "constant",
        "3": "spiked:0,1.5",
        "4": "category",
        "5": "circular:360",
    }


def test_a_family_that_is_named_is_that_of_all_numbers(capsys):
    SENSORS.to_csv("sensors.csv", index=False)
    out = says(capsys, "fit", "sensors.csv", "--likelihood", "normal-gamma", "--columns", "humidity,rain,relay")
    assert "kinds" not in out
    assert "prior      m0" in out


def test_a_switch_that_is_not_there_is_missing():
    rows = [f"{i % 2 * 9 + i / 100},{'on' if i % 2 else 'off'}" for i in range(40)]
    rows[7], rows[20] = "9.1,unavailable", "unavailable,unknown"
    Path("x.csv").write_text("\n".join(["t,heater", *rows, ""]))
    assert "line 22, column 1 (t) is missing: 'unavailable'" in called("fit", "x.csv").stderr
    Path("y.csv").write_text("\n".join(["t,heater", *rows[:20], ""]))
    refused = called("fit", "y.csv").stderr
    assert "column 2 (heater) has 'unavailable' beside off, on: it is missing; learn with --missing skip" in refused
    for more in ([], ["--kinds", "heater=flag"]):
        done = called(*["fit", "x.csv", "--missing", "skip", "--out", "m.mdpm", "--labels", "l.csv"], *more)
        assert "1 row without any value left out, the first is row 21 of the data" in done.stderr
        assert called("predict", "m.mdpm", "x.csv").stdout == Path("l.csv").read_text()
    called(*["fit", "x.csv", "--missing", "skip", "--out", "m.mdpm", "--kinds", "heater=category"])
    levels = [block.levels for block in mapdpm.load("m.mdpm").likelihood_.blocks if block.levels]
    assert levels == [("off", "on", "unavailable", "unknown")]


def test_columns_of_one_name_are_read_by_their_places(capsys):
    """The second one is no copy of the first, also beside a category."""
    rows = [f"{i % 2 * 9 + i / 100},{i % 7 / 8},{'red' if i % 4 < 2 else 'blue'}" for i in range(80)]
    Path("x.csv").write_text("\n".join(["t,t,colour", *rows, ""]))
    Path("y.csv").write_text("\n".join(["t,u,colour", *rows, ""]))
    assert cli.main(["fit", "x.csv", "--labels", "l.csv", "--out", "x.mdpm"]) == 0
    told = capsys.readouterr()
    assert "copy" not in told.err
    assert cli.main(["fit", "y.csv", "--quiet", "--labels", "m.csv", "--out", "y.mdpm"]) == 0
    assert Path("l.csv").read_text() == Path("m.csv").read_text()
    assert mapdpm.load("x.mdpm").log_joint_ == mapdpm.load("y.mdpm").log_joint_
    assert cli.main(["predict", "x.mdpm", "x.csv"]) == 0
    assert capsys.readouterr().out == Path("l.csv").read_text()
