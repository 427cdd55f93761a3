"""What verdicts on the papers rest on: noise.py, climbs.py, and the made-up data of the short forms."""

import numpy as np
import pytest

from tests.project.test_papers import loaded


@pytest.fixture(scope="module")
def noise():
    return loaded("noise")


@pytest.fixture(scope="module")
def climbs():
    return loaded("climbs")


def test_chance_is_clear_once_in_a_hundred(noise):
    """2,000 times five differences of mean 0; the bounds fail once in 10,000."""
    rng = np.random.default_rng(0)
    found = sum(noise.clearly_above(rng.normal(size=5)) for _ in range(2000))
    assert 7 <= found <= 41


def test_a_margin_is_in_deviations_of_its_statistic(noise):
    rng = np.random.default_rng(1)
    margins = [noise.margin(rng.normal(1.5, 1.0, size=20)) for _ in range(1000)]
    assert np.std(margins) == pytest.approx(1.0, abs=0.15)
    assert np.mean(np.less(margins, 0.0)) <= 0.003  # 1.5 roots of 20 are 3.2 deviations above the 2.54 that it needs


def test_a_difference_without_noise_is_clear(noise):
    assert noise.clearly_above([1.0, 1.0, 1.0])
    assert not noise.clearly_above([0.0, 0.0, 0.0])
    assert not noise.clearly_above([-1.0, -1.0, -1.0])


def test_what_may_be_zero(noise):
    assert noise.may_be_zero([-1.0, 0.5, 0.6, -0.2])
    assert not noise.may_be_zero(np.arange(100.0) % 2 + 1.0)


def test_times_and_ends_of_curves(climbs):
    def curve(*joints):
        return [climbs.Moment(float(second), joint, 1) for second, joint in enumerate(joints, 1)]

    curves = {
        "fast": [curve(-5000.0, -1000.5, -1000.0), curve(-1001.0, -1000.0, -1000.2)],
        "slow": [curve(-5000.0, -4000.0, -3000.0), curve(-5000.0, -4000.0, -1000.9)],
    }
    assert climbs.best_of(curves) == -1000.0
    assert climbs.times(curves, "fast") == [2.0, 1.0]
    assert climbs.times(curves, "slow") == [float("inf"), 3.0]
    assert climbs.all_faster(curves, "fast", "slow")
    assert not climbs.all_faster(curves, "slow", "fast")
    assert climbs.ends(curves, "slow") == pytest.approx([2000.0, 0.9])
    assert climbs.at(curves["slow"][0], 2.5) == -4000.0
    assert climbs.at(curves["slow"][0], 0.5) == -5000.0
    assert climbs.times_shown([float("inf"), 3.0, 2.0]) == "3 (2 to never)"
