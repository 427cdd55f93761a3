"""Tables of columns of several kinds, for tests."""

import numpy as np

from mapdpm import BetaBernoulli, Categorical, GammaPoisson, Mixed, NormalGamma, NormalInverseWishart
from mapdpm.data.table import Table


def prior(rng, levels=3):
    """Five parts with random priors; the category has ``levels`` levels, the last of which stands for new ones."""
    return Mixed(
        {
            (0, 1): NormalGamma(rng.normal(size=2), 0.3, 1.2, rng.uniform(0.2, 2.0, 2)),
            (2, 3): NormalInverseWishart(rng.normal(size=2), 0.2, 3.5, np.array([[1.0, 0.3], [0.3, 0.8]])),
            4: Categorical(rng.uniform(0.2, 2.0, levels)),
            5: GammaPoisson(1.5, 0.4),
            6: BetaBernoulli(0.7, 1.3),
        }
    )


def table(rng, n, share=0.0, levels=3):
    """``n`` rows for ``prior``; about a ``share`` of the cells is missing, of the block of two both or none."""
    columns = [*rng.normal(0.0, 2.0, (4, n)), rng.integers(0, levels, n), rng.poisson(4.0, n), rng.random(n) < 0.4]
    array = np.stack(columns, axis=1).astype(np.float64)
    absent = rng.random(array.shape) < share
    absent[:, 3] = absent[:, 2]
    absent[np.arange(n), rng.choice([0, 1, 4, 5, 6], n)] = False
    array[absent] = np.nan
    return Table(array, np.array([0, 0, 0, 0, levels, 0, 0]))


def bound(mixed, levels=3):
    """``mixed`` as a fit to ``table`` binds it: places, and levels besides that of new ones."""
    blocks = []
    for block, own in zip(mixed.blocks, mixed.slices(), strict=True):
        known = tuple(range(levels - 1)) if block.is_category else ()
        blocks.append(block._replace(places=tuple(range(own.start, own.stop)), levels=known))
    return Mixed.of_blocks(tuple(blocks))
