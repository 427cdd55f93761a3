"""The best of all partitions of a few points with shares: no local mode is left to end in."""

from __future__ import annotations

import numpy as np

from mapdpm.objective import is_gain
from mapdpm.search.ascent import Ascent
from mapdpm.search.exhaustive import labels_of, log_marginals, partitions
from mapdpm.search.sharing.problem import SharingProblem

MOST_POINTS = 7
"""7 points have 877 partitions; most are ruled out by their likelihood alone."""
_ERROR = 0.05  # nats; the docstrings of Hierarchy and Transitions promise 0.03


def best_of_all(problem: SharingProblem, found: Ascent) -> Ascent:
    """``found``, or the best of all partitions if that has a higher J; ``found`` for more points than a few.

    Partitions come in order of their likelihood. As p(z) <= 1, all are ruled out once the likelihood of one is below
    the best J; ``_ERROR`` allows for that of log p(z).
    """
    n, cap = problem.n_points, problem.flat.max_clusters
    if not 1 < n <= MOST_POINTS:
        return found
    every = partitions(n)
    likelihoods = log_marginals(problem.flat)[every].sum(axis=1)
    best, log_joint = None, found.history[-1]
    for i in np.argsort(-likelihoods, kind="stable"):
        if likelihoods[i] + _ERROR <= log_joint:
            break
        n_clusters = int(np.count_nonzero(every[i]))
        if cap is not None and n_clusters > cap:
            continue
        value = likelihoods[i] + problem.log_probability(problem.table_of(labels_of(every[i]), n_clusters))
        if is_gain(value - log_joint, log_joint):
            best, log_joint = every[i], value
    if best is None:
        return found
    clusters = problem.flat.empty(n, max(n, found.state.clusters.capacity))
    clusters.labels[:] = labels_of(best)
    state = problem.state_of(clusters)
    return found._replace(state=state, history=[*found.history, problem.log_joint(state)])
