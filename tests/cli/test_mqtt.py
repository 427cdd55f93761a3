"""``mapdpm stream --mqtt`` against a real broker: whoever is killed in the middle, each message is counted once."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import mapdpm
from mapdpm import OnlineMAPDPM, cli
from repository import ROOT
from tests.marks import complete_but

client = pytest.importorskip("paho.mqtt.client", reason="no paho-mqtt: pip install 'mapdpm[mqtt]'")

MOSQUITTO = shutil.which("mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
PATIENCE = 60.0

needs_broker = pytest.mark.skipif(MOSQUITTO is None, reason="no broker to test with: apt-get install mosquitto")


class Broker:
    """A mosquitto on a port of its own, which keeps its messages when it is stopped."""

    def __init__(self, folder, settings="allow_anonymous true"):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._configuration = folder / "mosquitto.conf"
        self._configuration.write_text(
            f"listener {self.port} 127.0.0.1\n{settings}\nmax_queued_messages 0\n"
            f"persistence true\npersistence_location {folder}/\nuser root\n"
        )
        self.start()

    def start(self):
        self._process = subprocess.Popen([MOSQUITTO, "-c", self._configuration], stderr=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:  # it says nowhere that it listens
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return
            time.sleep(0.01)
        pytest.fail("mosquitto does not listen")

    def stop(self):
        self._process.terminate()
        self._process.wait(timeout=PATIENCE)


class Peer:
    """Publishes points, and hears results."""

    def __init__(self, port):
        self.heard, self._news = [], threading.Condition()
        self.client = client.Client(client.CallbackAPIVersion.VERSION2, client_id="peer", clean_session=False)
        self.client.reconnect_delay_set(1, 1)
        self.client.on_message = self._on_message
        self._taken = set()
        subscribed = threading.Event()
        self.client.on_subscribe = lambda *_: subscribed.set()
        self.client.on_publish = self._on_publish
        self.client.on_connect = lambda peer, *_: peer.subscribe("out", 1)
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()
        assert subscribed.wait(PATIENCE)

    def send(self, texts, **options):
        """Publish, as soon as there is a connection; one by one: paho keeps no order while it reconnects."""
        for text in texts:
            mid = self.client.publish("in", text, qos=1, **options).mid
            with self._news:
                assert self._news.wait_for(lambda mid=mid: mid in self._taken, PATIENCE)

    def wait_for(self, fine):
        with self._news:
            assert self._news.wait_for(lambda: fine(self.heard), PATIENCE)

    def close(self):
        self.client.disconnect()
        self.client.loop_stop()

    def _on_publish(self, _client, _data, mid, *_):
        with self._news:
            self._taken.add(mid)
            self._news.notify_all()

    def _on_message(self, _client, _data, message):
        with self._news:
            self.heard.append(json.loads(message.payload))
            self._news.notify_all()


@pytest.fixture
def broker(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    server = Broker(tmp_path)
    yield server
    server.stop()


@pytest.fixture
def peer(broker):
    found = Peer(broker.port)
    yield found
    found.close()


def made(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) + rng.choice([0.0, 9.0], size=(n, 1))


def lines(points):
    return [f"{x!r},{y!r}" for x, y in points.tolist()]


@contextlib.contextmanager
def listening(broker, *argv, program=("-m", "mapdpm")):
    """A process that has subscribed, and does not outlive the test."""
    command = [sys.executable, *program, "stream", "--mqtt", f"127.0.0.1:{broker.port}", "--topic", "in", *argv]
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    with subprocess.Popen(
        list(map(str, command)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": paths},
    ) as process:
        try:
            for line in process.stderr:
                if line.startswith("mapdpm: listening to topic in at 127.0.0.1:"):
                    break
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def expected(points, **parameters):
    model = OnlineMAPDPM(**parameters)
    return [model.learn_one(x) for x in points], model._learner.write()


def learned(path):
    return OnlineMAPDPM.from_bytes(Path(path).read_bytes())._learner.write()


def done(process, code=0):
    """Check that the process ends by itself, with ``code`` and no traceback; return its stderr."""
    said = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == code, said
    assert "Traceback" not in said
    return said


# ---- what works ------------------------------------------------------------------------------------------------------


@needs_broker
@pytest.mark.parametrize("kind", complete_but(["object"], ["line", "array", "object"]))
def test_payloads(broker, peer, kind):
    points = made(60)
    texts = {
        "line": lines(points),
        "array": [json.dumps(x) for x in points.tolist()],
        "object": [json.dumps({"y": y, "who": "Ann", "x": x}) for x, y in points.tolist()],
    }[kind]
    choice = ["--columns", "x,y"] if kind == "object" else []
    argv = ["--publish", "out", "--warmup", 20, "--count", 60, "--state", "state.mdpm", *choice]
    with listening(broker, *argv) as process:
        peer.send(texts)
        done(process)
    ids, model = expected(points, warmup=20)
    peer.wait_for(lambda heard: len(heard) == 60)
    assert [result["id"] for result in peer.heard] == ids
    assert learned("state.mdpm") == model
    names = getattr(mapdpm.load("state.mdpm"), "feature_names_in_", None)
    assert names is None if kind != "object" else list(names) == ["x", "y"]


@needs_broker
def test_results_on_standard_output_and_wrong_messages(broker, peer):
    wrong = ["", "one", "1,2,3", "[1, null]", '{"x": 1, "y": 2}', "[1, [2]]", "[1", "1,2\n3,4"]
    with listening(broker, "--count", len(wrong) + 2, "--on-error", "skip", "--qos", 0) as process:
        peer.send(["1,2", *wrong, "[3, 4]"])
        out, said = process.communicate(timeout=PATIENCE)
    assert [json.loads(line)["id"] for line in out.splitlines()] == [0, 1]
    assert said.count("mapdpm: warning: topic in: message ") == len(wrong)
    assert "message 5, column 2 is blank" in said
    assert "message 6 is an object, but the first message was none" in said
    assert said.endswith(f"2 points learned, {len(wrong)} skipped, 0 clusters; topic in up to message 10\n")


@needs_broker
def test_a_retained_message_is_no_new_point(broker, peer):
    peer.send(["5,5"], retain=True)
    with listening(broker, "--count", 1) as process:
        peer.send(["1,2"])
        assert "1 point learned" in done(process)


# ---- each is counted once --------------------------------------------------------------------------------------------


@pytest.mark.complete
@needs_broker
@pytest.mark.parametrize("points", [7, 10_000])
def test_the_broker_is_restarted(broker, peer, points):
    """In the middle, with messages that were learned and not acknowledged; they come again, and are known."""
    data = made(400)
    argv = ["--publish", "out", "--state", "state.mdpm", "--count", 400, "--checkpoint-points", points, "--warmup", 50]
    with listening(broker, *argv) as process:
        peer.send(lines(data[:200]))
        peer.wait_for(lambda heard: len(heard) >= 105)
        peer.send(lines(data[200:205]))  # fewer than make it commit
        broker.stop()
        broker.start()
        peer.send(lines(data[205:]))
        said = done(process)
    assert "warning: lost the connection" in said
    assert "again" in said
    ids, model = expected(data, warmup=50)
    assert learned("state.mdpm") == model
    heard = [result["id"] for result in peer.heard]
    assert set(heard) == set(ids)


@pytest.mark.complete
@needs_broker
def test_killed_in_the_middle(broker, peer):
    """SIGKILL after so many results, four times; then the state is that of a learner that nobody killed."""
    data = np.vstack([made(400), [[1e4, 1e4]]])  # the last one is unlike all others
    argv = ["--publish", "out", "--state", "state.mdpm", "--checkpoint-points", 30, "--warmup", 50]
    ids, model = expected(data, warmup=50)
    for kill, until in enumerate((10, 77, 150, 290)):
        with listening(broker, *argv) as process:
            if not kill:
                peer.send(lines(data))
            peer.wait_for(lambda heard, until=until: len(heard) >= until)
            process.kill()
            assert process.wait() == -signal.SIGKILL
    with listening(broker, *argv) as process:
        peer.wait_for(lambda heard: heard[-1]["id"] == ids[-1])
        process.send_signal(signal.SIGTERM)
        done(process, 143)
    assert mapdpm.load("state.mdpm").n_seen == len(data)
    assert learned("state.mdpm") == model


KILLED_BEFORE_IT_ACKNOWLEDGES = """
import os, signal, sys
from paho.mqtt.client import Client
Client.ack = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
from mapdpm.cli import main
sys.exit(main())
"""


@needs_broker
def test_killed_between_commit_and_acknowledgement(broker, peer):
    """The worst moment: what the state has counted comes again, all of it."""
    data = made(45)
    argv = ["--output", "out.jsonl", "--state", "state.mdpm", "--checkpoint-points", 12, "--warmup", 20]
    with listening(broker, *argv, program=("-c", KILLED_BEFORE_IT_ACKNOWLEDGES)) as process:
        peer.send(lines(data))
        assert process.wait(timeout=PATIENCE) == -signal.SIGKILL
    seen = mapdpm.load("state.mdpm").n_seen
    assert seen >= 10
    with listening(broker, *argv, "--count", len(data) - seen) as process:
        done(process)
    ids, model = expected(data, warmup=20)
    assert learned("state.mdpm") == model
    assert [json.loads(line)["id"] for line in Path("out.jsonl").read_text().splitlines()] == ids


@needs_broker
def test_what_comes_meanwhile_waits(broker, peer):
    data = made(100)
    argv = ["--state", "state.mdpm", "--warmup", 20, "--count", 50]
    with listening(broker, *argv) as process:
        peer.send(lines(data))
        done(process)
    with listening(broker, *argv) as process:
        done(process)
    assert learned("state.mdpm") == expected(data, warmup=20)[1]


# ---- what is wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "code", "says"),
    [
        ("--topic in", 1, "cannot connect to 127.0.0.1:1: Connection refused"),
        ("--topic in --publish in", 2, "argument --publish: must be one topic, and not among those of --topic"),
        ("--topic a/# --publish a/b", 2, "argument --publish: must be one topic, and not among those of --topic"),
        ("--topic in --publish a/+", 2, "argument --publish: must be one topic, and not among those of --topic"),
    ],
)
def test_mistakes(capsys, argv, code, says):
    assert cli.main(["stream", "--mqtt", "127.0.0.1:1", *argv.split()]) == code
    captured = capsys.readouterr()
    assert captured.err.startswith(f"mapdpm: error: {says}")
    assert captured.err.count("\n") == 1


@needs_broker
def test_a_topic_that_is_none(broker, capsys):
    assert cli.main(["stream", "--mqtt", f"127.0.0.1:{broker.port}", "--topic", "a#b"]) == 1
    assert capsys.readouterr().err == "mapdpm: error: argument --topic: Invalid subscription filter.\n"


def test_without_paho(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "paho.mqtt", None)
    monkeypatch.setitem(sys.modules, "paho.mqtt.client", None)
    assert cli.main(["stream", "--mqtt", "localhost", "--topic", "in"]) == 1
    assert capsys.readouterr().err == (
        "mapdpm: error: --mqtt needs paho-mqtt 2.0 or newer: pip install 'mapdpm[mqtt]'\n"
    )
