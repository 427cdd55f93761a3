"""The hierarchical Dirichlet process as a prior of the states of sequences: the HDP-HMM of Teh2004, also sticky.

Each state has a row of transitions, a Dirichlet process around common shares; the first states of sequences have one,
too. So rows are groups, and a state is a cluster: what counts is the table of transitions.
"""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

import numpy as np

from mapdpm.partition_priors.franchise import Cells, Level, first_guess, integral, mode_of
from mapdpm.partition_priors.hierarchy import LARGEST_CONCENTRATION, hierarchy
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.special import log_rising
from mapdpm.validation import check_number


def transitions(alpha: Any, gamma: Any, kappa: Any) -> Transitions:
    """The prior with these concentrations, checked; ValueError where one is out of its range."""
    checked = hierarchy(float(check_number("alpha", alpha)), gamma)
    sticks = check_number("kappa", kappa)
    if not 0.0 <= sticks <= LARGEST_CONCENTRATION:
        msg = f"kappa must be from 0 to {LARGEST_CONCENTRATION:.0e}, got {sticks}"
        raise ValueError(msg)
    return Transitions(checked.alphas[0], checked.gamma, float(sticks))


class Solution(NamedTuple):
    """The common shares of states, and the log probability of a table of transitions."""

    shares: Vector
    """(K + 1,): beta_k, and last beta_u, the share of all states that nobody was in; they sum to 1."""
    log_partition: float
    """log p(z), in nats."""


class Transitions(NamedTuple):
    r"""p(z) of an HDP-HMM: transitions and shares are integrated out (Teh2004 section 7; kappa: Fox et al. 2008).

    p(z) = gamma^K I / (alpha^(n_start) prod_v (alpha + kappa)^(n_v)), where I is the integral of beta_u^(gamma - 1)
    prod_k g_k(beta_k) / beta_k over shares that sum to 1, g_k(b) = prod_v (alpha b + kappa [v = k])^(n_vk) over the
    states v before, and the start of a sequence, which has no kappa (maths (83)). To 0.03 nats.

    Examples
    --------
    >>> import numpy as np
    >>> prior = Transitions(alpha=1.0, gamma=1.0, kappa=0.0)
    >>> stays = prior.log_partition(np.array([[1], [1]]))  # two points in one state: exactly log 1/2
    >>> print(f"{np.exp(stays):.2f}")
    0.50
    """

    alpha: float
    gamma: float
    kappa: float = 0.0

    @property
    def numbers(self) -> tuple[float, ...]:
        """The concentrations: alpha and gamma."""
        return self.alpha, self.gamma

    def log_partition(self, table: Labels) -> float:
        """log p(z) of a table of transitions, in nats; see ``solve``."""
        return self.solve(table).log_partition

    def solve(self, table: Labels) -> Solution:
        """The mode of the shares given ``table``, and log p(z); O(cells of different counts).

        ``table`` (K + 1, K) counts in row k what comes after state k, and in the last row the first states of
        sequences. Each state must have been entered: by a start, or from another state.
        """
        K = table.shape[1]
        level = Level(self.alpha, self.gamma, np.zeros(K, dtype=np.int64), self._cells(table))
        bases = np.zeros(K)
        mode = mode_of(level, bases, first_guess(level, bases))
        value, _ = integral(level, bases, np.array([self.gamma]), mode)
        sizes = table.sum(axis=1).astype(np.float64)
        rows = log_rising(self.alpha, sizes[-1]) + sum(log_rising(self.alpha + self.kappa, n) for n in sizes[:-1])
        shares = np.append(mode.shares, self.gamma / mode.totals[0])
        return Solution(shares / shares.sum(), K * log(self.gamma) + value - rows)

    def means(self, table: Labels, weights: Vector) -> tuple[Vector, Matrix]:
        """The posterior means of the first state, (K + 1,), and of transitions, (K + 1, K + 1), given the shares.

        ``table`` as in ``solve``; ``weights`` (K + 1,) are alpha times the shares. The last row is that of a new state,
        which leads on by the shares, and sticks as others.
        """
        K = table.shape[1]
        counts = np.hstack([table, np.zeros((K + 1, 1))]) + weights
        counts[np.arange(K), np.arange(K)] += self.kappa
        means = counts / counts.sum(axis=1, keepdims=True)
        new = weights.copy()
        new[-1] += self.kappa
        return means[-1], np.vstack([means[:-1], new / (self.alpha + self.kappa)])

    def _cells(self, table: Labels) -> Cells:
        """The counts of ``table``; equal ones of a state are listed once, but for those of staying in it."""
        K = table.shape[1]
        stays = np.diag(table) if self.kappa > 0.0 else np.zeros(K, dtype=np.int64)
        others = table.copy()
        others[np.arange(K), np.arange(K)] -= stays
        rows, states = np.nonzero(others)
        base = int(others.max()) + 1
        keys, repeats = np.unique(states * base + others[rows, states], return_counts=True)
        own = np.flatnonzero(stays)
        return Cells(
            np.append(keys // base, own),
            np.append(keys % base, stays[own]).astype(np.float64),
            np.append(repeats, np.ones(len(own))).astype(np.float64),
            offsets=np.append(np.zeros(len(keys)), np.full(len(own), self.kappa)) if len(own) else None,
        )
