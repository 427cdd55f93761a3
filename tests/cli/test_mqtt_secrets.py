"""A password for ``mapdpm stream --mqtt`` is seen by the broker, and by nobody else on this machine."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from brokers import CONNACK, CONNECT, SUBACK, FakeBroker, published
from mapdpm.cli.values import PASSWORD
from repository import ROOT

pytest.importorskip("paho.mqtt.client", reason="no paho-mqtt: pip install 'mapdpm[mqtt]'")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
SECRET = "correct horse battery"  # noqa: S105  (of nobody)


class Session:
    """A broker that notes the login, sends points, and says when they have been taken."""

    def __init__(self):
        self.login, self.taken = b"", threading.Event()

    def __call__(self, connection):
        kind, self.login = connection.read()
        assert kind == CONNECT
        connection.send(CONNACK)
        connection.read()
        connection.send(SUBACK, *(published(i, b"1,2") for i in range(1, 4)))
        connection.read()
        self.taken.set()


def started(folder, port, how):
    """The command with a password from a file or the environment; it writes a state, and could write a core."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    environment.pop(PASSWORD, None)
    argv = ["--mqtt", f"ada@127.0.0.1:{port}", "--topic", "in", "--state", "s.mdpm", "--checkpoint-points", "3"]
    if how == "file":
        (folder / "password").write_text(SECRET + "\n")
        (folder / "password").chmod(0o600)
        argv += ["--password-file", "password"]
    else:
        environment[PASSWORD] = SECRET
    command = [sys.executable, "-m", "mapdpm", "stream", *argv]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.Popen(
        ["sh", "-c", 'ulimit -S -c $(ulimit -H -c); exec "$@"', "sh", *command], cwd=folder, env=environment, **pipes
    )


def limit_of_core(pid):
    (line,) = (line for line in Path(f"/proc/{pid}/limits").read_text().splitlines() if line.startswith("Max core"))
    return line.split()[4]


@pytest.mark.parametrize("how", ["file", "environment"])
def test_only_the_broker_sees_a_password(tmp_path, how):
    """In no list of processes, no file and no message; and a crash leaves no core."""
    session = Session()
    with FakeBroker(session) as broker:
        process = started(tmp_path, broker.port, how)
        try:
            assert session.taken.wait(60.0)
            listed = Path(f"/proc/{process.pid}/cmdline").read_bytes()
            assert limit_of_core(process.pid) == "0"
            os.kill(process.pid, signal.SIGABRT)  # not SIGQUIT, which programs in the background may ignore
            _, status = os.waitpid(process.pid, 0)
            said = process.stdout.read()
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
    assert SECRET.encode() in session.login
    assert os.WTERMSIG(status) == signal.SIGABRT
    assert not os.WCOREDUMP(status)
    assert SECRET.encode() not in listed + said
    written = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "password"]
    assert written
    assert all(SECRET.encode() not in path.read_bytes() for path in written)


def test_a_process_with_a_password_may_not_be_dumped():
    """Nor where cores go to a program, which no limit stops."""
    asked = "import ctypes; print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"  # PR_GET_DUMPABLE
    never = "from mapdpm.cli import broker; broker._never_dump(); "
    said = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
        for code in (asked, never + asked)
    ]
    assert said == [b"1\n", b"0\n"]
