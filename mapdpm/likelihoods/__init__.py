"""Likelihoods: one conjugate family a file. Copy ``_template.py`` to add one to the package, and name it here.

A family from outside needs no line here; the names in small letters, ``Width`` and ``COUNT`` are for its file.
"""

from __future__ import annotations

from typing import Any

from mapdpm.likelihoods._parameters import COUNT, Width, fitted_to, parameters
from mapdpm.likelihoods._registry import numbered
from mapdpm.likelihoods._sums import check_entries, fault_of_sums, is_exact
from mapdpm.likelihoods.beta_bernoulli import BetaBernoulli
from mapdpm.likelihoods.categorical import Categorical
from mapdpm.likelihoods.dirichlet_multinomial import DirichletMultinomial
from mapdpm.likelihoods.gamma_poisson import GammaPoisson
from mapdpm.likelihoods.normal_gamma import NormalGamma
from mapdpm.likelihoods.normal_inverse_wishart import NormalInverseWishart
from mapdpm.likelihoods.normal_known_variance import NormalKnownVariance

__all__ = [
    "COUNT",
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
    "Width",
    "check_entries",
    "fault_of_sums",
    "fitted_to",
    "is_exact",
    "parameters",
]

FAMILIES: tuple[type[Any], ...] = numbered()
"""All that there are."""

FAMILY_NUMBERS: dict[type[Any], int] = {family: family.number for family in FAMILIES}
"""The name of a family in model files, and in C where C knows it."""

STREAM_FAMILIES: tuple[type[Any], ...] = (NormalGamma, NormalKnownVariance)
"""Those of a stream learner, and of a chip."""
