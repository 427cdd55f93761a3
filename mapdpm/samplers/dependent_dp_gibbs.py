"""Mixtures in time slices whose clusters drift: the dependent Dirichlet process of Porteous2006 section 5."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from mapdpm.data.times import Times, read_times
from mapdpm.jit import compiled_if_possible
from mapdpm.likelihoods import NormalInverseWishart
from mapdpm.likelihoods._drift import Drift, log_densities_alone
from mapdpm.likelihoods._drift_marginal import log_marginal_of_path
from mapdpm.likelihoods.drifting_normal import DriftingNormal
from mapdpm.partition_priors.stick_breaking import StickBreaking
from mapdpm.protocol import Labels, Likelihood, Matrix, RngVerbs, Vector
from mapdpm.rng import Climbing, Rng
from mapdpm.samplers._time_slices import INTERVALS, MOST_OPENED, Slices, add_points, redraw_parameters, sweep_slices
from mapdpm.samplers._with_parameters import PARAMETERS, Counted
from mapdpm.samplers.chain import CLUSTER, Chain
from mapdpm.samplers.chain_data import ChainData, Given
from mapdpm.samplers.sampler import Info
from mapdpm.samplers.stick_breaking_gibbs import (
    LabelledChain,
    StickBreakingGibbs,
    carry_labels,
    checked_moves,
    checked_rate,
    sticks_of,
)
from mapdpm.search.observed import Observed
from mapdpm.validation import check_points

MEANS, COVARIANCES = "means", "covariances"
"""Arrays of each draw that ``sample(keep=)`` may ask for."""

_EXCHANGES = 10.0  # of each kind a slice and step


class DependentChain(LabelledChain):
    """Labels of points in slices, and parameters of each label in each slice: ``aux["parameters"]``."""

    __slots__ = ("asked", "log_alone", "points", "times")

    asked: tuple[str, ...]
    times: Times
    points: Labels
    log_alone: Vector

    _add_points = staticmethod(compiled_if_possible(add_points))
    _log_marginal_of_path = staticmethod(compiled_if_possible(log_marginal_of_path))
    _log_densities_alone = staticmethod(compiled_if_possible(log_densities_alone))

    def set_times(self, times: Times) -> None:
        """Take over the slices of points. O(N)."""
        self.times, self.asked = times, ()
        self.points = np.argsort(times.of_points, kind="stable")
        self.log_alone = np.empty(self.n_points)
        self._log_densities_alone(self.drift, self.data, times.of_points, self.log_alone)

    @property
    def drift(self) -> Drift:
        """The prior of clusters over slices."""
        return cast("Drift", cast("Any", self.likelihood).family)

    @property
    def parameters(self) -> Matrix:
        """(slots, T, P): those of free slots have no meaning."""
        return cast("Matrix", self.aux[PARAMETERS])

    @property
    def slices(self) -> Slices:
        """The argument of kernels. O(N)."""
        capacity, T = self.state.capacity, len(self.times.values)
        of_points, z = self.times.of_points, self.state.labels
        counts = np.bincount(of_points * capacity + z, minlength=T * capacity).reshape(T, capacity)
        begins = np.searchsorted(of_points[self.points], np.arange(T + 1))
        return Slices(of_points, self.points, begins, self.log_alone, self.labels_of_slots, counts, self.parameters)

    def log_labels(self, prior: Any) -> float:
        """log P(Z) of all slices under ``prior``, in nats."""
        used = np.flatnonzero(self.state.counts)
        return math.fsum(self.log_slices(self.slices.counts.T[used], used, sticks_of(prior)))

    def log_slices(self, counts: Labels, slots: Labels, sticks: StickBreaking | None = None) -> Vector:
        """log P(Z) of each slice, for ``counts`` (clusters, slices) of the clusters in ``slots``."""
        labels = self.labels_of_slots[slots]
        order = np.argsort(labels)
        labels, end = labels[order], int(labels.max()) + 1
        sticks = self.sticks if sticks is None else sticks
        return np.array([self._log_labels(sticks, labels, row[order], 0, end, 0) for row in counts.T])

    def sums(self) -> tuple[Labels, Matrix, Matrix]:
        """Counts (slots, T), sums (slots, T, D) and scatters (slots, T, D (D + 1) / 2) of points. O(N D^2)."""
        slices, D = self.slices, self.data.shape[1]
        shape = (self.state.capacity, len(self.times.values))
        sums, scatters = np.zeros((*shape, D)), np.zeros((*shape, D * (D + 1) // 2))
        self._add_points(self.data, self.state, slices, sums, scatters)
        return np.ascontiguousarray(slices.counts.T), sums, scatters

    def log_marginal(self, counts: Labels, sums: Matrix, scatters: Matrix) -> float:
        """log p of the points of a cluster, in nats: see ``log_marginal_of_path``; 0 without points."""
        if not counts.any():
            return 0.0
        value = float(self._log_marginal_of_path(self.drift, counts, sums, scatters))
        return value - int(counts.sum()) * float(np.log(self.drift.units).sum())

    def log_joint(self) -> float:
        """log p(x, Z), in nats: covariances integrated out, means by Laplace's method (decision 122)."""
        of_slots = zip(*self.sums(), strict=True)
        return self.log_labels(self.prior) + math.fsum(self.log_marginal(*each) for each in of_slots)

    def keep(self, names: tuple[str, ...]) -> None:
        """Let traces hold "means" and "covariances" too."""
        self.asked = tuple(name for name in names if name in (MEANS, COVARIANCES))
        super().keep(tuple(name for name in names if name not in self.asked))

    def kept(self) -> dict[str, Any]:
        """As ``LabelledChain.kept``; "means" (cluster, slice, feature) and "covariances", if they were asked for."""
        found = super().kept()
        if self.asked:
            slots = list(dict.fromkeys(self.state.labels.tolist()))
            both = dict(zip((MEANS, COVARIANCES), self.drift.moments(self.parameters[slots]), strict=True))
            found |= {name: both[name] for name in self.asked}
        return found

    def dims_of(self, name: str, ndim: int) -> tuple[str, ...]:
        """The names of the axes of what ``kept`` returns as ``name``."""
        own = {MEANS: (CLUSTER, "slice", "feature"), COVARIANCES: (CLUSTER, "slice", "feature", "other_feature")}
        return own[name] if name in own else super().dims_of(name, ndim)


class DependentDPGibbs(StickBreakingGibbs):
    r"""Gibbs sampling of mixtures in time slices whose clusters drift: a dependent Dirichlet process (Porteous2006 5).

    Points at one time are a slice. Each slice has stick-breaking shares of its own, with the same a and b; label i has
    a mean in each slice, a Gaussian process over time, and a covariance in each (``DriftingNormal``). A step draws

    1. the means of each label over all slices, then its covariances (Porteous2006 (11));
    2. the label of each point in slice t: i with the weight E[pi_it \| Z_t] N(x; mean, covariance of i in slice t)
       (Porteous2006 (10)). Labels that no slice has are integrated out: a new one has the density p(x), by quadrature
       instead of the Monte Carlo integration of footnote 5, and its parameters are drawn given x;
    3. after each point, exchanges of two labels from the prior in one slice, in an interval of slices, and in all. The
       ratio has P(Z) and the densities of the means, which move along with covariances.

    Without exchanges a cluster hardly ever has one label in all slices. ``Trace.extra["labels"]`` has the explicit
    labels: points of one label are one cluster, in any slice. ``sample(keep=("partitions", "means", "covariances"))``
    also keeps parameters. ``log_joint`` is log p(x, Z), means integrated out by Laplace's method: to some
    tenths of a nat a cluster (docs/maths.md, section 24), and exact for known covariances.

    Parameters
    ----------
    alpha, discount, a, b, sticks, alpha_prior, discount_prior
        The shares of labels in each slice, as for ``StickBreakingGibbs``.
    likelihood : DriftingNormal or None
        The prior of means and covariances. None is ``DriftingNormal.empirical(X, times)``.
    label_moves : sequence of {"slice", "interval", "all"}
        Where labels are exchanged. ``()`` is Gibbs sampling alone.
    move_rate : float in (0, 1], optional
        The probability with which each kind of exchange is proposed after each point. None is 10 T / N: ten of each
        kind a slice and step.

    Raises
    ------
    ValueError
        As for ``StickBreakingGibbs``; or the covariance of means over the given times is not positive definite.

    Notes
    -----
    O(N K D^2 + K (T D)^3) a step, for T slices.

    Examples
    --------
    >>> import numpy as np
    >>> from mapdpm.samplers import sample
    >>> rng = np.random.default_rng(0)
    >>> times = np.repeat(np.arange(4), 20)
    >>> X = rng.normal(0.0, 0.1, (80, 1)) + rng.integers(0, 2, (80, 1)) + 0.1 * times[:, None]
    >>> trace = sample(X, DependentDPGibbs(1.0), times=times, draws=20, burn_in=20, random_state=0)
    >>> trace.extra["labels"].shape
    (1, 20, 80)
    """

    chain_type: type[Chain] = DependentChain
    """See ``Sampler``.

    :meta private:
    """
    takes = ("times",)

    _sweep_slices = staticmethod(compiled_if_possible(sweep_slices))
    _redraw_parameters = staticmethod(compiled_if_possible(redraw_parameters))

    def __init__(  # noqa: PLR0913  (all but alpha by name)
        self,
        alpha: float | None = None,
        *,
        likelihood: Any = None,
        label_moves: Any = INTERVALS,
        move_rate: float | None = None,
        discount: float = 0.0,
        a: Any = None,
        b: Any = None,
        sticks: StickBreaking | None = None,
        alpha_prior: Any = None,
        discount_prior: Any = None,
    ) -> None:
        if likelihood is not None and not isinstance(likelihood, DriftingNormal):
            msg = (
                f"likelihood must be a DriftingNormal, or None for one that is set from the points, got {likelihood!r}"
            )
            raise ValueError(msg)
        model = {"discount": discount, "a": a, "b": b, "sticks": sticks}
        model |= {"alpha_prior": alpha_prior, "discount_prior": discount_prior}
        super().__init__(alpha, likelihood=likelihood, label_moves=(), **model)
        self.label_moves, self.move_rate = checked_moves(label_moves, INTERVALS), checked_rate(move_rate)

    def observe(self, X: Any) -> Observed:
        """The points of ``X``; the family is made for them when times are known."""
        points = check_points(X).astype(np.float64, copy=False)
        family: DriftingNormal | None = self.target.likelihood  # type: ignore[assignment]
        counted = cast("Likelihood", Counted(None if family is None else family.for_data(points)))
        return Observed(counted, counted, points, np.zeros(points.shape[1]))

    def check_given(self, given: Given, n_points: int) -> Given:
        """``given`` with its times."""
        return (
            super().check_given(given._replace(times=None), n_points)._replace(times=read_times(given.times, n_points))
        )

    def chain(self, data: ChainData, init: str | Labels, rng: RngVerbs) -> Chain:
        """A new chain on ``data``. "sequential" draws labels as if all points were of one slice."""
        times, family = data.given.times, cast("Any", data.likelihood).family
        family = DriftingNormal.empirical(data.data, times.values) if family is None else family
        points, drift = family.standardised(data.data), family.over(times.values)
        D = len(drift.m0)
        psi = drift.axes * drift.variances @ drift.axes.T
        pooled = NormalInverseWishart(np.zeros(D), float(np.mean(drift.variances)), drift.nu0 or D + 2.0, psi)
        flat = ChainData(cast("Likelihood", pooled), points)
        labels = self.first_labels(flat, init, rng)
        counted = cast("Likelihood", Counted(drift))
        chain = cast("DependentChain", self.chain_type(counted, self.target.prior, points, labels))
        chain.set_times(times)
        carry_labels(chain)
        capacity = chain.state.capacity
        shape = (capacity, len(times.values), drift.n_parameters())
        dims = (CLUSTER, "slice", "parameter")
        chain.carry(PARAMETERS, np.tile(drift.parameters_at_mode(), (*shape[:2], 1)), dims, kept=False)
        for _ in range(2):  # the first draws means given covariances at their mode
            self.redraw_parameters(chain, rng)
        self.equip(chain)
        return chain

    def rates(self, chain: DependentChain) -> Vector:
        """The probability of each kind of exchange after a point."""
        usual = min(1.0, _EXCHANGES * len(chain.times.values) / chain.n_points)
        rate = usual if self.move_rate is None else self.move_rate
        return np.array([rate * (kind in self.label_moves) for kind in INTERVALS])

    def redraw_parameters(self, chain: DependentChain, rng: RngVerbs, *, at_mode: bool = False) -> None:
        """Draw the means of all clusters, then their covariances; or set them to the modes of these conditionals."""
        self._redraw_parameters(chain.model, chain.state, chain.slices, at_mode, _of_one_type(rng))

    def sweep(self, chain: DependentChain, rng: RngVerbs) -> Info:
        """Redraw the labels of all points, with exchanges after each."""
        start, total, rates, rng = 0, np.zeros(3, dtype=np.int64), self.rates(chain), _of_one_type(rng)
        while start < chain.n_points:
            chain.reserve(MOST_OPENED)
            start, *more = self._sweep_slices(chain.model, chain.state, chain.slices, rates, start, rng)
            total += more
        return Info(chain.n_clusters, *map(int, total))

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        """Parameters, then labels."""
        chain = cast("DependentChain", chain)
        self.redraw_parameters(chain, rng)
        return self.sweep(chain, rng)


def _of_one_type(rng: Any) -> Any:
    """``rng`` as ``DependentDP`` climbs with: numba compiles the kernels, which takes a minute, once for both."""
    return Climbing(rng.generator, climbs=False) if isinstance(rng, Rng) else rng
