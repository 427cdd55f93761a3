"""Mergers in the order of what they cost the log joint."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.backends import resolve
from mapdpm.backends.agglomeration import Agglomeration
from mapdpm.likelihoods._restated import restated
from mapdpm.likelihoods._restricted import restricted
from mapdpm.likelihoods._skipping import kinds_of, like, named, plain
from mapdpm.merging.tree import MergeTree, tree_of
from mapdpm.protocol import Labels
from mapdpm.search.background import Relevance
from mapdpm.search.observed import less_anchor
from mapdpm.state import ClusterState, Mixture, mixture_of


def tree_by_joint(
    mixture: Mixture, prior: Any, clusters: Labels | None, relevance: Relevance | None = None
) -> MergeTree:
    """Merge the pair whose merger lowers log p(x, z) least, again and again: maths (19) to (21).

    ``prior`` is a likelihood whose prior takes the place of that of the mixture; None is that. It is of all columns
    where the mixture reads some of them, by ``relevance``. O(K^2 D).
    """
    if prior is not None:
        partial = None if relevance is None or relevance.is_all else relevance
        if partial is not None and hasattr(prior, "blocks"):
            prior = restricted(prior, partial.columns)
        if kinds_of(prior) != kinds_of(mixture.likelihood):
            got, wanted = named(prior), named(plain(mixture.likelihood))
            msg = f"prior must be of the family of the model, {wanted}, got {got}"
            raise ValueError(msg)
        wide = like(mixture.likelihood, less_anchor(_fitting(prior, mixture, partial), mixture.anchor))
        statistics = restated(mixture.statistics, mixture.likelihood, wide)
        mixture = mixture_of(wide, mixture.prior, mixture.anchor, mixture.counts, statistics)
    likelihood = mixture.likelihood
    pairs = Agglomeration(likelihood, mixture.prior, resolve("auto", likelihood))
    state = ClusterState(np.empty(0, dtype=np.int64), mixture.counts.copy(), mixture.state.rows[:-1].copy())
    merged = []
    for _ in range(len(mixture.counts) - 1):
        pair = pairs.cheapest(state)
        pairs.merge(state, pair)
        merged.append(pair)
    return tree_of([(pair.kept, pair.gone) for pair in merged], [pair.loss for pair in merged], clusters)


def _fitting(prior: Any, mixture: Mixture, relevance: Relevance | None) -> Any:
    """``prior`` with one entry a feature that the mixture reads; that of a table knows its columns."""
    if hasattr(prior, "blocks"):
        return prior
    if relevance is None:
        return prior.for_data(mixture.anchor[None])
    return restricted(prior.for_data(np.zeros((1, len(relevance.relevant)))), relevance.columns)
