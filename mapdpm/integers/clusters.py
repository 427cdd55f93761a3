"""A cluster in whole numbers: its moments, its row of the score table, and what merging two of them gains.

Points are whole numbers less the prior mean, so the prior mean is 0. Weights and sums of squares are in Q8, places in
Q13; a mean has 16 bits more, in Q29, where many points follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mapdpm.integers.arithmetic import (
    Ratio,
    half_rising,
    log2,
    log_gamma,
    nats,
    power,
    product,
    ratio,
    scaled,
    shifted,
)

POINT = 256  # the weight of a point
_LOG2_PI = 108226  # in Q16
_LOG2_E = 94548  # in Q16
_FARTHEST = (1 << 28) - 1  # the largest distance in Q20, in units of the root of the scale
_LARGEST_TAIL = (1 << 31) - 1  # in Q24


def sign(x: int) -> int:
    """-1, 0 or 1."""
    return (x > 0) - (x < 0)


def place(mean: int) -> int:
    """A mean in Q29, rounded to Q13."""
    return mean + (1 << 15) >> 16


@dataclass
class Moments:
    """The weight of some points, their means, and sums of squares about them. Halves keep rounded means."""

    weight: int
    means: list[int]
    squares: list[int]
    keeps_rest: bool = True

    def _move(self, d: int, delta: int, share: Ratio) -> None:
        mean = self.means[d] + sign(delta) * scaled(abs(delta), share, 16)
        self.means[d] = mean if self.keeps_rest else place(mean) << 16

    def add(self, point: Sequence[int], weight: int) -> None:
        """Add a point."""
        self.weight += weight
        share = ratio(weight, self.weight)
        for d, x in enumerate(point):
            if self.weight == weight:
                self.means[d] = x << 29
                continue
            delta = (x << 13) - place(self.means[d])
            self._move(d, delta, share)
            after = (x << 13) - place(self.means[d])
            if sign(after) == sign(delta):
                self.squares[d] += (abs(delta) * abs(after) >> 10) * weight + (1 << 15) >> 16

    def merge(self, other: Moments) -> None:
        """Add the points of another cluster."""
        share = ratio(other.weight, self.weight + other.weight)
        between = scaled(self.weight, share)
        for d in range(len(self.means)):
            delta = place(other.means[d]) - place(self.means[d])
            self._move(d, delta, share)
            self.squares[d] += other.squares[d] + product(delta * delta, between, 26)
        self.weight += other.weight

    def halve(self) -> None:
        """Let each point count half."""
        self.weight >>= 1
        self.squares = [each >> 1 for each in self.squares]

    def stretch(self, factor: Ratio) -> None:
        """Multiply all weights by a ratio."""
        self.weight = scaled(self.weight, factor)
        self.squares = [scaled(each, factor) for each in self.squares]

    def copy_from(self, other: Moments) -> None:
        """Take over the points of another cluster."""
        self.weight = other.weight
        self.squares = list(other.squares)
        self.means = [each if self.keeps_rest else place(each) << 16 for each in other.means]


@dataclass
class View:
    """Moments as the prior counts them: less by what points have gained in weight since; see ``Prior.view``."""

    weight: int
    places: list[int]
    squares: list[int]


@dataclass
class Row:
    """A row of the score table: constant - exponent sum_d log2(1 + ((x - centre_d) root_d)^2), in nats."""

    constant: int  # Q16
    exponent: Ratio
    centres: list[int]  # Q13
    roots: list[int] = field(default_factory=list)  # 2^15 to 2^16
    shifts: list[int] = field(default_factory=list)  # the distance in Q20 is |x - centre| root >> shift


@dataclass(frozen=True)
class Prior:
    """The parameters of Normal-Gamma: c0 in Q16, 2 a0 in Q8, 2 b0 in Q8."""

    c0: int
    twice_a0: int
    twice_b0: tuple[int, ...]

    def view(self, moments: Moments, weight: int) -> View:
        """Moments in units of a point of today, which weighs ``weight``."""
        places = [place(each) for each in moments.means]
        if weight == POINT:
            return View(moments.weight, places, moments.squares)
        factor = ratio(POINT, weight)
        return View(scaled(moments.weight, factor), places, [scaled(each, factor) for each in moments.squares])

    def _shrinkage(self, n: int) -> int:
        """c0 n / (c0 + n), in Q16."""
        return scaled(n, ratio(self.c0, self.c0 + (n << 8)), 8)

    def spread(self, d: int, shrinkage: int, mean: int, squares: int) -> int:
        """Twice the posterior b of a feature, in Q8."""
        return self.twice_b0[d] + squares + product(mean * mean, shrinkage, 34)

    def row(self, v: View, weight: int) -> Row:
        """The row of a cluster that weighs ``weight``; of no cluster, where that is 0."""
        pseudo = self.c0 + (v.weight << 8)
        twice_a = self.twice_a0 + v.weight
        to_prior = ratio(self.c0, pseudo)
        shrinkage = self._shrinkage(v.weight)
        stretch = log2(pseudo) - log2(pseudo + 65536)
        row = Row(0, _of_top((twice_a + POINT) * 45426, -25), [])
        logs = 0
        for d, mean in enumerate(v.places):
            log_scale = stretch - (log2(self.spread(d, shrinkage, mean, v.squares[d])) - (8 << 24))
            whole, part = log_scale >> 25, log_scale >> 9 & 0xFFFF
            row.roots.append(power(part) >> 1)
            row.shifts.append(8 - whole)
            row.centres.append(mean - sign(mean) * scaled(abs(mean), to_prior))
            logs += log_scale >> 8
        logs += len(v.places) * (2 * (half_rising(twice_a) >> 8) - _LOG2_PI)
        if weight:
            logs += 2 * (log2(weight) - (8 << 24) >> 8)
        row.constant = nats(logs >> 1)
        return row

    def merge_gain(self, a: View, b: View, log_alpha: int) -> int:
        """By how much the log joint rises when two clusters become one, in nats, Q16."""
        n = a.weight + b.weight
        x0, xa, xb, x = (self.twice_a0 + each for each in (0, a.weight, b.weight, n))
        D = len(a.places)
        counts = log_gamma(x) + log_gamma(x0) - log_gamma(xa) - log_gamma(xb)
        c0, ca, cb, c = (log2(self.c0 + (each << 8)) for each in (0, a.weight, b.weight, n))
        counts += ca + cb - c0 - c >> 9
        share = ratio(b.weight, n)
        between = scaled(a.weight, share)
        of_a, of_b, of_all = (self._shrinkage(each) for each in (a.weight, b.weight, n))
        bits = D * counts
        for d in range(D):
            delta = b.places[d] - a.places[d]
            mean = a.places[d] + sign(delta) * scaled(abs(delta), share)
            squares = a.squares[d] + b.squares[d] + product(delta * delta, between, 26)
            la = log2(self.spread(d, of_a, a.places[d], a.squares[d]))
            lb = log2(self.spread(d, of_b, b.places[d], b.squares[d]))
            la_b = log2(self.spread(d, of_all, mean, squares))
            bits += xa * (la - la_b) + xb * (lb - la_b) + x0 * (la_b - log2(self.twice_b0[d])) >> 17
        bits += log_size(n) - log_size(a.weight) - log_size(b.weight)
        return nats(bits) - log_alpha

    def joint_term(self, v: View) -> int:
        """The cluster's term of the log joint without alpha: log p of its points + log Gamma(n), in nats, Q16."""
        x = self.twice_a0 + v.weight
        half = v.weight * _LOG2_E >> 9
        bits = log_gamma(x) - log_gamma(self.twice_a0) - half - (v.weight * _LOG2_PI >> 9)
        bits += log2(self.c0) - log2(self.c0 + (v.weight << 8)) >> 9
        bits *= len(v.places)
        shrinkage = self._shrinkage(v.weight)
        for d, mean in enumerate(v.places):
            before = log2(self.twice_b0[d]) - (8 << 24)
            after = log2(self.spread(d, shrinkage, mean, v.squares[d])) - (8 << 24)
            bits += self.twice_a0 * before - x * after >> 17
        return nats(bits + log_size(v.weight))

    def alone(self, v: View) -> int:
        """Log p of a point as a cluster of its own, at the root mean square distance of the points, in nats, Q16."""
        row = self.row(View(0, [0] * len(v.places), [0] * len(v.places)), 0)
        tail = 0
        for d, mean in enumerate(v.places):
            away = (scaled(v.squares[d], ratio(POINT, v.weight)) if v.weight else 0) + (mean * mean >> 18)
            near = ratio(self.c0, self.c0 + 65536)
            u = min(scaled(scaled(away, ratio(1, self.twice_b0[d]), 24), near), (1 << 32) - 1)
            tail += log2(u + (1 << 24)) - (24 << 24)
        return row.constant - nats(((self.twice_a0 + POINT) * (tail >> 8)) >> 9)


def log_size(n: int) -> int:
    """log2 Gamma(max(n, 1)), in Q16."""
    size = max(n, POINT)
    return log_gamma(2 * size) + 86884 - (size * _LOG2_E >> 8)  # log2(2 pi) / 2


def _of_top(v: int, e: int) -> Ratio:
    """v 2^e, v > 0, as a ratio, rounded down."""
    down = v.bit_length() - 16
    return (v >> down if down > 0 else v << -down), e + down


def distance(row: Row, d: int, away: int) -> int:
    """A distance in Q13 times the root of the scale, in Q20; at most almost 256."""
    drop = 0 if away < 1 << 16 else 7 if away < 1 << 23 else 14
    return min(shifted((away >> drop) * row.roots[d], drop - row.shifts[d]), _FARTHEST)


def score(row: Row, point: Sequence[int], least: int | None = None) -> int:
    """Log density of a point times the weight of the cluster, in nats, Q16; below ``least``, an upper bound."""
    fine, product, log = 0, 1 << 15, 0  # the product of 1 + v is product 2^(log - 15)
    for d, x in enumerate(point):
        z = distance(row, d, abs((x << 13) - row.centres[d]))
        if z < 1 << 16:  # log2(1 + v) = (v - v^2 / 2) log2(e), in Q32
            v = z * z >> 8
            v -= (v >> 8) ** 2 >> 17
            fine += v + ((v >> 8) * 29012 >> 8)
            continue
        if z < 1 << 20:
            v, one = (z >> 4) ** 2 >> 8, 24
        else:
            v, one = ((z >> 8) ** 2, 24) if z < 1 << 23 else ((z >> 13) ** 2, 14)
        v += 1 << one
        bits = v.bit_length()
        product *= v << 16 >> bits
        log += bits - 1 - one
        product, log = (product >> 16, log + 1) if product >> 31 else (product >> 15, log)
    near = product - 32768 << 9  # log2 x >= x - 1, 1 <= x <= 2
    for of_product in (near, log2(product) - (15 << 24)):
        coarse = min((log << 24) + of_product, _LARGEST_TAIL)
        tail, down = (coarse + (fine >> 8), 24) if coarse else (fine, 32)
        m, e = row.exponent
        top, of_tail = _of_top(max(tail, 1), 16 - down)
        found = row.constant - (min(shifted(m * top, e + of_tail), 1 << 30) if tail else 0)
        if least is not None and found < least:
            break
    return found
