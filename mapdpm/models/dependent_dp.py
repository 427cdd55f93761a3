"""Clusters that drift over time slices: the best draw of a dependent Dirichlet process, climbed to its mode."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, cast

import numpy as np

from mapdpm.data.frames import column_names
from mapdpm.data.times import read_times
from mapdpm.estimators.packed import FittedEstimator
from mapdpm.jit import compiled_if_possible
from mapdpm.likelihoods._drift import Drift, log_densities, log_densities_alone
from mapdpm.models.dependent_dp_mode import climbed
from mapdpm.partition_priors.stick_breaking import mean_shares_given
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.rng import seeded
from mapdpm.samplers._time_slices import INTERVALS
from mapdpm.samplers.chain_data import ChainData, Given
from mapdpm.samplers.dependent_dp_gibbs import DependentChain, DependentDPGibbs
from mapdpm.samplers.sample import sample
from mapdpm.samplers.trace import Trace
from mapdpm.search.ascent import NEVER
from mapdpm.search.settings import Deadline
from mapdpm.threads import Threads
from mapdpm.validation import check_callable, check_count, check_points


@dataclass(eq=False, repr=False)
class _Settings:
    alpha: float | None = None
    _: KW_ONLY
    discount: float = 0.0
    a: Any = None
    b: Any = None
    sticks: Any = None
    likelihood: Any = None
    label_moves: Any = INTERVALS
    draws: int = 200
    chains: int = 1
    max_sweeps: int = 100
    time_limit: float | None = None
    init: Any = "random"
    random_state: Any = None
    n_jobs: int | None = None
    callback: Any = None


class DependentDP(_Settings, FittedEstimator):
    r"""Clusters over time slices whose means drift and whose shares change: a dependent Dirichlet process.

    The model of Porteous2006 section 5. ``fit`` samples by ``samplers.DependentDPGibbs`` from random labels, takes the
    draw of the highest log p(x, Z), and climbs to its mode: sweeps of single points and exchanges of labels, and merges
    of clusters at all times or at one, each kept if log p(x, Z) rises. A cluster has one label at all times, so it can
    be followed, and its points may be missing for a while.

    Parameters
    ----------
    alpha, discount, a, b, sticks, label_moves
        As for ``samplers.DependentDPGibbs``.
    likelihood : DriftingNormal or None
        The prior of means and covariances. None is ``DriftingNormal.empirical(X, times)``.
    draws, chains : int >= 1
        Steps of the sampler, and chains.
    max_sweeps : int >= 1
        The most sweeps of the climb.
    time_limit : float or None
        Seconds after which draws and climb end with the best result so far; draws take half of them at most.
    init, random_state, n_jobs, callback
        As for ``sample``; init is "random" by default.

    Attributes
    ----------
    labels_ : ndarray of shape (n_points,)
        Cluster of each point, 0..K-1 in order of first appearance; the same number at all times.
    n_clusters_ : int
        K.
    explicit_labels_ : ndarray of shape (K,)
        The label of each cluster under the stick-breaking prior, from 0.
    times_ : ndarray of shape (T,)
        The distinct times, ascending.
    means_ : ndarray of shape (K, T, n_features)
        The mean of each cluster at each time, also where it has no points: with covariances_ at the mode given labels.
    covariances_ : ndarray of shape (K, T, n_features, n_features)
    weights_ : ndarray of shape (T, K + 1)
        E[pi \| Z] of each cluster at each time, and last that of all other labels.
    log_joint_ : float
        log p(x, Z) of explicit labels, in nats: covariances integrated out exactly, means by Laplace's method.
    history_ : ndarray
        log_joint_ of the best draw, and after each sweep and merge that raised it.
    converged_ : bool
        Whether the climb ended before ``max_sweeps`` and ``time_limit``.
    trace_ : Trace
        The draws.
    n_features_in_, feature_names_in_
        Features of the data, and their names where it was a DataFrame.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> times = np.repeat(np.arange(4), 30)
    >>> X = rng.normal(0.0, 0.1, (120, 1)) + 2.0 * rng.integers(0, 2, (120, 1)) + 0.2 * times[:, None]
    >>> model = DependentDP(random_state=0).fit(X, times)
    >>> model.n_clusters_, model.means_.shape
    (2, (2, 4, 1))
    """

    _routed = dict.fromkeys(("fit", "predict", "predict_proba", "score_samples"), "times")

    n_clusters_: int
    explicit_labels_: Labels
    times_: Vector
    means_: Matrix
    covariances_: Matrix
    weights_: Matrix
    log_joint_: float
    history_: Vector
    n_sweeps_: int
    converged_: bool
    trace_: Trace
    _drift: Drift
    _parameters: Matrix

    _log_densities = staticmethod(compiled_if_possible(log_densities))
    _log_densities_alone = staticmethod(compiled_if_possible(log_densities_alone))

    def fit(self, X: Any, times: Any) -> DependentDP:
        """Find the clusters of ``X``, shape (n_points, n_features), at ``times``, one number or date a point."""
        deadline = Deadline.checked(self.time_limit)
        names, points = column_names(X), check_points(X).astype(np.float64, copy=False)
        max_sweeps = check_count("max_sweeps", self.max_sweeps)
        sticks = {name: getattr(self, name) for name in ("alpha", "discount", "a", "b", "sticks")}
        sampler = DependentDPGibbs(**sticks, likelihood=self.likelihood, label_moves=self.label_moves)
        rng = seeded(self.random_state)
        seed = int(rng.generator.integers(2**31))
        options = {"chains": self.chains, "init": self.init, "n_jobs": self.n_jobs, "random_state": seed}
        trace = self._sampled(points, sampler, deadline.of_sample(), times=times, **options)
        seen, given = sampler.observe(points), sampler.check_given(Given(times=times), len(points))
        data = ChainData(seen.likelihood, seen.data, given)
        with Threads(None, apart=True) as threads:  # kernels read a generator: Ctrl-C must not come there

            def ends() -> bool:
                threads.check()
                return deadline.expired()

            def from_best(best: Labels) -> tuple[DependentChain, Vector, bool]:
                chain = cast("DependentChain", sampler.chain(data, best, rng))
                chain.labels_of_slots[chain.state.labels] = trace.best_variables["labels"]
                return chain, *climbed(sampler, chain, max_sweeps, rng, ends)

            ((chain, self.history_, self.converged_),) = threads.each(from_best, [trace.best])
        self.trace_, self.log_joint_, self.n_sweeps_ = trace, float(self.history_[-1]), len(self.history_) - 1
        self._keep(chain)
        self._remember(points.shape[1], names)
        self._warn_unless(self.converged_ or not deadline.expired())
        return self

    def _sampled(self, points: Matrix, sampler: DependentDPGibbs, deadline: Deadline, **options: Any) -> Trace:
        """The draws; with a time limit one by one, which are the same, and as many as there is time for."""
        if deadline.expired is NEVER:
            return sample(points, sampler, draws=self.draws, callback=self.callback, **options)
        draws = check_count("draws", self.draws)
        check_callable("callback", self.callback)
        trace: Trace | None = None
        for done in range(draws):

            def heard(progress: Any, done: int = done) -> None:
                self.callback(progress._replace(step=done + 1, total=draws))

            callback = None if self.callback is None else heard
            trace = sample(points, sampler, draws=1, callback=callback, resume=trace, **options)
            if deadline.expired():
                break
        assert trace is not None  # noqa: S101  (there is a draw at least)
        return trace

    def fit_predict(self, X: Any, times: Any) -> Labels:
        """Find the clusters and return ``labels_``."""
        return self.fit(X, times).labels_

    def predict(self, X: Any, times: Any) -> Labels:
        """The most probable cluster of each point at its time, one of ``times_``."""
        return self._log_shares(X, times)[:, : self.n_clusters_].argmax(axis=1)

    def predict_proba(self, X: Any, times: Any) -> Matrix:
        """The probability of each cluster, and last of a new one, for each point at its time: (n_points, K + 1)."""
        scores = self._log_shares(X, times)
        return np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))

    def score_samples(self, X: Any, times: Any) -> Vector:
        """log p(x | parameters, Z) of each point at its time, in nats."""
        return np.logaddexp.reduce(self._log_shares(X, times), axis=1)

    def _keep(self, chain: DependentChain) -> None:
        chain.refresh()
        K = chain.n_clusters
        self.labels_, self.n_clusters_ = chain.state.labels.copy(), K
        self.explicit_labels_ = chain.labels_of_slots[:K].copy()
        self.times_, self._drift = chain.times.values, chain.drift
        self._parameters = chain.parameters[:K].copy()
        self.means_, self.covariances_ = chain.drift.moments(self._parameters)
        order = np.argsort(self.explicit_labels_)
        counts = chain.slices.counts[:, :K]
        self.weights_ = np.empty((len(counts), K + 1))
        for row, weights in zip(counts, self.weights_, strict=True):
            shares, labels = np.empty(K), self.explicit_labels_[order]
            weights[K] = mean_shares_given(chain.sticks, labels, row[order], int(row.sum()), shares, np.empty(K + 1))
            weights[order] = shares

    def _log_shares(self, X: Any, times: Any) -> Matrix:
        """log of E[pi] p(x | cluster) for each cluster, and last for all other labels."""
        points = self._points(X).astype(np.float64, copy=False)
        given = read_times(times, len(points))
        slices = np.searchsorted(self.times_, given.values)
        known = self.times_[np.minimum(slices, len(self.times_) - 1)] == given.values
        if not np.all(known):
            msg = f"time {given.values[~known][0]} is none of the {len(self.times_)} times of fit, in times_"
            raise ValueError(msg)
        at, drift, n = slices[given.of_points], self._drift, len(points)
        scores, alone, standard = np.empty((n, self.n_clusters_)), np.empty(n), (points - drift.m0) / drift.units
        self._log_densities(drift, standard, at, self._parameters, scores)
        self._log_densities_alone(drift, standard, at, alone)
        scores = np.column_stack([scores, alone]) - np.log(drift.units).sum()
        with np.errstate(divide="ignore"):  # sticks that end leave nothing for a new label
            result: Matrix = scores + np.log(self.weights_[at])
        return result

    def _names_out(self, prefix: str) -> list[str]:
        return [f"{prefix}{k}" for k in range(self.n_clusters_)]
