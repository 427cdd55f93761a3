"""Streams: the learner in fixed memory, a bank of learners over alpha, and the C library beneath them."""

from mapdpm.stream.alarm import Alarm, Alert, Episode
from mapdpm.stream.errors import StreamFullError
from mapdpm.stream.hdp import OnlineHDP
from mapdpm.stream.hdp_hmm import OnlineHDPHMM
from mapdpm.stream.online import OnlineMAPDPM
from mapdpm.stream.records import Assessment, Clusters, Event
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


def __dir__() -> list[str]:
    return sorted(__all__)
