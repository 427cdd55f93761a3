"""The arguments of ``mapdpm stream``: what goes together, and the learner that they describe."""

from __future__ import annotations

import argparse
from typing import Any

from mapdpm import NormalGamma
from mapdpm.cli.beginning import STDIN
from mapdpm.cli.checkpoint import ANOTHER, GROUPS, LEARNER, OTHERS, STATES, Saved, parameters_of
from mapdpm.cli.records import INFLUX
from mapdpm.cli.topics import OF_TOPIC, Topic
from mapdpm.cli.usage import UsageError, refuse, refuse_argument
from mapdpm.likelihoods._parameters import RESOLUTION
from mapdpm.likelihoods._registry import family_named
from mapdpm.names import AUTO
from mapdpm.stream import OnlineHDP, OnlineHDPHMM, OnlineMAPDPM
from mapdpm.stream.settings import on_command_line

_MQTT = (
    *("topic", "publish", "qos", "client_id", "tls", "user", "password_file"),
    *("alert_topic", "alert_qos", "status_topic"),
)
_NO_ALARM = ", whose learner knows no surprise; give each group a stream and a --state of its own, or watch the scores"
_TLS = ("ca_file", "cert", "key")


def check(arguments: argparse.Namespace) -> None:
    """UsageError for options that do not go together."""
    piped = arguments.data is None or str(arguments.data) == STDIN
    secured = arguments.tls or (arguments.mqtt and arguments.mqtt.tls)
    named = arguments.user is not None or (arguments.mqtt and arguments.mqtt.user is not None)
    wrongs = (
        (arguments.mqtt and arguments.data is not None, "--mqtt: points come from there or from a file, not both"),
        (arguments.mqtt and not arguments.topic, "--mqtt: needs --topic, where the points come"),
        (arguments.follow and (arguments.mqtt or piped), "--follow: needs a file; what else there is comes by itself"),
        (arguments.publish and arguments.output, "--publish: results go there or to --output, not both"),
        (arguments.output and arguments.output.suffix == ".gz", "--output: results are not compressed as they come"),
        *(
            (getattr(arguments, name) is not None and not arguments.mqtt, f"--{name.replace('_', '-')}: needs --mqtt")
            for name in (*_MQTT, *_TLS)
        ),
        *(
            (getattr(arguments, name) is not None and not secured, f"--{name.replace('_', '-')}: needs --tls")
            for name in _TLS
        ),
        (arguments.key and not arguments.cert, "--key: needs --cert, the certificate of this client"),
        (arguments.password_file and not named, "--password-file: needs --user"),
        (arguments.go_on and not arguments.state, "--continue: needs --state"),
        (arguments.restart and not arguments.state, "--restart: needs --state"),
        *(
            (getattr(arguments, name) is not None and not arguments.state, f"--{name.replace('_', '-')}: needs --state")
            for name in ("checkpoint_points", "checkpoint_seconds")
        ),
    )
    refuse(wrongs)
    arguments.checkpoint_points = arguments.checkpoint_points or 10_000
    arguments.checkpoint_seconds = arguments.checkpoint_seconds or 10.0


def given(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings that the command line gives."""
    given = {name: getattr(arguments, name) for name in (*LEARNER, *OTHERS)}
    if given["likelihood"] == AUTO:  # of a family, which state files name
        given["likelihood"] = OTHERS["likelihood"]
    if given["format"] == INFLUX:  # of the input: results are never
        given |= {"format": None, "input_format": given["input_format"] or INFLUX}
    if arguments.topic is not None and Topic.of(arguments.topic).levels:
        if arguments.groups is not None:
            refuse_argument("--groups: the topic names the group of each message; leave one of them out")
        given["groups"] = OF_TOPIC
    given["columns"] = None if arguments.columns is None else ",".join(arguments.columns)
    given["prior"] = dict(arguments.prior) or None
    if len(given["prior"] or {}) < len(arguments.prior):
        refuse_argument(f"--prior: each parameter at most once, got {', '.join(name for name, _ in arguments.prior)}")
    return {name: value for name, value in given.items() if value is not None}


def check_settings(arguments: argparse.Namespace, settings: dict[str, Any], saved: Saved | None) -> None:
    """UsageError for options of states, groups or times without them, and of a prior that is to be fitted."""
    states, groups = settings["states"], settings["groups"]
    fits = dict.fromkeys((*STATES, "pause"), states) | dict.fromkeys(GROUPS, groups)
    fits |= {name: states or groups for name in STATES if name in GROUPS}
    of_groups = saved is not None and isinstance(saved.model, OnlineHDP)
    needed = "needs --time, the column with the time of each point"
    wrongs = [
        (of_groups and not groups, f"--groups: {arguments.state} holds a learner of groups; name their column"),
        (groups and saved and not of_groups, f"--groups: the learner of {arguments.state} has none; {ANOTHER}"),
        *(
            (settings.get(name) is not None and not fit, f"--{name.replace('_', '-')}: needs {_needed(name)}")
            for name, fit in fits.items()
        ),
        *(
            (settings["time"] is None and settings[name] is not None, f"--{name.replace('_', '-')}: {needed}")
            for name in ("pause", "time_zone", "time_unit", "date_order", "largest_step")
        ),
        *(
            (groups and settings[name] is not None, f"--{name}: not with groups{hint}")
            for name, hint in (("states", ""), ("features", ""), ("alarm", _NO_ALARM))
        ),
        (
            arguments.likelihood == AUTO and settings["prior"] is not None,
            "--likelihood: auto is for a prior that the warm-up sets, without --prior; name the family",
        ),
    ]
    refuse(wrongs)


def _needed(name: str) -> str:
    return " or ".join(["--states"] * (name in (*STATES, "pause")) + ["--groups"] * (name in GROUPS))


def learner(settings: dict[str, Any]) -> OnlineMAPDPM | OnlineHDPHMM | OnlineHDP:
    """A new learner; ``settings`` has all its parameters afterwards."""
    make: Any = OnlineHDPHMM if settings["states"] else OnlineHDP if settings["groups"] else OnlineMAPDPM
    given = {own: settings[name] for name, (own, _) in on_command_line(make).items() if name in settings}
    try:
        model: OnlineMAPDPM | OnlineHDPHMM | OnlineHDP = make(likelihood=_likelihood(settings), **given)
    except ValueError as error:
        raise UsageError(str(error)) from None
    settings.update(parameters_of(model))
    return model


def _likelihood(settings: dict[str, Any]) -> Any:
    family, prior = family_named(settings["likelihood"]), settings["prior"]
    if prior is None and family is NormalGamma:
        return AUTO
    fields = [name for name in family._fields if name != RESOLUTION]
    if prior is None or set(prior) - {RESOLUTION} != set(fields):
        needed = ", ".join(fields)
        hint = "; or leave --prior out: then the warm-up sets it" if family is NormalGamma else ""
        got = ", ".join(prior) if prior else "none of them"
        msg = f"argument --prior: {settings['likelihood']} needs all of {needed} before there is data, got {got}{hint}"
        raise UsageError(msg)
    if "warmup" in settings:
        refuse_argument("--warmup: with --prior there is no warm-up; leave one of them out")
    try:
        return family(**prior)
    except ValueError as error:
        refuse_argument(f"--prior: {error}")
