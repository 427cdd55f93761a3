"""A product of families from the definition: sums over the parts of scipy's log marginals, of the values there are."""

from __future__ import annotations

import math

import numpy as np

from mapdpm import Categorical
from tests.oracle import missing, raw


def one_hot(values, n_levels):
    """The levels of a column as rows of counts, which ``raw`` reads."""
    return np.eye(n_levels)[values.astype(int)]


def log_marginal_terms(table, mixed):
    """The terms of the rows (n, D) of a cluster, columns in the order of the parts; NaN is a missing value."""
    terms = []
    for block, own in zip(mixed.blocks, mixed.slices(), strict=True):
        values = table[:, own]
        there = ~np.isnan(values).all(axis=1)
        if not there.any():
            continue
        if isinstance(block.family, Categorical):
            terms += raw.log_marginal_terms(one_hot(values[there, 0], len(block.family.beta)), block.family)
        elif hasattr(block.family, "feature"):
            terms += missing.log_marginal_terms(values[there], block.family)
        else:
            terms += raw.log_marginal_terms(values[there], block.family)
    return terms


def log_joint(table, labels, mixed, alpha, discount=0.0):
    """log p(z), and the log density of the values that are there."""
    terms = raw.log_partition(labels, alpha, discount)
    for k in np.unique(labels):
        terms += log_marginal_terms(table[np.asarray(labels) == k], mixed)
    return math.fsum(terms)
