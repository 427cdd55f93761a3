"""The changes that may follow a point, in whole numbers: halves, splits, merges, a free slot (changes.c, room.c)."""

from __future__ import annotations

from collections.abc import Sequence

from mapdpm.integers.arithmetic import exp_minus, log2, nats, product, ratio, scaled
from mapdpm.integers.clusters import POINT, Moments, View, distance, place, sign
from mapdpm.integers.slots import ERROR, EVICT, EVICTED, MERGE, MERGED, NAT, NONE, REFUSE, SPLIT, Slot, Slots

MOST = 1 << 62
"""More than any gain."""
# The numbers of c_kernels/learner/mapdpm_policy.h.
_HYSTERESIS, _TIE, _PRIOR_NATS = 3 * NAT, 66, 12
_LEAST_HALF, _LARGE_HALF, _EXTRAPOLATION, _LEAST_WATCHED = 2, 500, 4, 32
_TRIAL_LENGTH, _DOUBLINGS, _MOST_UNUSUAL = 300, 4, 8
_LEVEL, _MOVED = 1 << 27, 1 << 31
_LONGEST_IDLE = 12 * NAT
_FARTHEST = 1 << 40


class Changes(Slots):
    """The changes of a learner."""

    # ---- halves ------------------------------------------------------------------------------------------------------

    def _is_unusual(self, k: int, point: Sequence[int]) -> bool:
        row = self.slot(k).row
        twice_a = self.prior.twice_a0 + self._true(self.slot(k).own.weight)
        total = most = 0
        for d, x in enumerate(point):
            z = distance(row, d, abs((x << 13) - row.centres[d]))
            v = min(z * z >> 16, NONE)
            away = v * twice_a >> 16
            total, most = min(total + away, 1 << 40), max(most, away)
        beyond = total - self.D * NAT
        return most > self.unusual or (beyond > 0 and min(beyond, NONE >> 1) ** 2 >> 16 > 18 * self.D * NAT)

    def _watch(self, k: int, point: Sequence[int]) -> None:
        slot = self.slot(k)
        if slot.trials & _MOVED or slot.own.weight < _LEAST_WATCHED * self.weight:
            return
        level = slot.trials // _LEVEL % (_MOVED // _LEVEL)
        slot.trials -= level * _LEVEL
        level = level + 2 if self._is_unusual(k, point) else max(level - 1, 0)
        if level < _MOST_UNUSUAL:
            slot.trials += level * _LEVEL
            return
        self._clear_halves(k)
        slot.halves[0].copy_from(slot.own)
        slot.trials = slot.trial << 16 | _MOVED

    def _choose_half(self, k: int, point: Sequence[int]) -> int:
        slot = self.slot(k)
        own, (left, right) = slot.own, slot.halves
        trial = slot.trial
        if min(left.weight, right.weight) >= _LEAST_HALF * self.weight:
            return self._is_nearer_to_second(own, left, right, point)
        if slot.trials & _MOVED:
            return int(self._is_unusual(k, point))
        widest = (trial >> 1) % self.D
        if trial % 2 == 0:
            widths = [log2(own.squares[d] + 1) - log2(self.prior.twice_b0[d]) for d in range(self.D)]
            widest = widths.index(max(widths))
        return int(point[widest] << 13 > place(own.means[widest]))

    def _is_nearer_to_second(self, own: Moments, left: Moments, right: Moments, point: Sequence[int]) -> int:
        down = max(own.weight.bit_length() - 10, 0)  # about two points of all
        difference = 0
        for d, x in enumerate(point):
            a, b = (x << 13) - place(left.means[d]), (x << 13) - place(right.means[d])
            within = left.squares[d] + right.squares[d] + (own.squares[d] >> down) + 1
            apart = (a - b) * (a + b)
            difference += sign(apart) * min(scaled(abs(apart), ratio(1, within), 16), _FARTHEST)
        return int(difference > 0)

    # ---- split and merge ---------------------------------------------------------------------------------------------

    def _merge_gain(self, a: View, b: View) -> int:
        return self.prior.merge_gain(a, b, self.log_alpha)

    def _pair_gain(self, a: int, b: int) -> int:
        return self._merge_gain(self._view(self.slot(a).own), self._view(self.slot(b).own))

    def _merge(self, to: int, gone: int) -> None:
        kept, other = self.slot(to), self.slot(gone)
        heavier = kept if kept.own.weight >= other.own.weight else other
        lost = other if heavier is kept else kept
        kept.own.merge(other.own)
        if (other.seen - kept.seen) & NONE < 1 << 31:
            kept.seen = other.seen
        self._record(MERGED, lost.id, heavier.id)
        kept.id = heavier.id
        self._clear_halves(to)
        kept.trials, kept.partner = 0, -1
        self.slots[gone] = None
        self._refresh(to)

    def _try_merge(self, k: int, other: int) -> None:
        if other < 0 or other == k or not self.slots[other]:
            return
        slot = self.slot(k)
        mine, its = self._view(slot.own), self._view(self.slot(other).own)
        if self._surely_apart(slot, self.slot(other), mine.weight, its.weight):
            return
        gain = self._merge_gain(mine, its)
        if slot.partner in {-1, other} or -gain < slot.loss:
            slot.partner, slot.loss = other, -gain
        if gain > _HYSTERESIS:
            self._merge(k, other)

    def _surely_apart(self, a: Slot, b: Slot, n: int, m: int) -> bool:
        """Whether a merge certainly lowers the log joint: two clusters lie far apart for the variance within them.

        With y = n m / (n + m) sum_d delta^2 / (4 b0 + M2 + M2') the merge loses at least (n + m) / 2 log(1 + y) nats.
        It gains at most n + m by one label less, and 12 for each prior less. Rows say how far the other cluster is.
        """
        far = 0
        for d in range(self.D):
            away = abs(place(a.own.means[d]) - place(b.own.means[d]))
            z = min(distance(a.row, d, away), distance(b.row, d, away))
            far += z * z >> 25  # half the square in Q16
        y = product(scaled(n, ratio(m, n + m)), min(far, (1 << 31) - 1), 16)
        loss = nats(log2(y + POINT) - (8 << 24) >> 8) >> 1
        return loss > NAT + scaled(_PRIOR_NATS * (self.D + 1), ratio(1, n + m), 24)

    def _split_gain(self, k: int) -> int:
        """The gain of a split beyond what it must gain; both halves have points."""
        slot = self.slot(k)
        left, right = (self._view(each) for each in slot.halves)
        n, whole = left.weight + right.weight, self._true(slot.own.weight)
        if n >= _LARGE_HALF * POINT and whole > n:
            factor = ratio(min(whole, _EXTRAPOLATION * n), n)
            for each in (left, right):
                each.weight = scaled(each.weight, factor)
                each.squares = [scaled(one, factor) for one in each.squares]
        return -self._merge_gain(left, right) - _HYSTERESIS - nats(log2(whole) - (8 << 24) >> 8)

    def _try_split(self, k: int, h: int) -> int:
        slot = self.slot(k)
        left, right = slot.halves
        if min(left.weight, right.weight) < _LEAST_HALF * self.weight or self.next_id == NONE:
            return k
        gain = self._split_gain(k)
        if gain > 0:
            lighter = 0 if right.weight > left.weight else 1
            free = self._free() if len(self.used()) < len(self.slots) else self._make_room(k, gain)
            if free >= 0:
                self._split(k, free, lighter)
                return free if h == lighter else k
        trial = slot.trial
        if slot.trials & 0xFFFF >= _TRIAL_LENGTH << min(trial, _DOUBLINGS):
            self._clear_halves(k)
            slot.trials = (trial + 1) % 2048 << 16
        return k

    def _split(self, k: int, free: int, lighter: int) -> None:
        slot = self.slot(k)
        light, heavy = slot.halves[lighter], slot.halves[1 - lighter]
        rest = slot.own.weight
        part = scaled(rest, ratio(light.weight, light.weight + heavy.weight))
        if not self.options.half_life:
            part = part + POINT // 2 & -POINT
        made = self._open(free)
        made.seen = slot.seen
        for half, moments, weight in ((light, made.own, part), (heavy, slot.own, rest - part)):
            factor = ratio(weight, half.weight)
            moments.means = list(half.means)
            moments.squares = [scaled(each, factor) for each in half.squares]
            moments.weight = weight
        self._clear_halves(k)
        slot.trials, slot.partner = 0, -1
        self._record(SPLIT, slot.id, made.id)
        self._refresh(k)
        self._refresh(free)

    # ---- room --------------------------------------------------------------------------------------------------------

    def _free(self) -> int:
        return self.slots.index(None)

    def _lightest_pair(self, spared: int) -> tuple[int, int] | None:
        rest = [k for k in self.used() if k != spared]
        if len(rest) < 2:
            return None
        lightest = min(rest, key=lambda k: self.slot(k).own.weight)
        slot = self.slot(lightest)
        slot.partner = -1
        for k in rest:
            if k != lightest:
                loss = -self._pair_gain(lightest, k)
                if slot.partner < 0 or loss < slot.loss:
                    slot.partner, slot.loss = k, loss
        return lightest, slot.partner

    def _cheapest_pair(self, spared: int) -> tuple[int, int, int] | None:
        pairs = [
            k
            for k in self.used()
            if spared not in {k, self.slot(k).partner} and self.slot(k).partner not in {-1, k}
            if self.slots[self.slot(k).partner]
        ]
        found: tuple[int, int] | None = None
        if pairs:
            k = min(pairs, key=lambda each: self.slot(each).loss)
            found = k, self.slot(k).partner
        elif self.options.when_full == MERGE:
            found = self._lightest_pair(spared)
        if found is None:
            return None
        loss = -self._pair_gain(*found)
        self.slot(found[0]).loss = loss
        return *found, loss

    def _eviction_loss(self, k: int, idle: int, total: int) -> int:
        v = self._view(self.slot(k).own)
        size = max(v.weight, POINT)
        loss = self.prior.joint_term(v) + ((POINT - size) * self.log_alpha >> 8)
        loss -= v.weight * self.prior.alone(v) >> 8
        idle = min(scaled(idle, ratio(v.weight, 3 * total), 16), _LONGEST_IDLE)
        return sign(loss) * (abs(loss) * exp_minus(idle) >> 16)

    def _cheapest_eviction(self, spared: int) -> tuple[int, int]:
        total = self._true(self._total()) + (self.options.alpha >> 8)
        best, least, longest = -1, 0, 0
        for k in self.used():
            if k == spared:
                continue
            idle = self.n_seen - self.slot(k).seen & NONE
            cost = self._eviction_loss(k, idle, total)
            if best < 0 or cost < least - _TIE or (cost <= least + _TIE and idle > longest):
                best, least, longest = k, cost, idle
        return best, least

    def _make_room(self, spared: int, gain: int) -> int:
        """Free a slot by the policy, if that costs less than ``gain``."""
        policy = self.options.when_full
        if policy in {REFUSE, ERROR}:
            return -1
        pair = self._cheapest_pair(spared) if policy != EVICT else None
        victim, evicting = self._cheapest_eviction(spared) if policy != MERGE else (-1, 0)
        if pair and (victim < 0 or pair[2] <= evicting):
            if pair[2] >= gain:
                return -1
            self._merge(pair[0], pair[1])
            return pair[1]
        if victim < 0 or evicting >= gain:
            return -1
        self._remove(victim, EVICTED)
        return victim
