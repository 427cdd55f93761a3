"""Transformers of raw vibration: blocks of samples, with a result at the last sample of each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any

from mapdpm.features.c_pipeline import JOIN, MOST_STEPS, Step
from mapdpm.features.feature import Feature, feature
from mapdpm.validation import check_number, refuse_value


class _Block(Feature):
    """A transformer with a result at the last sample of each block."""

    window: int

    @property
    def every(self) -> int:
        """Number of points from one result to the next."""
        return int(self.window)


@dataclass(eq=False, repr=False)
class _Amplitude(_Block):
    window: int
    _: KW_ONLY
    centred: bool = True
    dtype: str = "float64"

    def settings(self) -> dict[str, Any]:
        """The members of the step besides its kind; ValueError for a wrong parameter."""
        length = super().settings()
        if self.centred not in {True, False}:
            refuse_value("centred must be True or False", self.centred)
        return length | {"centred": int(self.centred)}


@feature
class RMS(_Amplitude):
    """The root mean square of each block of ``window`` samples, about the mean of the block: docs/maths.md (134).

    An accelerometer also measures gravity, a constant; so the mean of the block is subtracted, unless ``centred`` is
    False. Blocks do not overlap. A result comes out at the last sample of a block. A NaN sample is left out; a block
    without any value gives NaN. O(D) a sample; 2 D reals, whatever the window.

    Parameters
    ----------
    window : int
        Number of samples of a block, 1 to 2^20.
    centred : bool
        Whether squares are about the mean of the block (True) or about 0.
    dtype : {"float64", "float32"}
        The real type, as on a chip.

    Raises
    ------
    ValueError
        A parameter is invalid.

    Examples
    --------
    >>> from mapdpm.features import RMS
    >>> RMS(2).transform_many([[9.0], [11.0], [10.0], [10.0]]).tolist()
    [[1.0], [0.0]]
    """

    kind, example, label = 5, "RMS(4)", "rms"


@feature
class CrestFactor(_Amplitude):
    """The largest distance from the mean of each block over its root mean square: docs/maths.md (135).

    It is sqrt(2) for a sine and rises with single shocks. 0 where the root mean square is 0. With ``centred`` False,
    both are about 0. A NaN sample is left out; a block without any value gives NaN. O(D) a sample; 4 D reals.

    Parameters
    ----------
    window : int
        Number of samples of a block, 1 to 2^20.
    centred : bool
        Whether distances are from the mean of the block (True) or from 0.
    dtype : {"float64", "float32"}
        The real type, as on a chip.

    Raises
    ------
    ValueError
        A parameter is invalid.

    Examples
    --------
    >>> from mapdpm.features import CrestFactor
    >>> CrestFactor(4).transform_many([[1.0], [-1.0], [1.0], [-1.0]]).tolist()
    [[1.0]]
    """

    kind, example, label = 6, "CrestFactor(4)", "crest factor"


@feature
class BandEnergy(_Block):
    """The mean square of each block in bands of frequencies: docs/maths.md (136).

    A band [low, high) has the DFT bins k >= 1 of the block with low <= k rate / window < high; a band up to rate / 2
    has that bin too. The energy of bin k is 2 |X_k|^2 / window^2, and half of that at rate / 2: bands that cover all
    frequencies add up to the mean square about the mean of the block. No window function is applied. By Goertzel's
    recurrence: O(D) a sample for each bin; 2 reals a feature and bin. A block with a NaN sample gives NaN.

    Parameters
    ----------
    window : int
        Number of samples of a block, 2 to 2^20.
    bands : sequence of (low, high)
        The limits of each band in Hz, 0 <= low < high <= rate / 2. D columns for each band, in this order.
    rate : float > 0
        Samples a second, in Hz.
    dtype : {"float64", "float32"}
        The real type, as on a chip.

    Raises
    ------
    ValueError
        A parameter is invalid, or no bin lies in a band.

    Examples
    --------
    >>> from mapdpm.features import BandEnergy
    >>> bands = BandEnergy(4, [(0, 1.5), (1.5, 2)], rate=4.0)
    >>> bands.transform_many([[5.0], [9.0], [5.0], [1.0]]).tolist()
    [[8.0, 0.0]]
    """

    window: int
    bands: Sequence[tuple[float, float]]
    rate: float
    _: KW_ONLY
    dtype: str = "float64"

    kind, example = 7, "BandEnergy(8, [(0, 2), (2, 4)], 8.0)"
    least = 2

    def bins(self) -> list[tuple[int, int]]:
        """The DFT bins first <= k < end of each band."""
        rate = check_number("rate", self.rate)
        if not rate > 0.0:
            refuse_value("rate must be > 0, in Hz", self.rate)
        bands = _pairs(self.bands)
        if not 1 <= len(bands) <= MOST_STEPS // 2:
            msg = f"bands must be 1 to {MOST_STEPS // 2} pairs (low, high), got {len(bands)}"
            raise ValueError(msg)
        return [self._bins_of(low, high, rate) for low, high in bands]

    def _bins_of(self, low: float, high: float, rate: float) -> tuple[int, int]:
        n = int(self.window)
        if not 0.0 <= low < high or 2.0 * high > rate:
            msg = f"a band must have 0 <= low < high <= rate / 2 = {rate / 2:g} Hz, got {(low, high)}"
            raise ValueError(msg)
        scale = n / _decimal(rate)  # exact: 0.1 of 1 Hz is bin 1 of 10
        first = max(1, math.ceil(_decimal(low) * scale))
        end = n // 2 + 1 if 2 * _decimal(high) == _decimal(rate) else math.ceil(_decimal(high) * scale)
        if first >= end:
            msg = f"no bin lies in the band {(low, high)}: bins are multiples of {rate / n:g} Hz; use a longer window"
            raise ValueError(msg)
        return first, end

    def compile_into(self, source: int, steps: list[Step]) -> int:
        """Append the steps of this transformer; return the number of its result."""
        length, last = self.settings(), 0
        for first, end in self.bins():
            steps.append(Step(self.kind, source, **length, first=first, end=end))
            if last:
                steps.append(Step(JOIN, last, second=len(steps)))
            last = len(steps)
        return last

    def names_for(self, names: list[str]) -> list[str]:
        """Names of the columns of results."""
        return [f"{name} {low:g}-{high:g} Hz" for low, high in _pairs(self.bands) for name in names]


def _pairs(bands: Any) -> list[tuple[float, float]]:
    """Bands as pairs of numbers; ValueError where they are none."""
    given = list(bands) if isinstance(bands, Iterable) and not isinstance(bands, str) else [bands]
    if not all(hasattr(band, "__len__") and not isinstance(band, str) and len(band) == 2 for band in given):  # noqa: PLR2004
        refuse_value("bands must be pairs (low, high) in Hz", bands)
    return [(check_number("low", low), check_number("high", high)) for low, high in given]


def _decimal(number: float) -> Fraction:
    """The number that a user reads: 1/10 for 0.1."""
    return Fraction(repr(float(number)))
