"""Marks for the tests that `make test` leaves to `make test-all`, and for those left to `make test-slow`."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def complete_but(quick: Collection[Any], values: Iterable[Any]) -> list[Any]:
    """``values`` as parameters of a test, all but ``quick`` for `make test-all` only."""
    return [pytest.param(value, marks=() if value in quick else pytest.mark.complete) for value in values]


def by_cost(quick: Collection[Any], complete: Collection[Any], values: Iterable[Any]) -> list[Any]:
    """``values`` as parameters of a test: but for ``quick``, ``complete`` for `make test-all`, others with the slow."""
    marks = pytest.mark.slow, pytest.mark.complete
    return [pytest.param(value, marks=() if value in quick else marks[value in complete]) for value in values]


ends_early = pytest.mark.filterwarnings("ignore::mapdpm.ConvergenceWarning")
"""For tests of fits that a limit or a callback ends before they converge."""
