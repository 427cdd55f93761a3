"""Features of sensors, one after the other, in fixed memory: what a learner of streams gets instead of raw points."""

from mapdpm.features.blocks import RMS, BandEnergy, CrestFactor
from mapdpm.features.points import Centre, Difference, Lag, Seasonal
from mapdpm.features.transformer import Chain, Transformer, Union, parse

__all__ = [
    "RMS",
    "BandEnergy",
    "Centre",
    "Chain",
    "CrestFactor",
    "Difference",
    "Lag",
    "Seasonal",
    "Transformer",
    "Union",
    "parse",
]


def __dir__() -> list[str]:
    return sorted(__all__)
