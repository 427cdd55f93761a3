"""The parameters of largest evidence: C climbs as plain Python does."""

import numpy as np
import pytest

from mapdpm import NormalGamma, NormalInverseWishart, NormalKnownVariance
from mapdpm.backends import BACKENDS
from mapdpm.likelihoods._skipping import in_kernels
from mapdpm.protocol import Model
from mapdpm.search.problem import Problem
from mapdpm.search.widths import Widths
from tests.marks import complete_but
from tests.missing_values import with_gaps


def climbed(name, family, seed):
    """The place and the gain that a backend finds for random clusters, from a place in the box or beside it."""
    rng = np.random.default_rng([seed, 3])
    D, K = int(rng.integers(1, 6)), int(rng.integers(1, 100))
    labels = np.append(np.arange(K), rng.integers(0, K, 200))
    X = rng.normal(0.0, 10.0 ** rng.uniform(-2, 2), (K, D))[labels] + rng.normal(size=(K + 200, D))
    missing = ("error", "skip")[seed % 2] if family is not NormalInverseWishart else "error"
    X = with_gaps(X, 0.2, seed=seed) if missing == "skip" else X
    empirical = family.empirical(X, missing=missing) if missing == "skip" else family.empirical(X)
    widths = Widths(empirical.for_data(X))
    reader = in_kernels(empirical.for_data(X), missing)
    problem = Problem.of(Model(reader, None, X, None), BACKENDS[name], None)
    state = problem.from_labels(labels)
    place = widths.at((None, 1e-2, 1e-4)[seed % 3])
    return BACKENDS[name].largest_evidence(reader, state, widths._widths, place)


@pytest.mark.parametrize(
    "family",
    complete_but([NormalGamma, NormalInverseWishart], [NormalGamma, NormalKnownVariance, NormalInverseWishart]),
)
def test_c_climbs_as_python_does(family):
    for seed in range(6):
        (place, gain), (expected, more) = (climbed(name, family, seed) for name in ("c", "python"))
        np.testing.assert_allclose(place, expected, rtol=1e-9, atol=1e-9)
        assert gain == pytest.approx(more, rel=1e-9, abs=1e-8)
