"""A broker for tests that says what the test wants, also what no broker may say: packets of MQTT 3.1.1 as bytes."""

import contextlib
import socket
import struct
import threading

PATIENCE = 60.0

CONNECT, PUBLISH, PUBACK, SUBSCRIBE, DISCONNECT = 1, 3, 4, 8, 14
CONNACK = b"\x20\x02\x00\x00"
SUBACK = b"\x90\x03\x00\x01\x01"


def packet(kind, flags, body):
    """A packet: the kind and the flags, the length in groups of 7 bits, and what follows."""
    length, rest = b"", len(body)
    while True:
        rest, low = rest >> 7, rest & 127
        length += bytes([low | (128 if rest else 0)])
        if not rest:
            return bytes([kind << 4 | flags]) + length + body


def published(mid, payload, qos=1, *, topic=b"in", retain=False):
    """A message to the topic ``in``."""
    number = struct.pack("!H", mid) if qos else b""
    return packet(3, qos << 1 | retain, struct.pack("!H", len(topic)) + topic + number + payload)


class Connection:
    """A connection of the command under test, as the broker sees it."""

    def __init__(self, file):
        self._file = file

    def read(self):
        """The next packet: its kind and its body; None when the other end has hung up."""
        head = self._exactly(1)
        length = shift = 0
        while head:
            byte = self._exactly(1)
            if not byte:
                return None
            length |= (byte[0] & 127) << shift
            shift += 7
            if byte[0] < 128:
                return head[0] >> 4, self._exactly(length)
        return None

    def send(self, *packets):
        self._file.sendall(b"".join(packets))

    def accept(self, *packets):
        """Let the other end connect and subscribe; then send ``packets``. False where it hangs up before."""
        for wanted, answer in ((CONNECT, CONNACK), (SUBSCRIBE, SUBACK)):
            found = self.read()
            if found is None or found[0] != wanted:
                return False
            self.send(answer)
        self.send(*packets)
        return True

    def _exactly(self, n):
        data = b""
        while len(data) < n:
            more = self._file.recv(n - len(data))
            if not more:
                return b""
            data += more
        return data


class FakeBroker:
    """A broker that runs ``script(connection)`` for each connection; then it reads until the other end hangs up.

    ``read`` are the packets that it read then; ``acknowledged`` the numbers of the messages that were acknowledged.
    """

    def __init__(self, script, host="127.0.0.1", context=None):
        self._script, self._context = script, context
        self._server = socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        self.port = self._server.getsockname()[1]
        self.read, self.acknowledged = [], []
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)  # wakes the thread, which close alone does not
        self._server.close()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def _secured(self, file):
        return file if self._context is None else self._context.wrap_socket(file, server_side=True)

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                file, _ = self._server.accept()
                with contextlib.suppress(OSError), self._secured(file) as file:
                    file.settimeout(PATIENCE)
                    connection = Connection(file)
                    if self._script(connection) is not None:
                        continue  # hangs up
                    while (found := connection.read()) is not None:
                        self.read.append(found)
                        if found[0] == PUBACK:
                            self.acknowledged.append(int.from_bytes(found[1], "big"))


HANG_UP = "hang up"
