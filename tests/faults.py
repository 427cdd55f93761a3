"""Partition priors with one thing wrong, for tests that must notice."""

from mapdpm.partition_priors import DirichletProcess


class AlphaDropped(DirichletProcess):
    __slots__ = ()

    def log_new(self, k, w):
        return 0.0


class CountOffByOne(DirichletProcess):
    __slots__ = ()

    def log_existing(self, n, w):
        return super().log_existing(n + 1.0, w)
