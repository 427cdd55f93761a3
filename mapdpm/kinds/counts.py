"""Whether whole numbers are counts: Poisson clusters against normal ones of step 1, by the best partitions of each."""

from __future__ import annotations

import numpy as np

from mapdpm.data.counts import MOST
from mapdpm.protocol import Vector
from mapdpm.search.intervals import atoms_of, count_intervals, normal_intervals
from mapdpm.special import log_rising_of_arrays

MARGIN, MARGIN_A_POINT = 5.0, 0.01
"""Nats by which the joint of Poisson clusters must be higher than that of normal ones: the larger of the two counts."""

_FEWEST = 6  # distinct values: of fewer nobody can tell


def are_counts(values: Vector, counts: Vector) -> bool:
    """Whether whole numbers from 0 on have a variance that grows with their mean; ``values`` rise.

    Each family has the best partition of the column into intervals, under the best of some priors. The density of a
    rounded value, for a step of 1, is a lower bound of the probability of its cell.

    Examples
    --------
    >>> are_counts(np.arange(8.0), np.array([50.0, 110.0, 120.0, 90.0, 50.0, 22.0, 8.0, 3.0]))
    True
    >>> are_counts(np.arange(97.0, 104.0), np.array([1.0, 10.0, 60.0, 100.0, 58.0, 12.0, 2.0]))
    False
    """
    if len(values) < _FEWEST or values[0] < 0.0 or values[-1] > MOST or np.any(values != np.floor(values)):
        return False
    atoms = atoms_of(values, counts)
    log_factorials = float(counts @ log_rising_of_arrays(np.ones(1), values))
    gain = count_intervals(atoms, log_factorials).joint - normal_intervals(atoms, 1.0).joint
    return gain > max(MARGIN, MARGIN_A_POINT * float(counts.sum()))
