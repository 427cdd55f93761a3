"""OnlineHDPHMM: states of a stream, in fixed memory. No mathematics here: C does all the learning."""

from __future__ import annotations

from typing import Self

import numpy as np

from mapdpm.files import container
from mapdpm.protocol import Matrix, Vector
from mapdpm.stream.lock import exclusive
from mapdpm.stream.pointwise import PointwiseLearner
from mapdpm.stream.settings import StateSettings

__all__ = ["OnlineHDPHMM"]


class OnlineHDPHMM(PointwiseLearner, StateSettings):
    r"""States of a stream in one pass and fixed memory: an HDP-HMM that finds its states, splits, merges and forgets.

    A machine goes through states and comes back to them. Each point is filtered: its states have the probabilities
    p(state | all points so far), under a row of transitions for each state (Teh2004 section 7, with the counts so far;
    the sticky weight ``kappa`` of Fox et al. 2008). A point waits until ``lag`` later ones are known; then it is
    learned by its most probable state given these (forward-backward). So states are found that overlap, where
    ``OnlineMAPDPM`` sees one cluster: points in a row are likely in one state. All else is as there: states split,
    merge and are forgotten, and the same C code runs on a microcontroller, with the same bits.

    Parameters
    ----------
    {settings}

    Attributes
    ----------
    belief : ndarray of shape (K,)
        The probability of each state for the last point, given all points so far, in the order of ``ids``; zeros
        before the first point of a sequence.
    transitions : ndarray of shape (K, K + 1)
        The probability of each state after each state; the last column is a new state. Rows sum to 1.
    start : ndarray of shape (K + 1,)
        The probability of each state at the start of a sequence.
    run_length : int
        Number of points in a row, up to the last, whose most probable state when they came was the same; 1 after a
        change.
    ids, weights, means, variances, n_clusters, n_seen, nbytes, events, likelihood_, n_features_in_, feature_names_in_
        As in ``OnlineMAPDPM``; points that wait count in ``n_seen`` and not yet in ``weights``.

    Raises
    ------
    ValueError
        A parameter is invalid.

    Notes
    -----
    O(K (K + D)) a point on average; one point in 2 ``lag`` takes all steps of learning, O(lag K (K + D)). Memory is
    that of ``OnlineMAPDPM`` and 6 K^2 + 3 lag (K + D) reals. Log densities are those of the filter: of a point given
    the points before. See docs/states.md.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> state = np.repeat(rng.integers(0, 2, size=60), 50)
    >>> X = rng.normal(size=(3000, 2)) + 1.5 * state[:, None]  # two states that overlap
    >>> model = OnlineHDPHMM(max_states=8)
    >>> ids = model.learn_many(X)
    >>> model.n_clusters, model.belief.shape
    (2, (2,))
    """

    _kind = container.STREAM_OF_STATES

    @exclusive
    def gap(self) -> Self:
        """The recording is interrupted, or ends: learn all points that wait; the next one begins a sequence.

        During the warm-up it does nothing. Returns self.
        """
        if self._learner is not None:
            self._learner.lib.mapdpm_gap(self._learner.stream)
        return self

    @property
    @exclusive
    def belief(self) -> Vector:
        """The probability of each state for the last point, given all points so far, shape (K,)."""
        learner = self.ready_learner()
        found = np.empty(self.max_states, learner.dtype)
        learner.lib.mapdpm_get_belief(learner.stream, learner.reals(found))
        return found[learner.slots()].astype(np.float64)

    @property
    @exclusive
    def transitions(self) -> Matrix:
        """The probability of each state after each state, shape (K, K + 1); the last column is a new state."""
        return self._steps()[:-1]

    @property
    @exclusive
    def start(self) -> Vector:
        """The probability of each state at the start of a sequence, shape (K + 1,)."""
        return self._steps()[-1]

    @property
    @exclusive
    def run_length(self) -> int:
        """Number of points in a row, up to the last, that had the same most probable state when they came."""
        if self._learner is None:
            return 0
        length = self._learner.ffi.new("uint32_t *")
        self._learner.lib.mapdpm_get_run(self._learner.stream, length)
        return int(length[0])

    def _steps(self) -> Matrix:
        """A row after each state, and last that of the first state; a column for each, and last for a new one."""
        learner, K = self.ready_learner(), self.max_states
        steps = np.empty((K + 1, K + 1), learner.dtype)
        learner.lib.mapdpm_get_transitions(learner.stream, learner.reals(steps))
        kept = [*learner.slots(), K]
        return steps[np.ix_(kept, kept)].astype(np.float64)
