"""Likelihoods: one conjugate family a file. Copy ``_template.py`` to add one, and name it here."""

from __future__ import annotations

from typing import Any

from mapdpm.likelihoods.normal_gamma import NormalGamma
from mapdpm.likelihoods.normal_known_variance import NormalKnownVariance

__all__ = ["FAMILY_NUMBERS", "NormalGamma", "NormalKnownVariance"]

FAMILY_NUMBERS: dict[type[Any], int] = {NormalGamma: 1, NormalKnownVariance: 2}
"""``enum mapdpm_family`` of mapdpm.h: the name of a family in C and in model files."""
