"""``mapdpm stream --mqtt``: addresses, TLS and logins, against a real broker; and the name of the session."""

import argparse
import contextlib
import os
import shutil
import ssl
import stat
import subprocess
import time
import types

import pytest

from brokers import CONNACK, CONNECT, SUBACK, SUBSCRIBE, FakeBroker, published
from mapdpm import cli
from mapdpm.cli import mqtt
from mapdpm.cli.broker import client_id
from mapdpm.cli.values import PASSWORD, Address, address
from tests.cli.test_mqtt import Broker, needs_broker

client = pytest.importorskip("paho.mqtt.client", reason="no paho-mqtt: pip install 'mapdpm[mqtt]'")
OPENSSL, PASSWD = shutil.which("openssl"), shutil.which("mosquitto_passwd")
MANY = 100  # points; TLS decrypts several messages at once
needs_openssl = pytest.mark.skipif(OPENSSL is None, reason="no openssl (apt-get install openssl)")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(PASSWORD, raising=False)


# ---- addresses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("localhost", ("localhost", None, None, False)),
        ("localhost:1884", ("localhost", 1884, None, False)),
        ("ada@broker.example", ("broker.example", None, "ada", False)),
        ("::1", ("::1", None, None, False)),
        ("[::1]", ("::1", None, None, False)),
        ("ada@[fe80::1%eth0]:99", ("fe80::1%eth0", 99, "ada", False)),
        ("mqtt://host", ("host", None, None, False)),
        ("MQTTS://ada%20l@host:8884/", ("host", 8884, "ada l", True)),
        ("a@b@host", ("host", None, "a@b", False)),
    ],
)
def test_addresses(text, wanted):
    assert address(text) == Address(*wanted)


@pytest.mark.parametrize(
    "text",
    ["", ":1883", "@host", "host:", "host:0", "host:65536", "host:1e3", "host:²", "http://host", "mqtt://", "a:1:2",
     "[::1", "::1]", "[host]:1", "ho st", "host/topic", "mqtt://host/topic", "mqtt://host?x", "mqtt://a://b"],
)  # fmt: skip
def test_wrong_addresses(text):
    with pytest.raises(argparse.ArgumentTypeError, match="must be"):
        address(text)


@pytest.mark.parametrize("text", ["mqtts://ada:secret@host", "ada:secret@host", "ada:secret@", "x://ada:secret@host:0"])
def test_a_password_in_an_address_is_refused_and_not_printed(capsys, text):
    assert cli.main(["stream", "--mqtt", text, "--topic", "in"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("mapdpm: error: argument --mqtt: must hold no password")
    assert "--password-file" in said
    assert "secret" not in said


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ("--mqtt a --ca-file x", "argument --ca-file: needs --tls"),
        ("--mqtt a --cert x --key y", "argument --cert: needs --tls"),
        ("--mqtt mqtts://a --key y", "argument --key: needs --cert"),
        ("--mqtt a --password-file x", "argument --password-file: needs --user"),
        ("--mqtt ada@a --user bob", "argument --user: --mqtt names another one, ada"),
        ("--mqtt ada@a --password-file none", "argument --password-file: cannot read none: No such file"),
        ("--mqtt ada@a --password-file empty", "argument --password-file: the first line of empty is empty"),
        ("--mqtt ada@a --password-file /dev", "argument --password-file: cannot read /dev: Is a directory"),
        ("--mqtt a --tls --ca-file none", "argument --ca-file: cannot read none: No such file"),
        ("--mqtt a --tls --ca-file empty", "argument --ca-file: empty holds no certificate"),
        ("--mqtt a --tls --cert none", "argument --cert: cannot read none: No such file"),
        ("--mqtt a --tls --cert empty --key empty", "argument --cert: empty and the key in empty are no pair"),
        ("--tls", "argument --tls: needs --mqtt"),
        ("--user ada", "argument --user: needs --mqtt"),
    ],
)
def test_options_that_do_not_go_together(capsys, tmp_path, argv, says):
    (tmp_path / "empty").write_text("\n")
    topic = ["--topic", "in"] if "--mqtt" in argv else []
    assert cli.main(["stream", *argv.split(), *topic]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"mapdpm: error: {says}")


def test_ipv6(capsys):
    with contextlib.suppress(OSError), FakeBroker(lambda c: c.accept(published(1, b"1,2")) and None, "::1") as broker:
        argv = ["stream", "--mqtt", f"mqtt://[::1]:{broker.port}", "--topic", "in", "--count", "1"]
        assert cli.main(argv) == 0
        captured = capsys.readouterr()
        assert captured.err.startswith(f"mapdpm: listening to topic in at [::1]:{broker.port}\n")
        return
    pytest.skip("this machine has no IPv6")


# ---- TLS and logins --------------------------------------------------------------------------------------------------


def openssl(*arguments):
    subprocess.run([OPENSSL, *map(str, arguments)], check=True, capture_output=True)


@pytest.fixture(scope="session")
def keys(tmp_path_factory):
    """Certificates: of an authority, a broker at 127.0.0.1, one elsewhere, one of the past, a client; and passwords."""
    at = tmp_path_factory.mktemp("keys")
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-sha256")
    for name in ("ca", "stranger"):
        files = ("-keyout", at / f"{name}.key", "-out", at / f"{name}.pem")
        openssl("req", "-x509", *curve, *files, "-days", 2, "-subj", f"/CN=the {name}")
    (at / "database").write_text("")
    (at / "serial").write_text("01\n")
    (at / "openssl.cnf").write_text(
        f"[ca]\ndefault_ca=here\n[here]\ndatabase={at}/database\nserial={at}/serial\nnew_certs_dir={at}\n"
        "default_md=sha256\npolicy=any\ncopy_extensions=copy\nunique_subject=no\n[any]\ncommonName=supplied\n"
    )
    names = {"here": "IP:127.0.0.1", "elsewhere": "DNS:broker.example", "past": "IP:127.0.0.1", "device": "DNS:device"}
    for name, other in names.items():
        request = ("-keyout", at / f"{name}.key", "-out", at / f"{name}.csr", "-subj", f"/CN={name}")
        openssl("req", "-new", *curve, *request, "-addext", f"subjectAltName={other}")
        dates = ("200101000000Z", "200102000000Z") if name == "past" else ("200101000000Z", "491231000000Z")
        signed = ("-in", at / f"{name}.csr", "-out", at / f"{name}.pem", "-startdate", dates[0], "-enddate", dates[1])
        signer = ("-config", at / "openssl.cnf", "-cert", at / "ca.pem", "-keyfile", at / "ca.key")
        openssl("ca", "-batch", "-notext", *signer, *signed)
    openssl("pkey", "-in", at / "device.key", "-aes128", "-passout", "pass:locked", "-out", at / "locked.key")
    if PASSWD is not None:  # it comes with the broker
        subprocess.run([PASSWD, "-b", "-c", at / "users", "ada", "secret"], check=True, capture_output=True)
    for path in at.iterdir():
        path.chmod(0o644)  # the broker may run as another user
    at.chmod(0o755)
    return at


@pytest.fixture
def serve(tmp_path, keys):
    """A function that starts a broker with these settings."""
    with_files = []

    def start(settings):
        with_files.append(Broker(tmp_path, settings))
        return with_files[-1].port

    yield start
    for broker in with_files:
        broker.stop()


def tls(keys, name="here", more=""):
    return f"allow_anonymous true\ncertfile {keys}/{name}.pem\nkeyfile {keys}/{name}.key\ncafile {keys}/ca.pem\n{more}"


def streamed(port, capsys, *argv):
    """The exit code of ``mapdpm stream``, and what it says."""
    place = ("--mqtt", f"127.0.0.1:{port}", "--topic", "in", "--count", str(MANY))
    code = cli.main(["stream", *place, *map(str, argv)])
    return code, capsys.readouterr()


@pytest.fixture
def fed(monkeypatch):
    """A function that connects a peer, which publishes points as soon as the command listens."""
    peers = []

    def feed(port, keys=None, user=None, *, certificate=False):
        peer = client.Client(client.CallbackAPIVersion.VERSION2)
        peers.append(peer)
        if keys is not None:
            peer.tls_set(keys / "ca.pem", *((keys / "device.pem", keys / "device.key") if certificate else ()))
        if user is not None:
            peer.username_pw_set(*user)
        peer.connect("127.0.0.1", port)
        peer.loop_start()

        def publish(text):
            for _ in range(MANY if "listening" in text else 0):
                peer.publish("in", "1,2", qos=1)

        monkeypatch.setattr(mqtt, "report", publish)

    yield feed
    for peer in peers:
        peer.disconnect()
        peer.loop_stop()


@needs_broker
@needs_openssl
@pytest.mark.parametrize("how", ["tls", "url", "certificate"])
def test_points_over_tls(serve, keys, capsys, fed, how):
    asks = "require_certificate true\n" if how == "certificate" else ""
    port = serve(tls(keys, more=asks))
    fed(port, keys, certificate=bool(asks))
    pair = ("--cert", keys / "device.pem", "--key", keys / "device.key") if asks else ()
    place = ["--mqtt", f"mqtts://127.0.0.1:{port}"] if how == "url" else ["--tls"]
    code, captured = streamed(port, capsys, *place, "--ca-file", keys / "ca.pem", *pair)
    assert (code, captured.out.count("\n")) == (0, MANY), captured.err


@needs_openssl
def test_messages_in_one_record_of_tls_do_not_wait_for_more(keys, capsys):
    """They are decrypted together, and then nothing is left to read from the network."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(keys / "here.pem", keys / "here.key")
    points = [published(mid, b"1,2", qos=0) for mid in range(MANY)]
    with FakeBroker(lambda connection: connection.accept(*points) and None, context=context) as broker:
        begin = time.monotonic()
        assert streamed(broker.port, capsys, "--tls", "--ca-file", keys / "ca.pem")[0] == 0
        assert time.monotonic() - begin < 0.2 * MANY  # a second each, where they wait


@needs_broker
@needs_openssl
@pytest.mark.parametrize(
    ("name", "more", "argv", "says"),
    [
        ("here", "", [], "; --ca-file names the certificate of its authority"),
        ("here", "", ["--ca-file", "stranger.pem"], "its certificate is refused: "),
        ("elsewhere", "", ["--ca-file", "ca.pem"], "its certificate is refused: IP address mismatch"),
        ("past", "", ["--ca-file", "ca.pem"], "its certificate is refused: certificate has expired"),
        ("here", "require_certificate true\n", ["--ca-file", "ca.pem"], "give --cert and --key"),
    ],
)
def test_tls_that_fails(serve, keys, capsys, name, more, argv, says):
    port = serve(tls(keys, name, more))
    code, captured = streamed(port, capsys, "--tls", *(keys / a if a.endswith(".pem") else a for a in argv))
    assert code == 1
    assert captured.err.count("\n") == 1
    assert captured.err.startswith(f"mapdpm: error: cannot connect to 127.0.0.1:{port}: ")
    assert says in captured.err


@needs_broker
@needs_openssl
def test_tls_on_one_side_only(serve, keys, capsys):
    port = serve(tls(keys))
    assert "if it wants TLS, give --tls" in streamed(port, capsys)[1].err
    port = serve("allow_anonymous true")
    assert "TLS" in streamed(port, capsys, "--tls")[1].err


@needs_openssl
@pytest.mark.parametrize(("key", "reason"), [("here.key", "key values mismatch"), ("locked.key", "has a pass phrase")])
def test_a_key_of_another_certificate(keys, capsys, key, reason):
    code, captured = streamed(1, capsys, "--tls", "--cert", keys / "device.pem", "--key", keys / key)
    assert code == 2
    assert reason in captured.err


@needs_broker
@needs_openssl
@pytest.mark.parametrize("how", ["file", "environment", "url"])
def test_a_login(serve, keys, capsys, fed, monkeypatch, tmp_path, how):
    port = serve(f"allow_anonymous false\npassword_file {keys}/users")
    fed(port, user=("ada", "secret"))
    (tmp_path / "password").write_text("secret\nof Ada\n")
    (tmp_path / "password").chmod(0o600)
    if how == "file":
        monkeypatch.setenv(PASSWORD, "another")
        argv = ["--user", "ada", "--password-file", tmp_path / "password"]
    else:
        monkeypatch.setenv(PASSWORD, "secret")
        argv = ["--user", "ada"] if how == "environment" else ["--mqtt", f"mqtt://ada@127.0.0.1:{port}"]
    code, captured = streamed(port, capsys, *argv)
    assert (code, captured.out.count("\n")) == (0, MANY), captured.err


@needs_broker
@needs_openssl
@pytest.mark.parametrize("password", [None, "wrong"])
def test_a_wrong_login_is_refused_at_once(serve, keys, capsys, monkeypatch, password):
    port = serve(f"allow_anonymous false\npassword_file {keys}/users")
    if password:
        monkeypatch.setenv(PASSWORD, password)
    code, captured = streamed(port, capsys, "--user", "ada")
    assert code == 1
    assert captured.err == f"mapdpm: error: 127.0.0.1:{port} refuses the connection: Not authorized\n"


@pytest.mark.skipif(os.name != "posix", reason="modes of files are those of POSIX")
def test_a_password_that_others_may_read(capsys, tmp_path):
    (tmp_path / "password").write_text("secret\n")
    (tmp_path / "password").chmod(0o640)
    streamed(1, capsys, "--quiet", "--user", "ada", "--password-file", "password")
    _, captured = streamed(1, capsys, "--user", "ada", "--password-file", "password")
    assert captured.err.startswith("mapdpm: warning: other users may read password: chmod 600 password\n")


def test_a_password_without_encryption(capsys, monkeypatch):
    """To another machine; the loopback device needs none."""
    monkeypatch.setenv(PASSWORD, "secret")
    argv = ["stream", "--mqtt", "ada@broker.invalid", "--topic", "in"]
    assert cli.main(argv) == 1
    assert "without encryption; use --tls" in capsys.readouterr().err
    assert "encryption" not in streamed(1, capsys, "--user", "ada")[1].err


# ---- the name of the session -----------------------------------------------------------------------------------------


def named(**options):
    return client_id(types.SimpleNamespace(**{"client_id": None, "state": None} | options))


def test_names_cannot_be_guessed(tmp_path):
    state = tmp_path / "state.mdpm"
    first = named(state=state)
    assert len(first) == 23
    assert named(state=state) == first
    assert stat.S_IMODE((tmp_path / "state.mdpm.client-id").stat().st_mode) == 0o600
    assert len({first, named(state=tmp_path / "other"), named(), named()}) == 4
    assert named(client_id="mine", state=state) == "mine"


@pytest.mark.parametrize("text", ["mapdpm-0123", "x" * 100, "mapdpm-0123456789abcdef\n\n"])
def test_a_file_that_holds_no_name(capsys, tmp_path, text):
    (tmp_path / "state.client-id").write_text(text)
    code, captured = streamed(1, capsys, "--state", "state")
    assert code == 2
    assert "state.client-id holds no client id" in captured.err


def test_a_session_without_a_state_is_dropped_at_the_end(capsys):
    """A second connection of the same name, which asks for a clean session; with a state there is none."""
    connects = []

    def script(connection):
        while (found := connection.read()) is not None:
            if found[0] == CONNECT:
                connects.append(found[1])
                connection.send(CONNACK)
            elif found[0] == SUBSCRIBE:
                connection.send(SUBACK, *(published(mid, b"1,2") for mid in range(1, MANY + 1)))

    with FakeBroker(script) as broker:
        assert streamed(broker.port, capsys)[0] == 0
        assert [packet[7] & 2 for packet in connects] == [0, 2]  # the flag of a clean session
        assert connects[0][10:] == connects[1][10:]
        assert streamed(broker.port, capsys, "--state", "state")[0] == 0
    assert len(connects) == 3
