"""The likelihood that follows from kinds: few blocks, and fits that find what is there."""

import numpy as np
import pandas as pd
import pytest

from mapdpm import MAPDPM, BetaBernoulli, Categorical, Circular, GammaPoisson, Mixed, NormalGamma, Spiked, columns
from mapdpm.kinds.likelihood import likelihood_of
from mapdpm.likelihoods._measured import Measured
from mapdpm.likelihoods.spiked import Flag

N = 600


def planned(X, kinds=None):
    return likelihood_of(columns(X, kinds), X)


def parts_of(X, kinds=None):
    return planned(X, kinds).likelihood.parts


def test_numbers_alone_are_one_family():
    z = np.random.default_rng(0).normal(size=(N, 3))
    assert planned(z) == (NormalGamma, (), "diagonal")
    z[:, 1] = z[:, 1].round(1)
    assert planned(z) == (Measured(NormalGamma, (0.0, 0.1, 0.0)), (), "diagonal")
    z[:, 2] = 7.0
    assert planned(z) == (Measured(NormalGamma, (0.0, 0.1, 0.0)), (), "diagonal")
    assert planned(z, {0: "constant", 2: "constant"}).left_out == (0,)


@pytest.mark.complete
def test_columns_of_a_kind_are_one_block():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=N),
            "rain": np.where(rng.random(N) < 0.5, 0.0, rng.gamma(2.0, 3.0, N)),
            "zero": np.zeros(N),
            "b": rng.normal(20.0, 2.0, N).round(1),
            "power": np.where(rng.random(N) < 0.3, 0.0, rng.gamma(2.0, 30.0, N).round(1) + 0.1),
            "relay": rng.choice([3.0, 7.0], N),
            "door": rng.random(N) < 0.2,
            "events": rng.poisson(3.0, N),
            "calls": rng.poisson(4.0, N),
            "range": np.clip(rng.normal(50.0, 40.0, N), 0.0, 100.0),
            "mode": np.where(rng.random(N) < 0.5, "heat", "off"),
            "wind": rng.uniform(0.0, 360.0, N),
        }
    )
    parts = {
        ("a", "zero", "b"): Measured(NormalGamma, (0.0, 0.0, 0.1)),
        ("rain", "power"): Spiked((0.0, 0.0), Measured(NormalGamma, (0.0, 0.1))),
        ("range",): Spiked((0.0,), Spiked((100.0,), NormalGamma)),
        ("events", "calls"): GammaPoisson,
        ("relay", "door"): Flag(((3.0, 0.0), (7.0, 1.0))),
        "mode": Categorical,
        "wind": Circular(360.0),
    }
    kinds = {"wind": "circular:360"}
    assert Mixed(parts_of(frame, kinds)) == Mixed(parts)
    model = MAPDPM(kinds=kinds).fit(frame)
    assert model.n_clusters_ <= 6
    assert np.array_equal(model.predict(frame), model.labels_)


def test_flags_of_zeros_and_ones_need_no_values():
    rng = np.random.default_rng(2)
    X = np.stack([rng.normal(size=N), rng.random(N) < 0.5, np.full(N, 2.0)], axis=1)
    assert parts_of(X) == {(0, 2): NormalGamma, (1,): BetaBernoulli}


@pytest.mark.parametrize("seed", range(2))
def test_what_is_clipped_has_its_clusters(seed):
    """Four clusters of five columns that are clipped at 0: without spikes they are 10 to 194."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 4, 1000)
    centres = np.array([[3, 0, 3, 0, 3], [0, 3, 3, 0, 0], [3, 3, 0, 3, 0], [0, 0, 0, 3, 3.0]])
    X = np.maximum(centres[z] + 0.5 * rng.normal(size=(1000, 5)), 0.0)
    assert Mixed(parts_of(X)) == Mixed({(0, 1, 2, 3, 4): Spiked((0.0,) * 5, NormalGamma)})
    model = MAPDPM().fit(X)
    assert model.n_clusters_ <= 5
    pairs = np.equal.outer(model.labels_, model.labels_) == np.equal.outer(z, z)
    assert pairs.mean() > 0.98
