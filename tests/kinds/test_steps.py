"""Steps of columns: grids of decimals and others, through the noise of floats; and none where there is none."""

import numpy as np
import pytest

from mapdpm.data import steps
from mapdpm.data.steps import grid_of

SIZES = (6, 50, 1000)


def grid(x):
    return grid_of(np.unique(np.asarray(x, dtype=np.float64)))


def normal(n, seed=0):
    return np.random.default_rng(seed).normal(size=n)


ROUNDED = {
    "tenths": (0.1, lambda z: z.round(1)),
    "tenths in float32": (0.1, lambda z: z.round(1).astype(np.float32)),
    "noise of floats": (0.1, lambda z: z.round(1) + 0.1 + 0.2 - 0.3),
    "sums of tenths": (0.1, lambda z: np.cumsum(np.full(len(z), 0.1))),
    "thousandths": (0.001, lambda z: z.round(3)),
    "prices": (0.25, lambda z: np.round(4.0 * z) / 4.0 + 100.0),
    "counts of a converter": (0.0625, lambda z: np.round(100.0 * z) * 0.0625),
    "thirds": (1.0 / 3.0, lambda z: np.round(10.0 * z) / 3.0),
    "five volts in 1023 parts": (5.0 / 1023.0, lambda z: np.round(200.0 + 20.0 * z) * 5.0 / 1023.0),
    "small units": (1e-7, lambda z: 1e-6 * z.round(1)),
    "an offset": (0.1, lambda z: z.round(1) + 1e8),
    "an odd offset": (0.5, lambda z: np.pi + 0.5 * np.round(4.0 * z)),
    "whole numbers": (1.0, lambda z: np.round(50.0 * z)),
    "even numbers": (2.0, lambda z: 2.0 * np.round(50.0 * z)),
    "tens, less five": (10.0, lambda z: 10.0 * np.round(9.0 * z) - 5.0),
    "degrees Fahrenheit": (0.18, lambda z: np.round(1.8 * np.round(20.0 + z, 1) + 32.0, 2)),
    "standardised tenths": (0.1 / 1.234, lambda z: (z.round(1) - 0.0123) / 1.234),
    "standardised in float32": (0.1 / 1.234, lambda z: ((z.round(1) - 0.0123) / 1.234).astype(np.float32)),
}


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("step", "made"), ROUNDED.values(), ids=ROUNDED)
def test_a_step_is_found(step, made, n):
    found = grid(made(normal(n)))
    assert found.step / step == pytest.approx(np.round(found.step / step), rel=1e-5)  # gaps of few values may be wider
    assert found.step == pytest.approx(step, rel=1e-5) or n == min(SIZES)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(
    "made",
    [
        lambda z: z,
        lambda z: z.astype(np.float32),
        lambda z: np.exp(5.0 * z),
        lambda z: 1e-6 * z,
        lambda z: 1e8 + z,
        lambda z: np.log1p(np.abs(np.round(5.0 * z))),
        lambda z: np.sqrt(np.abs(np.round(5.0 * z))),
    ],
    ids=["normal", "float32", "lognormal", "small", "far", "logarithms", "roots"],
)
def test_no_step_is_found(made, n):
    assert grid(made(normal(n))) is None


def test_values_printed_with_few_decimals_lie_near_their_grid():
    """Half a unit of the last decimal off: the step is that of the sensor, 4.89 thousandths, not a thousandth."""
    x = np.round(np.round(200.0 + 20.0 * normal(1000)) * 5.0 / 1023.0, 3)
    assert grid(x).step == pytest.approx(5.0 / 1023.0, rel=1e-3)


def test_cells_are_whole_numbers_of_steps():
    found = grid([0.5, 2.0, 2.5, 7.5])
    assert found.step == 0.5
    assert found.cells.tolist() == [0, 3, 4, 14]


def test_random_numbers_are_on_no_grid():
    """False alarms: none in 500 columns of 5 to 40 random numbers; evidence of 20 nats would allow 1e-6."""
    rng = np.random.default_rng(1)
    assert not [seed for seed in range(500) if grid(rng.normal(size=rng.integers(5, 40)))]


def test_a_grid_for_chance_is_noticed(monkeypatch):
    """Without evidence, three random numbers are on a grid with a tolerance of 1/1000."""
    monkeypatch.setattr(steps, "_EVIDENCE", -1e9)
    monkeypatch.setattr(steps, "_NOISES", (1e-3,))
    with pytest.raises(AssertionError):
        test_random_numbers_are_on_no_grid()
