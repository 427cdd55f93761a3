"""mapdpm: clustering when nobody knows the number of clusters.

The public names, loaded when first used: ``import mapdpm`` costs numpy and no more.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np  # noqa: F401  (whoever imports mapdpm has numpy loaded, at the cost of nothing)

if TYPE_CHECKING:
    from mapdpm.estimators.dp_means import DPMeans
    from mapdpm.estimators.map_dpm import MAPDPM
    from mapdpm.files.load_save import load, save
    from mapdpm.kinds.columns import columns
    from mapdpm.likelihoods import (
        BetaBernoulli,
        Categorical,
        DirichletMultinomial,
        GammaPoisson,
        NormalGamma,
        NormalInverseWishart,
        NormalKnownVariance,
    )
    from mapdpm.likelihoods.drifting_normal import DriftingNormal
    from mapdpm.likelihoods.mixed import Mixed
    from mapdpm.likelihoods.spiked import Circular, Spiked
    from mapdpm.merging.make import merge_tree
    from mapdpm.merging.tree import MergeTree
    from mapdpm.models.dependent_dp import DependentDP
    from mapdpm.models.hdp import HDPMixture
    from mapdpm.models.hdp_hmm import HDPHMM
    from mapdpm.selection import select_alpha
    from mapdpm.selection.comparison import compare
    from mapdpm.stream.alarm import Alarm
    from mapdpm.stream.hdp import OnlineHDP
    from mapdpm.stream.hdp_hmm import OnlineHDPHMM
    from mapdpm.stream.online import OnlineMAPDPM
    from mapdpm.stream.selector import OnlineAlphaSelector
    from mapdpm.validation import ConvergenceWarning

__version__ = "0.2.0"
__all__ = [
    "HDPHMM",
    "MAPDPM",
    "Alarm",
    "BetaBernoulli",
    "Categorical",
    "Circular",
    "ConvergenceWarning",
    "DPMeans",
    "DependentDP",
    "DirichletMultinomial",
    "DriftingNormal",
    "GammaPoisson",
    "HDPMixture",
    "MergeTree",
    "Mixed",
    "NormalGamma",
    "NormalInverseWishart",
    "NormalKnownVariance",
    "OnlineAlphaSelector",
    "OnlineHDP",
    "OnlineHDPHMM",
    "OnlineMAPDPM",
    "Spiked",
    "columns",
    "compare",
    "get_include",
    "load",
    "merge_tree",
    "save",
    "select_alpha",
]

_HOMES = {
    "Alarm": "stream.alarm",
    "Circular": "likelihoods.spiked",
    "DPMeans": "estimators.dp_means",
    "DependentDP": "models.dependent_dp",
    "ConvergenceWarning": "validation",
    "DriftingNormal": "likelihoods.drifting_normal",
    "HDPHMM": "models.hdp_hmm",
    "HDPMixture": "models.hdp",
    "MAPDPM": "estimators.map_dpm",
    "MergeTree": "merging.tree",
    "Mixed": "likelihoods.mixed",
    "OnlineAlphaSelector": "stream.selector",
    "OnlineHDP": "stream.hdp",
    "OnlineHDPHMM": "stream.hdp_hmm",
    "OnlineMAPDPM": "stream.online",
    "Spiked": "likelihoods.spiked",
    "columns": "kinds.columns",
    "compare": "selection.comparison",
    "load": "files.load_save",
    "merge_tree": "merging.make",
    "save": "files.load_save",
    "select_alpha": "selection",
}
"""Where a name lives; the others are families, of ``likelihoods``."""

_PARTS = (
    "dask",
    "diagnostics",
    "features",
    "metrics",
    "plots",
    "point_estimates",
    "samplers",
    "selection",
    "stream",
    "testing",
)
"""The modules that a user imports from; the others are for those who extend mapdpm."""


def get_include() -> str:
    """The folder of ``mapdpm.h`` and the C sources, for compiling them into another program.

    Examples
    --------
    >>> import os
    >>> os.path.exists(os.path.join(get_include(), "mapdpm.h"))
    True
    """
    package = Path(__file__).resolve().parent
    shipped = package / "c_kernels"
    return str(shipped if shipped.is_dir() else package.parent / "c_kernels")


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return importlib.import_module(f"mapdpm.{name}")
    if name not in __all__:
        msg = f"module 'mapdpm' has no attribute {name!r}"
        raise AttributeError(msg)
    found = globals()[name] = getattr(importlib.import_module(f"mapdpm.{_HOMES.get(name, 'likelihoods')}"), name)
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, *_PARTS, "__version__"])
