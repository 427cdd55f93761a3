"""Runs of equal values and gaps of time: the oracle, false alarms of what is normal, and faults that are found."""

import math

import numpy as np
import pytest

from mapdpm.features import Silence, Stuck
from oracle import features as oracle

EPS = {"float64": 2.0**-52, "float32": 2.0**-23}
MINUTES, DAYS = 1440, 30
LEVEL = 1e-5
T = 60.0 * np.arange(MINUTES * DAYS)


def held(seed, n, D=3):
    """Columns of a continuous value, of one that is often held, and of few values, with missing readings and faults."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.round(rng.normal(size=n) * 256) / 256, np.zeros(n), rng.integers(0, 3, n)]).astype(float)
    X[:, 1] = np.cumsum(rng.random(n) < 0.3)  # never the same again
    X[n // 3 : n // 2, 1] = 0.0
    X[rng.random((n, D)) < 0.05] = math.nan
    X[n // 2 : n // 2 + 20, 0] = 5.0
    X[-9:, 2] = math.nan
    return X


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("seed", range(3))
def test_runs_are_those_of_the_oracle(dtype, seed):
    X = held(seed, 400)
    found, wanted = Stuck(7, dtype=dtype).transform_many(X), oracle.stuck(X, 7)
    np.testing.assert_array_equal(found[:, 3:], wanted[:, 3:])
    # A product of at most 9 quotients of integers, each rounded, and each product, too.
    np.testing.assert_allclose(found[:, :3], wanted[:, :3], rtol=20 * EPS[dtype])
    assert found[:, :3].min() < 1e-3


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("seed", range(3))
def test_gaps_are_those_of_the_oracle(dtype, seed):
    rng = np.random.default_rng(seed)
    gaps = rng.integers(0, 3_000_000, 400)
    gaps[[50, 51, 200, 300, 301]] = [900_000_000, -5_000_000, 10**12, 400_000_000, 10**14]
    times = 1_700_000_000_000_000 + np.cumsum(gaps)
    found = Silence(7, dtype=dtype).transform_many(np.zeros((400, 2)), times / 1e6)
    wanted = oracle.silence(np.zeros((400, 2)), times.tolist(), 7)
    np.testing.assert_allclose(found, wanted, rtol=40 * EPS[dtype])  # up to 20 doublings
    assert found[200, 0] < 1e-6


def test_a_rank_is_exact():
    """The next of independent runs without ties is the longest of 20 with probability 1 / 20."""
    rng, low = np.random.default_rng(0), 0
    for _ in range(400):
        lengths = rng.permutation(400)[:20] + 10
        column = np.repeat(np.arange(20.0) % 2, lengths)  # both are common
        low += Stuck(1).transform_many(column[:, None])[-1, 0] <= 1 / 20
    assert abs(low - 400 / 20) < 4 * math.sqrt(400 / 20)


# ---- thirty days of readings, one a minute ---------------------------------------------------------------------------


def on_off(rng, mean, n=MINUTES * DAYS):
    """On and off in turn, for times without memory."""
    lengths = 1 + rng.geometric(1.0 / mean, 2 * n // mean + 10)
    return np.repeat(np.arange(len(lengths)) % 2, lengths)[:n].astype(float)


def columns(seed=0):
    """Normal columns by name: none of them alarms."""
    rng, n = np.random.default_rng(seed), MINUTES * DAYS
    hour = 2 * np.pi * np.arange(n) / MINUTES
    walk = np.zeros(n)
    for i, step in enumerate(rng.normal(0.0, 0.02, n - 1)):
        walk[i + 1] = 0.999 * walk[i] + step
    sun = np.maximum(0.0, -np.cos(hour))
    cycle = rng.integers(18, 24, n // 18)
    return {
        "continuous": 20.0 + 3.0 * np.sin(hour) + walk + rng.normal(0.0, 0.05, n),
        "rounded": np.round(20.0 + 3.0 * np.sin(hour) + walk, 1),
        "rounded to .5, slow": np.round(2.0 * (20.0 + 3.0 * np.sin(hour))) / 2.0,
        "whole numbers": rng.poisson(3.0, n).astype(float),
        "rare counts": rng.poisson(0.02, n).astype(float),
        "day and night": np.where(sun > 0.0, 800.0 * sun * (1.0 + 0.1 * rng.normal(size=n)), 0.0),
        "fridge": np.repeat(np.arange(len(cycle)) % 2, cycle)[:n].astype(float),
        "on and off": on_off(rng, 110),
        "constant": np.full(n, 5.0),
        "a setting": np.repeat([5.0, 7.0, 5.0, 6.0], [n // 7, n // 3, n // 5, n])[:n],
    }


def alarms(x, n=MINUTES):
    return np.flatnonzero(Stuck(n).transform_many(np.asarray(x)[:, None])[:, 0] <= LEVEL)


@pytest.mark.parametrize("name", list(columns()))
def test_what_is_normal_for_a_column_never_alarms(name):
    assert len(alarms(columns()[name])) == 0


@pytest.mark.parametrize("seed", range(3))
def test_gaps_that_are_normal_never_alarm(seed):
    """Jitter, lost readings, and reports on change."""
    rng, n = np.random.default_rng(seed), MINUTES * DAYS
    kept = rng.random(n) > 0.02
    gaps = {"lost": np.diff(T[kept]), "jitter": 60.0 + rng.normal(0, 5.0, n), "on change": rng.exponential(60.0, n)}
    for each in gaps.values():
        found = Silence(MINUTES).transform_many(np.zeros((len(each), 1)), 1.7e9 + np.cumsum(each))
        assert found[:, 0].min() > LEVEL


STUCK = {"continuous": 15, "rounded": 400, "whole numbers": 60, "day and night": 15, "fridge": 400}
"""The readings for which a fault holds a value in the middle of day 20, so that it is found."""


@pytest.mark.parametrize(("name", "length"), STUCK.items())
def test_a_stuck_column_is_found_each_time(name, length):
    """Repetition does not make it normal while it holds at most 2 % of the readings."""
    x, at = columns()[name], [day * MINUTES + MINUTES // 2 for day in (20, 25)]
    for start in at:
        x[start : start + length] = x[start]
    found = alarms(x)
    for start in at:
        assert np.any((found >= start) & (found < start + length + 60)), found
    assert all(any(start <= each < start + length + 60 for start in at) for each in found)


@pytest.mark.parametrize("hours", [0.25, 3.0, 30.0])
def test_a_silence_is_found(hours):
    times = np.concatenate([T[:30_000], T[30_000:] + 3600.0 * hours])
    found = Silence(MINUTES).transform_many(np.zeros((len(times), 1)), times)
    assert np.flatnonzero(found[:, 0] <= LEVEL).tolist() == [30_000]
    assert found[30_000, 1] == 3600.0 * hours + 60.0


def test_what_changes_for_good_becomes_normal():
    """A sensor that reports each value five times, from a day on."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=10_000), np.repeat(rng.normal(size=2_000), 5)])
    found = alarms(x)
    assert len(found) == 0 or found.max() < 10_000 + 500
