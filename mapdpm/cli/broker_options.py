"""Options of ``mapdpm stream``: its alarms, and its broker."""

from __future__ import annotations

import argparse
from pathlib import Path

from mapdpm.cli import values


def alarm_options(alarm: argparse._ArgumentGroup) -> None:
    """Add the options of alarms."""
    text = "alert where a point is so surprising: a probability on normal data, such as 1e-5"
    alarm.add_argument("--alarm", type=values.probability, metavar="LEVEL", help=text)
    text = "points, or seconds with --time, without such a point that end an episode, which has one alert (100 points)"
    alarm.add_argument("--alarm-hold", type=values.not_negative, metavar="N", help=text)
    text = "such points in a row that make an alert (1)"
    alarm.add_argument("--alarm-debounce", type=values.count, metavar="N", help=text)
    text = "combine the surprises of about so many points, for anomalies that last, as behind --features 'Series()' (1)"
    alarm.add_argument("--alarm-smooth", type=values.count, metavar="N", help=text)
    text = "readings after which stuck columns and silence alert, too: a day and a night of them; 0: never (1440)"
    alarm.add_argument("--alarm-stuck", type=values.readings, metavar="N", help=text)
    text = "append alerts to this file, JSON lines; - is stdout, if results go elsewhere (stderr)"
    alarm.add_argument("--alerts", type=Path, metavar="FILE", help=text)
    text = "exit code 3 at the end if there was an alert in this run"
    alarm.add_argument("--alarm-exit", action="store_true", help=text)


def broker_options(broker: argparse._ArgumentGroup) -> None:
    """Add the options of MQTT."""
    text = "points come from this broker; also a URL, mqtt:// or mqtts:// (TLS)"
    broker.add_argument("--mqtt", type=values.address, metavar="[USER@]HOST[:PORT]", help=text)
    text = "topic of the points; a level in braces names their groups, as zigbee2mqtt/{device}"
    broker.add_argument("--topic", help=text)
    broker.add_argument("--publish", metavar="TOPIC", help="topic of the results, instead of --output")
    text = "0: a message may be lost; 1: each is counted once (1)"
    broker.add_argument("--qos", type=int, choices=(0, 1), help=text)
    text = "topic of the alerts, instead of --alerts (that of --publish, and /alerts)"
    broker.add_argument("--alert-topic", metavar="TOPIC", help=text)
    text = "0: an alert may be lost; 1: it comes at least once (1)"
    broker.add_argument("--alert-qos", type=int, choices=(0, 1), help=text)
    text = "topic that says online or offline, retained; the broker says offline if this command dies (none)"
    broker.add_argument("--status-topic", metavar="TOPIC", help=text)
    text = "name under which the broker keeps messages (a secret one, kept beside --state)"
    broker.add_argument("--client-id", metavar="ID", help=text)
    text = "encrypt the connection, and check the certificate and the name of the broker"
    broker.add_argument("--tls", action="store_const", const=True, help=text)
    text = "certificates of the authorities to trust, in PEM (those of the system)"
    broker.add_argument("--ca-file", type=Path, metavar="FILE", help=text)
    text = "certificate of this client, in PEM, for a broker that asks for one"
    broker.add_argument("--cert", type=Path, metavar="FILE", help=text)
    broker.add_argument("--key", type=Path, metavar="FILE", help="its private key, in PEM (in the file of --cert)")
    broker.add_argument("--user", metavar="NAME", help="name to log in with")
    text = f"file with the password in its first line (the variable {values.PASSWORD})"
    broker.add_argument("--password-file", type=Path, metavar="FILE", help=text)
