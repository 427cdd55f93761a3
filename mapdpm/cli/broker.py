"""The broker of ``mapdpm stream --mqtt``: TLS, the login, and the name of the session it keeps."""

from __future__ import annotations

import argparse
import ctypes
import ipaddress
import os
import re
import secrets
import ssl
import stat
import sys
from pathlib import Path
from typing import Any, NamedTuple

from mapdpm.cli.stderr import report
from mapdpm.cli.usage import UsageError, refuse_argument
from mapdpm.cli.values import PASSWORD, Address
from mapdpm.files import disk

try:
    import resource
except ImportError:  # Windows has no core files
    resource = None  # type: ignore[assignment]

_PORT, _TLS_PORT = 1883, 8883
_PATIENCE = 10.0  # seconds for the broker to agree on keys
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_PR_SET_DUMPABLE = 4  # of linux/prctl.h
_CLIENT_ID = re.compile(r"mapdpm-[0-9a-f]{16}\n")


class Broker(NamedTuple):
    """A broker, and how to log in to it."""

    host: str
    port: int
    user: str | None
    password: str | None
    context: ssl.SSLContext | None
    """None: a connection without TLS."""

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Broker:
        """The broker that the command line names; UsageError for files that are no keys, and the like."""
        address: Address = arguments.mqtt
        if address.user is not None and arguments.user not in {None, address.user}:
            refuse_argument(f"--user: --mqtt names another one, {address.user}; leave one of them out")
        user = address.user if arguments.user is None else arguments.user
        context = _context(arguments) if arguments.tls or address.tls else None
        password = None if user is None else _password(arguments)
        if password is not None:
            _never_dump()
        if password is not None and context is None and not _is_this_machine(address.host):
            _warn(arguments, f"the password goes to {address.host} without encryption; use --tls")
        port = address.port or (_PORT if context is None else _TLS_PORT)
        return cls(address.host, port, user, password, context)

    def __str__(self) -> str:
        """``host:port``."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def set_up(self, client: Any) -> None:
        """Give a client of paho the login, and TLS."""
        if self.user is not None:
            client.username_pw_set(self.user, self.password)
        if self.context is not None:
            client.tls_set_context(self.context)

    def failure(self, error: Exception) -> str:
        """The reason why there is no connection, in words."""
        if isinstance(error, ssl.SSLCertVerificationError):
            hint = "; --ca-file names the certificate of its authority" if error.verify_code in _UNKNOWN else ""
            return f"its certificate is refused: {error.verify_message}{hint}"
        if isinstance(error, ssl.SSLError):
            return f"TLS fails: {error.reason or error}"
        if isinstance(error, ConnectionError | TimeoutError) and self.context is not None:
            return f"{error.strerror or error} (does it listen for TLS at port {self.port}?)"
        return str(getattr(error, "strerror", None) or error)

    def silence(self) -> str:
        """The reason why a connection has ended before it was one of MQTT, in words."""
        if self.context is None:
            return "it does not answer as an MQTT broker does; if it wants TLS, give --tls"
        return "it does not answer as an MQTT broker does; if it wants a certificate, give --cert and --key"


class Status(NamedTuple):
    """A topic that says whether the command runs: retained, and ``offline`` by the broker if it dies (a last will)."""

    topic: str | None

    @classmethod
    def of(cls, arguments: argparse.Namespace, subscription: Any) -> Status:
        """The topic that the command line names; UsageError where it is none."""
        topic = arguments.status_topic
        if topic is not None and (not topic or set(topic) & set("+#") or subscription.subscribes_to(topic)):
            refuse_argument(f"--status-topic: must be one topic, and not among those of --topic, got {topic!r}")
        if topic is not None and topic in {arguments.publish, arguments.alert_topic}:
            refuse_argument(f"--status-topic: must be a topic of its own, got {topic!r}")
        return cls(topic)

    def set_will(self, client: Any) -> None:
        """Leave the last will with the broker, at the next connection."""
        if self.topic is not None:
            client.will_set(self.topic, "offline", qos=1, retain=True)

    def say(self, client: Any, text: str) -> None:
        """Publish ``online`` or ``offline``."""
        if self.topic is not None:
            client.publish(self.topic, text, qos=1, retain=True)


_UNKNOWN = {18, 19, 20, 21}  # OpenSSL's numbers: no chain of certificates leads to an authority that is trusted


def client_id(arguments: argparse.Namespace) -> str:
    """The name of the session, which no one can guess: who knows it can take the session over.

    With ``--state`` it lies in a file beside that, written before the first connection. So a command that is killed at
    any moment finds its session again (decision 89).
    """
    if arguments.client_id is not None:
        return str(arguments.client_id)
    if arguments.state is None:
        return _new_client_id()
    path = Path(f"{arguments.state}.client-id")
    try:
        known = path.read_text("ascii")
    except FileNotFoundError:
        known = ""
    except (OSError, ValueError) as error:
        msg = f"cannot read {path}: {getattr(error, 'strerror', None) or error}"
        raise UsageError(msg) from None
    if known:
        if not _CLIENT_ID.fullmatch(known):
            msg = f"{path} holds no client id; remove it, and the broker's session begins anew"
            raise UsageError(msg)
        return known.rstrip("\n")
    new = _new_client_id()
    disk.write_file(path, f"{new}\n".encode(), private=True)
    return new


def _new_client_id() -> str:
    return f"mapdpm-{secrets.token_hex(8)}"  # 23 characters, which every broker takes


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _context(arguments: argparse.Namespace) -> ssl.SSLContext:
    """TLS 1.2 or newer; the certificate of the broker, and its name, are always checked."""
    _check_readable("--ca-file", arguments.ca_file)
    try:
        context = ssl.create_default_context(cafile=arguments.ca_file)
    except ssl.SSLError:
        refuse_argument(f"--ca-file: {arguments.ca_file} holds no certificate in PEM")
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.sslsocket_class = _Socket
    if arguments.cert is not None:
        for name in ("cert", "key"):
            _check_readable(f"--{name}", getattr(arguments, name))
        try:
            context.load_cert_chain(arguments.cert, arguments.key, _no_pass_phrase)
        except (ssl.SSLError, ValueError) as error:
            key = arguments.key or arguments.cert
            reason = "the key has a pass phrase" if isinstance(error, _PassPhraseError) else error
            refuse_argument(f"--cert: {arguments.cert} and the key in {key} are no pair in PEM ({reason})")
    return context


class _Socket(ssl.SSLSocket):
    """A socket that does not wait long for a handshake, and is closed if that fails; paho leaves it open."""

    def do_handshake(self, block: bool = False) -> None:
        """Agree on keys, within some seconds."""
        self.settimeout(_PATIENCE)
        try:
            super().do_handshake(block)
        except BaseException:
            self.close()
            raise


class _PassPhraseError(ValueError):
    """A key has a pass phrase: nobody is there to type it."""


def _no_pass_phrase() -> str:
    raise _PassPhraseError


def _check_readable(option: str, path: Path | None) -> None:
    if path is None:
        return
    try:
        path.open("rb").close()
    except OSError as error:
        refuse_argument(f"{option}: cannot read {path}: {error.strerror}")


def _password(arguments: argparse.Namespace) -> str | None:
    """The first line of the password file, else the environment variable, else None."""
    path: Path | None = arguments.password_file
    if path is None:
        return os.environ.get(PASSWORD)
    try:
        with path.open(encoding="utf-8") as file:
            password = file.readline(1 << 16).rstrip("\r\n")
            shared = os.name == "posix" and os.fstat(file.fileno()).st_mode & _OTHERS
    except (OSError, ValueError) as error:
        refuse_argument(f"--password-file: cannot read {path}: {getattr(error, 'strerror', None) or 'it is no text'}")
    if not password:
        refuse_argument(f"--password-file: the first line of {path} is empty")
    if shared:
        _warn(arguments, f"other users may read {path}: chmod 600 {path}")
    return password


def _never_dump() -> None:
    """Let a crash of this process write no core file, which would hold the password.

    Where Linux gives cores to a program, the limit does not count, and whether the process may be dumped does. Other
    processes of the user cannot read the memory and the environment of one that may not.
    """
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _warn(arguments: argparse.Namespace, text: str) -> None:
    if not arguments.quiet:
        report(f"warning: {text}")


def paho() -> Any:
    """The client of paho-mqtt; ImportError where it is not installed, or too old."""
    try:
        from paho.mqtt import client  # noqa: PLC0415  (an extra)
    except ImportError:
        client = None
    if not hasattr(client, "CallbackAPIVersion"):
        msg = "--mqtt needs paho-mqtt 2.0 or newer: pip install 'mapdpm[mqtt]'"
        raise ImportError(msg)
    return client
