"""Topics of MQTT with names in braces: what stands there is the group of a message, as in ``zigbee2mqtt/{device}``."""

from __future__ import annotations

import re
from typing import NamedTuple

from mapdpm.cli.usage import refuse_argument

OF_TOPIC = "{topic}"
"""The setting of groups that topics name; no column is called so."""
_NAMED = re.compile(r"\{\w+\}")


class Topic(NamedTuple):
    """A topic to subscribe to, and the levels of a message's topic that are its group."""

    filter: str
    levels: tuple[int, ...] = ()

    @classmethod
    def of(cls, text: str) -> Topic:
        """The topic of ``--topic``; UsageError where braces are not a whole level.

        Examples
        --------
        >>> Topic.of("zigbee2mqtt/{device}"), Topic.of("home/{room}/{device}/state").group("home/attic/lamp/state")
        (Topic(filter='zigbee2mqtt/+', levels=(1,)), 'attic/lamp')
        """
        levels = text.split("/")
        named = tuple(place for place, level in enumerate(levels) if _NAMED.fullmatch(level))
        if any(mark in level for place, level in enumerate(levels) if place not in named for mark in "{}"):
            refuse_argument(f"--topic: a name in braces is a whole level, as in zigbee2mqtt/{{device}}, got {text!r}")
        return cls("/".join("+" if place in named else level for place, level in enumerate(levels)), named)

    def group(self, topic: str) -> str | None:
        """The group of a message to ``topic``; None where no level names it."""
        levels = topic.split("/")
        return "/".join(levels[place] for place in self.levels) if self.levels else None
