"""A family whose prior is to be fitted, for values that are rounded to known steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from mapdpm.likelihoods._skipping import empirical_prior


class Measured(NamedTuple):
    """A class that stands for its fitted prior, with the step of each feature; 0 where values are not rounded."""

    family: Any
    """The class: one with the field ``resolution``."""
    resolution: tuple[float, ...]

    def __repr__(self) -> str:
        return f"Measured({self.family.__name__}, {self.resolution})"

    @property
    def is_open(self) -> bool:
        """True: the prior is to be fitted."""
        return True

    @property
    def kind(self) -> Any:
        """The class."""
        return self.family

    def empirical(self, X: Any, sample_weight: Any = None, *, missing: str = "error") -> Any:
        """The empirical prior of the class, with the steps."""
        return empirical_prior(self.family, X, sample_weight, missing)._replace(resolution=self.resolution)

    def restricted(self, features: Sequence[int]) -> Measured:
        """The same for some of the features."""
        return self._replace(resolution=tuple(self.resolution[d] for d in features))
