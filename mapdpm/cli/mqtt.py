"""MQTT: points arrive as messages, and results leave as messages; each point counts once, even after a crash.

The broker repeats a message until it is acknowledged. It is acknowledged only when a checkpoint with it is on
disk. A repeated message has the number and the contents of a learned one; it is acknowledged, and not learned again.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import math
import random
import time
from pathlib import Path
from typing import Any, NamedTuple

from mapdpm.cli.broker import Broker, Status, client_id, paho
from mapdpm.cli.feed import Signals
from mapdpm.cli.json_records import Cells
from mapdpm.cli.records import RecordReader
from mapdpm.cli.refused import refuse_input
from mapdpm.cli.source import Source
from mapdpm.cli.stderr import report
from mapdpm.cli.topics import Topic

_KEEPALIVE = 60
_FIRST_DELAY, _LONGEST_DELAY = 0.1, 60.0
_PATIENCE = 10.0  # seconds for the broker to answer
_GOODBYE = 5.0  # seconds for the broker to take the last results
_WINDOW = 10  # brokers stop after 10 to 20 unacknowledged messages
_PAUSE = 0.005  # seconds of silence after which the broker seems to have stopped
_REMEMBERED = 1000  # acknowledged messages, for an acknowledgement may be lost
_LARGEST = 1 << 20  # bytes of a message, some 50,000 numbers: as Python's lists they take some 50 times as much
_WAITING = 64 << 20  # bytes of messages that wait while results are unsent
_OVERHEAD = 200  # bytes of a message besides its payload
_UNSENT = 1000  # results that the broker has not taken, above which no points are read


class Message(NamedTuple):
    """A message and the number of its connection, the only one on which it can be acknowledged.

    The payload of a message that is too large is not kept.
    """

    mid: int
    digest: str | None
    payload: bytes | None
    connection: int
    size: int
    group: str | None = None


class Subscription(Source):
    """A source: the messages of a topic."""

    def __init__(self, arguments: argparse.Namespace, reader: RecordReader, signals: Signals) -> None:
        paho()  # or an error, before all others
        self._broker, self._reader = Broker.of(arguments), reader
        reader.settle()
        self.name = f"topic {arguments.topic}"
        self.identity = f"mqtt://{self._broker}/{arguments.topic}"
        self.unsent: dict[int, tuple[str, str]] = {}  # topics and results by the numbers of their messages
        self._named = Topic.of(arguments.topic)
        self._topic, self._qos = self._named.filter, 1 if arguments.qos is None else arguments.qos
        self._at, self._signals, self._quiet = str(self._broker), signals, arguments.quiet
        self._number = self._connection = self._waiting = 0
        self._inbox: list[Message] = []
        self._learned: dict[int, str] = {}
        self._to_acknowledge: list[int] = []
        self._failure: str | None = None
        self._subscribed = self._idle = self._uncommitted = self._refused = self._lost = self._retained = False
        self._delay, self._next_try = _FIRST_DELAY, math.inf
        self._client_id = client_id(arguments)
        self._leaves = arguments.client_id is None and arguments.state is None  # nobody will know the id again
        self._client = self._new_client(clean_session=False)  # the broker keeps messages while this client is away
        self._status = Status.of(arguments, self)
        self._status.set_will(self._client)
        self._client.manual_ack_set(True)
        self._client.on_connect = self._on_connect
        self._client.on_disconnect = self._on_disconnect
        self._client.on_subscribe = self._on_subscribe
        self._client.on_message = self._on_message
        self._client.on_publish = lambda _client, _data, mid, *_: self.unsent.pop(mid, None)

    # ---- a Source ----------------------------------------------------------------------------------------------------

    def resume(self, position: dict[str, Any], saved: Path) -> str:  # noqa: ARG002  (a Source)
        """Restore the list of learned messages, which may come again."""
        self._number = int(position["line"])
        try:
            self._learned = {int(mid): str(digest) for mid, digest in position["learned"]}
        except ValueError as error:
            raise TypeError(str(error)) from None  # as for what is no list: the position cannot be read
        return f"{self.name} goes on after message {self._number}"

    def read(self, timeout: float) -> list[Message]:
        """The messages that have come; there is no end."""
        if not self._connection:
            self._connect()
        if not self._inbox or len(self.unsent) >= _UNSENT:
            self._poll_network(min(timeout, _PAUSE) if self._broker_waits() else timeout)
        if len(self.unsent) >= _UNSENT:
            return []
        messages, self._inbox, self._waiting, self._lost = self._inbox, [], 0, False
        return messages

    def where(self, item: Message) -> str:  # noqa: ARG002  (a Source)
        """The name of the topic, and the number of the message since the beginning."""
        return f"{self.name}: message {self._number + 1}"

    def records(self, item: Message) -> list[Cells]:
        """The cells of each point in a message; RefusedInputError where it has none."""
        if item.payload is None:
            refuse_input(f" has {item.size} bytes, and at most {_LARGEST} are read")
        return self._reader.records(item.payload.strip())

    def group(self, item: Message) -> str | None:
        """The levels of the topic that have names in ``--topic``."""
        return item.group

    def taken(self, item: Message) -> None:
        """Remember the message until long after it is acknowledged."""
        self._number += 1
        self._uncommitted = True
        if item.digest is None:
            return
        self._learned.pop(item.mid, None)
        self._learned[item.mid] = item.digest
        if item.connection == self._connection:
            self._to_acknowledge.append(item.mid)
        while len(self._learned) > _REMEMBERED + len(self._to_acknowledge):
            del self._learned[next(iter(self._learned))]

    def progress(self) -> str:
        """The number of the last message that was taken."""
        return f"{self.name} up to message {self._number}"

    def wants_commit(self) -> bool:
        """Whether the broker has stopped sending because it waits for acknowledgements."""
        return self._idle and self._broker_waits()

    def position(self) -> dict[str, Any]:
        """The number of messages, and the learned ones, which may come again."""
        return {"path": self.identity, "line": self._number, "learned": list(self._learned.items())}

    def committed(self) -> None:
        """Acknowledge the learned messages."""
        waiting, self._to_acknowledge, self._uncommitted = self._to_acknowledge, [], False
        for mid in waiting:
            self._client.ack(mid, 1)

    def close(self) -> None:
        """Disconnect from the broker, which keeps the messages that come from now on."""
        self._status.say(self._client, "offline")
        self._client.disconnect()
        until = time.monotonic() + _GOODBYE
        while self._client.socket() is not None and self._client.want_write() and time.monotonic() < until:
            self._client.loop_write()
        if self._leaves and self._subscribed:
            self._forget_session()

    def _broker_waits(self) -> bool:
        """Whether the broker may wait for acknowledgements, or acknowledging needs no new commit."""
        return len(self._to_acknowledge) >= _WINDOW or (bool(self._to_acknowledge) and not self._uncommitted)

    # ---- for a Publication -------------------------------------------------------------------------------------------

    def publish(self, topic: str, text: str, qos: int = 1) -> None:
        """Send a result; it is in ``unsent`` until the broker has taken it."""
        info = self._client.publish(topic, text, qos=qos)
        self.unsent[info.mid] = topic, text

    def unsent_to(self, topic: str) -> list[str]:
        """The results for a topic that the broker may lack."""
        return [text for to, text in self.unsent.values() if to == topic]

    def drain(self) -> None:
        """Wait until the broker has taken all results, is not connected, or some seconds have passed."""
        until = time.monotonic() + _GOODBYE
        while self.unsent and self._client.socket() is not None and time.monotonic() < until:
            self._poll_network(until - time.monotonic(), interruptible=False)

    def subscribes_to(self, topic: str) -> bool:
        """Whether messages to ``topic`` would come back as points."""
        return bool(paho().topic_matches_sub(self._topic, topic))

    # ---- the network -------------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        """Make the first connection; its failure is an error, for waiting does not help."""
        try:
            self._client.connect(self._broker.host, self._broker.port, _KEEPALIVE)
        except (OSError, ValueError) as error:
            msg = f"cannot connect to {self._at}: {self._broker.failure(error)}"
            raise ConnectionError(msg) from None
        until = time.monotonic() + _PATIENCE
        while not self._subscribed and not self._signals.number:
            self._poll_network(until - time.monotonic())
            if self._client.socket() is None or time.monotonic() > until:
                msg = f"cannot connect to {self._at}: {self._broker.silence()}"
                raise ConnectionError(msg)

    def _new_client(self, *, clean_session: bool) -> Any:
        lib = paho()
        client = lib.Client(lib.CallbackAPIVersion.VERSION2, client_id=self._client_id, clean_session=clean_session)
        self._broker.set_up(client)
        return client

    def _forget_session(self) -> None:
        """Have the broker drop the session of an id that was made for this run: a clean one takes its place."""
        client = self._new_client(clean_session=True)
        answered: list[object] = []
        client.on_connect = lambda *_: answered.append(None)
        until = time.monotonic() + _GOODBYE
        with contextlib.suppress(OSError, ValueError):
            client.connect(self._broker.host, self._broker.port, _KEEPALIVE)
            while not answered and client.socket() is not None and time.monotonic() < until:
                client.loop(_PAUSE)
            client.disconnect()

    def _poll_network(self, timeout: float, *, interruptible: bool = True) -> None:
        """Send and receive once, after ``timeout`` seconds at most."""
        client, now = self._client, time.monotonic()
        file = client.socket()
        if file is None:
            self._signals.wait(min(timeout, self._next_try - now))
            if time.monotonic() >= self._next_try:
                self._try_again()
            return
        writes = [file.fileno()] if client.want_write() else []
        held = hasattr(file, "pending") and file.pending() > 0  # TLS has read and decrypted more than was asked for
        reads = self._signals.wait(0.0 if held else timeout, [file.fileno()], writes, interruptible=interruptible)
        self._idle = not (reads or held)
        if reads or held:
            client.loop_read()
        if client.want_write():
            client.loop_write()
        client.loop_misc()
        if self._failure is not None:
            raise ConnectionError(self._failure)

    def _try_again(self) -> None:
        self._delay = min(2.0 * self._delay, _LONGEST_DELAY)
        # A random delay, so that many devices do not return to one broker at the same time.
        self._next_try = time.monotonic() + self._delay * random.uniform(0.5, 1.0)  # noqa: S311
        try:
            self._client.reconnect()
        except OSError:
            return
        self._next_try = math.inf if self._client.socket() is not None else self._next_try

    def _on_connect(self, _client: Any, _data: Any, flags: Any, reason: Any, _properties: Any) -> None:
        if reason.is_failure:
            if not self._connection:
                self._failure = f"{self._at} refuses the connection: {reason}"
            elif not self._refused:
                self._report(f"warning: {self._at} refuses the connection: {reason}; trying again")
            self._refused = True
            return
        self._refused = False
        if not flags.session_present:
            if self._connection:
                self._report(f"warning: {self._at} has forgotten this client, and what came for it meanwhile")
            self._learned.clear()  # numbers begin anew
        if not flags.session_present or not self._connection:
            try:
                self._client.subscribe(self._topic, self._qos)
            except ValueError as error:
                self._failure = f"argument --topic: {error}"
        else:
            self._report(f"connected to {self._at} again")
        self._status.say(self._client, "online")
        self._connection += 1
        self._delay = _FIRST_DELAY

    def _on_disconnect(self, _client: Any, _data: Any, _flags: Any, reason: Any, _properties: Any) -> None:
        # Unacknowledged messages come again, learned or not.
        self._to_acknowledge.clear()
        self._inbox = [message for message in self._inbox if message.digest is None]
        if self._next_try == math.inf:
            self._next_try = time.monotonic() + self._delay
            if self._subscribed and reason.is_failure:
                self._report(f"warning: lost the connection to {self._at} ({reason}); trying again")

    def _on_subscribe(self, _client: Any, _data: Any, _mid: Any, reasons: Any, _properties: Any) -> None:
        if not reasons:
            self._failure = f"cannot connect to {self._at}: it does not answer as an MQTT broker does"
        elif reasons[0].is_failure:
            self._failure = f"{self._at} refuses the {self.name}: {reasons[0]}"
        elif not self._subscribed:
            self._subscribed = True
            self._report(f"listening to {self.name} at {self._at}")

    def _on_message(self, _client: Any, _data: Any, message: Any) -> None:
        if message.retain:  # an old value, which the broker sends to every new subscription
            if message.qos:
                self._to_acknowledge.append(message.mid)
            if not self._retained:
                what = f"the message retained at {message.topic} is left out: it may be old, and was sent before"
                self._report(f"{self.name}: {what}; new ones are learned")
            self._retained = True
            return
        digest = None
        if message.qos:
            digest = hashlib.sha256(message.topic.encode() + b"\0" + message.payload).hexdigest()[:16]
            if message.dup and self._learned.get(message.mid) == digest:
                self._to_acknowledge.append(message.mid)
                return
        size = len(message.payload)
        payload = message.payload if size <= _LARGEST else None
        self._waiting += _OVERHEAD + (size if payload is not None else 0)
        if self._waiting > _WAITING:
            self._overflow(message)
            return
        self._inbox.append(
            Message(message.mid, digest, payload, self._connection, size, self._named.group(message.topic))
        )

    def _overflow(self, message: Any) -> None:
        """Lose a message of QoS 0, as that may be; one of QoS 1 cannot come before others are acknowledged."""
        if message.qos:
            self._failure = f"{self._at} sends messages on and on, though none is acknowledged"
        elif not self._lost:
            self._report(f"warning: {self.name}: messages of QoS 0 are lost, for the broker does not take results")
        self._lost = True

    def _report(self, text: str) -> None:
        if not self._quiet:
            report(text)
