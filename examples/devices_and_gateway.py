"""Devices and a gateway over MQTT: what one device has seen helps the others.

Each device learns its own points, in fixed memory. It sends a summary of its clusters, some hundred bytes. The gateway
merges the summaries of all devices, and answers each with what the others have seen: the base of its clusters. So a new
device knows the clusters of the others before its first point. Messages are retained, so that a device may sleep, and
each has all that a device knows, so that a lost one does no harm.

    python examples/devices_and_gateway.py localhost:1883                      # a gateway, and 12 devices in turn
    python examples/devices_and_gateway.py localhost:1883 gateway              # the gateway alone, until Ctrl-C
    python examples/devices_and_gateway.py localhost:1883 device watch-7 7     # one device, with a recording

The points are those of the recordings of a smart watch beside this file; each recording is a device. It needs a broker,
such as mosquitto, and paho-mqtt: pip install 'mapdpm[mqtt]'.
"""

import argparse
import csv
import queue
import threading
import time
from pathlib import Path

import numpy as np
from paho.mqtt import client as mqtt

from mapdpm import NormalGamma, OnlineHDP

DATA = Path(__file__).resolve().parent / "data" / "smartwatch.csv"
CHANNELS = ["accel_x", "accel_y", "accel_z", "gyro_x", "gyro_y", "gyro_z"]
PRIOR = NormalGamma(np.zeros(6), 0.01, 2.0, 0.05)  # the same for all devices
UP, DOWN, NEW = "mapdpm/up/", "mapdpm/down/", "new"
DEVICES, EVERY, FIRST = 12, 50, 20
PATIENCE = 10.0


class Connection:
    """A client of the broker, whose messages wait in a queue: a topic and a payload each."""

    def __init__(self, broker: str, *topics: str) -> None:
        host, _, port = broker.partition(":")
        self.messages: queue.Queue[tuple[str, bytes]] = queue.Queue()
        self._client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        self._client.on_message = lambda _client, _data, message: self.messages.put((message.topic, message.payload))
        try:
            self._client.connect(host, int(port or 1883))
        except OSError as error:
            msg = f"no broker at {broker}: {error}; apt-get install mosquitto"
            raise SystemExit(msg) from None
        self._client.subscribe([(topic, 1) for topic in topics])
        self._client.loop_start()

    def send(self, topic: str, payload: bytes) -> None:
        """Publish a message that the broker keeps until the next one."""
        self._client.publish(topic, payload, qos=1, retain=True).wait_for_publish(PATIENCE)

    def close(self) -> None:
        """Say goodbye."""
        self._client.disconnect()
        self._client.loop_stop()


def gateway(broker: str, stop: threading.Event) -> None:
    """Answer each summary with the clusters of all other devices, and keep those of all for new devices."""
    connection, known = Connection(broker, UP + "+"), {}
    while not stop.is_set():
        try:
            topic, summary = connection.messages.get(timeout=0.1)
        except queue.Empty:
            continue
        name = topic.removeprefix(UP)
        try:
            OnlineHDP.merged([summary])
        except ValueError as error:
            print(f"gateway: {name} sent no summary: {error}")
            continue
        known[name] = summary
        for reader in (name, NEW):
            others = [each for device, each in known.items() if device != reader]
            if others:
                connection.send(DOWN + reader, OnlineHDP.merged(others, max_clusters=16).summary("float32"))
    connection.close()


def device(broker: str, name: str, points: list[list[float]]) -> tuple[float, float]:
    """Learn the points; send a summary after each 50; use what the gateway answers.

    Returns the nats a point of the first points, with the others' clusters and without.
    """
    connection = Connection(broker, DOWN + name, DOWN + NEW)
    learner = OnlineHDP(32, 1, likelihood=PRIOR, with_base=True)
    alone = OnlineHDP(32, 1, likelihood=PRIOR)
    time.sleep(0.5)  # for the messages that the broker has kept
    scores, scores_alone, received = [], [], 0
    for number, x in enumerate(points, start=1):
        while not connection.messages.empty():
            topic, base = connection.messages.get()
            if topic == DOWN + name or number == 1:
                learner.set_base(base)
                received = len(base)
        scores.append(learner.learn_scored(x, name)[1])
        scores_alone.append(alone.learn_scored(x, name)[1])
        if number % EVERY == 0:
            connection.send(UP + name, learner.summary("float32"))
    connection.close()
    begun = float(np.mean(scores[:FIRST])), float(np.mean(scores_alone[:FIRST]))
    sent = len(learner.summary("float32"))
    print(f"{name}: {told(begun)}; sent {sent} bytes, received {received}", flush=True)
    return begun


def told(begun: tuple[float, float]) -> str:
    """How the first points went, in words."""
    return f"the first {FIRST} points {begun[0]:.1f} nats each, without the others {begun[1]:.1f}"


def recordings() -> dict[str, list[list[float]]]:
    """The points of each recording."""
    with DATA.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found: dict[str, list[list[float]]] = {}
    for row in rows:
        found.setdefault(row["recording"], []).append([float(row[name]) for name in CHANNELS])
    return found


def main() -> None:
    """Run one role, or all of them in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("broker", metavar="HOST:PORT")
    parser.add_argument("role", nargs="?", choices=("gateway", "device"))
    parser.add_argument("name", nargs="?", default="watch-0")
    parser.add_argument("recording", nargs="?", default="0")
    arguments, stop = parser.parse_args(), threading.Event()
    found = recordings()
    if arguments.role == "gateway":
        gateway(arguments.broker, stop)
    elif arguments.role == "device":
        device(arguments.broker, arguments.name, found[arguments.recording])
    else:
        thread = threading.Thread(target=gateway, args=(arguments.broker, stop))
        thread.start()
        begun = [device(arguments.broker, f"watch-{number}", found[number]) for number in list(found)[:DEVICES]]
        later = np.mean(begun[1:], axis=0)
        print(f"all but the first device: {told((later[0], later[1]))}")
        stop.set()
        thread.join()


if __name__ == "__main__":
    main()
