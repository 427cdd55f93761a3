"""Features of sensors, one after the other, in fixed memory: what a learner of streams gets instead of raw points."""

from typing import TYPE_CHECKING

from mapdpm.deprecated import old_names
from mapdpm.features.blocks import RMS, BandEnergy, CrestFactor
from mapdpm.features.by_time import Clock, Seasonal, Spread
from mapdpm.features.lengths import Silence, Stuck
from mapdpm.features.points import Centre, Difference, Lag, Smooth, Window
from mapdpm.features.series import PCA, Autoperiod, Series
from mapdpm.features.transformer import Pipeline, Transformer, Union, parse

__all__ = [
    "PCA",
    "RMS",
    "Autoperiod",
    "BandEnergy",
    "Centre",
    "Clock",
    "CrestFactor",
    "Difference",
    "Lag",
    "Pipeline",
    "Seasonal",
    "Series",
    "Silence",
    "Smooth",
    "Spread",
    "Stuck",
    "Transformer",
    "Union",
    "Window",
    "parse",
]


if not TYPE_CHECKING:  # mypy would take any name for one that is there
    __getattr__ = old_names(__name__)


def __dir__() -> list[str]:
    return sorted(__all__)
