"""Samplers of the states of sequences under an HDP-HMM: what those of Teh2004 section 7 have in common."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, cast

import numpy as np

from mapdpm.data.sequences import Sequences, read_sequences
from mapdpm.jit import compiled_if_possible
from mapdpm.partition_priors.hierarchy import LARGEST_CONCENTRATION, hierarchy, log_density_of_shares
from mapdpm.partition_priors.hyperpriors import check_levels
from mapdpm.partition_priors.transitions import Transitions
from mapdpm.partition_priors.transitions import transitions as checked_transitions
from mapdpm.protocol import Labels, RngVerbs, Vector
from mapdpm.samplers._restaurants import Restaurants
from mapdpm.samplers._transitions import Machines, log_gain_of_kappa, log_gammas_of_rows
from mapdpm.samplers.chain import CLUSTER, Chain
from mapdpm.samplers.chain_data import ChainData, Given
from mapdpm.samplers.concentration import draw_alpha_by_auxiliary, draw_from_gamma
from mapdpm.samplers.sharing_sampler import (
    NODE,
    TABLES,
    SharingChain,
    SharingSampler,
    SharingTarget,
    draw_alpha_of_groups,
)
from mapdpm.samplers.starts import labels_without_order
from mapdpm.validation import check_choice

SHARED, OWN = "shared", "own"
"""Whose transitions: those of one machine for all sequences, or of a machine each, whose states are shared."""


class Concentrations(NamedTuple):
    """The concentrations of an HDP-HMM."""

    alphas: tuple[float, ...]
    """That of the rows of transitions, the last; before it that of machines of their own."""
    gamma: float
    kappa: float


class SequenceChain(SharingChain):
    """The states of points of sequences; ``prior`` has an alpha for each level, gamma and kappa.

    ``aux["m"]`` has the number of tables of each state that shares have opened: in each machine, and before these in
    each node of machines of their own.
    """

    __slots__ = ("machine_of_points", "parents", "sequences")

    sequences: Sequences
    machine_of_points: Labels
    parents: Labels
    """The parent of each node: the root, nodes of machines of their own, and last the machines."""

    _log_density = staticmethod(compiled_if_possible(log_density_of_shares))
    _log_gain = staticmethod(compiled_if_possible(log_gain_of_kappa))

    def set_sequences(self, sequences: Sequences) -> None:
        """Take over the sequences. O(N)."""
        self.sequences, own = sequences, np.arange(1, len(sequences.begins))
        if len(self.prior.alphas) == 1:
            self.machine_of_points = np.zeros(self.n_points, dtype=np.int64)
            self.parents = np.array([-1, 0])
        else:
            self.machine_of_points = np.repeat(own - 1, np.diff(sequences.begins))
            self.parents = np.concatenate([[-1], np.zeros_like(own), own])

    @property
    def n_machines(self) -> int:
        """One, or as many as sequences."""
        return len(self.parents) // 2

    @property
    def alphas_of_children(self) -> Vector:
        """(inner nodes,): the alpha of the children of each."""
        n_below = len(self.parents) - self.n_machines - 1
        return np.array([*self.prior.alphas[:1], *self.prior.alphas[1:] * n_below])

    def machines(self) -> Machines:
        """The argument of kernels, with the shares that are carried. O(N)."""
        capacity, z, none = self.state.capacity, self.state.labels, np.zeros(0, dtype=np.int64)
        previous, machine = self.sequences.previous, self.machine_of_points
        before = np.where(previous < 0, capacity, z[previous])
        shape = (self.n_machines, capacity + 1, capacity)
        cells = np.ravel_multi_index((machine, before, z), shape)
        counts = np.bincount(cells, minlength=math.prod(shape)).reshape(shape)
        alphas, guests = self.alphas_of_children, np.zeros((self.n_machines, 0), dtype=np.int64)
        gamma, kappa = float(self.prior.gamma), float(self.prior.kappa)
        tree = Restaurants(self.parents, none, machine, guests, self.weights(alphas), alphas, gamma)
        return Machines(previous, self.sequences.following, counts, counts.sum(axis=2), kappa, tree)

    def log_joint(self) -> float:
        """log p(x, z), in nats, given alpha, gamma and kappa (maths (83)); of machines of their own log p(x, z, beta).

        There beta are the log ratios of shares, as of trees of groups (maths (78)).
        """
        used = np.flatnonzero(self.state.counts)
        return math.fsum([self.log_partition(used), *self._log_marginals(self.likelihood, self.state)[used]])

    def log_partition(self, used: Labels) -> float:
        """log p(z), or log p(z, beta), in nats; see there."""
        machines, capacity = self.machines(), self.state.capacity
        if len(self.prior.alphas) == 1:
            table = machines.counts[0][np.ix_(np.append(used, capacity), used)]
            alpha, gamma = (max(value, 1.0 / LARGEST_CONCENTRATION) for value in (*self.prior.alphas, self.prior.gamma))
            return Transitions(alpha, gamma, self.prior.kappa).log_partition(table)
        inner = self.n_machines + 1
        rows = np.repeat(self.parents[inner:], capacity + 1)  # the leaves of the tree
        parents, counts = np.append(self.parents[:inner], rows), machines.counts.reshape(-1, capacity)
        tree = machines.restaurants
        value = self._log_density(parents, counts, tree.weights, tree.concentrations, tree.root_concentration)
        return float(value) + float(self._log_gain(machines))

    def kept(self) -> dict[str, Any]:
        """As ``SharingChain.kept``; "m" of one machine has no axis of nodes."""
        found = super().kept()
        if len(self.tables) == 1:
            found[TABLES] = found[TABLES][0]
        return found

    def dims_of(self, name: str, ndim: int) -> tuple[str, ...]:
        """The names of the axes of what ``kept`` returns as ``name``."""
        return (NODE, CLUSTER)[-ndim:] if name == TABLES else super().dims_of(name, ndim)


class SequenceSampler(SharingSampler):
    """A sampler of the states of sequences: of p(z | x), or p(z, alpha, gamma | x), under an HDP-HMM.

    Parameters
    ----------
    alpha : float > 0, or two
        Concentration of the transitions from a state. With own transitions two numbers are that of the shares of
        sequences, and that of transitions; one stands for both.
    gamma : float > 0
        Concentration of the common shares: the number of states grows with it.
    kappa : float >= 0
        The additional weight of a state after itself: the sticky HDP-HMM of Fox et al. (2008).
    likelihood : Likelihood or None
        The conjugate family of a state, with its prior. None is the empirical Normal-Gamma of the points.
    alpha_prior : GammaPrior, or sequence of GammaPrior, optional
        Each alpha is drawn anew in each step.
    gamma_prior : GammaPrior, optional
        gamma is drawn anew in each step.
    transitions : {"shared", "own"}
        "shared": all sequences have the same transitions. "own": each sequence has an HDP-HMM of its own, with shares
        around common ones (Teh2004 section 7, under a master process): states are shared, transitions are not.

    Raises
    ------
    ValueError
        A number is out of its range. The message says which one is.
    """

    chain_type: type[Chain] = SequenceChain
    takes = ("sequences",)

    _log_gammas = staticmethod(compiled_if_possible(log_gammas_of_rows))

    def __init__(
        self,
        alpha: Any = 1.0,
        gamma: float = 1.0,
        kappa: float = 0.0,
        *,
        likelihood: Any = None,
        alpha_prior: Any = None,
        gamma_prior: Any = None,
        transitions: str = SHARED,
    ) -> None:
        check_choice("transitions", transitions, (SHARED, OWN))
        n_levels = 1 if transitions == SHARED else 2
        first = checked_transitions(alpha if n_levels == 1 else 1.0, gamma, kappa)
        alphas = (first.alpha,) if n_levels == 1 else hierarchy(alpha, gamma).of_levels(2).alphas
        prior = Concentrations(alphas, first.gamma, first.kappa)
        self.target = SharingTarget.of(likelihood, prior, alpha_prior, gamma_prior)
        check_levels(self.target.alpha_prior, n_levels)

    def check_given(self, given: Given, n_points: int) -> Given:
        """``given`` with its sequences; ValueError for rows of a sequence that are no neighbours."""
        super().check_given(given, n_points)
        return given._replace(sequences=read_sequences(given.sequences, n_points))

    def chain(self, data: ChainData, init: str | Labels, rng: RngVerbs) -> Chain:
        """A new chain on ``data``. "sequential" draws labels under gamma as if points had no order."""
        labels = labels_without_order(data, self.target.prior.gamma, init, rng)
        made = cast("SequenceChain", self.chain_type(data.likelihood, self.target.prior, data.data, labels))
        made.set_sequences(data.given.sequences)
        served = np.zeros((made.n_machines, made.state.capacity), dtype=np.int64)
        served[made.machine_of_points, made.state.labels] = 1  # a table for each state
        made.carry(TABLES, np.vstack([served] * len(made.prior.alphas)), (NODE, CLUSTER))
        made.carry_shares(len(made.alphas_of_children))
        self.equip(made)
        return made

    def draw_shares(self, chain: SequenceChain, rng: RngVerbs) -> Machines:
        """Draw the shares given the tables, Dir(m, gamma) at the root, and carry them; returns the transitions."""
        machines = chain.machines()
        tree = machines.restaurants
        self._draw_shares(tree, chain.tables, chain.state.counts, rng)
        chain.take_weights(tree.weights, tree.concentrations)
        return machines

    def draw_concentrations(self, chain: Any, rng: RngVerbs) -> None:
        """Draw the concentrations that have a prior, given the tables; shares are integrated out (maths (85))."""
        (alphas, gamma, kappa), priors = chain.prior, self.alpha_priors(len(chain.prior.alphas))
        of_nodes, of_machines = np.split(chain.tables, [len(chain.parents) - 1 - chain.n_machines])
        if priors:
            prior, logs = priors[-1], self._log_gammas(chain.machines(), rng)
            alphas = (*alphas[:-1], draw_from_gamma(prior.shape + int(of_machines.sum()), prior.rate - logs, rng))
        if len(priors) > 1:
            customers = of_machines.sum(axis=1).astype(np.float64)
            first = draw_alpha_of_groups(alphas[0], customers, int(of_nodes.sum()), priors[0], rng)
            alphas = (first, alphas[-1])
        if self.target.gamma_prior is not None:
            n_tables = int((of_nodes if len(of_nodes) else of_machines).sum())
            gamma = draw_alpha_by_auxiliary(gamma, n_tables, chain.n_clusters, self.target.gamma_prior, rng)
        chain.prior = Concentrations(alphas, gamma, kappa)
