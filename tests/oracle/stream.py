"""The stream learner, slowly: the steps of docs/streams-how.md, from scipy's marginals and densities, in data units.

Float64, a prior that is given, nothing missing. Steps that C caches, bounds or rearranges
are written out here. In two places C decides by a bound of a logarithm (which other cluster is likely, which pair is
too far apart). The oracle uses the same bound there, because the page names it.
"""

import math

import numpy as np
from scipy.special import gammaln

HYSTERESIS, FLOOR, TRIAL, DOUBLINGS, LEAST_HALF, VOICE, SPEAKS_FOR, EVERY, PRIOR_NATS = 3, 0.5, 300, 4, 2, 500, 4, 4, 12
ABOUT, WATCHED, MOVED = 1e-3, 32, 8


def log_below(x):
    """The chord of log2 between powers of 2, in nats."""
    mantissa, exponent = math.frexp(x)
    value = (exponent - 1) + (2 * mantissa - 1)
    return value * (0.693148 if value < 0 else 0.693147)


class Moments:
    def __init__(self, D):
        self.n, self.mean, self.M2 = 0.0, np.zeros(D), np.zeros(D)

    def add(self, x, cells=0.0):
        self.n += 1
        delta = x - self.mean
        self.mean = self.mean + delta / self.n
        self.M2 = self.M2 + delta * (x - self.mean) + cells

    def fade(self, g):
        self.n, self.M2 = self.n * g, self.M2 * g

    def scaled(self, g):
        copy = Moments(len(self.mean))
        copy.n, copy.mean, copy.M2 = self.n * g, self.mean, self.M2 * g
        return copy

    def union(self, other):
        both = Moments(len(self.mean))
        both.n = self.n + other.n
        delta = other.mean - self.mean
        both.mean = self.mean + delta * other.n / both.n
        both.M2 = self.M2 + other.M2 + delta**2 * self.n * other.n / both.n
        return both


class Slot:
    def __init__(self, D, number, now, seen):
        self.all, self.halves = Moments(D), [Moments(D), Moments(D)]
        self.id, self.last, self.seen = number, now, seen
        self.partner, self.loss = None, 0.0
        self.begin_trial(0)

    def begin_trial(self, number, moved=False):
        """Begin the halves anew: without points, or, where new points have moved away, with all points in the first."""
        self.trial, self.tried, self.unusual, self.moved = number % 2048, 0, 0, moved
        self.restart()
        if moved:
            self.halves[0] = self.all.scaled(1.0)

    def restart(self):
        self.halves = [Moments(len(self.all.mean)), Moments(len(self.all.mean))]


class NormalGammaModel:
    def __init__(self, prior, resolution=0.0):
        self.m0, self.c0, self.a0, self.b0 = prior
        self.width, self.cells = self.b0, np.square(resolution) / 12

    def posterior(self, m):
        c, a = self.c0 + m.n, self.a0 + m.n / 2
        mean = self.m0 + m.n * (m.mean - self.m0) / c
        return mean, c, a, self.b0 + m.M2 / 2 + self.c0 * m.n * (m.mean - self.m0) ** 2 / (2 * c)

    def variances(self, m):
        return (2 * self.b0 + m.M2) / (2 * self.a0 + m.n)

    def log_marginal(self, m):
        _, c, a, b = self.posterior(m)
        one = gammaln(a) - gammaln(self.a0) + self.a0 * np.log(self.b0) - a * np.log(b)
        return float(np.sum(one + 0.5 * np.log(self.c0 / c) - m.n / 2 * math.log(2 * math.pi)))

    def terms(self, m):
        """Constant, exponent and scale of the Student t densities of a point."""
        _, c, a, b = self.posterior(m)
        scale = c / (2 * b * (c + 1))
        return float(np.sum(gammaln(a + 0.5) - gammaln(a) + 0.5 * np.log(scale / math.pi))), a + 0.5, scale

    def density(self, m, x):
        constant, exponent, scale = self.terms(m)
        return constant - exponent * float(np.sum(np.log1p((x - self.posterior(m)[0]) ** 2 * scale)))

    def bound(self, m, x):
        constant, exponent, scale = self.terms(m)
        return constant - exponent * log_below(float(np.prod(1 + (x - self.posterior(m)[0]) ** 2 * scale)))

    def alone(self, m):
        """The prior's density of a point at the root mean square distance."""
        constant, exponent, scale = self.terms(Moments(len(m.mean)))
        return constant - exponent * float(np.sum(np.log1p((m.M2 / m.n + (m.mean - self.m0) ** 2) * scale)))

    def are_far(self, a, b):
        n, share = a.n + b.n, min(a.n, b.n) / (a.n + b.n)
        y = float(np.sum((b.mean - a.mean) ** 2 / (2 * self.b0 + a.M2 + b.M2))) * n * share * (1 - share)
        least = PRIOR_NATS * (len(a.mean) + 1) / n
        return 0.5 * log_below(1 + y) > share * (1 - log_below(share)) + least


class KnownVarianceModel:
    def __init__(self, prior, resolution=0.0):
        self.m0, self.rho, self.variance = prior
        self.width, self.cells = self.variance, np.square(resolution) / 12

    def posterior(self, m):
        spread = self.variance + m.n * self.rho
        return self.m0 + m.n * self.rho / spread * (m.mean - self.m0), self.variance * (1 + self.rho / spread)

    def variances(self, m):
        return self.variance

    def log_marginal(self, m):
        spread = self.variance + m.n * self.rho
        parts = (m.n - 1) * np.log(self.variance) + np.log(spread) + m.M2 / self.variance
        parts = parts + m.n * (m.mean - self.m0) ** 2 / spread + m.n * math.log(2 * math.pi)
        return -0.5 * float(np.sum(parts))

    def density(self, m, x):
        mean, variance = self.posterior(m)
        return -0.5 * float(np.sum(np.log(2 * math.pi * variance) + (x - mean) ** 2 / variance))

    bound = density

    def alone(self, m):
        variance = self.variance + self.rho
        away = m.M2 / m.n + (m.mean - self.m0) ** 2
        return -0.5 * float(np.sum(np.log(2 * math.pi * variance) + away / variance))

    def are_far(self, a, b):
        return False


class NaiveStream:
    """``learn(x, now)`` returns the id and the log predictive density before x was learned."""

    def __init__(self, model, max_clusters, alpha=1.0, half_life=None, when_full="least-loss"):
        self.model, self.alpha, self.policy = model, alpha, when_full
        self.rate = 0.0 if half_life is None else math.log(2) / half_life
        self.slots = [None] * max_clusters
        self.now, self.n_seen, self.next_id, self.turn = 0, 0, 0, 0
        self.events = []

    # what things are now

    def faded(self, slot):
        return slot.all.scaled(math.exp(-(self.now - slot.last) * self.rate))

    def used(self):
        return [(k, slot) for k, slot in enumerate(self.slots) if slot is not None]

    def view(self, slot):
        """What moves are judged by: the moments as they are now."""
        return self.faded(slot)

    def half_views(self, slot, scale):
        return [h.scaled(scale) for h in slot.halves]

    def are_far(self, a, b):
        return self.model.are_far(a, b)

    def gain(self, a, b):
        """The gain of the log joint when a and b become one cluster."""
        both = a.union(b)
        sizes = gammaln(max(both.n, 1)) - gammaln(max(a.n, 1)) - gammaln(max(b.n, 1))
        L = self.model.log_marginal
        return L(both) - L(a) - L(b) + float(sizes) - math.log(self.alpha)

    def choose(self, x):
        scores, bounds, total, aged = {}, {}, self.alpha, []
        for k, slot in self.used():
            m = self.faded(slot)
            if self.rate and m.n < FLOOR:
                aged.append(k)
                continue
            total += m.n
            scores[k] = math.log(m.n) + self.model.density(m, x)
            bounds[k] = scores[k] if self.rate else math.log(m.n) + self.model.bound(m, x)
        new = math.log(self.alpha) + self.model.density(Moments(len(x)), x)
        best = max(scores, key=lambda k: (scores[k], -k), default=None)
        second = max((k for k in bounds if k != best), key=lambda k: (bounds[k], -k), default=None)
        every = np.array([*scores.values(), new])
        density = float(every.max() + np.log(np.exp(every - every.max()).sum()) - math.log(total))
        return best, second, best is None or new > scores[best], aged, density

    # what changes them

    def settle(self, slot):
        g = math.exp(-(self.now - slot.last) * self.rate)
        for m in (slot.all, *slot.halves):
            m.fade(g)
        slot.last = self.now

    def count(self, slot, half):
        """For groups: the point that was just added."""

    def changed(self):
        """For groups: the time has changed, or a cluster is gone."""

    def open(self, k):
        self.slots[k] = Slot(len(self.model.m0), self.next_id, self.now, self.n_seen)
        self.next_id += 1

    def merge(self, to, source):
        a, b = self.slots[to], self.slots[source]
        self.settle(a)
        self.settle(b)
        kept, gone = (b.id, a.id) if b.all.n > a.all.n else (a.id, b.id)
        a.all = a.all.union(b.all)
        a.id, a.seen, a.partner = kept, max(a.seen, b.seen), None
        a.begin_trial(0)
        self.slots[source] = None
        self.events.append(("merged", gone, kept))

    def half_of(self, slot, x):
        h0, h1 = slot.halves
        if h0.n >= LEAST_HALF and h1.n >= LEAST_HALF:
            within = h0.M2 + h1.M2 + 2 * slot.all.M2 / slot.all.n
            return int(float(np.sum(((x - h0.mean) ** 2 - (x - h1.mean) ** 2) / within)) > 0)
        if slot.moved:
            return int(self.is_unusual(slot, x))
        d = (slot.trial >> 1) % len(x) if slot.trial % 2 else int(np.argmax(slot.all.M2 / self.model.width))
        return int(x[d] > slot.all.mean[d])

    def is_unusual(self, slot, x):
        """Whether a squared distance exceeds 4 + 2 log D, or their sum its mean D by three standard deviations."""
        D, distances = len(x), (x - slot.all.mean) ** 2 / self.model.variances(slot.all)
        return bool(np.max(distances) > 4 + 2 * math.log(D) or np.sum(distances) - D > 3 * math.sqrt(2 * D))

    def watch(self, slot, x):
        if slot.moved or slot.all.n < WATCHED:
            return
        slot.unusual = slot.unusual + 2 if self.is_unusual(slot, x) else max(slot.unusual - 1, 0)
        if slot.unusual >= MOVED:
            slot.begin_trial(slot.trial, moved=True)

    def scale_of(self, slot):
        """How many points each point of the halves stands for."""
        n = slot.halves[0].n + slot.halves[1].n
        scale = min(slot.all.n, SPEAKS_FOR * n) / n
        return scale if scale > 1 and n >= VOICE else 1.0

    def split_gain(self, slot):
        return -self.gain(*self.half_views(slot, self.scale_of(slot))) - HYSTERESIS - math.log(slot.all.n)

    def divide(self, k, e, lighter):
        """The lighter half of slot k moves to the free slot e."""
        slot = self.slots[k]
        light, heavy = slot.halves[lighter], slot.halves[1 - lighter]
        part = slot.all.n * light.n / (light.n + heavy.n)
        part = part if self.rate else float(math.floor(part + 0.5))
        rest = slot.all.n - part
        self.open(e)
        new = self.slots[e]
        new.all, slot.all = light.scaled(part / light.n), heavy.scaled(rest / heavy.n)
        new.seen, slot.partner = slot.seen, None
        slot.begin_trial(0)
        self.events.append(("split", slot.id, new.id))

    def try_split(self, k, half):
        slot = self.slots[k]
        h0, h1 = slot.halves
        if not (h0.n >= LEAST_HALF and h1.n >= LEAST_HALF):
            return k
        gain = self.split_gain(slot)
        if gain > 0:
            e = next((i for i, other in enumerate(self.slots) if other is None), None)
            e = self.make_room(k, gain) if e is None else e
            if e is not None:
                lighter = 0 if h1.n > h0.n else 1
                self.divide(k, e, lighter)
                return e if half == lighter else k
        if slot.tried >= TRIAL << min(slot.trial, DOUBLINGS):
            slot.begin_trial(slot.trial + 1)
        return k

    def try_merge(self, k, b):
        if b is None or b == k or self.slots[b] is None:
            return
        slot, one, two = self.slots[k], self.view(self.slots[k]), self.view(self.slots[b])
        if self.are_far(one, two):
            return
        gain = self.gain(one, two)
        if slot.partner is None or slot.partner == b or -gain < slot.loss:
            slot.partner, slot.loss = b, -gain
        if gain > HYSTERESIS:
            self.merge(k, b)

    def partition_loss(self, slot, size):
        """What the prior loses when each point of a cluster is alone."""
        return float(gammaln(size)) + (1 - size) * math.log(self.alpha)

    def eviction_loss(self, slot, total):
        m = self.faded(slot)
        loss = self.model.log_marginal(m) - m.n * self.model.alone(m) + self.partition_loss(slot, max(m.n, 1.0))
        return loss * math.exp(-(self.n_seen - slot.seen) * m.n / (3 * total))

    def make_room(self, spared, gain):  # noqa: C901, PLR0912  (one rule after the other, as the page has them)
        if self.policy in {"refuse", "error"}:
            return None
        pair = victim = None
        merging = evicting = math.inf
        if self.policy != "evict":
            for k, slot in self.used():
                b = slot.partner
                if spared in (k, b) or b is None or b == k or self.slots[b] is None:
                    continue
                if pair is None or slot.loss < self.slots[pair].loss:
                    pair = k
            if pair is None and self.policy == "merge":
                pair = self.lightest_pair(spared)
            if pair is not None:
                slot = self.slots[pair]
                merging = slot.loss = -self.gain(self.view(slot), self.view(self.slots[slot.partner]))
        if self.policy != "merge":
            total = sum(self.faded(slot).n for _, slot in self.used()) + self.alpha
            for k, slot in self.used():
                loss = self.eviction_loss(slot, total)
                longer = victim is None or slot.seen < self.slots[victim].seen
                if k != spared and (loss < evicting - ABOUT or (loss <= evicting + ABOUT and longer)):
                    victim, evicting = k, loss
        if pair is not None and merging <= evicting:
            if not merging < gain:
                return None
            b = self.slots[pair].partner
            self.merge(pair, b)
            return b
        if victim is None or not evicting < gain:
            return None
        self.events.append(("evicted", self.slots[victim].id, None))
        self.slots[victim] = None
        self.changed()
        return victim

    def lightest_pair(self, spared):
        others = [k for k, _ in self.used() if k != spared]
        if len(others) < 2:
            return None
        k = min(others, key=lambda k: (self.slots[k].all.n, k))
        losses = {b: -self.gain(self.view(self.slots[k]), self.view(self.slots[b])) for b in others if b != k}
        self.slots[k].partner = min(losses, key=lambda b: (losses[b], b))
        self.slots[k].loss = losses[self.slots[k].partner]
        return k

    def learn(self, x, now=None):
        self.now = self.now + 1 if now is None else now
        self.changed()
        best, second, opens, aged, density = self.choose(x)
        self.n_seen += 1
        for k in aged:
            self.events.append(("aged out", self.slots[k].id, None))
            self.slots[k] = None
        self.changed()
        k = best
        if opens:
            e = next((i for i, slot in enumerate(self.slots) if slot is None), None)
            e = self.make_room(None, math.inf) if e is None else e
            if e is not None:
                self.open(e)
                self.events.append(("created", self.slots[e].id, None))
                k, second = e, best
        slot = self.slots[k]
        self.settle(slot)
        slot.all.add(x, self.model.cells)
        slot.seen = self.n_seen
        half = self.half_of(slot, x)
        slot.halves[half].add(x, self.model.cells)
        self.count(slot, half)
        slot.tried += 1
        if slot.tried % EVERY == 0:
            self.watch(slot, x)
            k = self.try_split(k, half)
        elif slot.tried % 2 == 1:
            self.try_merge(k, second)
        else:
            self.turn, other = (self.turn + 1) % len(self.slots), self.turn
            self.try_merge(k, other)
        return self.slots[k].id, density
