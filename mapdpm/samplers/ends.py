"""The end of a chain: everything that ``sample(resume=)`` needs to continue it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm.protocol import Labels
from mapdpm.rng import Rng
from mapdpm.samplers.chain import Adapted, Array, Chain


class End(NamedTuple):
    """The end of a chain: everything that its next step depends on."""

    saved: dict[str, Array]
    """The arrays that ``Chain.saved`` returned."""
    adapted: Adapted
    """The numbers that the burn-in fixed."""
    generator: dict[str, Any]
    """The state of the random number generator."""

    @property
    def labels(self) -> Labels:
        """Shape (N,): the partition."""
        return self.saved["labels"]

    @classmethod
    def of(cls, chain: Chain, rng: Rng) -> End:
        """The end of ``chain``, refreshed, whose next draws come from ``rng``."""
        state: Any = rng.generator.bit_generator.state
        return cls(chain.saved(), chain.adapted or Adapted(float(chain.n_clusters)), state)

    def restored(self, chain: Chain) -> Rng:
        """Put ``chain`` where it was; return the source of its next draws."""
        chain.adapted = self.adapted
        chain.restore(self.saved)
        generator = np.random.default_rng()
        generator.bit_generator.state = self.generator
        return Rng(generator)
