"""What every sampler is: a model, and a move that leaves its posterior as it is."""

from __future__ import annotations

from typing import Any, NamedTuple

from mapdpm.partition_priors import finite_prior, partition_prior
from mapdpm.protocol import Likelihood, PartitionPrior, RngVerbs
from mapdpm.samplers import concentration
from mapdpm.samplers.chain import Chain
from mapdpm.validation import check_count


class Info(NamedTuple):
    """What a step did: ``moved`` points, and how many of ``proposed`` changes were accepted."""

    n_clusters: int
    moved: int = 0
    proposed: int = 0
    accepted: int = 0


class Model(NamedTuple):
    """What a sampler's posterior is of; None as ``likelihood`` is the empirical Normal-Gamma of the points."""

    likelihood: Likelihood | None
    prior: PartitionPrior
    alpha_prior: Any
    alpha_update: str | None
    discount_prior: Any


class Sampler:
    """One step leaves p(z | x), and p(z, alpha | x) where alpha has a prior, invariant.

    Parameters
    ----------
    alpha : float > 0, or > -discount
        Concentration; with ``alpha_prior`` the first value, > 0. What is drawn stays within e^-700 to e^700.
    likelihood : Likelihood or None
        The conjugate family, with its prior. None is the empirical Normal-Gamma of the points (``MAPDPM``).
    discount : float in [0, 1)
        Pitman-Yor discount; 0 is the Dirichlet process.
    n_components : int or None
        Of a finite mixture with Dirichlet(alpha / n_components, ...) shares; None is a process.
    alpha_prior : GammaPrior or InverseGammaPrior, optional
        alpha is drawn anew after each step, given the sizes of clusters.
    alpha_update : {"auxiliary", "slice"}, optional
        How: by the auxiliary variable of Escobar and West (1995), for a Gamma prior and a Dirichlet process; by slice
        sampling (Neal 2003) else. None is the first where it can be.
    discount_prior : BetaPrior, optional
        The discount, > 0, is drawn anew after each step, by slice sampling.

    Raises
    ------
    ValueError
        A number is outside of its range, or a combination is not supported; the message says what is.
    """

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
        self.model = Model(likelihood, prior, hyperpriors[0], alpha_update, hyperpriors[1])

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        """One step at fixed alpha and discount."""
        raise NotImplementedError

    def step(self, chain: Chain, rng: RngVerbs) -> Info:
        """One step: edits the partition of ``chain``, and its alpha and discount where they have a prior."""
        info = self.move(chain, rng)
        chain.prior = concentration.drawn(chain.prior, chain.sizes, self.model, rng)
        return info

    def check_sampling(self) -> None:
        """ValueError where no step of this sampler, after a burn-in, leaves the posterior invariant."""

    def describe(self) -> str:
        """What chains of this sampler are of, but for the likelihood: to be compared where one goes on."""
        own = {name: value for name, value in vars(self).items() if name not in {"model", "integrated"}}
        said = own | self.model._replace(likelihood=None)._asdict()
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in said.items() if v is not None)})"

    def __repr__(self) -> str:
        """As ``describe``."""
        return self.describe()

    def check_family(self, likelihood: Likelihood) -> None:
        """ValueError where the likelihood lacks what this sampler asks of it."""

    def log_hyperprior(self, prior: PartitionPrior) -> float:
        """Log density of log alpha and of the logit of the discount, 0 where they have no prior."""
        return concentration.log_hyperprior(prior, self.model)

    @property
    def parts(self) -> tuple[Sampler, ...]:
        """What a hybrid of this and others is made of."""
        return (self,)

    def __add__(self, other: Sampler) -> Sampler:
        """The hybrid whose step is one of each."""
        from mapdpm.samplers.hybrid import Hybrid  # noqa: PLC0415  (which is made of samplers)

        return Hybrid((self, other))
