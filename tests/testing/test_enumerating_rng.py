"""Both enumerating rngs walk every path, and know its probability."""

import numpy as np
import pytest

from mapdpm.jit import compiled
from mapdpm.testing.enumerating_rng import EnumeratingRng, compiled_enumerating_rng

ROUNDING = 1e-12  # of logarithms near 1e3: 1e-13
SHARES = np.array([0.0, 0.5, 0.0, 0.25, 0.25, 0.0])


def walk(rng, logw, outcome):
    """Choices whose number depends on choices."""
    first = rng.categorical(logw.copy())
    outcome[0] = first
    for place in range(1, first):
        outcome[place] = rng.integer(place + 1)
    outcome[5] = rng.accept(-0.7) + 2 * rng.accept(0.0) + 4 * rng.accept(-np.inf)


def all_paths(rng, run=walk):
    found = []
    with np.errstate(divide="ignore"):
        logw = np.log(SHARES) - 1e3
    for _ in rng.paths():
        outcome = np.zeros(6)
        run(rng, logw, outcome)
        found.append((*outcome, rng.probability))
    return np.array(found)


def test_every_path_is_walked_once():
    found = all_paths(compiled_enumerating_rng())
    assert len(found) == len({tuple(row) for row in found}) == 2 * (1 + 6 + 24)
    assert found[:, -1].sum() == pytest.approx(1.0, abs=ROUNDING)
    assert np.all(found[:, -1] > 0.0)
    for first, share in enumerate(SHARES):
        assert found[found[:, 0] == first, -1].sum() == pytest.approx(share, abs=ROUNDING)
    assert found[found[:, 5] == 3, -1].sum() == pytest.approx(np.exp(-0.7), abs=ROUNDING)
    assert set(found[:, 5]) == {2, 3}


@pytest.mark.complete
def test_it_compiles():
    np.testing.assert_allclose(
        all_paths(compiled_enumerating_rng(), compiled(walk)), all_paths(compiled_enumerating_rng()), rtol=ROUNDING
    )


def test_the_plain_one_walks_the_same_paths():
    plain, other = all_paths(EnumeratingRng()), all_paths(compiled_enumerating_rng())
    np.testing.assert_allclose(plain, other, rtol=ROUNDING)


def test_a_path_without_end_is_refused():
    def endless(rng, logw, outcome):
        while True:
            rng.integer(2)

    with pytest.raises(ValueError, match="more random choices"):
        all_paths(compiled_enumerating_rng(), endless)
