"""Spikes: found where a value is repeated too often, and not in what chance, peaks and held values explain."""

import numpy as np
import pytest
from scipy import stats

from mapdpm.kinds import finding, spikes
from mapdpm.kinds.finding import Atoms, kind_of


def found(x):
    return kind_of(Atoms.of(np.asarray(x, dtype=np.float64)))


def rounded(x, step):
    return np.round(x / step) * step if step else x


def clipped(rng, n, share, step):
    return rounded(np.maximum(rng.normal(size=n) - stats.norm.ppf(share), 0.0), step)


def rain(rng, n, share, step):
    return np.where(rng.random(n) < share, 0.0, np.maximum(step, rounded(rng.gamma(2.0, 3.0, n), step)))


@pytest.mark.parametrize("unit", [1.0, 1e-6])
@pytest.mark.parametrize("step", [0.0, 0.01])
@pytest.mark.parametrize("share", [0.05, 0.3, 0.95])
@pytest.mark.parametrize("made", [clipped, rain])
def test_zeros_are_found(made, share, step, unit):
    for seed, n in ((0, 400), (1, 1000), (2, 3000)):
        own = found(unit * made(np.random.default_rng(seed), n, share, step))
        assert (own.kind, own.spikes) == ("spiked", (0.0,))


@pytest.mark.parametrize("step", [0.0, 1.0])
def test_both_ends_of_a_clipped_range(step):
    for seed in range(3):
        x = rounded(np.clip(np.random.default_rng(seed).normal(50.0, 40.0, 1000), 0.0, 100.0), step)
        assert found(x).spikes == (0.0, 100.0)


def test_a_value_inside_the_range():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = np.where(rng.random(3000) < 0.03, 85.0, rounded(rng.normal(80.0, 5.0, 3000), 0.0625))
        assert found(x) == ("spiked", 0.0625, (85.0,))
        assert found(np.where(rng.random(300) < 0.1, 4.51237, rng.normal(4.5, 1.0, 300).round(1))) == (
            "spiked",
            0.1,
            (4.51237,),
        )


NONE = {
    **{
        f"normals of {sd} steps": lambda rng, n, sd=sd: np.round(
            8.0 * max(sd, 1.0) * rng.normal(size=3)[rng.integers(0, 3, n)] + sd * rng.normal(size=n)
        )
        for sd in (0.4, 0.5, 1.0, 3.0)
    },
    "ratings": lambda rng, n: rng.integers(1, 11, n),
    "high ratings": lambda rng, n: np.clip(np.round(rng.normal(8.0, 2.0, n)), 1.0, 10.0),
    "stars": lambda rng, n: rng.choice(5, n, p=[0.12, 0.05, 0.08, 0.15, 0.6]),
    "ages": lambda rng, n: np.round(rng.gamma(4.0, 10.0, n)),
    "minutes, often of five": lambda rng, n: np.round(rng.gamma(4.0, 3.0, n)) * rng.choice([1.0, 5.0], n),
    "held values": lambda rng, n: np.repeat(rng.normal(size=n), rng.geometric(0.2, n))[:n],
    "held and rounded": lambda rng, n: np.repeat(rng.normal(size=n).round(2), rng.geometric(0.1, n))[:n],
    "a walk": lambda rng, n: np.cumsum(0.1 * rng.normal(size=n)).round(1),
    "few events": lambda rng, n: rng.poisson(0.1, n),
    "events": lambda rng, n: rng.poisson(3.0, n),
    "logarithms of events": lambda rng, n: np.log1p(rng.poisson(0.5, n)),
    "a bootstrap": lambda rng, n: rng.normal(size=n)[rng.integers(0, n, n)],
    "each three times": lambda rng, n: np.repeat(rng.normal(size=n // 3), 3),
}


@pytest.mark.parametrize("made", NONE.values(), ids=NONE)
def test_false_alarms(made):
    """At most one in 30 columns of 300 and of 2,000 points. Stated is 1/1000 a column, where counts are as modelled."""
    columns = [made(np.random.default_rng(seed), n) for n in (300, 2000) for seed in range(15)]
    assert sum(bool(found(x).spikes) for x in columns if len(np.unique(x)) > 2) <= 1


def test_the_tail_bounds_that_of_scipy():
    for count, mean, dispersion in ((30.0, 4.0, 1.0), (30.0, 4.0, 5.0), (12.0, 1e-9, 3.0), (500.0, 300.0, 2.0)):
        if dispersion == 1.0:
            exact = stats.poisson.logsf(count - 1.0, mean)
        else:
            exact = stats.nbinom.logsf(count - 1.0, mean / (dispersion - 1.0), 1.0 / dispersion)
        bound = spikes._log_tail(count, mean, dispersion)
        assert exact <= bound + 1e-9 * abs(exact)
        assert bound <= exact + 0.5


def test_peaks_that_count_are_noticed(monkeypatch):
    monkeypatch.setattr(spikes, "_TIMES", 0.0)
    monkeypatch.setattr(spikes, "_TIMES_OF_FEW", 0.0)
    with pytest.raises(AssertionError):
        test_false_alarms(NONE["stars"])


def test_held_values_that_count_as_independent_are_noticed(monkeypatch):
    monkeypatch.setattr(spikes, "_dispersion", lambda *_: 1.0)
    monkeypatch.setattr(spikes, "_are_exceptions", lambda *_: True)
    with pytest.raises(AssertionError):
        test_false_alarms(NONE["held values"])


def test_a_value_off_the_grid_that_sets_the_step_is_noticed(monkeypatch):
    monkeypatch.setattr(finding, "_FINER", 1e9)
    with pytest.raises(AssertionError):
        test_a_value_inside_the_range()
