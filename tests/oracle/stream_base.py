"""The stream learner of groups with a base, slowly: docs/maths.md, section 16, on top of ``oracle.stream_groups``."""

import copy

import numpy as np

from oracle.stream import FLOOR, Moments
from oracle.stream_groups import LEAST_TABLES, GroupedStream, View

ROUNDS = 8


class BasedStream(GroupedStream):
    """Each slot has ``own``, moments of the points that the learner saw itself, and ``given``, tables of the base."""

    def open(self, k):
        super().open(k)
        self.slots[k].own, self.slots[k].given = Moments(len(self.model.m0)), 0.0

    def learn(self, x, group, now=None):
        self.point = x
        return super().learn(x, group, now)

    def count(self, slot, half):
        slot.own.add(self.point)
        super().count(slot, half)

    def settle(self, slot):
        g = self.decay(slot)
        slot.own.fade(g)
        slot.given *= g
        super().settle(slot)

    def merge(self, to, source):
        a, b = self.slots[to], self.slots[source]
        self.settle(a)
        self.settle(b)
        a.own = a.own.union(b.own) if a.own.n + b.own.n > 0 else a.own
        a.given += b.given
        super().merge(to, source)

    def divide(self, k, e, lighter):
        slot = self.slots[k]
        light, heavy = slot.halves[lighter], slot.halves[1 - lighter]
        share, own, given = light.n / (light.n + heavy.n), slot.own.n, slot.given
        super().divide(k, e, lighter)
        part = own * share if self.rate else float(int(own * share + 0.5))
        new = self.slots[e]
        new.own, slot.own = light.scaled(part / light.n), heavy.scaled((own - part) / heavy.n)
        new.given, slot.given = given * share, given * (1 - share)

    # the base

    def set_base(self, dishes):
        """``dishes`` are pairs of tables and Moments, those of most tables first."""
        left = set()
        for k, slot in self.used():
            self.settle(slot)
            if slot.own.n >= FLOOR:
                slot.all, slot.past = copy.deepcopy(slot.own), max(slot.past - slot.given, 0.0)
                self.recount(slot)
            else:
                slot.own = Moments(len(self.model.m0))
                left.add(k)
            slot.given = 0.0
        self.changed()
        for tables, moments in dishes:
            self.take(tables, moments, left)
        for k in left:
            self.events.append(("evicted", self.slots[k].id, None))
            self.slots[k] = None
        for _, slot in self.used():
            slot.partner = None
        for _ in range(ROUNDS):
            self.changed()
            for _, slot in self.used():
                self.recount(slot)
        self.changed()

    def take(self, tables, moments, left):
        empty = View(moments, np.zeros(self.n_groups), tables, tables)
        gains = {k: self.gain(self.view(slot), empty) for k, slot in self.used()}
        k = max(gains, key=lambda k: (gains[k], -k), default=None)
        if k is not None and gains[k] > 0 and k not in left:
            slot = self.slots[k]
            slot.all, slot.past, slot.tables = slot.all.union(moments), slot.past + tables, self.tables(slot) + tables
        else:
            if k is None or not gains[k] > 0:
                k = self.free_slot(left)
                if k is None:
                    return
            left.discard(k)
            slot = self.slots[k]
            slot.all, slot.past, slot.tables = copy.deepcopy(moments), tables, tables
        slot.given += tables
        self.changed()

    def free_slot(self, left):
        free = next((k for k, slot in enumerate(self.slots) if slot is None), None)
        if free is None and left:
            free = min(left)
            left.discard(free)
            self.events.append(("evicted", self.slots[free].id, None))
        if free is not None:
            self.open(free)
            self.events.append(("created", self.slots[free].id, None))
        return free

    def summary(self):
        """Pairs of tables and Moments of what the learner saw itself, those of most tables first."""
        found = [
            (self.tables_seen(slot), k, slot.own.scaled(self.decay(slot))) for k, slot in self.used() if slot.own.n > 0
        ]
        return [(tables, moments) for tables, _, moments in sorted(found, key=lambda each: (-each[0], each[1]))]

    def tables_seen(self, slot):
        g = self.decay(slot)
        return min(max(self.tables(slot) - slot.given * g, LEAST_TABLES), slot.own.n * g)
