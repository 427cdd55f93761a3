"""Products of unlike families: the laws, and what scipy says of raw data, part by part."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapdpm import MAPDPM, NormalGamma
from mapdpm.likelihoods import _product as products
from mapdpm.search.observed import observed
from mapdpm.testing import laws
from mapdpm.testing.backends import agree
from mapdpm.testing.data import Case
from mapdpm.testing.enumeration import partitions
from tests import mixed as made
from tests.marks import a_share, complete_but
from tests.oracle import mixed as oracle

SEEDS = st.integers(0, 2**32 - 1)
ROUNDING = 1e-9  # relative, of a sum of some hundred terms


def case(seed, n, share):
    rng = np.random.default_rng(seed)
    return made.bound(made.prior(rng)), made.table(rng, n, share)


def log_marginal(data, points, mixed):
    return math.fsum(oracle.log_marginal_terms(data.array[list(points)], mixed))


@given(seed=SEEDS, share=st.sampled_from([0.0, 0.4]))
def test_laws(seed, share):
    mixed, data = case(seed, 9, share)
    laws.check_likelihood(mixed.in_kernels("skip" if share else "error"), data, 9, seed)


@a_share(0.3)
@given(seed=SEEDS, share=st.sampled_from([0.0, 0.5]))
def test_a_row_says_what_scipy_says_of_raw_data(seed, share):
    """Marginal, predictives and gains of mergers; also of parts that nobody has."""
    mixed, data = case(seed, 12, share)
    product = mixed.in_kernels("skip")
    one, other = laws.row_of(product, data, range(5)), laws.row_of(product, data, range(5, 11))
    both = one.copy()
    product.merge(both, other)
    product.prepare(both)
    first, last, joined = (log_marginal(data, n, mixed) for n in (range(5), range(5, 11), range(11)))
    with_twelfth = log_marginal(data, [*range(5), 11], mixed)
    size = 1.0 + abs(joined)
    assert product.log_marginal(one) == pytest.approx(first, abs=ROUNDING * size)
    assert product.log_marginal(both) == pytest.approx(joined, abs=ROUNDING * size)
    assert product.log_merge(both, one, other) == pytest.approx(joined - first - last, abs=ROUNDING * size)
    assert product.log_predictive(one, data, 11) == pytest.approx(with_twelfth - first, abs=ROUNDING * size)


@pytest.mark.parametrize(("seed", "share"), complete_but([(1, 0.4)], [(0, 0.0), (1, 0.4), (2, 0.4)], several=True))
def test_a_fit_is_the_best_of_all_partitions(seed, share):
    mixed, data = case(seed, 6, share)
    joints = [oracle.log_joint(data.array, z, mixed, 0.8, 0.2) for z in partitions(6)]
    likelihood = mixed.for_data(data)
    settings = {"missing": "skip" if share else "error", "backend": "python", "discount": 0.2}
    model = MAPDPM(0.8, likelihood=likelihood, **settings).fit(data)
    assert model.log_joint_ == pytest.approx(max(joints), rel=ROUNDING)
    assert oracle.log_joint(data.array, model.labels_, mixed, 0.8, 0.2) == pytest.approx(max(joints), rel=ROUNDING)


def test_an_anchor_changes_nothing():
    mixed, data = case(3, 40, 0.3)
    far = data._replace(array=data.array + np.array([1e8, 0, 0, 1e8, 0, 0, 0]))
    moved = mixed.shifted(-np.array([1e8, 0, 0, 1e8, 0, 0, 0]))
    near, away = observed(mixed, data, None, "skip"), observed(moved, far, None, "skip")
    assert away.anchor[0] > 9e7
    assert away.anchor[4:].tolist() == [0.0, 0.0, 0.0]
    rows = [laws.row_of(seen.shifted, seen.data, range(39)) for seen in (near, away)]
    values = [seen.shifted.log_marginal(row) for seen, row in zip((near, away), rows, strict=True)]
    assert values[1] == pytest.approx(values[0], abs=1e-6)  # the data itself is rounded to 1.5e-8


IN_C = list(itertools.product(["c"], ["error", "skip"], [False, True]))
IN_NUMBA = [pytest.param("numba", "skip", True, marks=pytest.mark.slow)]  # it compiles minutes for a type of product


@pytest.mark.parametrize(("backend", "missing", "weighted"), [*IN_C, *IN_NUMBA])
def test_backends_agree(backend, missing, weighted):
    mixed, data = case(7, 30, 0.3 if missing == "skip" else 0.0)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 30) if weighted else None
    agree(Case(data, mixed, missing=missing, weights=weights), "python", backend)


# ---- faults ----------------------------------------------------------------------------------------------------------


def test_a_part_that_counts_twice_is_noticed(monkeypatch):
    mixed, data = case(4, 9, 0.0)
    whole = products.Product.log_marginal
    twice = lambda self, row: whole(self, row) + float(self.parts.head.log_marginal(row[1:]))  # noqa: E731
    monkeypatch.setattr(products.Product, "log_marginal", twice)
    with pytest.raises(AssertionError):
        laws.check_likelihood(mixed.in_kernels("error"), data, 9)


def test_a_missing_cell_that_counts_is_noticed(monkeypatch):
    mixed, data = case(4, 9, 0.4)
    monkeypatch.setattr(products, "some_there", lambda data, i: True)
    product = mixed.in_kernels("skip")
    expected = math.fsum(oracle.log_marginal_terms(data.array, mixed))
    with pytest.raises((AssertionError, ValueError)):  # NaN is no level
        assert product.log_marginal(laws.row_of(product, data, range(9))) == pytest.approx(expected)


def test_a_block_counts_each_of_its_columns():
    """A part over two columns is not one over the first of them."""
    mixed, _ = case(5, 12, 0.0)
    parts = list(products.parts_of(mixed.in_kernels("error")))
    assert [(part.columns.start, part.columns.stop) for part in parts] == [(0, 2), (2, 4), (4, 5), (5, 6), (6, 7)]
    assert parts[0].row.start == 1
    assert all(a.row.stop == b.row.start for a, b in itertools.pairwise(parts))
    assert isinstance(parts[0].family, NormalGamma)
