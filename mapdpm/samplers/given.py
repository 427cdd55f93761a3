"""The conditions of a chain: the points under a family, and groups, sequences or times if they are given."""

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
