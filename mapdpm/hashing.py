"""Hashes of whole numbers: a choice that depends on the number alone, whoever makes it, and when."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.protocol import Labels


def mixed_bits(numbers: Labels, salt: int = 0) -> Any:
    """64 mixed bits for each number (SplitMix64); another ``salt`` gives others. The array is of uint64."""
    with np.errstate(over="ignore"):
        z = numbers.astype(np.uint64) + np.uint64(salt) * np.uint64(0xD1342543DE82EF95)
        z = (z + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
