"""Stick-breaking priors over explicit labels, for any Beta(a_i, b_i): Porteous2006 section 3.1.

Labels are 0, 1, 2, ...: a stick of length 1 is broken at V_0 ~ Beta(a_0, b_0), the rest at V_1, and so on. Without
points a label is one of infinitely many that are alike but for their shares, so functions here take the occupied labels
only, and treat each gap between them as a whole. No cost depends on how high a label is.
"""

from __future__ import annotations

from math import exp, expm1, inf, log, log1p
from typing import Any, NamedTuple

import numpy as np

from mapdpm.jit import jitable, jitable_once
from mapdpm.protocol import LARGEST, SMALLEST, Labels, RngVerbs, Vector
from mapdpm.special import log_rising
from mapdpm.validation import check_number, refuse_value

LAST_LABEL = 2**62
"""The last stick: it takes the rest. A prior with more than ``LARGEST_LOSS`` behind it is refused."""
LARGEST_LOSS = 1e-6

_FEW = 8  # labels of a gap that are summed one by one: shorter than the closed form, and more accurate


class StickBreaking(NamedTuple):
    r"""Shares pi_i = V_i prod_{j<i} (1 - V_j) of labels i = 0, 1, ..., where V_i ~ Beta(a_i, b_i); Porteous2006 3.1.

    With N_i points of label i and N_>i of higher ones, the shares integrated out,

    P(Z) = prod_i B(a_i + N_i, b_i + N_>i) / B(a_i, b_i)

    (papers: erratum 11). Labels matter: a relabelled Z has another probability. ``a`` and ``b`` hold the first entries,
    and the last goes on: a_i = a_L decay^(i - L), b_i = b_L decay^(i - L) + discount (i - L) for i >= L, the last
    index. b_L = 0 ends the sticks there.

    The constructors check their arguments; the class itself does not. The sum of log(1 + a_i / b_i) is infinite for
    all of them, so the shares sum to 1 (Porteous2006, footnote 1).

    Examples
    --------
    >>> import numpy as np
    >>> prior = StickBreaking.dirichlet_process(2.0)
    >>> prior.mean_shares(3).round(4).tolist()
    [0.3333, 0.2222, 0.1481]
    >>> round(float(np.exp(prior.log_probability([0, 0]))), 4)  # E V_0^2, V_0 ~ Beta(1, 2)
    0.1667
    """

    a: Vector
    b: Vector
    discount: float = 0.0
    decay: float = 1.0

    @classmethod
    def of(cls, a: Any, b: Any) -> StickBreaking:
        """The prior with ``a`` and ``b``: a number for all sticks, or an array whose last entry goes on.

        All must be > 0, but the last of ``b`` may be 0: then the stick there is the last one.
        """
        arrays = [_entries(name, values) for name, values in (("a", a), ("b", b))]
        length = max(map(len, arrays))
        first, second = (np.concatenate([each, np.full(length - len(each), each[-1])]) for each in arrays)
        if not (np.all(first > 0.0) and np.all(second[:-1] > 0.0) and second[-1] >= 0.0):
            msg = f"a and b must be > 0 (the last of b may be 0, which ends the sticks), got a={a!r}, b={b!r}"
            raise ValueError(msg)
        return cls(first, second).checked()

    @classmethod
    def dirichlet_process(cls, alpha: float) -> StickBreaking:
        """a_i = 1, b_i = alpha > 0: the labels of a Dirichlet process (Sethuraman 1994)."""
        return cls.pitman_yor(alpha, 0.0)

    @classmethod
    def pitman_yor(cls, alpha: float, discount: float) -> StickBreaking:
        """a_i = 1 - d, b_i = alpha + (i + 1) d, with 0 <= d < 1 and alpha > -d: the labels of a Pitman-Yor process."""
        alpha, discount = check_number("alpha", alpha), check_number("discount", discount)
        if not (0.0 <= discount < 1.0 and -discount < alpha <= LARGEST):
            msg = f"discount must be in [0, 1) and alpha > -discount, got alpha={alpha}, discount={discount}"
            raise ValueError(msg)
        return cls(np.array([1.0 - discount]), np.array([alpha + discount]), discount).checked()

    @classmethod
    def gamma_family(cls, gamma: float, decay: float) -> StickBreaking:
        """a_i = gamma (1 - r) r^i, b_i = gamma r^(i + 1) with r = ``decay``: Porteous2006 (7).

        gamma_i points are assigned beforehand to label i, ``gamma`` in all: E[pi_i | Z] is (gamma_i + N_i) over their
        sum.
        """
        gamma, decay = check_number("gamma", gamma), check_number("decay", decay)
        if not (SMALLEST <= gamma <= LARGEST and 0.0 < decay < 1.0):
            msg = f"gamma must be > 0 and decay in (0, 1), got gamma={gamma}, decay={decay}"
            raise ValueError(msg)
        return cls(np.array([gamma * (1.0 - decay)]), np.array([gamma * decay]), decay=decay).checked()

    @property
    def n_components(self) -> int | None:
        """How many labels have a share above ``SMALLEST``, if not infinitely many."""
        last = len(self.a) - 1
        if self.b[last] == 0.0:
            return last + 1
        if self.decay < 1.0:
            least = min(self.a[last], self.b[last])
            return last + 1 + int(max(log(SMALLEST / least) / log(self.decay), 0.0))
        return None

    def mean_shares(self, n: int) -> Vector:
        """E[pi_i] of the first ``n`` labels, Porteous2006 (6) without points; O(n)."""
        shares, rest = np.zeros(n), 1.0
        for i in range(n):
            a, b = stick(self, i)
            shares[i], rest = rest * a / (a + b), rest * b / (a + b)
        return shares

    def log_probability(self, Z: Any) -> float:
        """log P(Z) of explicit labels 0, 1, ..., in nats; O(N + K)."""
        given = np.asarray(Z)
        if given.ndim != 1 or not len(given) or given.dtype.kind not in "iu" or given.min() < 0:
            refuse_value("Z must be labels of points, whole numbers from 0", Z)
        labels, counts = np.unique(given.astype(np.int64), return_counts=True)
        if self.n_components is not None and labels[-1] >= self.n_components:
            return -inf
        return log_labels(self, labels, counts, 0, int(labels[-1]) + 1, 0)

    def __eq__(self, other: object) -> bool:
        """Whether all entries are equal."""
        return isinstance(other, StickBreaking) and repr(self) == repr(other)

    def __ne__(self, other: object) -> bool:
        """Whether an entry differs."""
        return not self == other

    def __hash__(self) -> int:
        """Equal priors have equal hashes."""
        return hash(repr(self))

    def __repr__(self) -> str:
        """With all entries, so that equal priors have equal descriptions."""
        rest = f", discount={self.discount}" if self.discount else f", decay={self.decay}" if self.decay < 1.0 else ""
        return f"StickBreaking(a={self.a.tolist()}, b={self.b.tolist()}{rest})"

    def is_representable(self) -> bool:
        """Whether labels beyond the last one have a share of at most ``LARGEST_LOSS``."""
        return log_rest(self, 0, LAST_LABEL, 0.0) <= log(LARGEST_LOSS)

    def checked(self) -> StickBreaking:
        """Self; ValueError where labels beyond the last one have a larger share."""
        if not self.is_representable():
            msg = f"{self} has labels beyond 2^62 with a share above {LARGEST_LOSS:.0e}: take a smaller discount or b"
            raise ValueError(msg)
        return self


def _entries(name: str, values: Any) -> Vector:
    try:
        array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        array = np.full(1, np.nan)
    if array.ndim != 1 or not len(array) or not np.all(np.abs(array) <= LARGEST):
        refuse_value(f"{name} must be a finite number, or a sequence of them, at most {LARGEST:.0e}", values)
    return array


@jitable
def stick(prior: StickBreaking, i: int) -> tuple[float, float]:
    """(a_i, b_i)."""
    last = prior.a.shape[0] - 1
    if i <= last:
        return float(prior.a[i]), float(prior.b[i])
    k = float(i - last)
    power = prior.decay**k if prior.decay < 1.0 else 1.0
    return prior.a[last] * power, prior.b[last] * power + prior.discount * k


@jitable
def log_passing(prior: StickBreaking, i: int, n: float) -> float:
    """Log E[1 - V_i] of a label without points and ``n`` points of higher ones."""
    a, b = stick(prior, i)
    return -log1p(a / (b + n)) if b + n > 0.0 else -inf


@jitable_once
def log_rest(prior: StickBreaking, first: int, end: int, n: float) -> float:
    """Log of the expected share of the stick at ``first`` that is left at ``end``, if labels between have no points.

    The sum of log (b_i + n) / (a_i + b_i + n), ``n`` the number of points of labels from ``end`` on. O(1), beside
    labels whose a and b were given one by one.
    """
    last, total = prior.a.shape[0] - 1, 0.0
    while first < end and (first < last or end - first <= _FEW):
        total += log_passing(prior, first, n)
        first += 1
    if first == end:
        return total
    a, b = prior.a[last], prior.b[last]
    k, m = float(first - last), float(end - last)
    if prior.discount > 0.0:
        x, h = (b + n) / prior.discount + k, a / prior.discount
        if m - k < h:  # the shorter of two equal products has the smaller rounding
            return total + (log_rising(x, m - k) - log_rising(x + h, m - k))
        return total + (log_rising(x, h) - log_rising(x + (m - k), h))
    if prior.decay < 1.0:  # a_i + b_i = b_(i - 1): all but two factors cancel
        if n == 0.0:
            return total + (m - k) * log(prior.decay)
        return total + (log(b * prior.decay ** (m - 1.0) + n) - log(b * prior.decay ** (k - 1.0) + n))
    return total + (m - k) * log_passing(prior, last, n)


@jitable_once
def log_gap(prior: StickBreaking, first: int, end: int, n: int) -> float:
    """The part in log P(Z) of labels ``first`` to ``end - 1``, which have no points, ``n`` points of higher ones.

    The sum of log B(a_i, b_i + n) / B(a_i, b_i). O(1), or O(min(gap, n)) with a discount, beside labels whose a and b
    were given one by one.
    """
    last, total = prior.a.shape[0] - 1, 0.0
    if n == 0:
        return 0.0
    while first < end and (first < last or end - first <= _FEW or (prior.discount > 0.0 and end - first <= n)):
        total += log_stick(prior, first, 0, n)
        first += 1
    if first == end:
        return total
    a, b = prior.a[last], prior.b[last]
    k, m = float(first - last), float(end - last)
    if prior.discount > 0.0:  # the same product, by points instead of labels
        for above in range(n):
            total += log_rest(prior, first, end, float(above))
        return total
    if prior.decay < 1.0:
        top, low = b * prior.decay ** (m - 1.0), b * prior.decay ** (k - 1.0)
        return total + (log_rising(top, float(n)) - log_rising(low, float(n))) if top > 0.0 else -inf
    if b == 0.0:
        return -inf
    return total + (m - k) * (log_rising(b, float(n)) - log_rising(a + b, float(n)))


@jitable_once
def log_stick(prior: StickBreaking, i: int, n: int, above: int) -> float:
    """The part of label i in log P(Z): log B(a_i + n, b_i + above) / B(a_i, b_i)."""
    a, b = stick(prior, i)
    if above == 0 and b == 0.0:
        return 0.0
    if b == 0.0:
        return -inf
    total = -log_rising(a + b, float(n + above))
    if n > 0:
        total += log_rising(a, float(n))
    if above > 0:
        total += log_rising(b, float(above))
    return total


@jitable_once
def log_labels(prior: StickBreaking, labels: Labels, counts: Labels, first: int, end: int, above: int) -> float:
    """The part of labels ``first`` to ``end - 1`` in log P(Z), of which ``labels``, ascending, have ``counts`` points.

    ``above`` points have labels from ``end`` on. From 0 to the highest label it is log P(Z). O(K) gaps and sticks.
    """
    n, total = above, 0.0
    for p in range(labels.shape[0]):
        n += counts[p]
    for p in range(labels.shape[0]):
        total += log_gap(prior, first, labels[p], n)
        n -= counts[p]
        total += log_stick(prior, labels[p], counts[p], n)
        first = labels[p] + 1
    return total + log_gap(prior, first, end, n)


@jitable_once
def mean_shares_given(
    prior: StickBreaking, labels: Labels, counts: Labels, total: int, shares: Vector, gaps: Vector
) -> float:
    """Fill ``shares[p]`` with E[pi | Z] of ``labels[p]``, ascending, and ``gaps[p]`` with that of all labels before it.

    Porteous2006 (6). The labels before it are those since ``labels[p - 1]``; the last of ``gaps`` are those behind all.
    ``total`` is the sum of ``counts``. Returns the sum of ``gaps``. O(K).
    """
    rest, first, above, empty = 1.0, 0, total, 0.0
    K, last = labels.shape[0], prior.a.shape[0] - 1
    for p in range(K):
        gaps[p] = 0.0
        while first < labels[p] and (first < last or labels[p] - first <= _FEW):
            a, b = stick(prior, first)
            part = rest / (a + b + float(above))
            gaps[p] += part * a
            rest = part * (b + float(above))
            first += 1
        if first < labels[p]:
            passing = log_rest(prior, first, labels[p], float(above))
            gaps[p] -= expm1(passing) * rest
            rest *= exp(passing)
        empty += gaps[p]
        above -= counts[p]
        a, b = stick(prior, labels[p])
        part = rest / (a + b + float(counts[p] + above))
        shares[p] = part * (a + float(counts[p]))
        rest = part * (b + float(above))
        first = labels[p] + 1
    gaps[K] = rest
    return empty + rest


@jitable_once
def draw_in_gap(prior: StickBreaking, first: int, end: int, n: float, rng: RngVerbs) -> int:
    """A label from ``first`` to ``end - 1``, all without points, drawn in proportion to E[pi_i | Z].

    ``n`` points have labels from ``end`` on. By halves: O(log gap) choices.
    """
    while end - first > 1:
        middle = first + (end - first) // 2
        lower = -expm1(log_rest(prior, first, middle, n))
        if rng.chance(min(lower / -expm1(log_rest(prior, first, end, n)), 1.0)):
            end = middle
        else:
            first = middle
    return first


@jitable_once
def draw_behind(prior: StickBreaking, first: int, rng: RngVerbs) -> int:
    """A label from ``first`` on, all without points, drawn in proportion to E[pi_i]. O(log label) choices."""
    width = 1
    while first < LAST_LABEL - width:
        if rng.chance(-expm1(log_rest(prior, first, first + width, 0.0))):
            return draw_in_gap(prior, first, first + width, 0.0, rng)
        first += width
        width *= 2
    return first
