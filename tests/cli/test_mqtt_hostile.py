"""``mapdpm stream --mqtt`` where the other end is no broker, or a hostile one, or nobody reads stderr: in process."""

import json
import os
import sys
import time
import tracemalloc

import pytest

from brokers import CONNACK, CONNECT, HANG_UP, PUBACK, PUBLISH, SUBSCRIBE, FakeBroker, packet, published
from mapdpm import cli
from mapdpm.cli import mqtt

pytest.importorskip("paho.mqtt.client", reason="no paho-mqtt: pip install 'mapdpm[mqtt]'")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def streamed(broker, *argv):
    return cli.main(["stream", "--mqtt", f"127.0.0.1:{broker.port}", "--topic", "in", *argv])


@pytest.fixture
def deaf(monkeypatch):
    """Standard error is a pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", encoding="utf-8", closefd=False) as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        yield
        monkeypatch.undo()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, writer)  # what is left goes there
    os.close(writer)
    os.close(null)


def test_nobody_reads_stderr_and_the_connection_is_lost(capsys, deaf):
    """The warnings are lost; the points are not."""
    connections = []

    def script(connection):
        connections.append(connection)
        connection.accept(published(len(connections), b"1,2"))
        if len(connections) == 1:
            connection.read()  # the acknowledgement
            return HANG_UP
        return None

    with FakeBroker(script) as broker:
        assert streamed(broker, "--count", "2") == 0
    assert len([json.loads(line) for line in capsys.readouterr().out.splitlines()]) == 2


def answers(connack, *after_subscribe):
    """A script that answers the first packet, and the second one where it comes."""

    def script(connection):
        for wanted, answer in ((CONNECT, connack), (SUBSCRIBE, b"".join(after_subscribe))):
            found = connection.read()
            if found is None or found[0] != wanted:
                return HANG_UP
            connection.send(answer)
        return None

    return script


WRONG = {
    "an empty SUBACK": answers(CONNACK, b"\x90\x02\x00\x01"),
    "a SUBACK without a number": answers(CONNACK, b"\x90\x00"),
    "a SUBACK that refuses": answers(CONNACK, b"\x90\x03\x00\x01\x80"),
    "a CONNACK of no length": answers(b"\x20\x00"),
    "a CONNACK that is too long": answers(b"\x20\x05\x00\x00\x00\x00\x00"),
    "a CONNACK of an unknown reason": answers(b"\x20\x02\x00\x77"),
    "a CONNACK that refuses": answers(b"\x20\x02\x00\x05"),
    "text": answers(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    "a length without end": answers(b"\x20\xff\xff\xff\xff\xff"),
    "a packet of no kind": answers(b"\x00\x00"),
    "nobody": lambda _: HANG_UP,
    "nobody after CONNECT": answers(b""),
    "nobody after SUBSCRIBE": answers(CONNACK, b""),
}


@pytest.mark.parametrize("script", WRONG.values(), ids=WRONG.keys())
def test_what_is_no_broker_ends_the_command(capsys, monkeypatch, script):
    monkeypatch.setattr(mqtt, "_PATIENCE", 0.5)
    with FakeBroker(script) as broker:
        assert streamed(broker) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("mapdpm: error: ")
    assert captured.err.count("\n") == 1


def test_large_messages_are_refused_and_not_kept(capsys):
    """Neither parsed nor kept: 20 MB of JSON take less than three times their size, at the moment they arrive."""
    large = b"[" + b"1," * 10_000_000 + b"1]"
    messages = [published(1, b"1,2"), published(2, large), published(3, b"3,4")]
    with FakeBroker(lambda connection: connection.accept(*messages) and None) as broker:
        tracemalloc.start()
        try:
            assert streamed(broker, "--count", "3", "--on-error", "skip") == 0
            assert tracemalloc.get_traced_memory()[1] < 6 * len(large)  # with the copies of this test
        finally:
            tracemalloc.stop()
    captured = capsys.readouterr()
    assert captured.out.count("\n") == 2
    assert f"topic in: message 2 has {len(large)} bytes, and at most 1048576 are read; skipped" in captured.err
    assert broker.acknowledged == [1, 2, 3]


@pytest.mark.parametrize("qos", [0, 1])
def test_messages_that_come_while_results_wait(capsys, monkeypatch, qos):
    """The broker takes no results, and sends more than fits; of QoS 0 some are lost, with a warning."""
    monkeypatch.setattr(mqtt, "_UNSENT", 2)
    monkeypatch.setattr(mqtt, "_WAITING", 20_000)

    def script(connection):
        connection.accept(*(published(mid, b"1,2", qos) for mid in range(1, 500)))
        answered = 0
        while (found := connection.read()) is not None:
            if found[0] == PUBLISH and answered < 5:
                answered += 1  # not at once: messages wait
                time.sleep(0.05)
            if found[0] == PUBLISH:
                connection.send(packet(PUBACK, 0, found[1][5:7]))
        return HANG_UP

    with FakeBroker(script) as broker:
        code = streamed(broker, "--publish", "out", "--count", "50", "--quiet" if qos else "--on-error=fail")
    said = capsys.readouterr().err
    if qos:
        assert code == 1
        assert "sends messages on and on" in said
    else:
        assert code == 0
        assert said.count("messages of QoS 0 are lost") >= 1
