"""The definition of the learner in whole numbers: the twin of c_kernels/integers, which has the same bits.

It takes the steps of OnlineMAPDPM: choose or open, divide a cluster between halves, split, merge, make room, forget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mapdpm.integers.arithmetic import exp_minus, log2, nats, power
from mapdpm.integers.changes import MOST, Changes
from mapdpm.integers.clusters import POINT, score
from mapdpm.integers.slots import AGED, CREATED, ERROR, NAT, NONE

FULL = -11
"""MAPDPM_E_FULL: there is no room."""
_LOOK_PERIOD = 4
_LARGEST_WEIGHT = 1 << 30  # of all points: 2^22 of them
_NEGLIGIBLE = 12 * NAT


@dataclass
class Choice:
    """The best cluster, the next best, whether a new one is better, the log density, and the weight of all clusters."""

    best: int
    second: int
    opens: bool
    density: int
    weight: int


class Learner(Changes):
    """A learner in plain whole numbers."""

    # ---- choose ------------------------------------------------------------------------------------------------------

    def _opening(self) -> int:
        """The term that a new cluster has beside its log density: log alpha, in the weight of now."""
        return self.log_alpha + (nats(log2(self.weight) - (8 << 24) >> 8) if self.weight != POINT else 0)

    def choose(self, point: Sequence[int]) -> Choice:
        """Score all clusters and a new one."""
        best = second = -1
        most = next_most = 0
        top = opening = score(self.new, point) + self._opening()
        total = 65536
        for k in self.used():
            found = score(self.slot(k).row, point, top - _NEGLIGIBLE)
            if best < 0 or found > most:
                best, second, most, next_most = k, best, found, most
            elif second < 0 or found > next_most:
                second, next_most = k, found
            share = exp_minus(abs(found - top)) if abs(found - top) < _NEGLIGIBLE else 0
            if found > top:
                top, total = found, ((total >> 8) * share >> 8) + 65536
            else:
                total += share
        opens = best < 0 or opening > most
        weight = self._total()
        density = top + nats(log2(total) - log2((weight << 8) + (self.options.alpha * self.weight >> 8)) >> 8)
        return Choice(best, second, opens, density, weight)

    # ---- forget ------------------------------------------------------------------------------------------------------

    def _pass_time(self) -> None:
        """A point gains weight while older ones do not; when it has doubled, all halve."""
        if self.options.half_life:
            self.phase += (1 << 32) // self.options.half_life
            if self.phase >> 32:
                self.phase &= NONE
                self._halve()
            self.weight = power(self.phase >> 16) >> 8

    def _halve(self) -> None:
        self.weight = POINT
        for k in self.used():
            slot = self.slot(k)
            for each in (slot.own, *slot.halves):
                each.halve()
            if 2 * slot.own.weight < POINT:
                self._remove(k, AGED)
            else:
                self._refresh(k)

    # ---- learn -------------------------------------------------------------------------------------------------------

    def _centred(self, x: Sequence[int]) -> list[int]:
        return [value - centre for value, centre in zip(x, self.options.centre, strict=True)]

    def predict(self, x: Sequence[int]) -> tuple[int, int]:
        """The id of the best cluster, and the log density in nats, Q16."""
        found = self.choose(self._centred(x))
        return (self.slot(found.best).id if found.best >= 0 else NONE), found.density

    def learn(self, x: Sequence[int]) -> tuple[int, int]:
        """Learn a point. Returns the id of its cluster, and its log density before, in nats, Q16."""
        point = self._centred(x)
        if self.options.when_full == ERROR and len(self.used()) == len(self.slots) and self.choose(point).opens:
            return NONE, FULL
        self._pass_time()
        found = self.choose(point)
        self.n_seen += 1
        k, second, opens = found.best, found.second, found.opens and self.next_id != NONE
        if opens:
            free = self._free() if len(self.used()) < len(self.slots) else self._make_room(-1, MOST)
            if free >= 0:
                self._record(CREATED, self._open(free).id, 0)
                k, second = free, k
        k = self._join(k, second, point)
        number = self.slot(k).id
        if not self.options.half_life and found.weight >= _LARGEST_WEIGHT:
            self._halve()
        return number, found.density

    def insert(self, number: int, weight: int, means: Sequence[int], squares: Sequence[int]) -> None:
        """Insert a cluster found elsewhere: its weight, its means, and sums of squares, in points of now."""
        n = weight + 128 >> 8
        self.n_seen += n
        for k in self.used():  # the others do not become idle by this
            self.slot(k).seen += n
        self.next_id, k = number, self._free()
        own = self._open(k).own
        own.weight, *own.squares = (each * self.weight >> 8 for each in (weight, *squares))
        own.means = [mean - (centre << 13) << 16 for mean, centre in zip(means, self.options.centre, strict=True)]
        self._refresh(k)

    def _join(self, k: int, second: int, point: Sequence[int]) -> int:
        slot = self.slot(k)
        slot.own.add(point, self.weight)
        slot.seen = self.n_seen
        half = self._choose_half(k, point)
        slot.halves[half].add(point, self.weight)
        self._refresh(k)
        slot.trials += 1
        look = slot.trials % _LOOK_PERIOD
        if look == 0:
            self._watch(k, point)
            return self._try_split(k, half)
        if look % 2 == 0:
            second, self.turn = self.turn, (self.turn + 1) % len(self.slots)
        self._try_merge(k, second)
        return k
