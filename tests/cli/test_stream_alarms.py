"""``mapdpm stream --alarm``: alerts are those of Python, once each in a file, and at least once elsewhere."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from command_line import made, streamed, text_of
from mapdpm import Alarm, OnlineMAPDPM, cli
from mapdpm.files import container
from repository import ROOT
from tests.marks import complete_but

KILLED = """
import os, signal, sys
from mapdpm import OnlineMAPDPM
from mapdpm.cli import main

before = OnlineMAPDPM.learn_assessed


def killed(self, x, t=None):
    if self.n_seen == after:
        os.kill(os.getpid(), signal.SIGKILL)
    return before(self, x, t)


OnlineMAPDPM.learn_assessed = killed
for after in map(int, sys.argv.pop(1).split()):
    child = os.fork()
    if child == 0:
        sys.exit(main())
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Run a command once for each number in the first argument, killed after as many points; print the codes."""
PATIENCE = 60.0
ARGV = ["data.csv", "--warmup", 50, "--alarm", 1e-4, "--alarm-hold", 30]
FAR = {20: 7e3, 300: 1e3, 301: -2e3, 320: 4e3, 500: -5e3, 540: 9e3, 541: -8e3, 900: 3e4}
"""The places of points far from all others: 300 to 320 are an episode, 540 and 541 another one."""


def points():
    X = made(1000)
    for row, place in FAR.items():
        X[row] = place
    return X


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("height,width\n" + text_of(points()))
    return tmp_path


def expected(X=None, t=None, level=1e-4, hold=30, debounce=1, smooth=1, **parameters):
    """The alerts by the Python interface: those of the warm-up when it has ended."""
    model, alarm, found = OnlineMAPDPM(**{"warmup": 50} | parameters), Alarm(level, hold, debounce, smooth), []
    X = points() if X is None else X

    def take(i, assessment):
        when = None if t is None else t[i]
        alert = alarm.update(assessment.surprise, when)
        if alert:
            found.append(
                {
                    "point": i + 1,
                    "time": when,
                    "id": assessment.id,
                    "surprise": alert.surprise,
                    "novelty": assessment.novelty,
                    "score": assessment.log_density,
                    "values": dict(zip(["height", "width"], X[i].tolist(), strict=True)),
                    "contributions": dict(zip(["height", "width"], assessment.contributions.round(3), strict=True)),
                }
            )

    for i, x in enumerate(X.tolist()):
        assessment = model.learn_assessed(x, None if t is None else t[i])
        if i >= 50:
            take(i, assessment)
        elif i == 49:
            for j in range(50):
                take(j, model.assess_one(X[j]))
    return found


def alerts_of(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


# ---- what alerts -----------------------------------------------------------------------------------------------------


def test_alerts_go_to_stderr_and_results_stay_the_same(folder, capsys):
    streamed("data.csv", "--warmup", 50)
    plain = capsys.readouterr()
    streamed(*ARGV)
    captured = capsys.readouterr()
    assert captured.out == plain.out
    alerts = alerts_of(captured.err)
    assert alerts == expected()
    assert [alert["point"] for alert in alerts] == [21, 301, 501, 541, 901]
    assert captured.err.endswith("clusters, 5 alerts; data.csv up to line 1001\n")
    streamed(*ARGV, "--quiet")
    assert alerts_of(capsys.readouterr().err) == alerts


@pytest.mark.parametrize(
    ("more", "given"),
    [
        (["--alarm-debounce", 2], {"debounce": 2}),
        (["--alarm-hold", 0], {"hold": 0}),
        (["--alarm-smooth", 4], {"smooth": 4}),
    ],
)
def test_options_reach_the_alarm(folder, capsys, more, given):
    streamed(*ARGV, *more, "--quiet")
    assert alerts_of(capsys.readouterr().err) == expected(**given)


def test_hold_is_in_seconds_with_times(folder, capsys):
    X, t = points(), np.arange(1000) * 0.1
    rows = "".join(f"{when!r},{x!r},{y!r}\n" for when, (x, y) in zip(t.tolist(), X.tolist(), strict=True))
    Path("timed.csv").write_text("t,height,width\n" + rows)
    streamed("timed.csv", "--time", "t", *ARGV[1:], "--quiet")
    alerts = alerts_of(capsys.readouterr().err)
    assert alerts == expected(t=t.tolist())
    assert [alert["point"] for alert in alerts] == [21, 901]  # 301 comes 28 seconds after 21


def test_hold_is_in_points_where_it_is_not_given(folder, capsys):
    """At a reading in five minutes, 100 seconds would end an episode at each of them."""
    X = np.vstack([points()[:800], np.full((60, 2), 70.0)])
    rows = "".join(f"{300 * i},{x!r},{y!r}\n" for i, (x, y) in enumerate(X.tolist()))
    Path("slow.csv").write_text("t,height,width\n" + rows)
    streamed("slow.csv", "--time", "t", "--warmup", 50, "--alarm", 1e-4, "--alarm-stuck", 20, "--quiet")
    err = capsys.readouterr().err
    assert "warning" not in err  # the warm-up is looked at by the names of its columns
    found = alerts_of(err)
    late = [alert for alert in found if alert["point"] > 800]
    assert [alert["point"] for alert in late if "alert" not in alert] == [801]
    assert len(late) <= 3, late  # and one for each column that is stuck


def test_values_without_names_and_missing_ones(folder, capsys):
    X = points()
    Path("plain.csv").write_text(text_of(X).replace(text_of(X[500:501]), f"{float(X[500, 0])!r},\n"))
    streamed("plain.csv", *ARGV[1:], "--missing", "skip", "--quiet")
    found = {alert["point"]: alert["values"] for alert in alerts_of(capsys.readouterr().err)}
    assert found[301] == [1e3, 1e3]
    assert found[501] == [-5e3, None]


# ---- files, and what a crash does ------------------------------------------------------------------------------------


def test_a_file_has_each_alert_once_whenever_it_is_killed(folder):
    argv = [
        *ARGV,
        "--alerts",
        "alerts.jsonl",
        "--output",
        "out.jsonl",
        "--state",
        "state.mdpm",
        "--checkpoint-points",
        110,
    ]
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    after = "305 335 542 905"  # in an episode, and after the last checkpoint
    command = [sys.executable, "-c", KILLED, after, "stream", *map(str, argv)]
    environment = os.environ | {"PYTHONPATH": paths}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == [str(-signal.SIGKILL)] * 4, done.stderr
    with Path("alerts.jsonl").open("a") as file:
        file.write("what came after the last checkpoint\n")
    streamed(*argv, "--quiet")
    assert alerts_of(Path("alerts.jsonl").read_text()) == expected()
    assert len(Path("alerts.jsonl").read_text().splitlines()) == 5


def test_an_episode_goes_on_after_a_stop(folder, capsys):
    """Stopped between 301 and 302: without the alarm's state the second would alert again."""
    argv = [*ARGV, "--state", "state.mdpm", "--output", "out.jsonl", "--quiet"]
    streamed(*argv, "--count", 301)
    assert [alert["point"] for alert in alerts_of(capsys.readouterr().err)] == [21, 301]
    streamed(
        "data.csv", "--state", "state.mdpm", "--output", "out.jsonl", "--quiet", "--count", 500
    )  # options are kept
    assert [alert["point"] for alert in alerts_of(capsys.readouterr().err)] == [501, 541]
    streamed("data.csv", "--state", "state.mdpm", "--output", "out.jsonl", "--quiet", "--alarm-debounce", 2)
    assert alerts_of(capsys.readouterr().err) == []  # another alarm, which begins anew: 901 is alone


def test_surprises_are_combined_also_after_a_stop(folder, capsys):
    begun = [*ARGV, "--alarm-smooth", 4, "--state", "state.mdpm", "--output", "out.jsonl", "--quiet"]
    streamed(*begun, "--count", 541)
    found = alerts_of(capsys.readouterr().err)
    streamed("data.csv", "--state", "state.mdpm", "--output", "out.jsonl", "--quiet")  # options are kept
    found += alerts_of(capsys.readouterr().err)
    assert found == expected(smooth=4) != expected()


def test_a_warm_up_is_looked_at_when_it_ends_also_after_a_stop(folder, capsys):
    argv = [*ARGV, "--state", "state.mdpm", "--output", "out.jsonl", "--quiet"]
    streamed(*argv, "--count", 30)
    streamed(*argv, "--count", 19)
    assert alerts_of(capsys.readouterr().err) == []
    streamed(*argv, "--count", 1)
    assert alerts_of(capsys.readouterr().err) == expected()[:1]
    streamed(*argv)
    assert alerts_of(capsys.readouterr().err) == expected()[1:]


def test_an_alarm_for_a_stream_that_had_none(folder, capsys):
    argv = ["data.csv", "--state", "state.mdpm", "--output", "out.jsonl", "--quiet"]
    streamed(*argv, "--warmup", 50, "--count", 400)
    assert "alarm" not in container.check_stream(Path("state.mdpm").read_bytes())[1]["stream"]
    streamed(*argv, "--alarm", 1e-4, "--alarm-hold", 30)
    assert [alert["point"] for alert in alerts_of(capsys.readouterr().err)] == [101, 141, 501]  # counted from then on


@pytest.mark.parametrize(
    "alarm",
    [{}, 3, {"state": {}}, {"state": {}, "output": {}}, {"state": 1, "output": {"path": "stderr"}}],
    ids=str,
)
def test_a_damaged_alarm(folder, capsys, alarm):
    streamed(*ARGV, "--state", "state.mdpm", "--output", "out.jsonl", "--count", 300)
    capsys.readouterr()
    data = Path("state.mdpm").read_bytes()
    held = container.check_stream(data)[1]["stream"] | {"alarm": alarm}
    Path("state.mdpm").write_bytes(container.with_extras(data, {"stream": held}))
    streamed("data.csv", "--state", "state.mdpm", "--output", "out.jsonl", code=1)
    said = capsys.readouterr().err
    assert said.startswith("mapdpm: error: state.mdpm: the model file is damaged: ")
    assert said.count("\n") == 1


def test_alerts_on_standard_output(folder, capsys):
    streamed(*ARGV, "--output", "out.jsonl", "--alerts", "-", "--quiet")
    assert alerts_of(capsys.readouterr().out) == expected()


def test_exit_codes(folder, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["stream", *map(str, ARGV), "--alarm-exit"])
    assert stop.value.code == 3
    Path("quiet.csv").write_text(text_of(points()[30:250]))
    streamed("quiet.csv", "--warmup", 50, "--alarm", 1e-7, "--alarm-exit")
    capsys.readouterr()


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ("--alarm 0", "argument --alarm: must be a number > 0 and < 1, got 0"),
        ("--alarm-hold 3", "argument --alarm-hold: needs --alarm"),
        ("--alerts a.jsonl", "argument --alerts: needs --alarm"),
        ("--alarm-exit", "argument --alarm-exit: needs --alarm"),
        ("--alarm 0.1 --alerts -", "argument --alerts: results go to standard output; send them to --output"),
        ("--alarm 0.1 --alerts o --output o", "argument --alerts: name another file than --output"),
        ("--alarm 0.1 --alerts a.gz", "argument --alerts: alerts are not compressed as they come"),
        ("--alarm 0.1 --states", "argument --alarm: not with --states"),
        ("--alarm 0.1 --alert-topic a", "argument --alert-topic: needs --mqtt"),
        ("--status-topic a", "argument --status-topic: needs --mqtt"),
        ("--mqtt h --topic a --alert-topic b", "argument --alert-topic: needs --alarm"),
        ("--mqtt h --topic a --alarm 0.1 --alert-qos 0", "argument --alert-qos: needs --alert-topic"),
        ("--mqtt h --topic a --alarm 0.1 --alert-topic b --alerts c", "argument --alert-topic: alerts go there or to"),
        ("--mqtt h --topic a/# --alarm 0.1 --alert-topic a/b", "argument --alert-topic: must be one topic, and not"),
        ("--mqtt h --topic a --alarm 0.1 --publish b --alert-topic b", "argument --alert-topic: must be another topic"),
        ("--mqtt h --topic a --status-topic a", "argument --status-topic: must be one topic, and not among"),
        ("--mqtt h --topic a --publish b --status-topic b", "argument --status-topic: must be a topic of its own"),
    ],
)
def test_options_that_do_not_go_together(folder, capsys, argv, says):
    if "--mqtt" in argv:
        pytest.importorskip("paho.mqtt.client", reason="no paho-mqtt: pip install 'mapdpm[mqtt]'")
    data = [] if "--mqtt" in argv else ["data.csv"]
    assert cli.main(["stream", *data, *argv.split()]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"mapdpm: error: {says}")
    assert said.count("\n") == 1


def test_help_says_what_alarms_do(capsys):
    with pytest.raises(SystemExit):
        cli.main(["stream", "--help"]) or sys.exit(0)
    assert "--alarm LEVEL" in capsys.readouterr().out


# ---- a broker --------------------------------------------------------------------------------------------------------


class Listener:
    """Hears all topics, with QoS and the mark of retained messages."""

    def __init__(self, port):
        client = pytest.importorskip("paho.mqtt.client")
        self.heard, self._news, subscribed = [], threading.Condition(), threading.Event()
        self.client = client.Client(client.CallbackAPIVersion.VERSION2)
        self.client.on_message = self._on_message
        self.client.on_subscribe = lambda *_: subscribed.set()
        self.client.on_connect = lambda peer, *_: peer.subscribe("#", 2)
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()
        assert subscribed.wait(PATIENCE)

    def of(self, topic):
        return [message for message in self.heard if message.topic == topic]

    def wait_for(self, fine):
        with self._news:
            assert self._news.wait_for(fine, PATIENCE), self.heard

    def close(self):
        self.client.disconnect()
        self.client.loop_stop()

    def _on_message(self, _client, _data, message):
        with self._news:
            self.heard.append(message)
            self._news.notify_all()


@pytest.fixture
def broker(tmp_path, monkeypatch):
    from tests.cli.test_mqtt import MOSQUITTO, Broker

    if MOSQUITTO is None:
        pytest.skip("no broker to test with: apt-get install mosquitto")
    monkeypatch.chdir(tmp_path)
    server = Broker(tmp_path)
    yield server
    server.stop()


@pytest.mark.parametrize("qos", complete_but([1], [0, 1]))
def test_alerts_and_the_status_have_topics_of_their_own(broker, qos):
    X = points()[:600]
    listener = Listener(broker.port)
    argv = ["--publish", "out", "--state", "state.mdpm", "--warmup", 50, "--count", 600, "--status-topic", "state"]
    argv += ["--alarm", 1e-4, "--alarm-hold", 30, "--alert-qos", qos]
    program = ["-c", "import sys\nfrom mapdpm.cli import main\nsys.exit(main())"]
    with running(broker, *argv, program=program) as process:
        listener.wait_for(lambda: listener.of("state"))
        for x, y in X.tolist():
            listener.client.publish("in", f"{x!r},{y!r}", qos=1)
        said = process.communicate(timeout=PATIENCE)[1]
        assert process.returncode == 0, said
    listener.wait_for(lambda: len(listener.of("out")) == 600 and len(listener.of("out/alerts")) == 4)
    listener.wait_for(lambda: len(listener.of("state")) == 2)
    assert [json.loads(message.payload) for message in listener.of("out/alerts")] == [
        alert | {name: list(alert[name].values()) for name in ("values", "contributions")} for alert in expected(X)
    ]
    assert {message.qos for message in listener.of("out/alerts")} == {qos}
    assert [message.payload for message in listener.of("state")] == [b"online", b"offline"]
    late = Listener(broker.port)
    late.wait_for(lambda: late.of("state"))
    assert (late.of("state")[0].payload, late.of("state")[0].retain) == (b"offline", True)
    listener.close()
    late.close()


def test_the_broker_says_that_a_killed_command_is_offline(broker):
    listener = Listener(broker.port)
    argv = ["--publish", "out", "--alert-topic", "bells", "--alarm", 0.1, "--status-topic", "state"]
    with running(broker, *argv, program=["-c", "import sys\nfrom mapdpm.cli import main\nsys.exit(main())"]) as process:
        listener.wait_for(lambda: listener.of("state"))
        process.kill()
        process.wait()
    listener.wait_for(lambda: len(listener.of("state")) == 2)
    assert [message.payload for message in listener.of("state")] == [b"online", b"offline"]
    listener.close()


def test_alerts_that_the_broker_may_lack_are_sent_again(broker):
    """The state keeps them; a run that takes no point sends them."""
    X = points()[:320]
    first = OnlineMAPDPM(warmup=50, n_features=2)
    first.learn_many(X)
    Path("data.csv").write_text(text_of(X))
    streamed("data.csv", *ARGV[1:], "--state", "state.mdpm", "--output", "out.jsonl", "--quiet")
    data = Path("state.mdpm").read_bytes()
    held = container.check_stream(data)[1]["stream"]
    held["alarm"]["output"] = {"path": "bells", "unsent": ['{"point": 301}']}
    Path("state.mdpm").write_bytes(container.with_extras(data, {"stream": held}))
    listener = Listener(broker.port)
    argv = ["--publish", "out", "--alert-topic", "bells", "--state", "state.mdpm", "--continue"]
    with running(broker, *argv, program=["-c", "import sys\nfrom mapdpm.cli import main\nsys.exit(main())"]) as process:
        listener.wait_for(lambda: listener.of("bells"))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
    assert [message.payload for message in listener.of("bells")] == [b'{"point": 301}']
    listener.close()


def running(broker, *argv, program):
    from tests.cli.test_mqtt import listening

    return listening(broker, *argv, program=program)


def test_a_learner_without_surprise_has_no_alarm(folder, capsys):
    OnlineMAPDPM(warmup=50, n_features=2, surprise=False).partial_fit(points()[:100]).save("old.mdpm")
    streamed("data.csv", "--alarm", 1e-4, "--state", "old.mdpm", code=2)
    assert "the learner of --state knows no surprise; name another file for --state" in capsys.readouterr().err
