"""The picture of a tree of clusters."""

from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure

from mapdpm import MAPDPM, NormalGamma, plots


def test_numbers_of_a_small_picture_do_not_overlap():
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0], [6.0], [40.0]], 50, axis=0) + rng.normal(size=(150, 1))
    tree = MAPDPM(likelihood=NormalGamma(0.0, 0.01, 2.0, 2.0)).fit(X).merge_tree()
    figure = Figure(figsize=(4.8, 3.6), layout="constrained")
    ax = plots.tree(tree, ax=figure.subplots())
    figure.draw_without_rendering()
    low, high = ax.get_ylim()
    shown = [tick.label1 for tick in ax.yaxis.get_major_ticks() if low <= tick.get_loc() <= high]
    boxes = sorted((each.get_window_extent() for each in shown), key=lambda box: box.y0)
    assert len(boxes) > 2
    assert all(below.y1 <= above.y0 for below, above in pairwise(boxes))
