"""Partition priors with one thing wrong, for tests that must notice."""

from mapdpm.partition_priors import DirichletProcess, PitmanYor


class AlphaDropped(DirichletProcess):
    __slots__ = ()

    def log_new(self, k, w):
        return 0.0


class CountOffByOne(DirichletProcess):
    __slots__ = ()

    def log_existing(self, n, w):
        return super().log_existing(n + 1.0, w)


class FirstOpeningAlways(PitmanYor):
    """Every cluster opens as the second did: without the discount that the others add."""

    __slots__ = ()

    def log_new(self, k, w):
        return super().log_new(min(k, 1), w)
