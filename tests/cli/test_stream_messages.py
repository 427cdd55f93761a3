"""``mapdpm stream`` of JSON, line protocol and messages of others: chosen by paths, skipped and counted."""

import json
from pathlib import Path

import numpy as np
import pytest

import mapdpm
from brokers import FakeBroker, published
from command_line import called, expected, learned, made, streamed
from mapdpm import cli

POINTS = made(300)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tasmota(points, text=repr):
    return [
        {"Time": "2026-11-01T10:00:00", "SI": {"T": text(x), "H": [y, "x"]}, "Relay": y > 5.0}
        for x, y in points.tolist()
    ]


def lines_of(held):
    return "".join(json.dumps(each) + "\n" for each in held)


def results(text):
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("options", [[], ["--format", "jsonl"], ["--input-format", "jsonl"]])
def test_json_lines_by_paths(capsys, options):
    Path("x.jsonl").write_text(lines_of(tasmota(POINTS)))
    streamed("x.jsonl", "--columns", "SI.T,SI.H.0", "--state", "s.mdpm", *options)
    captured = capsys.readouterr()
    assert results(captured.out) == expected(POINTS)[0]
    assert ("lines of JSON" in captured.err) == ("--input-format" not in options)
    assert list(mapdpm.load("s.mdpm").feature_names_in_) == ["SI.T", "SI.H.0"]


def test_strings_flags_and_times_in_json(capsys):
    points = np.c_[POINTS[:, 0], POINTS[:, 1] > 5.0]
    Path("x.jsonl").write_text(lines_of(tasmota(POINTS, str)))
    streamed("x.jsonl", "--columns", "SI.T,Relay", "--time", "Time", "--format", "csv")
    captured = capsys.readouterr()
    wanted = [row["id"] for row in expected(points)[0]]
    assert [int(line.split(",")[0]) for line in captured.out.splitlines()[1:]] == wanted
    assert "times without a zone are taken for UTC" in captured.err


def test_a_text_says_which_columns_are_numbers(capsys):
    Path("x.jsonl").write_text(lines_of(tasmota(POINTS)))
    streamed("x.jsonl", code=1)
    said = capsys.readouterr().err.splitlines()[-1]
    assert "line 1, column 1 (Time) is not a number: '2026-11-01T10:00:00'" in said
    assert "--columns 2-3,5" in said


INFLUX = "".join(
    f"air,room=kitchen\\ 1,n=7 temp={x!r},hum={y!r},door=t {1_792_843_200_000_000_000 + i * 10**10}\n"
    for i, (x, y) in enumerate(POINTS.tolist())
)


@pytest.mark.parametrize("options", [[], ["--format", "influx"], ["--input-format", "influx"]])
def test_line_protocol(capsys, options):
    Path("x.txt").write_text("# of Telegraf\n" * (options != []) + INFLUX)
    streamed("x.txt", "--columns", "temp,hum", *options)
    assert results(capsys.readouterr().out) == expected(POINTS)[0]
    streamed("x.txt", "--time", "time", "--state", "s.mdpm", "--warmup", 50, *options)
    assert list(mapdpm.load("s.mdpm").feature_names_in_) == ["temp", "hum", "door"]
    assert mapdpm.load("s.mdpm").last_time == 1_792_843_200 + 2990
    assert "times are in nanoseconds" in capsys.readouterr().err


def test_lines_of_other_measurements_are_skipped_and_counted(capsys):
    rows = INFLUX.splitlines()
    other = [f"cpu,host=a usage={i} {1_792_843_200_000_000_000 + i}" for i in range(400)]
    Path("x.txt").write_text("\n".join([*other[:1], *rows[:100], *other[1:], *rows[100:]]) + "\n")
    streamed("x.txt", "--columns", "temp,hum")
    captured = capsys.readouterr()
    assert results(captured.out) == expected(POINTS)[0]
    assert "x.txt: line 1 has no column 'temp'; it has usage, host, measurement, time" in captured.err
    assert "line 102 has no 'temp'; it has usage, host, measurement, time; skipped" in captured.err
    assert "300 points learned, 400 skipped" in captured.err
    streamed("x.txt", "--columns", "temp,hum", "--on-error", "fail", code=1)
    assert "line 1 has no column 'temp'" in capsys.readouterr().err


def test_no_message_has_the_columns(capsys):
    Path("x.jsonl").write_text(lines_of(tasmota(POINTS)))
    streamed("x.jsonl", "--columns", "SI.Temperature", code=1)
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith(
        "mapdpm: error: x.jsonl: no message has the columns; the first that was skipped: x.jsonl: line 1 has"
    )
    assert "it has Time, SI.T, SI.H.0, SI.H.1, Relay" in said


def test_with_missing_values_a_message_may_lack_some_columns(capsys):
    held = tasmota(POINTS)
    for each in held[100::2]:
        del each["SI"]["T"]
    held[150:150] = [{"LWT": "Online"}]
    Path("x.jsonl").write_text(lines_of(held))
    streamed("x.jsonl", "--columns", "SI.T,SI.H.0", "--missing", "skip")
    captured = capsys.readouterr()
    points = POINTS.copy()
    points[100::2, 0] = np.nan
    assert results(captured.out) == expected(points, missing="skip")[0]
    assert "300 points learned, 1 skipped" in captured.err


def test_several_points_in_one_message(capsys):
    held = [{"T": x, "H": y} for x, y in POINTS.tolist()]
    Path("x.jsonl").write_text(lines_of([held[at : at + 7] for at in range(0, 300, 7)]))
    streamed("x.jsonl", "--state", "s.mdpm", "--output", "o.jsonl", "--count", 99)
    assert "105 points learned" in capsys.readouterr().err  # whole messages
    streamed("x.jsonl", "--state", "s.mdpm", "--output", "o.jsonl")
    rows, model = expected(POINTS)
    assert results(Path("o.jsonl").read_text()) == rows
    assert learned("s.mdpm") == model._learner.write()
    Path("y.jsonl").write_text(lines_of([POINTS[at : at + 7].tolist() for at in range(0, 300, 7)]))
    streamed("y.jsonl")
    assert results(capsys.readouterr().out) == rows


def test_a_message_that_fails_in_the_middle_is_not_learned_in_part(capsys):
    """The next run begins with its first point: none is learned twice, none is lost."""
    held = [[{"T": x, "H": y} for x, y in POINTS[at : at + 5].tolist()] for at in range(0, 300, 5)]
    broken = [*held[:20], [*held[20][:3], {"T": "broken", "H": 1}, *held[20][3:]], *held[21:]]
    Path("x.jsonl").write_text(lines_of(broken))
    options = ["x.jsonl", "--state", "s.mdpm", "--output", "o.jsonl", "--checkpoint-points", 7]
    streamed(*options, code=1)
    assert "line 21, point 4, column 1 (T) is not a number: 'broken'" in capsys.readouterr().err
    assert mapdpm.load("s.mdpm").n_seen == 70  # of the last checkpoint
    streamed(*options, "--on-error", "skip")
    rows, model = expected(POINTS)
    assert results(Path("o.jsonl").read_text()) == rows
    assert learned("s.mdpm") == model._learner.write()


def test_a_run_that_is_resumed_reads_the_same_form(capsys):
    text = "höhe;breite\n" + "".join(f"{x:.3f};{y:.3f}\n".replace(".", ",") for x, y in POINTS)
    Path("x.csv").write_bytes(text.encode("cp1252"))
    options = ["x.csv", "--state", "s.mdpm", "--output", "o.jsonl"]
    streamed(*options, "--count", 100)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "mapdpm: x.csv: cells separated by ';', decimals by commas, text in Windows-1252 (Latin-1)"
    assert list(mapdpm.load("s.mdpm").feature_names_in_) == ["höhe", "breite"]
    streamed(*options)
    assert "separated" not in capsys.readouterr().err
    assert results(Path("o.jsonl").read_text()) == expected(POINTS.round(3))[0]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("a\tb\n{x}\t{y}\n", []),
        ("a;b\n{x};{y}\n", []),
        ("a|b\n{x}|{y}\n", []),
        ("\ufeffa,b\r\n{x},{y}\r\n", []),
        ("a b\n{x} {y}\n", ["--delimiter", "space"]),
        ("a;b\n{x,};{y,}\n", []),
        ("a;b\n{x,};{y,}\n", ["--decimal", ",", "--delimiter", ";"]),
        ("a\tb\n{x,}\t{y,}\n", ["--encoding", "latin-1"]),
    ],
)
def test_forms_of_tables(capsys, text, options):
    head, row = text.split("\n", 1)
    rows = (row.replace("{x}", repr(x)).replace("{y}", repr(y)) for x, y in POINTS.tolist())
    comma = [
        each.replace("{x,}", repr(x).replace(".", ",")).replace("{y,}", repr(y).replace(".", ","))
        for each, (x, y) in zip(rows, POINTS.tolist(), strict=True)
    ]
    Path("x.csv").write_text(head + "\n" + "".join(comma), newline="")
    streamed("x.csv", *options)
    assert results(capsys.readouterr().out) == expected(POINTS)[0]


def test_what_a_logger_says_first_is_no_header(capsys):
    rows = [f"{x!r}\t{y!r}" for x, y in POINTS.tolist()]
    Path("serial.log").write_text("\r\n".join(["boot v1.2, ok", "ready", "height\twidth", *rows]) + "\r\n")
    streamed("serial.log", "--state", "s.mdpm")
    captured = capsys.readouterr()
    assert results(captured.out) == expected(POINTS)[0]
    assert "serial.log: cells separated by tabs, lines 1-2 left out, as no row of the table" in captured.err
    assert list(mapdpm.load("s.mdpm").feature_names_in_) == ["height", "width"]
    Path("serial.log").write_text("\r\n".join(["boot v1.2, ok", "ready", *rows]) + "\r\n")  # may be torn rows
    streamed("serial.log", code=1)
    assert "serial.log: line 1 has 1 column, but nearly all lines have 2; --on-error skip" in capsys.readouterr().err
    streamed("serial.log", "--on-error", "skip")
    captured = capsys.readouterr()
    assert results(captured.out) == expected(POINTS)[0]
    assert "300 points learned, 2 skipped" in captured.err


def test_a_star_takes_all_numbers_of_the_first_message(capsys):
    held = [
        {"id": "a7", "b": {"x": x, "unit": "C", "on": True, "away": None}, "a": [{"v": y, "w": 5}], "t": 1}
        for x, y in POINTS.tolist()
    ]
    held[50:50] = [{"b": {"x": 1}}]
    Path("x.jsonl").write_text("".join(json.dumps(each) + "\n" for each in held))
    streamed("x.jsonl", "--columns", "b.*,a.0.v", "--state", "s.mdpm")
    run = capsys.readouterr()
    assert "x.jsonl: the columns are b.x, b.on, a.0.v, by --columns\n" in run.err
    assert "line 51 has no 'b.on'" in run.err
    assert mapdpm.load("s.mdpm").feature_names_in_.tolist() == ["b.x", "b.on", "a.0.v"]
    for words, names in (
        ("a.*.v", ["a.0.v"]),
        ("*", ["b.x", "b.on", "a.0.v", "a.0.w", "t"]),
        ("t,*.v", ["t", "a.0.v"]),
    ):
        streamed("x.jsonl", "--columns", words, "--state", "s.mdpm", "--restart", "--count", 9)
        assert mapdpm.load("s.mdpm").feature_names_in_.tolist() == names
    streamed("x.jsonl", "--columns", "c.*", code=1)
    assert "no message has the columns; the first that was skipped: x.jsonl: line 1 has no column 'c.*'" in (
        capsys.readouterr().err
    )
    Path("x.csv").write_text("id,in T,in H,out T\na,1,2,3\nb,4,5,6\n" * 1 + "c,7,8,9\n" * 9)
    assert "columns    2 (in T, in H)" in called("fit", "x.csv", "--columns", "in *").stdout
    assert "columns    1 (out T)" in called("fit", "x.csv", "--columns", "all-but:in *,id").stdout


def test_rows_without_a_value_are_skipped_and_counted(capsys):
    rows = [f"{x!r},{y!r}" for x, y in POINTS.tolist()]
    rows[100:100] = ["unavailable,", ","]
    Path("x.csv").write_text("\n".join(rows) + "\n")
    streamed("x.csv", "--missing", "skip")
    captured = capsys.readouterr()
    assert results(captured.out) == expected(POINTS, missing="skip")[0]
    assert "x.csv: line 101 has no value in these columns; skipped" in captured.err
    assert "300 points learned, 2 skipped" in captured.err
    streamed("x.csv", "--missing", "skip", "--on-error", "fail", code=1)
    assert "line 101 has no value in these columns" in capsys.readouterr().err


def test_json_that_spans_lines(capsys):
    Path("x.json").write_text(json.dumps([{"a": 1}], indent=1))
    streamed("x.json", code=1)
    assert "line 1 is not JSON: " in (said := capsys.readouterr().err)
    assert "each line is a message: jq -c . makes such lines" in said


def test_missing_by_na(capsys):
    points = POINTS.copy()
    points[100::3, 0] = -999.0
    Path("x.csv").write_text("".join(f"{x!r},{y!r}\n" for x, y in points.tolist()))
    streamed("x.csv", "--missing", "skip", "--na", "-999,err")
    points[100::3, 0] = np.nan
    assert results(capsys.readouterr().out) == expected(points, missing="skip")[0]
    streamed("x.csv", "--na", "-999", code=1)
    assert "line 101, column 1 is missing: 'NA'" in capsys.readouterr().err
    assert cli.main(["fit", "x.csv", "--missing", "skip", "--na", "-999", "--out", "m.mdpm", "--quiet"]) == 0
    assert cli.main(["score", "m.mdpm", "x.csv", "--na", "-999", "--mean"]) == 0
    assert float(capsys.readouterr().out) > -20.0


@pytest.mark.parametrize(("wrong", "code"), [(149, 0), (150, 0), (151, 1), (300, 1)])
def test_less_than_half_of_the_rows(capsys, wrong, code):
    rows = [f"{x!r},{y!r}" for x, y in POINTS.tolist()]
    Path("x.csv").write_text("\n".join(["a,b", *rows[wrong:], *["1,x"] * wrong]) + "\n")
    streamed("x.csv", "--on-error", "skip", code=code)
    said = capsys.readouterr().err
    assert (f"x.csv: {300 - wrong} of 300 points used; the first that was skipped: x.csv: line" in said) == bool(code)


def test_messages_of_a_broker(capsys):
    pytest.importorskip("paho.mqtt.client", reason="no paho-mqtt: pip install 'mapdpm[mqtt]'")
    held = tasmota(POINTS[:50])
    packets = [
        published(99, b"old", 0, topic=b"in", retain=True),
        published(98, b"old too", 0, topic=b"in", retain=True),
    ]
    payloads = [b"Online", json.dumps({"LWT": "Online"}).encode(), *(json.dumps(each).encode() for each in held[:40])]
    payloads.append(json.dumps(held[40:]).encode())
    packets += [published(mid, payload) for mid, payload in enumerate(payloads[1:], 1)]
    with FakeBroker(lambda connection: connection.accept(*packets) and None) as broker:
        address = ["--mqtt", f"127.0.0.1:{broker.port}", "--topic", "in"]
        streamed(*address, "--columns", "SI.T,SI.H.0", "--count", 51)
    captured = capsys.readouterr()
    assert results(captured.out) == expected(POINTS[:50])[0]
    assert captured.err.count("retained") == 1
    assert "the message retained at in is left out: it may be old" in captured.err
    assert "message 1 has no column 'SI.T'; it has LWT; skipped" in captured.err
    assert "50 points learned, 1 skipped" in captured.err


def test_a_first_line_that_is_torn(capsys):
    """Of numbers, so it is no header: the next one may be whole. A header without the columns ends the command."""
    Path("x.csv").write_text("5\n1,2\n3,4\n")
    streamed("x.csv", "--columns", "1,2", "--on-error", "skip")
    captured = capsys.readouterr()
    assert captured.out.count("\n") == 2
    assert "x.csv: line 1 has 1 column, so --columns cannot have 2: they count from 1; skipped" in captured.err
    streamed("x.csv", "--columns", "1,2", code=1)
    assert "x.csv has 1 column, so --columns cannot have 2" in capsys.readouterr().err
    Path("x.csv").write_text("height\n1,2\n3,4\n")
    streamed("x.csv", "--columns", "1,2", "--on-error", "skip", code=1)
    assert "x.csv has 1 column, so --columns cannot have 2" in capsys.readouterr().err


def test_a_first_line_of_a_sensor_that_is_not_there(capsys):
    Path("x.csv").write_text("unavailable\n" + "".join(f"{i % 7}\n" for i in range(60)))
    streamed("x.csv", "--missing", "skip")
    captured = capsys.readouterr()
    assert captured.out.count("\n") == 60
    assert "x.csv: line 1 has no value in these columns; skipped" in captured.err
