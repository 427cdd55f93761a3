"""The search for two halves: C finds, in one call, what the twin finds by many calls of kernels."""

import numpy as np
import pytest

from mapdpm import NormalGamma, NormalInverseWishart
from mapdpm.backends import BACKENDS, halves
from mapdpm.backends.halves import Draws, Start, Tried
from mapdpm.data.standard import standardised, sums
from mapdpm.likelihoods._skipping import Skipping
from mapdpm.partition_priors import partition_prior
from mapdpm.protocol import Model
from mapdpm.search.moves.merge_split import AT_FIRST, LATER
from mapdpm.testing.data import hostile
from tests.marks import complete_but, slow_but
from tests.missing_values import with_gaps


def hostile_model(seed, most_points):
    """Points that are hard for a kernel, with gaps or full covariance matrices in some cases."""
    case = hostile(np.random.default_rng([seed, 17]), most_points)
    X = case.X if len(case.X) > 1 else np.vstack([case.X, case.X + 1.0])
    weights = case.weights if len(case.X) > 1 else None
    likelihood = (NormalGamma.empirical(X) if case.likelihood is None else case.likelihood).for_data(X)
    if seed % 4 == 1:
        X, likelihood = with_gaps(X, 0.2, seed=seed), Skipping(likelihood, X.shape[1])
    elif seed % 4 == 2 and np.abs(X).max() < 1e3:
        likelihood = NormalInverseWishart.empirical(X).for_data(X)
    return Model(likelihood, partition_prior(case.alpha, case.discount), X, weights)


def both(seed, reference, most_points):
    """What C finds, and what the twin finds with the kernels of ``reference``, in two searches of the same points."""
    model = hostile_model(seed, most_points)
    n, D = model.data.shape
    rng, tried = np.random.default_rng(seed), (Tried(n), Tried(n))
    for starts in (AT_FIRST, LATER):
        draws = Draws.drawn(starts, n, D, rng)
        ours = BACKENDS["c"].best_halves(model, draws, tried[0])
        theirs = halves.best_halves(BACKENDS[reference], model, draws, tried[1])
        assert tried[0].n == tried[1].n
        np.testing.assert_array_equal(tried[0].sides[: tried[0].n], tried[1].sides[: tried[1].n])
        np.testing.assert_allclose(ours[1:], theirs[1:], rtol=1e-9, atol=1e-9 * (1.0 + abs(theirs.before)))
        yield ours.state, theirs.state


@pytest.mark.parametrize("first", complete_but([0], [0, 50, 100]))
def test_c_searches_as_the_twin_does(first):
    """With its own kernels to the last bit."""
    found = 0
    for seed in range(first, first + 50):
        for ours, theirs in both(seed, "c", 120):
            assert (ours is None) == (theirs is None)
            if ours is None:
                continue
            found += 1
            for mine, expected in zip(ours[:3], theirs[:3], strict=True):
                assert mine.tobytes() == expected.tobytes()
    assert found > 30


@pytest.mark.complete
@pytest.mark.parametrize("backend", slow_but(["python"], ["python", "numba"]))
def test_backends_agree_on_halves(backend):
    for seed in range(16):
        for ours, theirs in both(seed, backend, 25):
            assert (ours is None) == (theirs is None)
            assert ours is None or np.array_equal(ours.labels, theirs.labels)


@pytest.mark.parametrize("start", Start)
def test_each_start_finds_two_blobs(start):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 4)) + 30.0 * (np.arange(80) % 2)[:, None]
    model = Model(NormalGamma.empirical(X), partition_prior(1.0), X, None)
    tried = Tried(80)
    for name in ("c", "python"):
        found = (
            BACKENDS[name].best_halves(model, Draws.drawn((start,), 80, 4, np.random.default_rng(0)), Tried(80)).state
        )
        assert len(set(zip(found.labels.tolist(), np.arange(80) % 2, strict=True))) == 2
    for again in (False, True):
        found = BACKENDS["c"].best_halves(model, Draws.drawn((start,), 80, 4, np.random.default_rng(0)), tried).state
        assert (found is None) == again


@pytest.mark.parametrize("n", [1, 7, 8, 9, 200])
def test_sums_and_standard_units(n):
    X = np.random.default_rng(n).normal(3.0, 2.0, (n, 3))
    np.testing.assert_allclose(sums(np.ascontiguousarray(X.T)), X.sum(axis=0), rtol=1e-14)
    expected = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0.0, X.std(axis=0), 1.0)
    np.testing.assert_allclose(standardised(X), expected, rtol=1e-12, atol=1e-12)
