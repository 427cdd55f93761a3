"""The points of a chain under a family, and what is given besides: groups, sequences or times."""

from __future__ import annotations

from typing import Any, NamedTuple

from mapdpm.protocol import Likelihood


class Given(NamedTuple):
    """Facts about each point besides its features; None for an unknown one."""

    groups: Any = None
    """The group of each point: labels, or the tree that a sampler has made of them."""
    sequences: Any = None
    """The sequence of each point; points of one sequence are in order."""
    times: Any = None
    """The time of each point."""


class ChainData(NamedTuple):
    """The points of a chain: ``data`` in the form that the verbs of ``likelihood`` read, and what is ``given``."""

    likelihood: Likelihood
    data: Any
    given: Given = Given()
