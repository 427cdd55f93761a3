"""Covariance matrices of the clusters of a fit, from their statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapdpm.likelihoods import _triangle as tri
from mapdpm.likelihoods._product import Part, Product, parts_of
from mapdpm.likelihoods._skipping import plain
from mapdpm.likelihoods.normal_inverse_wishart import NormalInverseWishart
from mapdpm.protocol import Matrix
from mapdpm.search.background import Relevance
from mapdpm.state import Mixture


def covariances_of(
    mixture: Mixture, likelihood: Any, relevance: Relevance | None, variances: Matrix
) -> NDArray[np.float64]:
    """The matrices (K, D, D) of the user's columns: ``variances``, and between the columns of a full block the rest."""
    K, D = variances.shape
    found = np.zeros((K, D, D))
    found[:, np.arange(D), np.arange(D)] = variances
    columns = np.arange(len(mixture.anchor)) if relevance is None else relevance.columns
    places = likelihood.places() if hasattr(likelihood, "places") else np.arange(D)
    family, rows = plain(mixture.likelihood), mixture.state.rows[:-1]
    whole = Part(family, slice(0, len(columns)), slice(0, rows.shape[1]))
    for part in parts_of(family) if isinstance(family, Product) else [whole]:
        if not isinstance(part.family, NormalInverseWishart):
            continue
        own, sums = places[columns[part.columns]], rows[:, part.row]
        width = len(own)
        squares = tri.products(sums[:, 1 + width : 1 + width + tri.length(width)])
        block = (squares - part.family.psi0) / sums[:, :1, None]
        block[:, np.arange(width), np.arange(width)] = variances[:, own]  # without the cells of rounded values
        found[np.ix_(np.arange(K), own, own)] = block
    return found
