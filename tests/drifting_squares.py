"""Four squares of uniform points that move: a stream like Moving Squares of Losing et al. (2016)."""

import numpy as np


def squares(n, rng, side=1.0, gap=1.0, reach=10.0):
    """(points, classes): squares side by side that move up and down at gap / 120 a point, each in a lane of its own."""
    classes = rng.integers(0, 4, n)
    points = rng.uniform(0.0, side, size=(n, 2))
    way = np.arange(n) * gap / 120
    points[:, 0] += classes * (side + gap)
    points[:, 1] += np.abs((way + reach) % (2 * reach) - reach)
    return points, classes
