"""docs/recipes.md: its commands, as they stand there, on files and messages as the programs write them."""

import csv
import datetime as dt
import json
import os
import random
import re
import shlex
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import mapdpm
from brokers import PUBLISH, FakeBroker, published
from command_line import called, started
from repository import ROOT
from tests.docs.test_docs import FENCE, commands

PAGE = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
PATIENCE = 60.0


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def block(section, language="sh"):
    """The blocks of a section of the page, one after the other."""
    text = PAGE.split(f"\n## {section}")[1].split("\n## ")[0]
    return "".join(match["code"] for match in FENCE.finditer(text) if match["language"] == language)


def lines_of(path):
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def climate(n, seed=0):
    """Temperature and humidity, by turns of day and night."""
    rng = random.Random(seed)
    return [(21 - i // 40 % 2 * 6 + rng.gauss(0, 0.3), 45 + i // 40 % 2 * 15 + rng.gauss(0, 1)) for i in range(n)]


def heard(command, *batches):
    """Run a command of the page for each batch of messages, (topic, payload), of a broker: what it said, the broker."""
    numbered = iter(range(1, 1 << 16))
    packets = [[published(next(numbered), payload, topic=topic) for topic, payload in batch] for batch in batches]
    said, ahead = [], iter(packets)
    with FakeBroker(lambda connection: connection.accept(*next(ahead)) and None) as broker:
        argv = shlex.split(command)[1:]
        argv[argv.index("localhost")] = f"127.0.0.1:{broker.port}"
        for batch in packets:
            run = called(*argv, "--count", len(batch))
            assert run.returncode == 0, run.stderr
            assert not run.stdout
            said.append(run.stderr)
    return said, broker


needs_mqtt = pytest.mark.usefixtures("_mqtt")


@pytest.fixture
def _mqtt():
    pytest.importorskip("paho.mqtt.client", reason="no paho-mqtt: pip install 'mapdpm[mqtt]'")


def test_the_page_has_commands_for_all_of_them():
    assert [len(commands(block(name))) for name in re.findall(r"(?m)^## (.*)$", PAGE)] == [2, 3, 1, 1, 0, 0]


@needs_mqtt
def test_zigbee2mqtt():
    messages, wanted = [], []
    for i, (t, h) in enumerate(climate(300)):
        name = ("kitchen", "attic")[i % 2]
        payload = (
            f'{{"battery":97,"humidity":{h:.2f},"linkquality":{90 + i % 30},"temperature":{t:.2f},"voltage":3005}}'
        )
        messages.append((f"zigbee2mqtt/{name}".encode(), payload.encode()))
        wanted.append(name)
        if i % 10 == 0:
            plug = (
                f'{{"current":0.1,"energy":12.3,"linkquality":80,"power":{i},"state":"ON","update":{{"state":"idle"}}}}'
            )
            messages.append((b"zigbee2mqtt/plug", plug.encode()))
    (said,), _ = heard(commands(block("Zigbee2MQTT"))[0], messages)
    assert [row["group"] for row in lines_of("zigbee.jsonl")] == wanted
    assert "has no .temperature.; it has current, energy, linkquality" in said.replace("'", ".")
    assert "300 points learned, 30 skipped" in said
    model = mapdpm.load("zigbee.mdpm")
    assert model.group_names == ["kitchen", "attic"]
    assert model.n_clusters == 2


@needs_mqtt
def test_tasmota():
    messages = []
    for i, (t, h) in enumerate(climate(300)):
        held = {"Time": f"2026-11-01T{i // 60:02d}:{i % 60:02d}:00"}
        held |= {"SI7021": {"Temperature": round(t, 1), "Humidity": round(h, 1), "DewPoint": 9.0}, "TempUnit": "C"}
        messages.append((b"tele/attic/SENSOR", json.dumps(held, separators=(",", ":")).encode()))
    messages.insert(150, (b"tele/plug/SENSOR", b'{"Time":"2026-11-01T02:30:30","ENERGY":{"Total":3.1,"Power":12}}'))
    (said,), _ = heard(commands(block("Zigbee2MQTT"))[1], messages)
    assert "300 points learned, 1 skipped" in said
    assert {row["group"] for row in lines_of("tasmota.jsonl")} == {"attic"}
    assert mapdpm.load("tasmota.mdpm").n_clusters == 2


def history():
    """A file as Home Assistant writes it: sensor after sensor, each in order of time, a row where it changed."""
    rng, rows = random.Random(1), []
    for sensor, column in (("kitchen_temperature", 0), ("kitchen_humidity", 1)):
        for i, point in enumerate(climate(300)):
            state = "unavailable" if i in {0, 90, 91} else "unknown" if i == 92 else f"{point[column]:.1f}"
            at = dt.datetime(2026, 11, 1, tzinfo=dt.UTC) + dt.timedelta(minutes=5 * i, seconds=rng.random() * 200)
            rows.append([f"sensor.{sensor}", state, at.isoformat(timespec="milliseconds").replace("+00:00", "Z")])
    with Path("history.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([["entity_id", "state", "last_changed"], *rows])


def shell(command):
    """A line of the page in a shell, with the mapdpm of this Python: what it printed."""
    line = re.sub(r"(^|\| *)mapdpm\b", rf"\1{shlex.quote(sys.executable)} -m mapdpm", command)
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(  # noqa: S602
        line, shell=True, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": paths}
    )
    assert run.returncode == 0, run.stderr
    return run


def test_one_sensor_of_home_assistant():
    history()
    run = shell(commands(block("Home Assistant"))[0])
    assert "296 points learned, 4 skipped, 2 clusters" in run.stderr
    assert len(lines_of("kitchen.jsonl")) == 296


def test_sensors_of_home_assistant_side_by_side():
    pytest.importorskip("pandas")
    history()
    exec(block("Home Assistant", "python"), {})  # noqa: S102
    _, fit, show = commands(block("Home Assistant"))
    run = called(*shlex.split(fit)[1:])
    assert run.returncode == 0, run.stderr
    assert "columns    2 (sensor.kitchen_humidity, sensor.kitchen_temperature)" in run.stdout
    assert "3 rows without any value left out" in run.stderr
    assert "clusters   2" in run.stdout
    with Path("labels.csv").open() as file:
        labels = list(csv.DictReader(file))
    assert len(labels) == 299
    assert labels[0]["last_changed"] == "2026-11-01 00:05:00+00:00"
    assert [row["label"] for row in labels[89:92]] == ["-1"] * 3
    assert labels[1]["label"] != labels[50]["label"] != "-1"
    assert "sensor.kitchen_temperature" in called(*shlex.split(show)[1:]).stdout


def test_telegraf():
    written, rng = [], random.Random(2)
    for i in range(300):
        at = 1_792_843_200_000_000_000 + 10_000_000_000 * i
        user, system = i // 50 % 2 * 30 + rng.gauss(5, 1), rng.gauss(2, 0.2)
        written += [
            f"cpu,cpu=cpu-total,host=pi usage_user={user},usage_system={system},usage_idle={98 - user - system} {at}",
            f"mem,host=pi used_percent={rng.gauss(34, 1)},free={rng.randrange(10**9)}i {at}",
            f'system,host=pi uptime_format="2 days,  1:0{i % 10}" {at}',
        ]
    Path("metrics.lp").write_text("\n".join(written) + "\n")
    run = called(*shlex.split(commands(block("Telegraf"))[0])[1:], "--count", 900)
    assert run.returncode == 0, run.stderr
    assert "300 points learned, 600 skipped, 2 clusters" in run.stderr
    assert len(lines_of("cpu.jsonl")) == 300


def test_a_serial_port():
    """The other end of a terminal, which begins in the middle of a line."""
    climates = [f"{t:.1f},{h:.0f}\r\n" for t, h in climate(300)]
    climates[100:100] = ["\r\n", "DHT22 ready\r\n", "23.\r\n", "23.4,5\x005\r\n", "nan,nan\r\n"]
    board, port = os.openpty()
    command = shlex.split(commands(block("A serial port"))[0])[1:]
    assert command[-2:] == ["<", "/dev/ttyUSB0"]
    shell(f"stty -F {os.ttyname(port)} " + re.search(r"(?m)^stty -F /dev/ttyUSB0 (.*)$", PAGE)[1])

    def send():
        with os.fdopen(board, "wb", buffering=0, closefd=False) as file:
            file.write("".join(["5\r\n", *climates]).encode("latin-1"))

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    with started(*command[:-2], "--count", 306, stdin=port) as process:
        said = process.communicate(timeout=PATIENCE)[1]
    sender.join(PATIENCE)
    os.close(board)
    os.close(port)
    assert process.returncode == 0, said
    assert "standard input: line 1 has 1 column" in said
    assert "300 points learned, 6 skipped, 2 clusters" in said
    assert len(lines_of("serial.jsonl")) == 300


@needs_mqtt
def test_a_service_of_systemd():
    """What comes is learned once, alerts go to their topic, and the next run goes on."""
    unit = block("A Raspberry Pi", "ini")
    command = re.search(r"(?m)^ExecStart=/opt/mapdpm/bin/(.*)$", unit)[1]
    messages = []
    for i, (t, h) in enumerate(climate(600)):
        values = (40.0, 5.0) if i == 550 else (t, h)
        held = {"SI7021": dict(zip(("Temperature", "Humidity"), values, strict=True)), "TempUnit": "C"}
        messages.append((b"tele/attic/SENSOR", json.dumps(held).encode()))
    said, broker = heard(command, messages[:400], messages[400:])
    assert [re.search(r"\d+ alerts?", each)[0] for each in said] == ["0 alerts", "1 alert"]
    sent = [body for kind, body in broker.read if kind == PUBLISH]
    told = [json.loads(body[body.index(b"{") :]) for body in sent if b"alerts/attic" in body]
    assert [alert["values"]["SI7021.Temperature"] for alert in told] == [40.0]
    assert any(b"status/attic" in body and body.endswith(b"offline") for body in sent)
    assert len(lines_of("attic.jsonl")) == 600
    assert mapdpm.load("attic.mdpm").n_seen == 600
