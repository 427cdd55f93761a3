"""Priors of alpha (Gamma, inverse Gamma) and of a discount (Beta)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from mapdpm.validation import check_number, refuse_value


class GammaPrior(NamedTuple):
    """p(alpha) = Gamma(shape a, rate b), proportional to alpha^(a - 1) exp(-b alpha); a rate of 0 is improper.

    Examples
    --------
    >>> print(f"{GammaPrior(1.0, 1.0).log_density(2.0):.3f}")
    -2.000
    """

    shape: float = 1.0
    rate: float = 1.0

    @property
    def exponent(self) -> float:
        """The exponent of alpha in the density of log alpha."""
        return self.shape

    @property
    def rates(self) -> tuple[float, float]:
        """The rates r of exp(-r alpha) and s of exp(-s / alpha)."""
        return self.rate, 0.0

    def log_density(self, alpha: float) -> float:
        """log p(alpha), in nats; without its constant where the rate is 0."""
        constant = self.shape * math.log(self.rate) - math.lgamma(self.shape) if self.rate > 0.0 else 0.0
        return constant + (self.shape - 1.0) * math.log(alpha) - self.rate * alpha


class InverseGammaPrior(NamedTuple):
    """p(alpha) = inverse-Gamma(shape a, scale b), proportional to alpha^(-a - 1) exp(-b / alpha).

    The default is that of Raykov2014 (25) and Rasmussen: 1 / alpha is Gamma(1/2, rate 1/2).

    Examples
    --------
    >>> print(f"{InverseGammaPrior(1.0, 1.0).log_density(1.0):.3f}")
    -1.000
    """

    shape: float = 0.5
    scale: float = 0.5

    @property
    def exponent(self) -> float:
        """The exponent of alpha in the density of log alpha."""
        return -self.shape

    @property
    def rates(self) -> tuple[float, float]:
        """The rates r of exp(-r alpha) and s of exp(-s / alpha)."""
        return 0.0, self.scale

    def log_density(self, alpha: float) -> float:
        """log p(alpha), in nats."""
        constant = self.shape * math.log(self.scale) - math.lgamma(self.shape)
        return constant - (self.shape + 1.0) * math.log(alpha) - self.scale / alpha


class BetaPrior(NamedTuple):
    """p(d) = Beta(a, b), of a discount; the default is uniform.

    Examples
    --------
    >>> BetaPrior().log_density(0.3)
    0.0
    """

    a: float = 1.0
    b: float = 1.0

    def log_density(self, d: float) -> float:
        """log p(d), in nats."""
        constant = math.lgamma(self.a + self.b) - math.lgamma(self.a) - math.lgamma(self.b)
        return constant + (self.a - 1.0) * math.log(d) + (self.b - 1.0) * math.log1p(-d)


def check_prior(name: str, prior: Any) -> None:
    """ValueError where ``prior`` is none of those above, or has a parameter that is not > 0 (a rate of 0 will do)."""
    if not isinstance(prior, (GammaPrior, InverseGammaPrior)):
        refuse_value(f"{name} must be a GammaPrior or an InverseGammaPrior", prior)
    for field, value in zip(prior._fields, prior, strict=True):
        number = check_number(f"the {field} of {name}", value)
        if number < 0.0 or (number == 0.0 and field != "rate"):
            msg = f"the {field} of {name} must be > 0, got {number}"
            raise ValueError(msg)


def check_gamma_prior(name: str, prior: Any) -> None:
    """ValueError where ``prior`` is no GammaPrior of rate > 0, nor None."""
    if prior is None:
        return
    check_prior(name, prior)
    if not isinstance(prior, GammaPrior) or not prior.rate > 0.0:
        refuse_value(f"{name} must be a GammaPrior of rate > 0, or None", prior)


def level_priors(given: Any) -> tuple[GammaPrior, ...] | None:
    """``alpha_prior`` of a tree of groups, checked: a GammaPrior of all levels, or a sequence with one a level."""
    if given is None:
        return None
    several = isinstance(given, Sequence) and not hasattr(given, "_fields")
    priors = tuple(given) if several else (given,)
    for prior in priors:
        check_gamma_prior("alpha_prior", prior)
    if not priors or None in priors:
        msg = "alpha_prior must be a GammaPrior, or one for each level of groups"
        raise ValueError(msg)
    return priors


def check_levels(priors: Sequence[GammaPrior | None] | None, n_levels: int) -> None:
    """ValueError where there is neither one prior nor one for each of ``n_levels``."""
    if priors is not None and len(priors) not in (1, n_levels):
        msg = f"alpha_prior must be one, or one for each level of groups: {n_levels}, got {len(priors)}"
        raise ValueError(msg)
