"""Messages that are no points, in process, from a broker that the test writes: each is learned, or refused and gone."""

import json
import re
from pathlib import Path

import pytest

import mapdpm
from brokers import FakeBroker, published
from mapdpm import cli

pytest.importorskip("paho.mqtt.client", reason="no paho-mqtt: pip install 'mapdpm[mqtt]'")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def heard(capsys, payloads, *argv, qos=1):
    """Learn ``payloads`` by --on-error skip: the results, what stderr says of each, the acknowledged numbers."""
    packets = [published(mid, payload, qos) for mid, payload in enumerate(payloads, 1)]
    with FakeBroker(lambda connection: connection.accept(*packets) and None) as broker:
        command = ["stream", "--mqtt", f"127.0.0.1:{broker.port}", "--topic", "in", "--on-error", "skip"]
        code = cli.main([*command, "--count", str(len(payloads)), *argv])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    said = captured.err.splitlines()
    assert said[0].startswith("mapdpm: listening to topic in")
    assert re.match(r"mapdpm: \d+ points? learned, \d+ skipped, ", said[-1])
    return [json.loads(line) for line in captured.out.splitlines()], said[1:-1], broker.acknowledged


NO_POINTS = [
    b"",
    b" ",
    b"{}",
    b"[]",
    b'""',
    b'"',
    b",",
    b"null",
    b"[null]",
    b'[""]',
    b'{"a": {}}',
    b'{"a": [[]]}',
    b'{"a": ["x"]}',
    b"[[1, [2]]]",
    b"[[1, 2], 3]",
    b"a b=c",
    b"a b=1 x",
    b'{"": "x"}',
    b"\0",
    b"1\x002,3",
    b"[1\x00]",
    b"{\0",
    b"\xff\xfe",
    b"1\n2",
    b"1\r2",
    b"[" * 400,
    b"[" * 900 + b"]" * 900,
    b"[" * 100_000,
    b'{"a":' * 900 + b"1" + b"}" * 900,
    b"1e999,2,3",
    b"[1e999, 2, 3]",
    b"[NaN, NaN, NaN]",
    b"nan",
    b"[" + b"1" * 5000 + b"]",
    b'{"a\\nb\\u001b[2J": "x"}',
    b'{"\\ud800": "x"}',
    b'{"x": "\\ud800\\n"}',
    b'{"' + b"a" * 100_000 + b'": "x"}',
    b"x" * 100_000,
]


@pytest.mark.parametrize("qos", [0, 1])
def test_a_first_message_that_is_no_point(capsys, qos):
    """And each comes again later, when the columns are chosen."""
    payloads = [*NO_POINTS, b"[1, 2]", *NO_POINTS, b"3,4"]
    results, said, acknowledged = heard(capsys, payloads, "--state", "state.mdpm", "--qos", str(qos), qos=qos)
    assert [result["id"] for result in results] == [0, 1]
    assert len(said) == 10  # the others are only counted
    assert mapdpm.load("state.mdpm").n_seen == 2
    assert sorted(acknowledged) == (list(range(1, len(payloads) + 1)) if qos else [])


@pytest.mark.parametrize("payload", NO_POINTS, ids=lambda payload: repr(payload[:24]))
def test_one_warning_for_each(capsys, payload):
    results, said, acknowledged = heard(capsys, [payload, b"1,2", payload])
    assert [result["id"] for result in results] == [0]
    assert [line[:36] for line in said] == [f"mapdpm: warning: topic in: message {at}" for at in (1, 3)]
    assert all(line.isprintable() and len(line) < 3000 for line in said), said
    assert acknowledged == [1, 2, 3]


@pytest.mark.parametrize(
    ("payload", "argv"),
    [
        (b'{"t": 1}', ["--time", "t"]),
        (b"1", ["--time", "1"]),
        (b'{"x": 1, "y": 2}', ["--time", "t"]),
        (b'{"t": 1, "x": 2}', ["--time", "t", "--columns", "x,y"]),
        (b'{"t": 1, "x": 2, "y": null}', ["--time", "t"]),
        (b"1,2", ["--prior", "m0=0,0,0"]),
        (b"1,2", ["--columns", "3"]),
        (b"0," * 300_000 + b"x", []),
        (b'{"x": 1e300, "y": 1e300, "z": 1}', ["--prior", "m0=0", "--dtype", "float32"]),
        (b",".join([b"0"] * 70_000), ["--columns", "1-", "--max-clusters", "60000"]),
    ],
)
def test_a_first_message_that_does_not_fit_the_command(capsys, payload, argv):
    prior = ["--prior", "c0=0.1", "--prior", "a0=1", "--prior", "b0=1"] if "--prior" in argv else []
    whole = b"0,1,2" if b"{" not in payload else b'{"t": 2, "x": 3, "y": 4}'
    if b"z" in payload:
        whole = b"3,4"
    results, said, acknowledged = heard(capsys, [payload, whole, payload], *argv, *prior, "--state", "state.mdpm")
    assert len(results) == 1, said
    assert [line[:34] for line in said] == ["mapdpm: warning: topic in: message"] * 2, said
    assert acknowledged == [1, 2, 3]
    names = getattr(mapdpm.load("state.mdpm"), "feature_names_in_", None)
    assert names is None or list(names) == ["x", "y"]


def test_a_name_that_is_no_text(capsys):
    """It is learned, and the state has it."""
    payload = b'{"\\ud800": 1, "a\\u0000\\n": 2}'
    results, said, acknowledged = heard(capsys, [payload, payload], "--state", "state.mdpm")
    assert (len(results), said, acknowledged) == (2, [], [1, 2])
    assert list(mapdpm.load("state.mdpm").feature_names_in_) == ["\ud800", "a\0"]


def test_a_first_message_ends_the_command_where_none_is_skipped(capsys):
    with FakeBroker(lambda connection: connection.accept(published(1, b"{}")) and None) as broker:
        assert cli.main(["stream", "--mqtt", f"127.0.0.1:{broker.port}", "--topic", "in"]) == 1
    said = capsys.readouterr().err.splitlines()[1:]
    assert said == [
        "mapdpm: error: topic in: message 1 has no column; --on-error skip leaves out what cannot be learned"
    ]
    assert broker.acknowledged == []
    assert not list(Path().iterdir())
