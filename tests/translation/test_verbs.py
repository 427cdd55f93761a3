"""Each verb of each family in C against Python, on random rows and hostile values: the same operations, the same bits.

Only ``lgamma`` is another function: that of CPython has an error of some ulp, that of libm has another one. Verbs that
call it differ by some ulp of the largest of them, log x! of the largest count.
"""

import math

import numpy as np
import pytest

from families import FAMILIES, example
from mapdpm.backends import c_calls
from mapdpm.backends.c_families import Called
from mapdpm.likelihoods._skipping import Skipping
from mapdpm.translation.families import VERBS, source_of
from tests.marks import complete_but
from tests.missing_values import with_gaps

LIB, FFI = c_calls.library(np.dtype(np.float64))
CASES = [(family, skips) for family in FAMILIES for skips in (False, True)[: 1 + hasattr(family, "feature")]]
QUICK = [case for case in CASES if not case[1]]


class InC:
    """The verbs of a likelihood, with the arguments that Python's have."""

    def __init__(self, likelihood):
        self._called = Called(LIB, FFI, likelihood)

    def __call__(self, verb, *arguments):
        given, numbers = [], iter(arguments)
        for each in numbers:
            if isinstance(each, np.ndarray) and each.ndim == 1 and each.dtype == np.float64:
                given.append(FFI.from_buffer("double[]", each))
            elif isinstance(each, float):
                given.append(each)
            else:
                given.append(FFI.new("double[]", point(each, next(numbers))))
        return getattr(self._called.verbs, verb)(self._called.view, *given)


def point(data, i):
    """Point i as C reads it."""
    if isinstance(data, np.ndarray):
        return data[i].tolist()
    if hasattr(data, "words"):
        return [float(data.words[i])]
    entries = range(data.indptr[i], data.indptr[i + 1])
    return [float(len(entries)), *(float(x) for j in entries for x in (data.indices[j], data.values[j]))]


def hostile(data, rng):
    """Points among which some have values that are hard for the family."""
    if not isinstance(data, np.ndarray):
        return data
    data = data.copy()
    if np.array_equal(data, np.floor(data)) and data.max() > 1.0:
        data[0], data[1] = 0.0, np.array([1e9, 999.0, 257.0])[: data.shape[1]]
    elif data.max() > 1.0:
        data[0] *= 1e12 if rng.random() < 0.5 else 1e-12
    return data


class Pair:
    """A likelihood in Python and in C; verbs are called in both, and compared."""

    def __init__(self, likelihood, data, uses_lgamma):
        self.likelihood, self._in_c, self._uses_lgamma, self.seen = likelihood, InC(likelihood), uses_lgamma, set()
        largest = np.nanmax(data) if isinstance(data, np.ndarray) else 1.0
        self._size = max(math.lgamma(min(largest, 1000.0) + 1.0), 1.0) * likelihood.size()

    def changes(self, verb, row, *arguments):
        """A verb that changes the row: in both to the same bits."""
        self.seen.add(verb)
        copy = row.copy()
        theirs, ours = getattr(self.likelihood, verb)(row, *arguments), self._in_c(verb, copy, *arguments)
        assert copy.tobytes() == row.tobytes(), verb
        assert theirs is None or theirs == ours, verb

    def says(self, verb, row, *arguments):
        """A verb that returns a number."""
        self.seen.add(verb)
        if not hasattr(self.likelihood, verb):
            return
        theirs, ours = getattr(self.likelihood, verb)(row, *arguments), self._in_c(verb, row, *arguments)
        bound = 4 * (self._size + abs(theirs)) * np.finfo(float).eps if self._uses_lgamma else 0.0
        assert theirs == ours or abs(theirs - ours) <= bound or np.isnan([theirs, ours]).all(), verb


@pytest.mark.parametrize("case", complete_but(QUICK, CASES), ids=lambda case: case[0].__name__ + "-with-gaps" * case[1])
def test_every_verb_finds_the_bits_of_python(case):
    family, skips = case
    uses_lgamma = " lgamma(" in source_of(family)
    for seed in range(12):
        rng, D = np.random.default_rng([seed, 2]), (1, 3)[seed % 2]
        likelihood, data = example(family, rng, 12, D)
        data = hostile(data, rng) if seed % 3 == 0 else data
        if skips:
            likelihood, data = Skipping(likelihood, D), with_gaps(data, 0.3, seed=seed)
        pair, rows = Pair(likelihood, data, uses_lgamma), []
        for _ in range(2):
            row = np.full(likelihood.size(), 7.0)
            pair.changes("init", row)
            for i in rng.permutation(12)[:8].tolist():
                w = float(rng.choice([1.0, 2.0, 0.37]))
                pair.says("log_predictive", row, data, i)
                pair.says("log_predictive_weighted", row, data, i, w)
                pair.changes("add", row, data, i, w)
                pair.changes("prepare", row)
                pair.says("log_marginal", row)
                if w == 1.0:
                    pair.says("log_predictive_without", row, data, i)
                if row[0] > w:
                    pair.changes("remove", row.copy(), data, i, w)
                parameters = np.zeros(likelihood.n_parameters())
                likelihood.tangent(row, parameters)
                pair.says("log_likelihood", parameters, data, i)
            rows.append(row)
        union = rows[0].copy()
        pair.changes("merge", union, rows[1])
        pair.says("log_merge", union, *rows)
        assert len(pair.seen) == len(VERBS)
