"""A product of more families than Python's stack is deep: wide tables have a part for each column."""

import numpy as np
import pytest

from mapdpm import MAPDPM, NormalGamma
from mapdpm.data.table import Table
from mapdpm.likelihoods._product import parts_of, product_of


@pytest.mark.parametrize("n_parts", [1, 2, 100, 101, 250, 12_345])
def test_parts_keep_their_order_and_places(n_parts):
    widths = [1 + i % 3 for i in range(n_parts)]
    families = [NormalGamma(np.full(width, float(i)), 1.0, 1.0, np.ones(width)) for i, width in enumerate(widths)]
    product = product_of(families, widths, skips=False)
    found = list(parts_of(product))
    assert [part.family for part in found] == families
    ends = np.cumsum(widths).tolist()
    assert [part.columns for part in found] == [slice(end - w, end) for end, w in zip(ends, widths, strict=True)]
    sizes = [family.size() for family in families]
    row_ends = (1 + np.cumsum(sizes)).tolist()
    assert [part.row for part in found] == [slice(end - w, end) for end, w in zip(row_ends, sizes, strict=True)]
    assert product.size() == 1 + sum(sizes)


def test_verbs_are_those_of_the_parts():
    rng, n = np.random.default_rng(0), 230
    families = [NormalGamma(np.array([float(i)]), 0.5, 2.0, np.array([1.0])) for i in range(n)]
    product, X = product_of(families, [1] * n, skips=True), rng.normal(size=(4, n))
    X[1, ::7] = np.nan
    row, own = np.zeros(product.size()), [np.zeros(family.size()) for family in families]
    product.init(row)
    for family, part in zip(families, own, strict=True):
        family.init(part)
    for i in range(3):
        product.add(row, Table(X, np.zeros(n, dtype=np.int64)), i, 1.0)
        for d, (family, part) in enumerate(zip(families, own, strict=True)):
            if not np.isnan(X[i, d]):
                family.add(part, X[:, d : d + 1], i, 1.0)
    product.prepare(row)
    for family, part in zip(families, own, strict=True):
        family.prepare(part)
    asked = Table(X, np.zeros(n, dtype=np.int64))
    expected = sum(
        family.log_predictive(part, X[:, d : d + 1], 3)
        for d, (family, part) in enumerate(zip(families, own, strict=True))
    )
    np.testing.assert_allclose(product.log_predictive(row, asked, 3), expected, rtol=1e-12)
    assert product.remove(row, asked, 2, 1.0)
    for d, (family, part) in enumerate(zip(families, own, strict=True)):
        family.remove(part, X[:, d : d + 1], 2, 1.0)
    np.testing.assert_allclose(
        product.log_marginal(row), sum(family.log_marginal(part) for family, part in zip(families, own, strict=True))
    )


@pytest.mark.complete
def test_a_default_fit_of_a_wide_table():
    X = np.random.default_rng(1).normal(size=(20, 1050))
    X[::2, :50] += 6.0
    model = MAPDPM().fit(X)
    assert model.labels_.tolist() == [0, 1] * 10
