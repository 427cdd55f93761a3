"""The stream learner of groups, slowly: docs/maths.md, section 16, on top of ``oracle.stream``."""

import math

import numpy as np
from scipy.special import gammaln

from oracle.stream import HYSTERESIS, PRIOR_NATS, Moments, NaiveStream, log_below

LEAST_TABLES = 1e-3


def tables_of(a, cells):
    """The expected number of tables of groups with so many points in a cluster of pseudo-count a: docs/maths.md."""
    n = np.asarray(cells, dtype=float)
    return float(np.sum(np.where(n > 1, 1 + a * np.log((np.maximum(n, 1) + a - 0.5) / (a + 0.5)), n)))


def log_rising(a, n):
    return gammaln(a + n) - gammaln(a)


def excess(x):
    return float(gammaln(x)) - x * math.log(x) + x


class View:
    """Moments, with the points of each group, the tables of groups that are gone, and a first guess of all tables."""

    def __init__(self, moments, cells, past, tables):
        self.moments, self.cells, self.past, self.tables = moments, cells, past, tables


class GroupedStream(NaiveStream):
    """``learn(x, group, now)``. Groups are numbers below ``max_groups``, in the order of their rows."""

    def __init__(self, model, max_clusters, max_groups, alpha=1.0, gamma=1.0, half_life=None, when_full="least-loss"):
        super().__init__(model, max_clusters, alpha, half_life, when_full)
        self.gamma, self.n_groups, self.group, self.all = gamma, max_groups, None, gamma

    # what things are now

    def decay(self, slot):
        return math.exp(-(self.now - slot.last) * self.rate)

    def tables(self, slot):
        return min(slot.tables, self.faded(slot).n)

    def changed(self):
        self.all = self.gamma + sum(self.tables(slot) for _, slot in self.used())

    def view(self, slot):
        g = self.decay(slot)
        return View(self.faded(slot), slot.cells * g, slot.past * g, self.tables(slot))

    def half_views(self, slot, scale):
        all_ = slot.halves[0].n + slot.halves[1].n
        for h, cells in zip(slot.halves, slot.half_cells, strict=True):
            w = h.n / all_
            yield View(h.scaled(scale), cells * scale, slot.past * w, self.tables(slot) * w)

    def gain(self, a, b):
        both, cells, past = a.moments.union(b.moments), a.cells + b.cells, a.past + b.past
        total = self.all
        E = [max(v.past + tables_of(self.alpha * v.tables / total, v.cells), LEAST_TABLES) for v in (a, b)]
        before = total - a.tables - b.tables + E[0] + E[1]
        E.append(max(past + tables_of(self.alpha * (E[0] + E[1]) / before, cells), LEAST_TABLES))
        after = before - E[0] - E[1] + E[2]
        c = [self.alpha * E[0] / before, self.alpha * E[1] / before, self.alpha * E[2] / after]
        L = self.model.log_marginal
        gain = L(both) - L(a.moments) - L(b.moments) - math.log(self.gamma)
        gain += float(np.sum(log_rising(c[2], cells) - log_rising(c[0], a.cells) - log_rising(c[1], b.cells)))
        gain += past * math.log(c[2]) - a.past * math.log(c[0]) - b.past * math.log(c[1])
        gain += (before - E[0] - E[1] - 0.5) * math.log(before / after)
        return gain + excess(E[2]) - excess(E[0]) - excess(E[1])

    def choose(self, x):
        scores, bounds, aged, here = {}, {}, [], 0.0
        total = self.all
        for k, slot in self.used():
            m = self.faded(slot)
            if self.rate and m.n < 0.5:
                aged.append(k)
                continue
            cell = 0.0 if self.group is None else slot.cells[self.group] * self.decay(slot)
            here += cell
            weight = cell + self.alpha / total * self.tables(slot)
            scores[k] = math.log(weight) + self.model.density(m, x)
            bounds[k] = scores[k] if self.rate else log_below(weight) + self.model.bound(m, x)
        new = math.log(self.alpha * self.gamma / total) + self.model.density(Moments(len(x)), x)
        best = max(scores, key=lambda k: (scores[k], -k), default=None)
        second = max((k for k in bounds if k != best), key=lambda k: (bounds[k], -k), default=None)
        every = np.array([*scores.values(), new])
        density = float(every.max() + np.log(np.exp(every - every.max()).sum()) - math.log(here + self.alpha))
        return best, second, best is None or new > scores[best], aged, density

    def split_gain(self, slot):
        """An upper bound decides if it is too little: see least_gain."""
        scaled = self.scale_of(slot)
        one, two = self.half_views(slot, scaled)
        L = self.model.log_marginal
        data = L(one.moments.union(two.moments)) - L(one.moments) - L(two.moments)
        most = -data - self.least_gain(one, two)
        return most - HYSTERESIS - math.log(slot.all.n) if most <= HYSTERESIS else super().split_gain(slot)

    def least_gain(self, one, two):
        """A lower bound of what a merge gains by the prior."""
        E = [max(v.past + tables_of(self.alpha * v.tables / self.all, v.cells), LEAST_TABLES) for v in (one, two)]
        a, b = (self.alpha * e / (self.all - one.tables - two.tables + sum(E)) for e in E)
        total, each = -math.log(self.gamma) - 1.5, -(log_below(min(a, b)) + 0.0601) - 1.1
        for p, q in zip(one.cells, two.cells, strict=True):
            if p >= 1 and q >= 1:
                n = p + q
                entropy = p * log_below(n / p) + q * log_below(n / q) + 0.5 * log_below(p * q / n)
                total += max(entropy + each - (a + b) * (1 + log_below(n) + 0.0601), 0.0)
        return total

    def are_far(self, one, two):
        a, b = one.moments, two.moments
        if not hasattr(self.model, "b0"):
            return False
        n, share, total = a.n + b.n, min(a.n, b.n) / (a.n + b.n), self.all
        y = float(np.sum((b.mean - a.mean) ** 2 / (2 * self.model.b0 + a.M2 + b.M2))) * n * share * (1 - share)
        least = PRIOR_NATS * (len(a.mean) + 1)
        meetings = int(np.sum((one.cells > 0) & (two.cells > 0)))
        rarest = log_below(self.alpha * min(one.tables, two.tables) / total)
        least += meetings * (2 + log_below(n) - min(rarest, 0.0)) + min(one.tables, two.tables)
        least += max(-math.log(self.gamma), 0.0)
        return 0.5 * log_below(1 + y) > share * (1 - log_below(share)) + least / n

    # what changes them

    def recount(self, slot):
        tables = slot.past + tables_of(self.alpha * self.tables(slot) / self.all, slot.cells)
        slot.tables = min(max(tables, LEAST_TABLES), self.faded(slot).n)

    def settle(self, slot):
        g = self.decay(slot)
        slot.cells, slot.past = slot.cells * g, slot.past * g
        slot.half_cells = slot.half_cells * g
        super().settle(slot)

    def open(self, k):
        super().open(k)
        slot = self.slots[k]
        slot.cells, slot.half_cells = np.zeros(self.n_groups), np.zeros((2, self.n_groups))
        slot.past = slot.tables = 0.0

    def merge(self, to, source):
        a, b = self.slots[to], self.slots[source]
        self.settle(a)
        self.settle(b)
        a.tables, b.tables = self.tables(a) + self.tables(b), 0.0
        a.cells, a.past = a.cells + b.cells, a.past + b.past
        super().merge(to, source)
        self.restart_cells(a)
        self.recount(a)
        self.changed()

    def restart_cells(self, slot):
        slot.half_cells = np.zeros_like(slot.half_cells)

    def divide(self, k, e, lighter):
        slot = self.slots[k]
        light, heavy = slot.half_cells[lighter], slot.half_cells[1 - lighter]
        w = slot.halves[lighter].n / (slot.halves[0].n + slot.halves[1].n)
        share = (light + w) / (light + heavy + 1)
        tables, cells, past = self.tables(slot), slot.cells, slot.past
        super().divide(k, e, lighter)
        new = self.slots[e]
        part = cells * share if self.rate else np.floor(cells * share + 0.5)
        new.cells, slot.cells = part, cells - part
        new.past, slot.past = past * w, past * (1 - w)
        new.tables, slot.tables = tables * w, tables * (1 - w)
        self.restart_cells(slot)
        self.recount(slot)
        self.recount(new)
        self.changed()

    def watch(self, slot, x):
        before = slot.moved
        super().watch(slot, x)
        if slot.moved and not before:
            self.restart_cells(slot)
            slot.half_cells[0] = slot.cells

    def try_split(self, k, half):
        trial = self.slots[k].trial
        final = super().try_split(k, half)
        if self.slots[k] is not None and self.slots[k].trial > trial:
            self.restart_cells(self.slots[k])
        return final

    def count(self, slot, half):
        n = slot.cells[self.group]
        a = self.alpha * slot.tables / self.all
        slot.tables += a / (a + n) if n > 0 else 1.0
        slot.cells[self.group] += 1
        slot.half_cells[half, self.group] += 1
        if self.rate:
            self.recount(slot)
        self.changed()

    def partition_loss(self, slot, size):
        total = self.all
        a = self.alpha * max(self.tables(slot), LEAST_TABLES) / total
        rising = float(np.sum(log_rising(a, slot.cells * self.decay(slot))))
        return rising - math.log(a) + (1 - size) * math.log(self.alpha * self.gamma / total)

    def leave(self, group):
        """A group is gone: its tables stay."""
        total = self.all
        for _, slot in self.used():
            slot.past += tables_of(self.alpha * self.tables(slot) / total, [slot.cells[group]])
            slot.cells[group] = 0.0
            slot.half_cells[:, group] = 0.0

    def learn(self, x, group, now=None):
        self.group = group
        return super().learn(x, now)
