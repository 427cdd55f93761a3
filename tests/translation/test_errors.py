"""What has no counterpart in C is an error in words: which family, which verb, which line, what."""

import math
from math import log
from typing import NamedTuple

import numpy as np
import pytest

from mapdpm.backends import resolve
from mapdpm.jit import jitable
from mapdpm.likelihoods._parameters import parameters
from mapdpm.likelihoods._template import GammaExponential
from mapdpm.translation.families import source_of
from mapdpm.translation.kinds import TranslationError

TABLE = {0: 1.0}


def unmarked(x):
    return x


@jitable
def endless(x):
    return endless(x - 1.0)


class TooClever:
    """Verbs that C does not know, each with what is said of it."""

    def a_dictionary(self, row):
        return TABLE[0]

    def a_list(self, row):
        return [x for x in row][0]  # noqa: C416, RUF015

    def an_array_function(self, row):
        return np.log(row[0])

    def unmarked_function(self, row):
        return unmarked(row[0])

    def recursion(self, row):
        return endless(row[0])

    def an_exception(self, row):
        if row[0] < 0.0:
            raise ValueError
        return 0.0

    def index_from_the_end(self, row):
        return row[-1]

    def float_index(self, row):
        return row[row[0]]

    def loop_over_items(self, row):
        total = 0.0
        for x in row:
            total += x
        return total

    def loop_variable_later(self, row):
        for d in range(3):
            row[d]
        return row[d]

    def unknown_parameter(self, row):
        return self.c0

    def unknown_verb(self, row):
        return self.entropy(row)

    def keyword(self, row):
        return math.log(row[0], base=2.0)

    def text(self, row):
        return "nats"

    def changes_its_row(self, row):
        row[0] = 1.0
        return 0.0


SAID = {
    "a_dictionary": "TABLE is no number, and no array of floats with one axis",
    "a_list": "C has no ListComp of Python",
    "an_array_function": "np.log is not known to C",
    "unmarked_function": "unmarked is not marked with @jitable",
    "recursion": "endless calls itself",
    "an_exception": "C has no Raise of Python",
    "index_from_the_end": "an index from the end is not known to C",
    "float_index": "row[0] must be an int; int(row[0]) makes it one",
    "loop_over_items": "a loop must be over a range, with one variable",
    "loop_variable_later": "d is read after its loop",
    "unknown_parameter": "c0 is no parameter of Wrong",
    "unknown_verb": "entropy is no verb that C has",
    "keyword": "arguments must be given by position",
    "text": "'nats' is no number",
    "changes_its_row": "must not change row, which other threads read",
}


@pytest.mark.parametrize("name", SAID)
def test_it_says_what_and_where(name):
    verb = getattr(TooClever, name)
    Wrong = type("Wrong", (GammaExponential,), {"log_marginal": verb})
    with pytest.raises(TranslationError) as caught:
        source_of(Wrong)
    said = str(caught.value)
    assert SAID[name] in said
    assert said.startswith("Wrong cannot be written in C: ")
    first, last = verb.__code__.co_firstlineno, max(line or 0 for *_, line in verb.__code__.co_lines())
    places = [int(part.partition(")")[0]) for part in said.split("test_errors.py, line ")[1:]]
    assert places[0] == endless.__code__.co_firstlineno + 2 if name == "recursion" else first <= places[0] <= last


def test_no_family_at_all():
    class Other(NamedTuple):
        a0: float

    with pytest.raises(TranslationError, match="no NamedTuple with the decorator parameters"):
        source_of(Other)

    @parameters(vectors=("a0",), positive={"a0": 1e100})
    class Half(NamedTuple):
        a0: np.ndarray

        def add(self, row, data, i, w):
            row[0] += w * log(data[i, 0])

    with pytest.raises(TranslationError, match="it has no init and no prepare and no remove"):
        source_of(Half)


def test_the_user_reads_it_where_c_was_asked_for():
    Wrong = type("Wrong", (GammaExponential,), {"log_marginal": TooClever.an_array_function})
    with pytest.raises(
        ValueError, match=r"backend 'c' cannot run Wrong: .* \(test_errors.py, line \d+\): np.log is not"
    ):
        resolve("c", Wrong(1.0, 1.0))
    assert resolve("auto", Wrong(1.0, 1.0)).name == "numba"
