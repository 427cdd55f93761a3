"""The base class of samplers: a target distribution, and a move that leaves it invariant."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mapdpm.data import point_set, read_by
from mapdpm.likelihoods._as_given import of_columns
from mapdpm.likelihoods._skipping import has_verb
from mapdpm.likelihoods.categorical import Categorical
from mapdpm.partition_priors import finite_prior, partition_prior
from mapdpm.protocol import Labels, Likelihood, PartitionPrior, RngVerbs
from mapdpm.samplers import concentration
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.chain_data import ChainData, Given
from mapdpm.samplers.starts import start
from mapdpm.search.observed import Observed, observed
from mapdpm.validation import check_count, check_one_a_point


class Info(NamedTuple):
    """The report of a step: ``moved`` points changed cluster, ``accepted`` of ``proposed`` changes were made."""

    n_clusters: int
    moved: int = 0
    proposed: int = 0
    accepted: int = 0


class Target(NamedTuple):
    """The model whose posterior a sampler draws from."""

    likelihood: Likelihood | None
    """None is the empirical Normal-Gamma of the points."""
    prior: PartitionPrior
    alpha_prior: Any
    alpha_update: str | None
    discount_prior: Any


class Sampler:
    """One step leaves p(z | x) invariant, or p(z, alpha | x) if alpha has a prior.

    A subclass has a ``move``. If its chains carry more than a partition, it also has an ``equip``, a ``chain_type``, or
    a ``chain`` of its own; if it knows groups, sequences or times, it names them in ``takes``.

    Parameters
    ----------
    alpha : float > 0, or > -discount
        Concentration; with ``alpha_prior`` the first value, > 0. Drawn values stay within e^-700 to e^700.
    likelihood : Likelihood or None
        The conjugate family, with its prior. None is the empirical Normal-Gamma of the points (``MAPDPM``).
    discount : float in [0, 1)
        Pitman-Yor discount; 0 is the Dirichlet process.
    n_components : int or None
        The components of a finite mixture with Dirichlet(alpha / n_components, ...) shares; None is a process.
    alpha_prior : GammaPrior or InverseGammaPrior, optional
        alpha is drawn anew after each step, given the sizes of clusters.
    alpha_update : {"auxiliary", "slice"}, optional
        "auxiliary" draws alpha by the auxiliary variable of Escobar and West (1995), for a Gamma prior and a Dirichlet
        process; "slice" by slice sampling (Neal 2003). None is "auxiliary" where possible, else "slice".
    discount_prior : BetaPrior, optional
        The discount, > 0, is drawn anew after each step, by slice sampling.

    Raises
    ------
    ValueError
        A number is out of its range, or a combination is not supported. The message says which ones are.
    """

    chain_type: type[Chain] = Chain
    """The kind of chain that a step edits. The parts of a hybrid share it."""
    takes: tuple[str, ...] = ()
    """Which of "groups", "sequences" and "times" the sampler knows."""
    together: ClassVar[Callable[[Iterable[Sampler]], Sampler]]
    """Makes the result of ``+``. hybrid.py, which is made of samplers, enters it."""
    draws_parameters: bool = False
    """Whether it needs draws of parameters: the verbs ``draw`` and ``log_likelihood``."""

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        likelihood: Any = None,
        discount: float = 0.0,
        n_components: int | None = None,
        alpha_prior: Any = None,
        alpha_update: str | None = None,
        discount_prior: Any = None,
    ) -> None:
        prior: PartitionPrior = partition_prior(alpha, discount)
        if n_components is not None:
            if discount:
                msg = f"a finite mixture has no discount, got n_components={n_components} and discount={discount}"
                raise ValueError(msg)
            prior = finite_prior(alpha, check_count("n_components", n_components))
        if discount_prior is not None:
            concentration.check_discount(prior, discount_prior)
        concentration.check_update(prior, alpha_prior, alpha_update)
        hyperpriors = concentration.in_floats(alpha_prior), concentration.in_floats(discount_prior)
        self.target = Target(likelihood, prior, hyperpriors[0], alpha_update, hyperpriors[1])

    def observe(self, X: Any) -> Observed:
        """The points of ``X`` under the likelihood; ValueError where these or the sampler do not fit together."""
        likelihood = of_columns(self.target.likelihood, X)
        seen = observed(likelihood, read_by(likelihood, X))
        self.check_family(seen.likelihood)
        return seen

    def chain(self, data: ChainData, init: str | Labels, rng: RngVerbs) -> Chain:
        """A new chain on ``data``, started at ``init``: one of ``names.CHAIN_STARTS``, or labels 0..K-1."""
        n_points = point_set(data.data).n_points
        chain = self.chain_type(data.likelihood, self.target.prior, data.data, np.zeros(n_points, dtype=np.int64))
        start(chain, init, rng)
        self.equip(chain)
        return chain

    def usual_start(self, likelihood: Likelihood) -> str:
        """The start of ``sample(init=None)``: for words in groups or sequences labels at random, else "sequential".

        Topics, or states, of words that are drawn in sequence are few, and one has most words.
        """
        return "random" if self.takes and isinstance(likelihood, Categorical) else "sequential"

    def equip(self, chain: Chain) -> None:
        """Add to a new chain what steps of this sampler carry beside the labels, by ``Chain.carry``."""

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        """One step at fixed alpha and discount."""
        raise NotImplementedError

    def step(self, chain: Chain, rng: RngVerbs) -> Info:
        """One step: edit the partition of ``chain``, then draw its alpha and discount if they have a prior."""
        info = self.move(chain, rng)
        chain.prior = concentration.draw_concentration(chain.prior, chain.sizes, self.target, rng)
        return info

    def check_sampling(self) -> None:
        """ValueError for a sampler whose steps after a burn-in do not leave the posterior invariant."""

    def check_given(self, given: Given, n_points: int) -> Given:
        """``given`` as chains of this sampler take it; ValueError for what it does not know, or not one a point."""
        for name, values in given._asdict().items():
            if values is None:
                continue
            if name not in self.takes:
                msg = f"{type(self).__name__} knows no {name}; leave {name}= out, or take a sampler that models them"
                raise ValueError(msg)
            check_one_a_point(name, values, n_points)
        return given

    def describe(self) -> str:
        """The sampler and its target without the likelihood. A trace is resumed by a sampler of equal description."""
        own = {name: value for name, value in vars(self).items() if name not in {"target", "integrated", "n_jobs"}}
        said = own | self.target._replace(likelihood=None)._asdict()
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in said.items() if v is not None)})"

    def __repr__(self) -> str:
        """The same as ``describe``."""
        return self.describe()

    def check_family(self, likelihood: Likelihood) -> None:
        """ValueError for a likelihood without a verb that this sampler needs."""
        if self.draws_parameters and not has_verb(likelihood, "log_likelihood"):
            msg = f"{type(likelihood).__name__} has no draw of parameters; CollapsedGibbs takes every likelihood"
            raise ValueError(msg)

    def log_hyperprior(self, prior: PartitionPrior) -> float:
        """Log density of log alpha and of the logit of the discount; 0 for those that have no prior."""
        return concentration.log_hyperprior(prior, self.target)

    @property
    def parts(self) -> tuple[Sampler, ...]:
        """The samplers that a hybrid of this and others runs."""
        return (self,)

    def __add__(self, other: Sampler) -> Sampler:
        """The hybrid whose step is one of each."""
        return Sampler.together((self, other))
