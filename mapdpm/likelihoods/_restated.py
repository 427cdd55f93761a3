"""Statistics of clusters under another prior of their family."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.likelihoods import _triangle as tri
from mapdpm.likelihoods._product import Product, parts_of
from mapdpm.likelihoods.normal_inverse_wishart import NormalInverseWishart
from mapdpm.protocol import Matrix


def restated(statistics: Matrix, made_by: Any, likelihood: Any) -> Matrix:
    """``statistics`` (K, S) that were made under the prior of ``made_by``, as those under that of ``likelihood``.

    The statistics of a family are sums over points, which know no prior. Only NormalInverseWishart keeps a factor of
    the scatter with psi0 in it (maths (34)): psi0 is taken out, the other put in, and the sum factored again. O(K D^3).
    """
    if isinstance(likelihood, Product):
        return _restated_parts(statistics, made_by, likelihood)
    if not isinstance(likelihood, NormalInverseWishart):
        return statistics
    D = len(likelihood.m0)
    rows, columns = np.tril_indices(D)
    squares = tri.products(statistics[:, 1 + D :]) - made_by.psi0 + likelihood.psi0
    changed = statistics.copy()
    changed[:, 1 + D :] = np.linalg.cholesky(squares)[:, rows, columns]
    return changed


def _restated_parts(statistics: Matrix, made_by: Product, likelihood: Product) -> Matrix:
    """The same of each part of a product; their constants are made anew by whoever joins the rows."""
    changed = statistics.copy()
    for before, now in zip(parts_of(made_by), parts_of(likelihood), strict=True):
        own = slice(now.row.start, now.row.start + now.family.n_statistics())
        changed[:, own] = restated(statistics[:, own], before.family, now.family)
    return changed
