"""The output of a stream: standard output, a file, or messages."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from mapdpm.cli import checkpoint, stderr, stdout
from mapdpm.cli.beginning import STDIN
from mapdpm.cli.feed import Signals
from mapdpm.cli.mqtt import Subscription
from mapdpm.cli.usage import refuse_argument
from mapdpm.files import locks
from mapdpm.files.errors import UnwritableError


class Sink:
    """A sink of results, one a line."""

    path = STDIN
    """The name of the output in a state. A pipe has no position, and no promise that the reader has read."""

    def __init__(self, first: str = "") -> None:
        self._lines = [first]

    def write(self, line: str) -> None:
        """Take one result, which ``flush`` makes visible."""
        self._lines.append(line)

    def flush(self) -> None:
        """Make all results visible to readers."""

    def sync(self) -> dict[str, Any]:
        """Bring all results to disk, and return the position after them."""
        self.flush()
        return {"path": self.path}

    def finish(self) -> None:
        """Deliver the last results."""
        self.flush()

    def close(self) -> None:
        """Close the output, where it is not standard output or the subscription's."""

    def _taken(self) -> str:
        text, self._lines = "".join(self._lines), []
        return text


class Printed(Sink):
    """Results on standard output."""

    def __init__(self, header: str, signals: Signals) -> None:
        super().__init__(header)
        self._signals = signals

    def flush(self) -> None:
        """Print; errors as in ``stdout.write``."""
        stdout.write(self._taken(), self._signals)


class Reported(Sink):
    """Alerts as lines on stderr."""

    path = "stderr"

    def flush(self) -> None:
        """Print; nobody may be there to read."""
        text = self._taken()
        if text:
            stderr.write(text)


class Written(Sink):
    """Results in a file, which is first cut to its committed length; a new file begins with ``header``."""

    def __init__(self, path: Path, header: str, position: dict[str, Any] | None, saved: Path | None) -> None:
        super().__init__(header)
        self._path, self._file, self._bytes = path, -1, 0
        if position is not None and saved is not None and position["path"] == self._identity():
            self._lines = []
            if not path.exists():
                gone = f"{path} is gone, but {saved} goes on after byte {position.get('offset')} of it"
                msg = f"{gone}; {checkpoint.ANOTHER}"
                raise ValueError(msg)
            with path.open("rb") as file:
                self._bytes = checkpoint.check(file.fileno(), position, str(path), saved)

    def flush(self) -> None:
        """Write to the file; UnwritableError where that fails."""
        data = "".join(self._lines).encode()
        try:
            if self._file < 0:  # only when there is something to write: an old file may be wanted
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
                locks.hold(self._path, self._file)
                os.ftruncate(self._file, self._bytes)
                os.lseek(self._file, self._bytes, os.SEEK_SET)
            self._check_place()
            while data:
                done = os.write(self._file, data)
                self._bytes += done
                data = data[done:]
            self._check_place()
        except UnwritableError:
            raise
        except OSError as error:
            raise self._unwritable(error.strerror) from None
        self._lines = []

    def sync(self) -> dict[str, Any]:
        """Write, and sync to disk."""
        self.flush()
        try:
            os.fsync(self._file)
        except OSError as error:
            raise self._unwritable(error.strerror) from None
        return {"path": self._identity()} | checkpoint.mark(self._file, self._bytes)

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)

    def _identity(self) -> str:
        return str(self._path.resolve())

    def _check_place(self) -> None:
        """UnwritableError where nobody will find what was written."""
        held = os.fstat(self._file)
        try:
            same = os.path.samestat(held, self._path.stat())
        except OSError:
            same = False
        wrong = "removed or replaced" if not same else "cut off" if held.st_size < self._bytes else ""
        if wrong:
            msg = f"it was {wrong} while it was written"
            raise self._unwritable(msg)

    def _unwritable(self, why: str | None) -> UnwritableError:
        return UnwritableError(f"cannot write {self._path}: {why}")


class Publication(Sink):
    """A sink: results as messages to a topic. Those that the broker may lack are part of the state."""

    def __init__(
        self,
        subscription: Subscription,
        topic: str,
        position: dict[str, Any] | None,
        option: str = "--publish",
        qos: int = 1,
    ) -> None:
        if not topic or set(topic) & set("+#") or subscription.subscribes_to(topic):
            refuse_argument(f"{option}: must be one topic, and not among those of --topic, got {topic!r}")
        self._subscription, self._topic, self._qos = subscription, topic, qos
        if position is not None and position["path"] == topic:
            for text in position["unsent"]:
                subscription.publish(topic, str(text), qos)

    def write(self, line: str) -> None:
        """Send a result, now or when there is a connection."""
        self._subscription.publish(self._topic, line.rstrip("\n"), self._qos)

    def sync(self) -> dict[str, Any]:
        """The results that may have to be sent again."""
        return {"path": self._topic, "unsent": self._subscription.unsent_to(self._topic)}

    def finish(self) -> None:
        """Wait for the broker to take the last ones."""
        self._subscription.drain()
