"""Samplers of the states of sequences under an HDP-HMM: what those of Teh2004 section 7 have in common."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, cast

import numpy as np

from mapdpm.backends.states import Rows, count_transitions
from mapdpm.data.sequences import Sequences, read_sequences
from mapdpm.jit import compiled_if_possible
from mapdpm.partition_priors.hierarchy import LARGEST_CONCENTRATION
from mapdpm.partition_priors.hyperpriors import GammaPrior, check_gamma_prior
from mapdpm.partition_priors.transitions import Transitions, transitions
from mapdpm.protocol import LARGEST, Labels, Likelihood, RngVerbs
from mapdpm.samplers._restaurants import Restaurants, draw_shares
from mapdpm.samplers._states import log_gammas_of_rows
from mapdpm.samplers.chain import CLUSTER, Array, Chain
from mapdpm.samplers.concentration import LEAST, draw_alpha_by_auxiliary, draw_from_gamma, in_floats
from mapdpm.samplers.given import ChainData, Given
from mapdpm.samplers.sampler import Info, Sampler
from mapdpm.samplers.shares import NEW, REST, SHARES, TABLES, SharingChain
from mapdpm.samplers.starts import labels_without_order
from mapdpm.validation import check_number


class SequenceTarget(NamedTuple):
    """The model whose posterior a sampler of states draws from."""

    likelihood: Likelihood | None
    """None is the empirical Normal-Gamma of the points."""
    prior: Transitions
    alpha_prior: GammaPrior | None
    gamma_prior: GammaPrior | None


class SequenceChain(SharingChain):
    """The states of points of sequences; ``prior`` has alpha, gamma and kappa.

    ``aux["m"]`` has the number of tables of each state that the common shares have opened.
    """

    __slots__ = ("sequences",)

    sequences: Sequences

    def rows(self) -> Rows:
        """The argument of kernels, with the shares that are carried. O(N)."""
        capacity, z, previous = self.state.capacity, self.state.labels, self.sequences.previous
        counts = count_transitions(previous, z, capacity)
        alpha, gamma, kappa = map(float, self.prior)
        weights = alpha * np.append(self.aux[SHARES], self.aux[REST])
        return Rows(previous, self.sequences.following, counts, counts.sum(axis=1), weights, alpha, kappa, gamma)

    def take_shares(self, weights: Any) -> None:
        """Carry the shares of ``weights``, which are alpha times these."""
        self.aux[SHARES], self.aux[REST] = weights[:-1] / self.prior.alpha, weights[-1] / self.prior.alpha

    def log_joint(self) -> float:
        """log p(x, z), in nats, given alpha, gamma and kappa (maths (83))."""
        used = np.flatnonzero(self.state.counts)
        table = self.rows().counts[np.ix_(np.append(self.state.capacity, used), used)]
        least = 1.0 / LARGEST_CONCENTRATION
        prior = Transitions(max(self.prior.alpha, least), max(self.prior.gamma, least), self.prior.kappa)
        return math.fsum([prior.log_partition(table), *self._log_marginals(self.likelihood, self.state)[used]])

    def concentrations(self) -> dict[str, Any]:
        """Alpha and gamma."""
        return {"alpha": self.prior.alpha, "gamma": self.prior.gamma}

    def restore_concentrations(self, saved: dict[str, Array]) -> None:
        """Take over what ``concentrations()`` returned; ValueError for what no chain can have drawn."""
        values = {name: check_number(name, saved[name]) for name in ("alpha", "gamma")}
        if not all(LEAST <= value <= LARGEST for value in values.values()):
            msg = f"alpha and gamma must be > 0, got {values}"
            raise ValueError(msg)
        self.prior = self.prior._replace(**values)

    def kept(self) -> dict[str, Any]:
        """As ``Chain.kept``; "beta" ends with the share of new states."""
        found = super().kept()
        found[SHARES] = np.append(found[SHARES], found.pop(REST))
        return found

    def dims_of(self, name: str, ndim: int) -> tuple[str, ...]:
        """The names of the axes of what ``kept`` returns as ``name``."""
        return (NEW,) if name == SHARES else super().dims_of(name, ndim)


class SequenceSampler(Sampler):
    """A sampler of the states of sequences: of p(z | x), or p(z, alpha, gamma | x), under an HDP-HMM.

    Parameters
    ----------
    alpha : float > 0
        Concentration of the transitions from a state.
    gamma : float > 0
        Concentration of the common shares: the number of states grows with it.
    kappa : float >= 0
        The additional weight of a state after itself: the sticky HDP-HMM of Fox et al. (2008).
    likelihood : Likelihood or None
        The conjugate family of a state, with its prior. None is the empirical Normal-Gamma of the points.
    alpha_prior, gamma_prior : GammaPrior, optional
        alpha, or gamma, is drawn anew in each step.

    Raises
    ------
    ValueError
        A number is out of its range. The message says which one is.
    """

    chain_type: type[Chain] = SequenceChain
    takes = ("sequences",)

    target: Any

    _draw_shares = staticmethod(compiled_if_possible(draw_shares))
    _log_gammas = staticmethod(compiled_if_possible(log_gammas_of_rows))

    def __init__(
        self,
        alpha: float = 1.0,
        gamma: float = 1.0,
        kappa: float = 0.0,
        *,
        likelihood: Any = None,
        alpha_prior: Any = None,
        gamma_prior: Any = None,
    ) -> None:
        prior = transitions(alpha, gamma, kappa)
        check_gamma_prior("alpha_prior", alpha_prior)
        check_gamma_prior("gamma_prior", gamma_prior)
        self.target = SequenceTarget(likelihood, prior, in_floats(alpha_prior), in_floats(gamma_prior))

    def check_given(self, given: Given, n_points: int) -> Given:
        """``given`` with its sequences; ValueError for rows of a sequence that are no neighbours."""
        super().check_given(given, n_points)
        return given._replace(sequences=read_sequences(given.sequences, n_points))

    def chain(self, data: ChainData, init: str | Labels, rng: RngVerbs) -> Chain:
        """A new chain on ``data``. "sequential" draws labels under gamma as if points had no order."""
        labels = labels_without_order(data, self.target.prior.gamma, init, rng)
        made = cast("SequenceChain", self.chain_type(data.likelihood, self.target.prior, data.data, labels))
        made.sequences = data.given.sequences
        used = made.state.counts > 0
        made.carry(TABLES, used.astype(np.int64), (CLUSTER,))
        part = 1.0 / (made.n_clusters + 1.0)  # equal shares, until the first step draws them
        made.carry(SHARES, part * used, (CLUSTER,))
        made.carry(REST, part)
        self.equip(made)
        return made

    def step(self, chain: Chain, rng: RngVerbs) -> Info:
        """One step: draw alpha and gamma given the tables, if they have a prior, then edit the states."""
        self.draw_concentrations(cast("SequenceChain", chain), rng)
        return self.move(chain, rng)

    def draw_shares(self, chain: SequenceChain, rng: RngVerbs) -> Rows:
        """Draw the common shares given the tables, Dir(m, gamma), and carry them; returns the argument of kernels."""
        rows, none = chain.rows(), np.zeros(0, dtype=np.int64)
        weights, tables = rows.weights[None].copy(), chain.tables[None]
        alpha, gamma = np.array([rows.alpha]), rows.root_concentration
        root = Restaurants(np.array([-1, 0]), none, none, tables, weights, alpha, gamma)  # all rows as one child
        self._draw_shares(root, tables, chain.state.counts, rng)
        chain.take_shares(weights[0])
        return rows._replace(weights=weights[0])

    def draw_concentrations(self, chain: SequenceChain, rng: RngVerbs) -> None:
        """Draw the concentrations that have a prior, given the tables; shares are integrated out (maths (85))."""
        target, (alpha, gamma, kappa), n_tables = self.target, chain.prior, int(chain.tables.sum())
        if target.alpha_prior is not None:
            logs = self._log_gammas(chain.rows(), rng)
            alpha = draw_from_gamma(target.alpha_prior.shape + n_tables, target.alpha_prior.rate - logs, rng)
        if target.gamma_prior is not None:
            gamma = draw_alpha_by_auxiliary(gamma, n_tables, chain.n_clusters, target.gamma_prior, rng)
        chain.prior = Transitions(alpha, gamma, kappa)

    def log_hyperprior(self, prior: Any) -> float:
        """Log density of the logs of alpha and gamma; 0 for those that have no prior."""
        pairs = ((self.target.alpha_prior, prior.alpha), (self.target.gamma_prior, prior.gamma))
        return math.fsum(own.log_density(value) + math.log(value) for own, value in pairs if own is not None)
