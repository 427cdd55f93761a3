"""Drawing alpha and a discount given a partition, by an auxiliary variable or by slice sampling."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mapdpm.partition_priors import DirichletProcess, PitmanYor
from mapdpm.partition_priors.hyperpriors import BetaPrior, GammaPrior, check_prior
from mapdpm.protocol import LARGEST, RngVerbs, Vector
from mapdpm.validation import check_positive, refuse_value

UPDATES = ("auxiliary", "slice")

_WIDTH = 1.0  # the first interval of a slice, in log alpha or in the logit of a discount
_LARGEST_LOG = 700.0  # exp overflows beyond it
LEAST = math.exp(-_LARGEST_LOG)
"""The least concentration that is drawn."""


def in_floats(prior: Any) -> Any:
    """``prior`` with parameters as floats, so that equal priors have equal descriptions; None stays None."""
    return None if prior is None else type(prior)(*map(float, prior))


def check_discount(prior: Any, discount_prior: Any) -> None:
    """ValueError if ``discount_prior`` is not a BetaPrior, or ``prior`` has no discount to draw."""
    if not isinstance(discount_prior, BetaPrior):
        refuse_value("discount_prior must be a BetaPrior", discount_prior)
    for field, value in zip(discount_prior._fields, discount_prior, strict=True):
        check_positive(f"{field} of discount_prior", value)
    if not isinstance(prior, PitmanYor):
        msg = "discount_prior draws the discount of a Pitman-Yor process: give a discount in (0, 1) to start from"
        raise ValueError(msg)


def check_update(prior: Any, alpha_prior: Any, update: str | None) -> None:
    """ValueError if ``update`` cannot draw the alpha of ``prior`` under ``alpha_prior``."""
    if alpha_prior is not None:
        check_prior("alpha_prior", alpha_prior)
        if isinstance(alpha_prior, GammaPrior) and alpha_prior.rate == 0.0:
            msg = "the rate of alpha_prior must be > 0 to draw alpha from its posterior, got 0.0"
            raise ValueError(msg)
        if prior.alpha <= 0.0:
            msg = f"an alpha that is drawn must start > 0, got {prior.alpha}"
            raise ValueError(msg)
    if update is not None and update not in UPDATES:
        refuse_value(f"alpha_update must be None or one of {', '.join(map(repr, UPDATES))}", update)
    if update is not None and alpha_prior is None:
        msg = f"alpha_update={update!r} draws alpha from its posterior: give it a prior, alpha_prior=GammaPrior(1, 1)"
        raise ValueError(msg)
    if update == "auxiliary" and not _has_auxiliary(prior, alpha_prior):
        msg = (
            "alpha_update='auxiliary' is for a Dirichlet process and a GammaPrior, got "
            f"{type(prior).__name__} and {alpha_prior}; alpha_update='slice' takes any"
        )
        raise ValueError(msg)


def draw_concentration(prior: Any, sizes: Vector, target: Any, rng: RngVerbs) -> Any:
    """``prior`` with alpha and discount drawn given a partition of ``sizes``; one without a hyperprior stays."""
    if target.alpha_update != "slice" and _has_auxiliary(prior, target.alpha_prior):
        alpha = draw_alpha_by_auxiliary(prior.alpha, int(sizes.sum()), len(sizes), target.alpha_prior, rng)
        return prior._replace(alpha=alpha)
    return draw_by_slice(prior, lambda each: float(each.log_partition(sizes)), target, rng)


def draw_by_slice(prior: Any, log_probability: Callable[[Any], float], target: Any, rng: RngVerbs) -> Any:
    """``prior`` with alpha and discount drawn by slice sampling, given what has ``log_probability(prior)``."""
    if target.alpha_prior is not None:
        prior = prior._replace(alpha=_draw_alpha_by_slice(prior, log_probability, target.alpha_prior, rng))
    if target.discount_prior is not None:
        prior = prior._replace(discount=_draw_discount(prior, log_probability, target.discount_prior, rng))
    return prior


def log_hyperprior(prior: Any, target: Any) -> float:
    """Log density of log alpha and of the logit of the discount, of those that have a prior.

    The density of alpha itself is unbounded for a shape below 1: any partition would be the best, at an alpha near 0.
    """
    total = 0.0
    if target.alpha_prior is not None:
        total += target.alpha_prior.log_density(prior.alpha) + math.log(prior.alpha)
    if target.discount_prior is not None:
        d = prior.discount
        total += target.discount_prior.log_density(d) + math.log(d) + math.log1p(-d)
    return total


def draw_alpha_by_auxiliary(alpha: float, N: int, K: int, prior: GammaPrior, rng: RngVerbs) -> float:
    """One draw that leaves p(alpha | N, K) invariant (Escobar and West 1995 (13), (14)).

    eta ~ Beta(alpha + 1, N), then alpha ~ Gamma(shape, rate b - log eta). The shape is a + K or a + K - 1, with odds
    (a + K - 1) : N (b - log eta).
    """
    first, second = rng.gamma(alpha + 1.0), rng.gamma(float(N))
    rate = prior.rate + math.log1p(second / first)  # -log eta, eta = first / (first + second)
    shape = prior.shape + K - 1.0
    larger = rng.uniform() * (shape + N * rate) < shape
    return max(rng.gamma(shape + float(larger)) / rate, LEAST)


def draw_from_gamma(shape: float, rate: float, rng: RngVerbs) -> float:
    """A draw from Gamma(shape, rate), within ``LEAST`` and ``LARGEST``; tiny shapes are drawn by their logarithm."""
    drawn = rng.log_gamma(shape) - math.log(rate)
    return min(max(math.exp(max(drawn, -_LARGEST_LOG)), LEAST), LARGEST)


def slice_sample(log_density: Callable[[float], float], t: float, rng: RngVerbs) -> float:
    """One draw that leaves the density of t invariant: slice sampling by stepping out and shrinking (Neal 2003)."""
    level = log_density(t) + math.log(1.0 - rng.uniform())
    low = t - _WIDTH * rng.uniform()
    high = low + _WIDTH
    while log_density(low) > level:
        low -= _WIDTH
    while log_density(high) > level:
        high += _WIDTH
    while True:
        drawn = low + (high - low) * rng.uniform()
        if log_density(drawn) > level:
            return drawn
        if drawn < t:
            low = drawn
        else:
            high = drawn


def _has_auxiliary(prior: Any, alpha_prior: Any) -> bool:
    return isinstance(prior, DirichletProcess) and isinstance(alpha_prior, GammaPrior)


def _draw_alpha_by_slice(prior: Any, log_probability: Callable[[Any], float], alpha_prior: Any, rng: RngVerbs) -> float:
    def log_density(t: float) -> float:
        if abs(t) > _LARGEST_LOG:
            return -math.inf
        alpha = math.exp(t)
        joint: float = log_probability(prior._replace(alpha=alpha)) + alpha_prior.log_density(alpha)
        return joint + t  # the density of log alpha

    return math.exp(slice_sample(log_density, math.log(prior.alpha), rng))


def _draw_discount(prior: Any, log_probability: Callable[[Any], float], discount_prior: Any, rng: RngVerbs) -> float:
    def log_density(t: float) -> float:
        d = 1.0 / (1.0 + math.exp(-t)) if abs(t) < _LARGEST_LOG else 0.0
        if not max(0.0, -prior.alpha) < d < 1.0:
            return -math.inf
        joint: float = log_probability(prior._replace(discount=d)) + discount_prior.log_density(d)
        return joint + math.log(d) + math.log1p(-d)  # the density of the logit of d

    start = math.log(prior.discount) - math.log1p(-prior.discount)
    return 1.0 / (1.0 + math.exp(-slice_sample(log_density, start, rng)))
