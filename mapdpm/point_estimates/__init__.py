"""Summaries of many partitions of the same points: the similarity matrix, and one partition as a point estimate.

Draws have shape (..., N): the last axis is points, all others are draws. They may come from a sampler or from anything
else. Labels are integers, and only their equality matters. Needs numpy only.
"""

from mapdpm.point_estimates.estimates import binder_estimate, n_clusters_posterior, vi_estimate
from mapdpm.point_estimates.losses import binder_loss, vi_loss
from mapdpm.point_estimates.similarity import similarity

__all__ = ["binder_estimate", "binder_loss", "n_clusters_posterior", "similarity", "vi_estimate", "vi_loss"]


def __dir__() -> list[str]:
    return sorted(__all__)
