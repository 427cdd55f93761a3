"""The parameters of largest evidence: C climbs as plain Python does."""

import numpy as np
import pytest

from mapdpm import GammaPoisson, Mixed, NormalGamma, NormalInverseWishart, NormalKnownVariance
from mapdpm.backends import BACKENDS, c_evidence
from mapdpm.backends.evidence import Part
from mapdpm.likelihoods._product import parts_of
from mapdpm.likelihoods._restricted import as_table
from mapdpm.likelihoods._skipping import in_kernels
from mapdpm.protocol import Model
from mapdpm.search.observed import observed
from mapdpm.search.problem import Problem
from mapdpm.search.widths import Widths, WidthsOfParts
from mapdpm.state import Mixture
from tests.marks import complete_but
from tests.missing_values import with_gaps


def climbed(name, family, seed):
    """The place and the gain that a backend finds for random clusters, from a place in the box or beside it."""
    rng = np.random.default_rng([seed, 3])
    D, K = int(rng.integers(1, 6)), int(rng.integers(1, 30))
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
    (found,) = BACKENDS[name].largest_evidence(state, [Part(reader, slice(0, None), widths._widths, place)])
    return found


@pytest.mark.parametrize(
    "family",
    complete_but([NormalGamma, NormalInverseWishart], [NormalGamma, NormalKnownVariance, NormalInverseWishart]),
)
def test_c_climbs_as_python_does(family):
    for seed in range(6):
        found, expected = (climbed(name, family, seed) for name in ("c", "python"))
        np.testing.assert_allclose(found.place, expected.place, rtol=1e-9, atol=1e-9)
        assert found.before == pytest.approx(expected.before, rel=1e-9, abs=1e-8)
        assert found.gain == pytest.approx(expected.gain, rel=1e-9, abs=1e-8)


def product(seed):
    """Clusters in columns of unlike kinds, two of them alone in theirs, one with its prior; with gaps."""
    rng = np.random.default_rng([seed, 8])
    labels = np.arange(60) % 4
    X = rng.normal(0.0, 5.0, (4, 9))[labels] + rng.normal(size=(60, 9)) * 10.0 ** rng.uniform(-3, 3, 9)
    X[:, 8] = rng.poisson(3.0 + 20.0 * labels)
    X[:, :8] = with_gaps(X[:, :8], 0.1, seed=seed)
    normal, known = NormalGamma, NormalKnownVariance
    of_two = NormalGamma([0.5, -0.5], 0.3, 2.0, [1.0, 4.0])
    parts = {0: normal, (1, 2): normal, 3: normal, 4: known, (5, 6): of_two, 7: known, 8: GammaPoisson}
    return labels, as_table(X), Mixed(parts).bound_to(X)


@pytest.mark.parametrize("backend", ["c", "python"])
def test_parts_of_a_product_are_sought_as_each_by_itself(backend, monkeypatch):
    """In calls of one part, of some and of all; where time is up, the evidence is that of the start."""
    labels, table, given = product(4)
    seen = observed(given.empirical(table, missing="skip"), table, None, "skip")
    widths = WidthsOfParts(given, seen.likelihood)
    problem = Problem.of(Model(seen.shifted, None, seen.data, None), BACKENDS[backend], None)
    mixture = Mixture(seen.shifted, None, seen.anchor, problem.from_labels(labels))
    values, place = widths.evidence(mixture, backend)
    by_itself = []
    for own, part in zip(widths._parts, parts_of(mixture.likelihood), strict=True):
        rows = np.ascontiguousarray(mixture.state.rows[:, part.row])
        alone = Mixture(part.family, None, seen.anchor[part.columns], mixture.state._replace(rows=rows))
        before = BACKENDS[backend].log_marginals(part.family, alone.state).sum()
        gain = 0.0 if own is None else own.largest(alone, backend, own.at(None))[1]
        by_itself.append(before + gain)
    np.testing.assert_allclose(values, by_itself, rtol=1e-12)
    for at_once in (1, 8, 30):
        monkeypatch.setattr(c_evidence, "_AT_ONCE", at_once)
        for one, other in zip(widths.evidence(mixture, backend), (values, place), strict=True):
            np.testing.assert_array_equal(one, other)
    for start in (widths.at(None), widths.at(1e-2)):
        late, gain = widths.largest(mixture, backend, start, lambda: True)
        np.testing.assert_array_equal(late, start)
        assert gain == 0.0
    late, _ = widths.evidence(mixture, backend, lambda: True)
    whole = BACKENDS[backend].log_marginals(mixture.likelihood, mixture.state).sum()
    assert late.sum() == pytest.approx(whole, rel=1e-12)
    assert np.all(values >= late)
