"""The memory of a learner in whole numbers: settings, slots of clusters, events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mapdpm.integers.arithmetic import log2, nats, ratio, scaled
from mapdpm.integers.clusters import POINT, Moments, Prior, Row, View

NONE = (1 << 32) - 1
"""No id."""
CREATED, SPLIT, MERGED, EVICTED, AGED = 1, 2, 3, 4, 5
LEAST_LOSS, MERGE, EVICT, REFUSE, ERROR = range(5)
NAT = 1 << 16
_TRIALS = 0x7FF


@dataclass
class Options:
    """The settings of a learner, as mapdpm_options of C."""

    prior: Prior
    centre: Sequence[int]
    alpha: int  # Q16
    max_clusters: int = 16
    half_life: int = 0  # in points
    when_full: int = LEAST_LOSS


@dataclass
class Slot:
    """A cluster; the cheapest merge that it has met has a partner and a loss."""

    id: int
    seen: int
    own: Moments
    halves: tuple[Moments, Moments]
    row: Row
    trials: int = 0
    partner: int = -1
    loss: int = 0

    @property
    def trial(self) -> int:
        """The number of the division into halves."""
        return self.trials >> 16 & _TRIALS


@dataclass
class Slots:
    """The state of a learner."""

    options: Options
    slots: list[Slot | None] = field(default_factory=list)
    events: list[tuple[int, int, int, int]] = field(default_factory=list)
    n_seen: int = 0
    next_id: int = 0
    turn: int = 0
    phase: int = 0  # of the half-life, in Q32
    weight: int = POINT  # of a point of now

    def __post_init__(self) -> None:
        self.prior = self.options.prior
        self.D = len(self.options.centre)
        self.slots = [None] * self.options.max_clusters
        self.log_alpha = nats(log2(self.options.alpha) - (16 << 24) >> 8)
        zero = [0] * self.D
        self.new = self.prior.row(View(0, zero, zero), 0)
        self.unusual = 4 * NAT + 2 * nats(log2(self.D) >> 8)

    # ---- what a slot holds -------------------------------------------------------------------------------------------

    def used(self) -> list[int]:
        """The slots that hold clusters."""
        return [k for k, slot in enumerate(self.slots) if slot]

    def slot(self, k: int) -> Slot:
        """The cluster in slot k."""
        found = self.slots[k]
        if found is None:
            msg = f"slot {k} is free"
            raise IndexError(msg)
        return found

    def _empty(self, keeps_rest: bool) -> Moments:
        return Moments(0, [0] * self.D, [0] * self.D, keeps_rest)

    def _view(self, moments: Moments) -> View:
        return self.prior.view(moments, self.weight)

    def _total(self) -> int:
        return sum(self.slot(k).own.weight for k in self.used())

    def _true(self, weight: int) -> int:
        """A weight in points of now."""
        return weight if self.weight == POINT else scaled(weight, ratio(POINT, self.weight))

    def _refresh(self, k: int) -> None:
        slot = self.slot(k)
        slot.row = self.prior.row(self._view(slot.own), slot.own.weight)

    def _clear_halves(self, k: int) -> None:
        self.slot(k).halves = self._empty(False), self._empty(False)

    def _record(self, kind: int, number: int, other: int) -> None:
        self.events = [*self.events, (kind, number, other, self.n_seen & NONE)][-2 * self.options.max_clusters :]

    def _open(self, k: int) -> Slot:
        made = Slot(self.next_id, self.n_seen, self._empty(True), (self._empty(False), self._empty(False)), self.new)
        self.slots[k] = made
        self.next_id += 1
        return made

    def _remove(self, k: int, kind: int) -> None:
        self._record(kind, self.slot(k).id, 0)
        self.slots[k] = None
