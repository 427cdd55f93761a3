"""Each law notices when what it judges is broken: a law that cannot fail proves nothing."""

import math

import numpy as np
import pytest

from mapdpm import NormalGamma, NormalKnownVariance
from mapdpm.likelihoods import _moments as mo
from mapdpm.partition_priors import DirichletProcess
from mapdpm.testing import laws
from tests.families import example
from tests.faults import AlphaDropped, CountOffByOne

ORDER = np.random.default_rng(1).permutation(9)


class WrongExponent(NormalGamma):
    """a_n instead of a_n + 1/2."""

    __slots__ = ()

    def prepare(self, row):
        super().prepare(row)
        row[mo.n_moments(len(self.m0)) + 1] -= 0.5


class WithoutConstant(NormalGamma):
    """The marginal lacks n/2 log 2 pi a feature, as where constants are "omitted"."""

    __slots__ = ()

    def log_marginal(self, row):
        return super().log_marginal(row) + 0.5 * row[0] * len(self.m0) * mo.LOG_2PI


class WrongMerge(NormalGamma):
    """Squares add up without the distance between the means."""

    __slots__ = ()

    def merge(self, row, other):
        D = len(self.m0)
        squares = row[1 + D : 1 + 2 * D] + other[1 + D : 1 + 2 * D]
        super().merge(row, other)
        row[1 + D : 1 + 2 * D] = squares


class MergesForNothing(NormalGamma):
    __slots__ = ()

    def log_merge(self, union, row, other):
        return super().log_merge(union, row, other) + 0.5 * len(self.m0) * math.log(self.c0)


class RemovesNothing(NormalGamma):
    __slots__ = ()

    def remove(self, row, data, i, w):
        return True


class RemovesTheWeightOnly(NormalKnownVariance):
    __slots__ = ()

    def remove(self, row, data, i, w):
        row[0] -= w
        return True


class OrderMatters(NormalGamma):
    """The mean follows the last points."""

    __slots__ = ()

    def add(self, row, data, i, w):
        super().add(row, data, i, w)
        row[1] += 1e-6 * data[i, 0]


class WeightOnce(NormalGamma):
    """The weight moves the mean only once."""

    __slots__ = ()

    def add(self, row, data, i, w):
        super().add(row, data, i, 1.0)
        row[0] += w - 1.0


class WeightedAsOne(NormalGamma):
    __slots__ = ()

    def log_predictive_weighted(self, row, data, i, w):
        return self.log_predictive(row, data, i)


class SumsOfSquares(NormalGamma):
    """M2 = sum x^2 - n mean^2, which cancels (papers, erratum 7)."""

    __slots__ = ()

    def prepare(self, row):
        super().prepare(row)

    def add(self, row, data, i, w):
        D = data.shape[1]
        for d in range(D):
            raw = row[1 + D + d] + row[0] * row[1 + d] ** 2 + w * data[i, d] ** 2
            row[1 + d] = (row[0] * row[1 + d] + w * data[i, d]) / (row[0] + w)
            row[1 + D + d] = max(0.0, raw - (row[0] + w) * row[1 + d] ** 2)
        row[0] += w


BROKEN = [
    (laws.chain_rule, WrongExponent),
    (laws.chain_rule, WithoutConstant),
    (laws.merge_is_union, WrongMerge),
    (laws.merge_gain_is_the_difference, MergesForNothing),
    (laws.removal_inverts_addition, RemovesNothing),
    (laws.removal_inverts_addition, RemovesTheWeightOnly),
    (laws.exchangeability, OrderMatters),
    (laws.weight_is_repetition, WeightOnce),
    (laws.weight_is_repetition, WeightedAsOne),
]


@pytest.mark.parametrize(("law", "broken"), BROKEN, ids=lambda x: x.__name__)
def test_law_notices(law, broken):
    sound = NormalKnownVariance if issubclass(broken, NormalKnownVariance) else NormalGamma
    likelihood, X = example(sound, np.random.default_rng(4), n=9)
    law(likelihood, X, ORDER)
    with pytest.raises(AssertionError):
        law(broken(*likelihood), X, ORDER)


@pytest.mark.parametrize("broken", [WrongExponent])
def test_normalisation_notices(broken):
    likelihood, X = example(NormalGamma, np.random.default_rng(4), n=4, D=1)
    with pytest.raises(AssertionError, match="integrates to"):
        laws.normalisation(broken(*likelihood), X, (-math.inf, math.inf))


def test_offset_notices():
    likelihood, X = example(NormalGamma, np.random.default_rng(4), n=50)
    with pytest.raises(AssertionError, match="an offset of 1e\\+08 costs"):
        laws.offset(SumsOfSquares(*likelihood), X)


class WeightIgnored(DirichletProcess):
    __slots__ = ()

    def log_new(self, k, w):
        return math.log(self.alpha)


@pytest.mark.parametrize("broken", [AlphaDropped, CountOffByOne])
def test_partition_law_notices(broken):
    with pytest.raises(AssertionError):
        laws.check_partition_prior(broken(0.7), 4)


def test_partition_weight_law_notices():
    with pytest.raises(AssertionError):
        laws.weight_is_repetition_in_prior(WeightIgnored(0.7))
