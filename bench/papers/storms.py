"""The storms of Porteous2006 section 6: images of a rain radar as points, or made-up storms, and the model of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mapdpm import DriftingNormal
from mapdpm.samplers import DependentDPGibbs, StickBreaking

POINTS, FRAMES, BLOCK = 896, range(0, 40, 4), 10
EXCHANGES = ("slice", "interval", "all")


def of_radar(file: Path) -> tuple[Any, Any]:
    """Points (x, y) in [0, 1], and the number of the image of each: ten images 20 minutes apart.

    Rain in blocks of 10 x 10 km becomes points at the centre of the block: as many as the rain of an hour in mm over a
    constant, so that there are about 896.
    """
    with np.load(file) as images:
        rain = images["code_to_mm_per_5min"][images["code"][list(FRAMES)]]
    rain = np.nan_to_num(rain) * 12.0
    height, width = (size // BLOCK * BLOCK for size in rain.shape[1:])
    cut = rain[:, :height, :width].reshape(len(rain), height // BLOCK, BLOCK, width // BLOCK, BLOCK)
    blocks = cut.mean(axis=(2, 4))
    low, high = 1e-3, blocks.sum()
    for _ in range(60):  # the constant that gives so many points
        middle = np.sqrt(low * high)
        low, high = (middle, high) if np.floor(blocks / middle).sum() > POINTS else (low, middle)
    counts = np.floor(blocks / high).astype(int)
    t, y, x = np.nonzero(counts)
    longest = max(blocks.shape[1:])
    at = np.stack([(x + 0.5) / longest, 1.0 - (y + 0.5) / longest], axis=1)
    return np.repeat(at, counts[t, y, x], axis=0), np.repeat(t.astype(float), counts[t, y, x])


def made_up(n_frames: int = 8, each: int = 8) -> tuple[Any, Any]:
    """Three storms that cross the unit square from left to right: points, and the number of the image of each."""
    rng = np.random.default_rng(3)
    t = np.repeat(np.arange(n_frames, dtype=float), 3 * each)
    storm = np.tile(np.repeat(np.arange(3), each), n_frames)
    middle = np.stack([0.1 + 0.6 * t / n_frames, 0.2 + 0.3 * storm], axis=1)
    return middle + 0.04 * rng.normal(size=(len(t), 2)), t


def sampler(X: Any, exchanges: tuple[str, ...]) -> DependentDPGibbs:
    """The model of section 6; ``exchanges`` are the moves of labels."""
    family = DriftingNormal(X.mean(axis=0), 1.0, 0.005, nu0=3.0, psi0=0.01)
    return DependentDPGibbs(
        sticks=StickBreaking.gamma_family(1.0, 0.7),
        likelihood=family,
        label_moves=exchanges,
        move_rate=1.0 if exchanges else None,
    )
