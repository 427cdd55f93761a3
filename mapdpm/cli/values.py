"""The values of options, read from text; the error of a wrong one says what it must be."""

from __future__ import annotations

import argparse
import importlib
import ipaddress
import math
import re
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn
from urllib.parse import unquote

import numpy as np

from mapdpm.likelihoods._registry import family_named
from mapdpm.likelihoods._skipping import is_family
from mapdpm.names import AUTO, HDP_MOVES, MOVES

_LONGEST = 60  # of a wrong number in a message
_MOST_VALUES = 100_000  # of a grid: each is a fit
PASSWORD = "MAPDPM_MQTT_PASSWORD"  # noqa: S105  (the name of a variable)


def _refuse(text: str) -> NoReturn:
    """ArgumentTypeError, to which argparse adds the name of the option."""
    raise argparse.ArgumentTypeError(text)


def _is_large(text: str) -> bool:
    """Whether it is a positive number that no integer of 63 bits, or no float, can be."""
    try:
        return re.match(r"\+?[\d.]", text) is not None and float(text) >= float(2**63)
    except ValueError:
        return False


def _number(kind: type[Any], wanted: str, fine: Callable[[Any], bool], most: str = "") -> Callable[[str], Any]:
    """The reader of a number of this kind; ArgumentTypeError where it is not ``fine``. ``most`` names the largest."""

    def read(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not fine(value):
            got = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"
            _refuse(f"must be {most if most and _is_large(text) else wanted}, got {got}")
        return value

    return read


positive = _number(float, "a number > 0", lambda value: 0.0 < value < math.inf, "a number below 1.8e308")
not_negative = _number(float, "a number >= 0", lambda value: 0.0 <= value < math.inf, "a number below 1.8e308")
probability = _number(float, "a number > 0 and < 1", lambda value: 0.0 < value < 1.0)
discount = _number(float, "a number in [0, 1)", lambda value: 0.0 <= value < 1.0)
count = _number(int, "an integer >= 1", lambda value: 1 <= value < 2**63, f"an integer of at most {2**63 - 1}")
seed = _number(int, "an integer >= 0", lambda value: value >= 0, "an integer of at most 4300 digits")
readings = _number(int, "an integer from 0 to 1048576", lambda value: 0 <= value <= 2**20)


def grid(text: str) -> list[float]:
    """``0.1:30:10`` or ``0.5,1,2``."""
    first, colon, rest = text.partition(":")
    if not colon:
        return [positive(word) for word in text.split(",")]
    last, _, number = rest.partition(":")
    n = count(number)
    if n > _MOST_VALUES:
        _refuse(f"must have at most {_MOST_VALUES} values, got {text}")
    return np.geomspace(positive(first), positive(last), n).tolist()


def varied(text: str) -> tuple[str, list[float]]:
    """``b0=0.1:10:5`` or ``b0=0.5,1,2``."""
    name, equals, tried = text.partition("=")
    if not name or not equals:
        _refuse(f"must be NAME=GRID, as b0=0.1:10:5 or b0=0.5,1,2, got {text!r}")
    return name, grid(tried)


def moves(text: str) -> tuple[str, ...]:
    """``merge,split`` or ``none``; the model knows which of them it has."""
    names = () if text == "none" else tuple(text.split(","))
    known = dict.fromkeys((*MOVES, *HDP_MOVES))
    for name in names:
        if name not in known:
            _refuse(f"must be some of {','.join(known)}, or none, got {name!r}")
    return names


def merged_to(text: str) -> int | str:
    """``auto``, ``none``, or a number of groups."""
    if text in {AUTO, "none"}:
        return text
    try:
        return int(count(text))
    except argparse.ArgumentTypeError as error:
        _refuse(f"must be auto, none or {str(error).removeprefix('must be ')}")


def family(text: str) -> type[Any]:
    """A family by its name, or ``MODULE:CLASS`` of one from outside, which is imported, also from this folder."""
    module, colon, name = text.partition(":")
    if not colon:
        try:
            return family_named(text)
        except ValueError as error:
            _refuse(str(error))
    sys.path.insert(0, "")  # as python -m has it
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        _refuse(f"must be a family, or MODULE:CLASS of your own, got {text!r}: {error}")
    finally:
        sys.path.remove("")
    if not isinstance(found, type) or not is_family(found):
        _refuse(f"must name a family, a class with the verbs of docs/adding-a-likelihood.md, got {text!r}")
    return found


def steps(text: str) -> str | list[float]:
    """``auto``, or numbers >= 0, one or one a column."""
    try:
        found = [float(word) for word in text.split(",")] if text != AUTO else []
    except ValueError:
        found = [math.nan]
    if not all(0.0 <= step < math.inf for step in found):
        _refuse(f"must be auto, or numbers >= 0, one or one a column, got {text!r}")
    return found or AUTO


def assignment(text: str) -> tuple[str, float | list[float]]:
    """``b0=0.5``, or ``b0=0.5,2`` with one number a column."""
    name, equals, value = text.partition("=")
    try:
        numbers = [float(word) for word in value.split(",")]
    except ValueError:
        equals = ""
    if not name or not equals:
        _refuse(f"must be NAME=NUMBER, or NAME=NUMBER,NUMBER,... with one a column, got {text!r}")
    return name, numbers if len(numbers) > 1 else numbers[0]


class Address(NamedTuple):
    """The value of ``--mqtt``; the port is None where it is left out."""

    host: str
    port: int | None
    user: str | None
    tls: bool


def address(text: str) -> Address:
    """``HOST``, ``HOST:PORT``, ``USER@HOST``, ``[IPv6]:PORT``, or ``mqtt://`` or ``mqtts://`` before one of these.

    Examples
    --------
    >>> address("mqtts://ada@[::1]:8884")
    Address(host='::1', port=8884, user='ada', tls=True)
    """
    scheme, url, rest = text.rpartition("://")
    user, at, place = rest.removesuffix("/" if url else "").rpartition("@")
    if ":" in user:
        _refuse(f"must hold no password, which others could read; use --password-file or the variable {PASSWORD}")
    port: str | None
    if _is_ipv6(place):
        host, port = place, None
    else:
        host, colon, port = place.rpartition(":")
        if not colon or port.endswith("]"):
            host, port = place, None
        if host.startswith("[") and host.endswith("]") and _is_ipv6(host[1:-1]):
            host = host[1:-1]
        elif not re.fullmatch(r"[^\s:/?#@\[\]]+", host):
            host = ""
    fine = port is None or (port.isdecimal() and port.isascii() and 1 <= int(port) < 1 << 16)
    if not host or not fine or bool(at) != bool(user) or scheme.lower() not in {"", "mqtt", "mqtts"}:
        _refuse(f"must be [USER@]HOST[:PORT], or that after mqtt:// or mqtts:// (TLS), got {text}")
    name = unquote(user) if url else user
    return Address(host, None if port is None else int(port), name or None, scheme.lower() == "mqtts")


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def character(text: str) -> str:
    """One character, or its name."""
    mark = {"tab": "\t", "comma": ",", "semicolon": ";", "space": " "}.get(text, text)
    if not is_character(mark):
        _refuse(f"must be one character, or tab, got {text!r}")
    return mark


def is_character(mark: object) -> bool:
    """Whether ``mark`` can separate cells."""
    return isinstance(mark, str) and len(mark) == 1 and mark not in '\r\n"'
