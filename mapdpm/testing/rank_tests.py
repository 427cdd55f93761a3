"""Tests that a sampler with continuous draws leaves its posterior invariant: Gandy and Scott (2020).

Both tests start chains at draws of the joint p(parameters, partition, points): parameters come from the prior, then
points given them. Such a state is a draw from the posterior of its points, and it still is one after any number of
steps of a correct sampler. So no chain has to converge.

``two_sample`` takes any sampler. ``ranks`` takes a reversible one, or a kernel together with its reversal; it compares
states of one chain, and so shows faults that are small beside the spread of the prior. Needs scipy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mapdpm.protocol import Labels, Matrix, RngVerbs
from mapdpm.rng import Rng, seeded
from mapdpm.samplers.chain import Chain

Draw = Callable[[Rng], Chain]
"""A chain at a draw from the joint of model and points."""
Step = Callable[[Chain, RngVerbs], Any]
"""A step of the sampler under test."""
Statistics = Callable[[Chain], Sequence[float]]
"""The numbers of a chain that are compared."""


def after(draw: Draw, step: Step, statistics: Statistics, steps: int, replicates: int, rng: Rng) -> Matrix:
    """The statistics of ``replicates`` chains, each after ``steps`` from a draw of its own; shape (statistics, ...)."""
    found = []
    for _ in range(replicates):
        chain = draw(rng)
        for _ in range(steps):
            step(chain, rng)
        found.append([float(value) for value in statistics(chain)])
    return np.array(found).T


def two_sample(
    draw: Draw, step: Step, statistics: Statistics, *, steps: int = 4, replicates: int = 1500, random_state: Any = 0
) -> float:
    """The p-value for "steps of the sampler change the distribution of no statistic" (Gandy and Scott, section 2.1).

    Draws of the joint with and without ``steps`` of the sampler are compared, by the test of Kolmogorov and Smirnov for
    each statistic: ties make it conservative. The least p is multiplied by the number of statistics (Bonferroni), so
    the result may be above 1.

    Parameters
    ----------
    draw, step, statistics : callable
        ``draw(rng)`` makes a chain, ``step(chain, rng)`` edits it, ``statistics(chain)`` returns numbers.
    steps : int
        More steps show smaller faults.
    replicates : int
        The number of chains in either sample.
    random_state : int, Generator or None
        As for ``sample``.

    Returns
    -------
    float
        Reject the sampler below a false-alarm rate that you have chosen before, such as 1e-5.
    """
    from scipy import stats  # noqa: PLC0415  (an extra)

    rng = seeded(random_state)
    fresh, moved = (after(draw, step, statistics, n, replicates, rng) for n in (0, steps))
    return min(stats.ks_2samp(one, two).pvalue for one, two in zip(fresh, moved, strict=True)) * len(fresh)


def ranks(
    draw: Draw,
    step: Step,
    statistics: Statistics,
    *,
    back: Step | None = None,
    length: int = 5,
    replicates: int = 500,
    random_state: Any = 0,
) -> float:
    """The p-value for "the rank of the first state in its chain is uniform" (Gandy and Scott, Algorithm 2).

    A draw of the joint gets a uniform place in a chain of ``length`` states: states after it are made by ``step``,
    those before it by ``back``. If the sampler leaves the posterior invariant, the chain is stationary, and the rank of
    the draw among the states is uniform for every statistic; ties are broken at random. A chi-square test of each
    statistic; the least p is multiplied by their number.

    Parameters
    ----------
    draw, step, statistics, random_state
        As in ``two_sample``.
    back : callable, optional
        The time reversal of ``step``, such as a sweep in the opposite order. None is ``step``, for reversible kernels.
    length : int >= 2
        The number of states of a chain.
    replicates : int
        The number of chains: at least 5 for each rank.

    Returns
    -------
    float
        As in ``two_sample``.
    """
    from scipy import stats  # noqa: PLC0415  (an extra)

    rng = seeded(random_state)
    counts: list[Labels] = []
    for _ in range(replicates):
        place = rng.integer(length)
        chain = draw(rng)
        chain.refresh()  # what saved and restore ask for
        start = chain.saved()
        values = {0: np.array(statistics(chain), dtype=np.float64)}
        for sign, number, kernel in ((1, length - 1 - place, step), (-1, place, back or step)):
            chain.restore(start)
            for at in range(1, number + 1):
                kernel(chain, rng)
                values[sign * at] = np.array(statistics(chain), dtype=np.float64)
        own = values.pop(0)
        others = np.array(list(values.values()))
        below, equal = (others < own).sum(axis=0), (others == own).sum(axis=0)
        counts.append(below + np.array([rng.integer(int(n) + 1) for n in equal]))
    seen = [np.bincount(column, minlength=length) for column in np.array(counts).T]
    return min(float(stats.chisquare(column).pvalue) for column in seen) * len(seen)
