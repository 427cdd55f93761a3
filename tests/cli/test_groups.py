"""`--groups`: the command line against HDPMixture in Python, and its errors."""

import json

import numpy as np
import pandas as pd
import pytest

from mapdpm import HDPMixture, OnlineHDP, load
from readers import RefusedError, command
from tests.search.test_grouped import grouped_points

NAMES = ["hall", "roof", "a, b", "4"]


@pytest.fixture
def data(tmp_path):
    X, groups, _ = grouped_points(0, 4, 20)
    rooms = [NAMES[g] for g in groups]
    lines = [f'{x!r},"{room}",{y!r}' for (x, y), room in zip(X.tolist(), rooms, strict=True)]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["a,room,b", *lines]))
    return path, X, rooms


def test_fit_predict_and_score_as_in_python(data, tmp_path):
    path, X, rooms = data
    model = tmp_path / "rooms.mdpm"
    shown = json.loads(command("fit", path, "--groups", "room", "--gamma", 2, "--out", model, "--format", "jsonl"))
    ours = HDPMixture(1.0, 2.0).fit(X, rooms)
    assert (shown["groups"], shown["clusters"], shown["log_joint"]) == (4, ours.n_clusters_, ours.log_joint_)
    assert shown["columns"] == ["a", "b"]
    assert load(model).group_names_.tolist() == NAMES
    labels = command("predict", model, path, "--groups", "room").split()[1:]
    assert [int(label) for label in labels] == ours.predict(X, rooms).tolist()
    mean = float(command("score", model, path, "--groups", "2", "--mean"))
    assert mean == pytest.approx(ours.score(X, rooms), rel=1e-12)
    without = float(command("score", model, path, "--mean", "--columns", "a,b"))
    assert without == pytest.approx(ours.score(X), rel=1e-12)
    shares = np.array(
        [row.split(",") for row in command("predict", model, path, "--groups", "room", "--proba").split()[1:]], float
    )
    np.testing.assert_array_equal(shares, ours.predict_proba(X, rooms))


def test_moves_and_pictures(data, tmp_path):
    path, X, rooms = data
    command("fit", path, "--groups", "room", "--moves", "cell,split", "--picture", tmp_path / "two.png", "--quiet")
    command("fit", path, "--groups", "room", "--columns", "a", "--picture", tmp_path / "one.png", "--quiet")
    assert all((tmp_path / name).stat().st_size > 1000 for name in ("two.png", "one.png"))
    found = json.loads(command("fit", path, "--groups", "room", "--moves", "none", "--format", "jsonl"))
    assert found["log_joint"] == HDPMixture(moves=()).fit(X, rooms).log_joint_


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--groups", "floor"), "has no column 'floor' for --groups; it has a, room, b"),
        (("--groups", "room", "--discount", "0.2"), "--discount: leave it out with --groups"),
        (("--groups", "room", "--init", "single"), "--init: leave it out with --groups"),
        (("--gamma", "2", "--columns", "1"), "--gamma: needs --groups"),
        (
            ("--groups", "room", "--moves", "regroup"),
            "'regroup' is not for this model, which has merge,cell,split",
        ),
        (("--columns", "1", "--moves", "cell"), "'cell' is not for this model"),
        (("--groups", "room", "--columns", "room"), "no column but that of --groups"),
    ],
)
def test_errors_of_options(options, words, data):
    with pytest.raises(RefusedError, match=words):
        command("fit", data[0], *options)


@pytest.mark.parametrize("column", ["1", "2"])
def test_no_row_is_lost_where_groups_are_numbers(column, tmp_path):
    """The first group has the number of its column: the row of numbers is no header."""
    rows = [(1 + i // 10, 2 if i < 15 else 5, float(8 * (i % 3))) for i in range(30)]
    path = tmp_path / "numbers.csv"
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    assert json.loads(command("fit", path, "--groups", column, "--format", "jsonl"))["rows"] == 30
    path.write_text("room,room,h\n" + path.read_text())
    with pytest.raises(RefusedError, match="2 columns of the name 'room' for --groups; give its position"):
        command("fit", path, "--groups", "room")


def test_a_row_without_a_group_is_named(data):
    path = data[0]
    path.write_text("a,room\n1,hall\n2, \n")
    with pytest.raises(RefusedError, match="line 3, column 2 is blank; each row needs a group"):
        command("fit", path, "--groups", "room")


def test_models_without_groups_refuse_them(data, tmp_path):
    path, *_ = data
    command("fit", path, "--columns", "a,b", "--out", tmp_path / "m.mdpm", "--quiet")
    with pytest.raises(RefusedError, match="holds no model of fit --groups"):
        command("score", tmp_path / "m.mdpm", path, "--groups", "room")
    command("fit", path, "--groups", "room", "--out", tmp_path / "g.mdpm", "--quiet")
    with pytest.raises(RefusedError, match="a model of groups has no C code yet"):
        command("export", tmp_path / "g.mdpm", "--c", tmp_path / "c")


def test_the_file_of_a_fleet_takes_groups(data, tmp_path):
    path, X, rooms = data
    model = OnlineHDP(8, warmup=20).partial_fit(pd.DataFrame(X, columns=["a", "b"]), groups=rooms)
    model.save(tmp_path / "fleet.mdpm")
    labels = command("predict", tmp_path / "fleet.mdpm", path, "--groups", "room").split()[1:]
    frame = pd.DataFrame(X, columns=["a", "b"])
    assert [int(label) for label in labels] == model.predict(frame, rooms).tolist()
    scores = command("score", tmp_path / "fleet.mdpm", path, "--groups", "room").split()[1:]
    np.testing.assert_allclose(np.array(scores, float), model.score_samples(frame, rooms), rtol=1e-9)
    mean = float(command("score", tmp_path / "fleet.mdpm", path, "--groups", "room", "--mean"))
    assert mean == pytest.approx(model.score(frame, groups=rooms), rel=1e-9)
    with pytest.raises(RefusedError, match="--novelty: is for models of mapdpm fit"):
        command("predict", tmp_path / "fleet.mdpm", path, "--novelty")
