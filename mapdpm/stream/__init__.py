"""Streams: the learner in fixed memory, a bank of learners over alpha, and the C library beneath them.

Names are loaded when first used: the command line reads the table of settings, and loads no learner for that.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mapdpm.assessment import Assessment
    from mapdpm.stream.alarm import Alarm, Alert, Episode
    from mapdpm.stream.errors import StreamFullError
    from mapdpm.stream.hdp import OnlineHDP
    from mapdpm.stream.hdp_hmm import OnlineHDPHMM
    from mapdpm.stream.online import OnlineMAPDPM
    from mapdpm.stream.records import Clusters, Event
    from mapdpm.stream.selector import OnlineAlphaSelector

__all__ = [
    "Alarm",
    "Alert",
    "Assessment",
    "Clusters",
    "Episode",
    "Event",
    "OnlineAlphaSelector",
    "OnlineHDP",
    "OnlineHDPHMM",
    "OnlineMAPDPM",
    "StreamFullError",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        for home in (".errors", ".records", "mapdpm.assessment", ".alarm", ".online", ".hdp", ".hdp_hmm", ".selector"):
            module = importlib.import_module(home, "mapdpm.stream")
            if hasattr(module, name):
                return getattr(module, name)
    msg = f"module 'mapdpm.stream' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted(__all__)
