"""Likelihoods: one conjugate family a file. Copy ``_template.py`` to add one, and name it here."""

from __future__ import annotations

from typing import Any

from mapdpm.likelihoods.beta_bernoulli import BetaBernoulli
from mapdpm.likelihoods.categorical import Categorical
from mapdpm.likelihoods.dirichlet_multinomial import DirichletMultinomial
from mapdpm.likelihoods.gamma_poisson import GammaPoisson
from mapdpm.likelihoods.normal_gamma import NormalGamma
from mapdpm.likelihoods.normal_inverse_wishart import NormalInverseWishart
from mapdpm.likelihoods.normal_known_variance import NormalKnownVariance

__all__ = [
    "FAMILIES",
    "FAMILY_NUMBERS",
    "STREAM_FAMILIES",
    "BetaBernoulli",
    "Categorical",
    "DirichletMultinomial",
    "GammaPoisson",
    "NormalGamma",
    "NormalInverseWishart",
    "NormalKnownVariance",
]

FAMILIES: tuple[type[Any], ...] = (
    NormalGamma,
    NormalKnownVariance,
    NormalInverseWishart,
    DirichletMultinomial,
    GammaPoisson,
    BetaBernoulli,
    Categorical,
)
"""All that there are."""

FAMILY_NUMBERS: dict[type[Any], int] = {family: family.number for family in FAMILIES if family.number}
"""``enum mapdpm_family`` of mapdpm.h: the name of a family in C and in model files."""

STREAM_FAMILIES: tuple[type[Any], ...] = (NormalGamma, NormalKnownVariance)
"""Those of a stream learner, and of a chip."""
