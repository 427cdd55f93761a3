"""``mapdpm stream --groups``, and topics that name the group: the learner of ``OnlineHDP`` in Python."""

import csv
import io
import json
import math
from pathlib import Path

import numpy as np
import pytest

import mapdpm
from brokers import FakeBroker, published
from command_line import streamed
from mapdpm import OnlineHDP, OnlineMAPDPM
from mapdpm.cli.topics import Topic

ROOMS = ["kitchen", "cellar", 'the "attic", left']
POINTS = np.random.default_rng(5).normal(size=(300, 2)) + np.repeat([[0.0], [8.0], [16.0]], 100, axis=0)
POINTS = POINTS[np.random.default_rng(6).permutation(300)]
GROUPS = [ROOMS[i % 3] for i in range(300)]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def expected(points=POINTS, groups=GROUPS, **settings):
    model, found = OnlineHDP(**settings), []
    for x, group in zip(points.tolist(), groups, strict=True):
        number, score = model.learn_scored(x, group)
        found.append({"id": number, "score": None if math.isnan(score) else score, "group": group})
    return found, model


def results(text):
    return [{name: row[name] for name in ("id", "score", "group")} for row in map(json.loads, text.splitlines())]


def write(name="x.csv", header=True, groups=GROUPS):
    with Path(name).open("w", newline="") as file:
        rows = csv.writer(file)
        if header:
            rows.writerow(["room", "height", "width"])
        rows.writerows([group, *x] for group, x in zip(groups, POINTS.tolist(), strict=True))


@pytest.mark.parametrize("header", [True, False])
def test_a_column_of_groups(capsys, header):
    write(header=header)
    streamed("x.csv", "--groups", "room" if header else 1, "--state", "s.mdpm", "--gamma", 2)
    rows, model = expected(gamma=2.0)
    assert results(capsys.readouterr().out) == rows
    back = mapdpm.load("s.mdpm")
    assert back.group_names == model.group_names == ROOMS
    assert back._learner.write() == model._learner.write()
    assert list(getattr(back, "feature_names_in_", [])) == (["height", "width"] if header else [])


def test_groups_that_are_numbers_and_csv(capsys):
    write(groups=[f"{i % 3}" for i in range(300)])
    streamed("x.csv", "--groups", "room", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    wanted = expected(groups=[f"{i % 3}" for i in range(300)])[0]
    assert [(int(row["id"]), row["group"]) for row in rows] == [(row["id"], row["group"]) for row in wanted]
    write()
    streamed("x.csv", "--groups", "room", "--format", "csv")
    assert [row["group"] for row in csv.DictReader(io.StringIO(capsys.readouterr().out))] == GROUPS


@pytest.mark.parametrize("at", [1, 60, 150])
def test_a_run_that_is_resumed(capsys, at):
    write()
    argv = ["x.csv", "--state", "s.mdpm", "--output", "o.jsonl"]
    streamed(*argv, "--groups", "room", "--max-groups", 3, "--count", at)
    streamed(*argv)
    rows, model = expected(max_groups=3)
    assert results(Path("o.jsonl").read_text()) == rows
    assert mapdpm.load("s.mdpm")._learner.write() == model._learner.write()


def test_a_group_whose_name_is_its_position(capsys):
    Path("x.csv").write_text("1,5,2\n2,6,1\n")
    streamed("x.csv", "--groups", 3)
    assert [row["group"] for row in results(capsys.readouterr().out)] == ["2", "1"]
    streamed("x.csv", "--groups", 1)
    assert [row["group"] for row in results(capsys.readouterr().out)] == ["1", "2"]


def test_groups_in_messages(capsys):
    held = [{"d": {"room": g}, "h": x, "w": y} for g, (x, y) in zip(GROUPS, POINTS.tolist(), strict=True)]
    held[50:50] = [{"h": 1, "w": 2}, {"d": {"room": " "}, "h": 1, "w": 2}]
    Path("x.jsonl").write_text("".join(json.dumps(each) + "\n" for each in held))
    streamed("x.jsonl", "--groups", "d.room", "--on-error", "skip")
    captured = capsys.readouterr()
    assert results(captured.out) == expected()[0]
    assert "line 51 has no 'd.room'; it has h, w; skipped" in captured.err
    assert "line 52, column 1 (d.room) is blank; each point needs a group; skipped" in captured.err


def test_a_topic_for_each_device(capsys):
    pytest.importorskip("paho.mqtt.client", reason="no paho-mqtt: pip install 'mapdpm[mqtt]'")
    devices = ["lamp", "door", "plug"]
    packets = [
        published(
            mid, json.dumps({"h": x, "w": y, "linkquality": 9}).encode(), topic=f"home/{devices[mid % 3]}/x".encode()
        )
        for mid, (x, y) in enumerate(POINTS[:90].tolist(), 1)
    ]
    with FakeBroker(lambda connection: connection.accept(*packets) and None) as broker:
        address = ["--mqtt", f"127.0.0.1:{broker.port}", "--topic", "home/{device}/x"]
        streamed(*address, "--columns", "h,w", "--count", 60, "--warmup", 20, "--state", "s.mdpm")
        assert (
            results(capsys.readouterr().out)
            == expected(POINTS[:60], [devices[i % 3] for i in range(1, 61)], warmup=20)[0]
        )
        streamed(*address, "--groups", "h", code=2)
    assert mapdpm.load("s.mdpm").group_names == ["door", "plug", "lamp"]
    assert "the topic names the group of each message" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "topic", "group", "names"),
    [
        ("a/{b}", "a/+", "x", "a/x"),
        ("{b}", "+", "x", "x"),
        ("a/{b}/c/{d}", "a/+/c/+", "x/y", "a/x/c/y"),
        ("a/{b}/#", "a/+/#", "x", "a/x/y/z"),
        ("a/+/c", "a/+/c", None, "a/b/c"),
    ],
)
def test_topics(text, topic, group, names):
    found = Topic.of(text)
    assert found.filter == topic
    assert found.group(names) == group


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ("--groups room --alarm 1e-3", "--alarm: not with groups"),
        ("--groups room --states", "--states: not with groups"),
        ("--groups room --features Lag(1)", "--features: not with groups"),
        ("--max-groups 3", "--max-groups: needs --groups"),
        ("--when-groups-full replace", "--when-groups-full: needs --groups"),
        ("--gamma 3", "--gamma: needs --states or --groups"),
        ("--kappa 3 --groups room", "--kappa: needs --states"),
        ("--state hdp.mdpm", "--groups: hdp.mdpm holds a learner of groups; name their column"),
        ("--state plain.mdpm --groups room", "--groups: the learner of plain.mdpm has none; name another file"),
        ("--mqtt h --topic a/{b", "--topic: a name in braces is a whole level"),
    ],
)
def test_what_does_not_go_together(capsys, argv, says):
    write()
    OnlineHDP().partial_fit(POINTS, groups=GROUPS).save("hdp.mdpm")
    OnlineMAPDPM().partial_fit(POINTS).save("plain.mdpm")
    streamed(*(["x.csv"] if "--mqtt" not in argv else []), *argv.split(), code=2)
    assert says in capsys.readouterr().err


def test_too_many_groups_and_the_state_of_python(capsys):
    write()
    streamed("x.csv", "--groups", "room", "--max-groups", 2, code=1)
    assert "line 4: all 2 groups are taken" in capsys.readouterr().err
    streamed("x.csv", "--groups", "room", "--max-groups", 2, "--when-groups-full", "replace")
    assert results(capsys.readouterr().out) == expected(max_groups=2, when_groups_full="replace")[0]
    model = OnlineHDP()
    model.learn_many(POINTS, GROUPS)
    model.save("s.mdpm")
    streamed("x.csv", "--groups", "room", "--state", "s.mdpm")
    rows = expected(np.r_[POINTS, POINTS], GROUPS * 2)[0]
    assert results(capsys.readouterr().out) == rows[300:]


def test_no_such_column_of_groups(capsys):
    write()
    streamed("x.csv", "--groups", "house", code=1)
    assert "x.csv has no column 'house' for --groups; it has room, height, width" in capsys.readouterr().err
