"""Tests for a new likelihood, prior, sampler or backend.

``laws`` must hold for every family and prior. ``kernels`` and ``exact`` compute the transition matrix of an unchanged
sampler over all its states, which ``enumeration`` lists; ``quadrature`` does so for samplers with normal and gamma
draws, and ``rank_tests`` test all others.
``backends`` tests that backends agree, and ``data`` generates data sets. Needs scipy (``pip install 'mapdpm[test]'``).
"""

import importlib
from types import ModuleType

__all__ = ["backends", "data", "enumeration", "exact", "kernels", "laws", "quadrature", "rank_tests"]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return importlib.import_module(f"mapdpm.testing.{name}")
    msg = f"module 'mapdpm.testing' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted(__all__)
