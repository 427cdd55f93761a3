"""Clusters with common shares, and tables that these have opened: the parts of groups and of sequences."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, cast

import numpy as np

from mapdpm.jit import compiled_if_possible
from mapdpm.partition_priors.hyperpriors import GammaPrior, check_gamma_prior, level_priors
from mapdpm.protocol import LARGEST, Labels, Likelihood, Matrix, Model, RngVerbs, Vector
from mapdpm.samplers._restaurants import draw_shares, parts
from mapdpm.samplers.chain import CLUSTER, Array, Chain
from mapdpm.samplers.concentration import LEAST, draw_from_gamma, in_floats
from mapdpm.samplers.sampler import Info, Sampler
from mapdpm.validation import check_number

TABLES = "m"
"""The array of numbers of tables (nodes but the root, slots)."""
SHARES, REST = "beta", "beta_new"
"""The arrays of shares (inner nodes, slots), and of the share of clusters that nobody has (inner nodes,)."""

NODE, INNER, NEW = "group", "inner_group", "cluster_or_new"
"""Names of axes: nodes but the root, with one level the groups; inner nodes; clusters and last a new one."""


class SharingChain(Chain):
    """A chain whose kernels take the partition prior in arrays of their own; ``aux["m"]`` has numbers of tables.

    ``prior`` has ``alphas``, one a level, and ``gamma``.
    """

    __slots__ = ()

    @property
    def model(self) -> Model:
        """The argument of kernels; their prior is in arrays of their own."""
        return Model(self.likelihood, None, self.data)

    @property
    def tables(self) -> Labels:
        """(nodes but the root, slots): the number of tables, edited in place."""
        return cast("Labels", self.aux[TABLES])

    def carry_shares(self, n_inner: int) -> None:
        """Carry equal shares of all clusters and of new ones, in each inner node."""
        part, used = 1.0 / (self.n_clusters + 1.0), self.state.counts > 0
        self.carry(SHARES, np.tile(part * used, (n_inner, 1)), (INNER, CLUSTER))
        self.carry(REST, np.full(n_inner, part), (INNER,))

    def weights(self, concentrations: Vector) -> Matrix:
        """(inner nodes, slots + 1): the shares that are carried, times the concentration of the children."""
        return np.hstack([self.aux[SHARES], self.aux[REST][:, None]]) * concentrations[:, None]

    def take_weights(self, weights: Matrix, concentrations: Vector) -> None:
        """Carry the shares of ``weights``; see there."""
        shares = weights / concentrations[:, None]
        self.aux[SHARES], self.aux[REST] = np.ascontiguousarray(shares[:, :-1]), shares[:, -1].copy()

    def concentrations(self) -> dict[str, Any]:
        """Alpha, a number with one level and else one a level, and gamma."""
        alphas = self.prior.alphas
        return {"alpha": alphas[0] if len(alphas) == 1 else np.array(alphas), "gamma": self.prior.gamma}

    def restore_concentrations(self, saved: dict[str, Array]) -> None:
        """Take over what ``concentrations()`` returned; ValueError for what no chain can have drawn."""
        values = [*np.atleast_1d(saved["alpha"]), saved["gamma"]]
        numbers = [check_number("alpha or gamma", value) for value in values]
        if len(numbers) != len(self.prior.alphas) + 1 or not all(LEAST <= number <= LARGEST for number in numbers):
            msg = f"alpha, one for each of {len(self.prior.alphas)} levels, and gamma must be > 0, got {numbers}"
            raise ValueError(msg)
        self.prior = self.prior._replace(alphas=tuple(numbers[:-1]), gamma=numbers[-1])

    def kept(self) -> dict[str, Any]:
        """As ``Chain.kept``; "beta" ends with the share of new clusters.

        It has no axis of inner nodes if the root is the only one.
        """
        found = super().kept()
        if SHARES in found:
            shares = np.hstack([found[SHARES], found.pop(REST)[:, None]])
            found[SHARES] = shares[0] if len(shares) == 1 else shares
        return found

    def dims_of(self, name: str, ndim: int) -> tuple[str, ...]:
        """The names of the axes of what ``kept`` returns as ``name``."""
        if name == SHARES:
            return (INNER, NEW)[-ndim:]
        return ("level",) if name == "alpha" else super().dims_of(name, ndim)


class SharingTarget(NamedTuple):
    """The model whose posterior a sampler of groups or of sequences draws from."""

    likelihood: Likelihood | None
    """None is the empirical Normal-Gamma of the points."""
    prior: Any
    alpha_prior: tuple[GammaPrior, ...] | None
    """One of all levels, or one a level."""
    gamma_prior: GammaPrior | None

    @classmethod
    def of(cls, likelihood: Any, prior: Any, alpha_prior: Any, gamma_prior: Any) -> SharingTarget:
        """The target with checked priors of concentrations."""
        alpha_priors = level_priors(alpha_prior)
        check_gamma_prior("gamma_prior", gamma_prior)
        floats = None if alpha_priors is None else tuple(in_floats(each) for each in alpha_priors)
        return cls(likelihood, prior, floats, in_floats(gamma_prior))


class SharingSampler(Sampler):
    """A sampler of chains with common shares; ``target`` has an alpha prior for each level, or one for all."""

    target: Any  # a SharingTarget

    _draw_shares = staticmethod(compiled_if_possible(draw_shares))

    def step(self, chain: Chain, rng: RngVerbs) -> Info:
        """One step: draw alpha and gamma given the tables, if they have a prior, then edit the partition."""
        self.draw_concentrations(chain, rng)
        return self.move(chain, rng)

    def draw_concentrations(self, chain: Any, rng: RngVerbs) -> None:
        """Draw the concentrations that have a prior, given the tables; their own shares are integrated out."""
        raise NotImplementedError

    def log_hyperprior(self, prior: Any) -> float:
        """Log density of the logs of alpha and gamma; 0 for those that have no prior."""
        priors = [(own, alpha) for own, alpha in zip(self.alpha_priors(len(prior.alphas)), prior.alphas, strict=False)]
        if self.target.gamma_prior is not None:
            priors.append((self.target.gamma_prior, prior.gamma))
        return math.fsum(own.log_density(value) + math.log(value) for own, value in priors)

    def alpha_priors(self, n_levels: int) -> tuple[GammaPrior, ...]:
        """The prior of the alpha of each level; none if alphas are not drawn."""
        priors = self.target.alpha_prior or ()
        return priors * n_levels if len(priors) == 1 else priors


def draw_alpha_of_groups(alpha: float, sizes: Vector, n_tables: int, prior: GammaPrior, rng: RngVerbs) -> float:
    """One draw that leaves p(alpha | tables) invariant, of several restaurants with ``sizes`` customers (Teh2004 5.5).

    w_j ~ Beta(alpha + 1, n_j), s_j = 1 with probability n_j / (n_j + alpha), then alpha ~ Gamma(a + T - sum s_j, rate
    b - sum log w_j). (The paper's (49), (50) and (52) have errors: docs/maths.md, section 19.)
    """
    closed, logs = _auxiliaries(alpha, sizes, rng)
    return draw_from_gamma(prior.shape + n_tables - closed, prior.rate - logs, rng)


def auxiliaries(alpha: float, sizes: Vector, rng: RngVerbs) -> tuple[int, float]:
    """The sums of s_j and of log w_j, drawn for each restaurant; O(restaurants)."""
    closed, logs = 0, 0.0
    for j in range(sizes.shape[0]):
        logs += parts(rng.log_odds(alpha + 1.0, sizes[j]))[0]
        closed += int(rng.chance(sizes[j] / (sizes[j] + alpha)))
    return closed, logs


_auxiliaries = compiled_if_possible(auxiliaries)
