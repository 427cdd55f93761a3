"""``mapdpm show``: what a file holds, against what pandas counts in the data."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest

import mapdpm
from command_line import called
from mapdpm.cli import show
from mapdpm.cli.cluster_table import MOST_CLUSTERS, cell_text, sizes_text
from mapdpm.cli.profiles import Cell
from mapdpm.files import container
from mapdpm.likelihoods._template import GammaExponential


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    z = rng.integers(0, 3, 400)
    columns = {
        "temp": (20 + 5 * z + rng.normal(size=400)).round(1),
        "mode": np.array(["cook", "eat", "sleep"])[(z + (rng.random(400) < 0.1)) % 3],
        "door": np.where(rng.random(400) < 0.1 + 0.4 * z, 1, 0),
        "rain": np.where(rng.random(400) < 0.5, 0.0, rng.gamma(5.0, 1.0 + z, 400).round(3)),
        "noise": rng.normal(size=400).round(4),
    }
    return pd.DataFrame(columns)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, table):
    """A folder with the table, a model of it, and labels."""
    path = tmp_path_factory.mktemp("show")
    table.to_csv(path / "mixed.csv", index=False)
    done = called("fit", path / "mixed.csv", "--out", path / "mixed.mdpm", "--labels", path / "labels.csv")
    (path / "said.txt").write_text(done.stdout)
    return path


def shown(path, *options):
    done = called("show", path, *options)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def clusters_of(path):
    return json.loads(shown(path, "--format", "json"))["of_clusters"]


def save(model, path):
    path.write_bytes(model.to_bytes())
    return path


def two(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) + 9.0 * (np.arange(n)[:, None] % 2)


# ---- the numbers -----------------------------------------------------------------------------------------------------


def test_cells_are_those_of_the_points_of_each_cluster(folder, table):
    labels = pd.read_csv(folder / "labels.csv")["label"]
    clusters = clusters_of(folder / "mixed.mdpm")
    assert sorted(each["cluster"] for each in clusters) == sorted(labels.unique())
    for each in clusters:
        own = table[labels == each["cluster"]]
        cells = each["columns"]
        assert (each["size"], each["share"]) == (len(own), pytest.approx(len(own) / 400))
        for name in ("temp", "noise"):
            assert cells[name]["centre"] == pytest.approx(own[name].mean(), rel=1e-9)
            assert cells[name]["spread"] == pytest.approx(own[name].std(ddof=0), rel=1e-6)
        assert cells["mode"]["values"] == pytest.approx(own["mode"].value_counts(normalize=True).to_dict())
        assert cells["door"]["values"] == {"yes": pytest.approx(own["door"].mean())}
        assert cells["rain"]["values"] == {"0": pytest.approx((own["rain"] == 0.0).mean())}
        assert cells["rain"]["centre"] == pytest.approx(own["rain"][own["rain"] != 0.0].mean(), rel=1e-6)
        assert cells["noise"]["nats"] == 0.0  # it carries no clusters
        assert all(cells[name]["nats"] > 0.0 for name in ("temp", "mode", "door"))


def test_fit_prints_the_table_that_show_prints(folder):
    said = (folder / "said.txt").read_text()
    text = shown(folder / "mixed.mdpm")
    assert said.split("\n\n")[1] == text.split("\n\n")[1]
    facts, told = (dict(line.split(" ", 1) for line in each.split("\n\n")[0].splitlines()) for each in (said, text))
    assert {name: facts[name] for name in told if name in facts} == {name: told[name] for name in facts if name in told}
    assert {"rows", "columns", "relevant", "clusters", "sizes", "prior", "log", "covariance"} <= set(told)


def test_a_line_of_the_table(folder):
    title, first, *_ = shown(folder / "mixed.mdpm").split("\n\n")[1].splitlines()
    assert title.split() == ["cluster", "size", "share", "temp", "mode", "door", "rain", "apart", "by", "(nats)"]
    largest = clusters_of(folder / "mixed.mdpm")[0]
    temp = largest["columns"]["temp"]
    assert first.split()[:3] == [str(largest["cluster"]), f"{largest['size']:.0f}", f"{largest['share']:.1%}"]
    assert cell_text(Cell(temp["centre"], temp["spread"])) in first
    assert f"temp {temp['nats']:.0f}" in first


def test_csv_has_the_numbers_of_json(folder):
    rows = list(csv.DictReader(io.StringIO(shown(folder / "mixed.mdpm", "--format", "csv"))))
    for each in clusters_of(folder / "mixed.mdpm"):
        for name, cell in each["columns"].items():
            (row,) = (r for r in rows if (r["cluster"], r["column"]) == (str(each["cluster"]), name))
            for number in ("centre", "spread", "nats"):
                assert row[number] == ("" if number not in cell else repr(cell[number]))
            told = dict(level.rsplit(" ", 1) for level in row["values"].split("; ") if level)
            assert {k: float(v) for k, v in told.items()} == pytest.approx(cell.get("values", {}), abs=1e-6)


def test_columns_say_what_they_are(folder):
    found = json.loads(shown(folder / "mixed.mdpm", "--format", "json"))
    kinds = {each["column"]: each["kind"] for each in found["of_columns"]}
    expected = {"temp": "rounded:0.1", "mode": "category", "door": "flag", "rain": "spiked:0", "noise": "continuous"}
    assert kinds == expected
    assert [each["column"] for each in found["of_columns"] if not each["relevant"]] == ["noise"]
    assert "0 far too often" in shown(folder / "mixed.mdpm")


# ---- kinds of models -------------------------------------------------------------------------------------------------


def test_groups_of_clusters_are_shown(tmp_path):
    X = np.vstack([two(), two(seed=1) + 60.0])
    np.savetxt(tmp_path / "x.csv", X, delimiter=",")
    said = called("fit", tmp_path / "x.csv", "--merge-to", "2", "--out", tmp_path / "m.mdpm").stdout
    assert "clusters   4 components in 2 groups" in said
    assert "merged     400 400" in said
    groups = {each["cluster"]: each["group"] for each in clusters_of(tmp_path / "m.mdpm")}
    assert groups == dict(enumerate(mapdpm.load(tmp_path / "m.mdpm").groups_.tolist()))
    title = shown(tmp_path / "m.mdpm").split("\n\n")[1].split("\n")[0]
    assert title.split()[:4] == ["cluster", "size", "share", "group"]


def test_a_fleet_has_shares_in_its_groups(tmp_path):
    rooms = np.array(["hall", "roof"])[np.arange(400) // 200]
    X = two()
    X[200:] = 20.0 + X[200:] % 1.0
    model = mapdpm.HDPMixture(likelihood="auto").fit(X, rooms)
    path = save(model, tmp_path / "m.mdpm")
    for each in clusters_of(path):
        expected = dict(zip(model.group_names_, model.weights_[:, each["cluster"]], strict=True))
        assert each["shares_in_groups"] == pytest.approx(expected)
    assert "roof 100%" in shown(path)
    assert "in groups" in shown(path)


@pytest.mark.parametrize(
    "model",
    [
        lambda: mapdpm.OnlineMAPDPM(8).partial_fit(two(2000)),
        lambda: mapdpm.OnlineMAPDPM(8, half_life=500, dtype="float32").partial_fit(two(2000)),
        lambda: mapdpm.OnlineHDPHMM(8).partial_fit(two(2000)),
        lambda: mapdpm.OnlineHDP(8).partial_fit(two(2000), groups=["a", "b"] * 1000),
    ],
    ids=["clusters", "float32", "states", "groups"],
)
def test_a_stream_is_shown_by_its_ids(tmp_path, model):
    model = model()
    clusters = clusters_of(save(model, tmp_path / "s.mdpm"))
    assert sorted(each["cluster"] for each in clusters) == model.ids.tolist()
    for each in clusters:
        k = model.ids.tolist().index(each["cluster"])
        assert each["size"] == pytest.approx(model.weights[k])
        cells = list(each["columns"].values())
        assert [cell["centre"] for cell in cells] == pytest.approx(model.means[k].tolist())
        assert [cell["spread"] for cell in cells] == pytest.approx(np.sqrt(model.variances[k]).tolist())


def test_states_in_time_are_shown(tmp_path):
    X = np.repeat([[0.0], [9.0]], 50, axis=0) + np.random.default_rng(0).normal(size=(100, 1))
    model = mapdpm.HDPHMM().fit(X)
    clusters = clusters_of(save(model, tmp_path / "m.mdpm"))
    assert sorted(each["size"] for each in clusters) == sorted(model.cluster_sizes_.tolist())


@pytest.mark.parametrize("family", [mapdpm.GammaPoisson, mapdpm.BetaBernoulli, mapdpm.DirichletMultinomial])
def test_other_families_are_shown(tmp_path, family):
    rng = np.random.default_rng(0)
    X = rng.poisson(1.0 + 12.0 * (np.arange(90)[:, None] % 3 == np.arange(3)))
    X = np.minimum(X, 1) if family is mapdpm.BetaBernoulli else X
    model = mapdpm.MAPDPM(likelihood=family).fit(X)
    first = clusters_of(save(model, tmp_path / "m.mdpm"))[0]
    own = X[model.labels_ == first["cluster"]]
    if family is mapdpm.GammaPoisson:
        assert [c["centre"] for c in first["columns"].values()] == pytest.approx(own.mean(axis=0).tolist())
    elif family is mapdpm.BetaBernoulli:
        assert [c["values"]["yes"] for c in first["columns"].values()] == pytest.approx(own.mean(axis=0).tolist())
    else:
        words = dict(zip("123", (own.sum(axis=0) / own.sum()).tolist(), strict=True))
        assert first["columns"]["words"]["values"] == pytest.approx(words)


def test_a_family_from_outside_has_no_nats():
    model = mapdpm.MAPDPM(likelihood=GammaExponential(2.0, 2.0), backend="python").fit(np.abs(two(20)))
    first = json.loads(show.text_of(model, "json"))["of_clusters"][0]
    assert first["columns"]["1"] == {}
    assert " - " in show.text_of(model, "text")


def test_a_model_without_extras_is_shown(tmp_path):
    """As a device writes it."""
    model = mapdpm.MAPDPM().fit(two())
    path = tmp_path / "m.mdpm"
    path.write_bytes(container.pack(model._mixture, {}))
    assert [each["size"] for each in clusters_of(path)] == sorted(model.cluster_sizes_.tolist(), reverse=True)


def test_what_has_no_clusters_is_refused(tmp_path):
    path = save(mapdpm.OnlineMAPDPM(warmup=50).partial_fit(two(20)), tmp_path / "warm.mdpm")
    done = called("show", path)
    assert done.returncode == 1
    assert "no clusters yet, after 20 points" in done.stderr
    path.write_bytes(mapdpm.features.parse("Lag(2)").fit(two()).to_bytes())
    done = called("show", path)
    assert done.returncode == 1
    assert "holds features of a stream, Lag(n=2), and no clusters" in done.stderr
    path.write_text("a,b\n1,2\n")
    done = called("show", path)
    assert done.returncode == 1
    assert "not a mapdpm model" in done.stderr


# ---- the form --------------------------------------------------------------------------------------------------------


def test_many_clusters_are_cut_and_the_rest_is_counted(tmp_path):
    n = MOST_CLUSTERS + 5
    X = 40.0 * np.repeat(np.arange(n), np.arange(4, 4 + n))[:, None]
    X = X + np.random.default_rng(0).normal(size=X.shape)
    model = mapdpm.MAPDPM(likelihood=mapdpm.NormalGamma(0.0, 1e-4, 2.0, 2.0), relevance="all").fit(X)
    assert model.n_clusters_ == n
    path = save(model, tmp_path / "m.mdpm")
    _, *rows, last = shown(path).split("\n\n")[1].splitlines()
    sizes = sorted(model.cluster_sizes_.tolist(), reverse=True)
    assert [int(row.split()[1]) for row in rows] == sizes[:MOST_CLUSTERS]
    assert last.startswith(f"and 5 more clusters with {sum(sizes[MOST_CLUSTERS:])} points")
    _, *rows = shown(path, "--all").split("\n\n")[1].splitlines()
    assert [int(row.split()[1]) for row in rows] == sizes
    assert f"sizes      {' '.join(map(str, sizes[:MOST_CLUSTERS]))}, and 5 more with" in shown(path)
    assert len(clusters_of(path)) == n


def test_many_columns_are_cut_to_those_that_tell_most(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 9)) + np.linspace(3.0, 9.0, 9) * (np.arange(300)[:, None] % 2)
    path = save(mapdpm.MAPDPM(covariance="diagonal").fit(X), tmp_path / "m.mdpm")
    title, *_, last = shown(path).split("\n\n")[1].splitlines()
    assert sorted(title.split()[3:9]) == list("456789")
    assert last.startswith("3 more columns")


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (Cell(16.02, 0.983), "16.02 ± 0.98"),
        (Cell(-1234.5, 120.0), "-1234 ± 120"),
        (Cell(0.00123456, 0.00002), "0.001235 ± 0.000020"),
        (Cell(-0.01, 1.0), "0.0 ± 1.0"),
        (Cell(3.0, None), "3"),
        (Cell(3.7, 0.0), "3.7"),
        (Cell(), "-"),
        (Cell(levels=(("cook", 0.6), ("eat", 0.3), ("sit", 0.06), ("run", 0.04))), "cook 60%, eat 30%, sit 6%, 1 more"),
        (Cell(levels=(("yes", 0.0),)), "yes 0%"),
        (Cell(5.0, 1.5, (("0", 0.5),)), "0 50%, else 5.0 ± 1.5"),
    ],
)
def test_cells_are_short(cell, text):
    assert cell_text(cell) == text


def test_sizes_are_sorted():
    assert sizes_text([3, 10, 7]) == "10 7 3"


def test_names_cannot_move_the_cursor(tmp_path):
    frame = pd.DataFrame(two(), columns=["a\x1b[2J", "b" * 60])
    text = shown(save(mapdpm.MAPDPM().fit(frame), tmp_path / "m.mdpm"))
    assert "\x1b" not in text
    assert "b" * 22 not in text.split("\n\n")[1]
