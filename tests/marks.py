"""Marks for the tests that `make test` leaves to `make test-all`, and this to `make test-slow`."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest
from hypothesis import settings

QUICK_BACKENDS = ("c", "python")
"""Those of `make test`: numba compiles for seconds each."""


def complete_but(quick: Collection[Any], values: Iterable[Any], *, several: bool = False) -> list[Any]:
    """``values`` as parameters of a test, all but ``quick`` for `make test-all` only; ``several``: a tuple of them."""
    found = _left_to(pytest.mark.complete, quick, values)
    return [pytest.param(*each.values[0], marks=each.marks) for each in found] if several else found


def slow_but(kept: Collection[Any], values: Iterable[Any]) -> list[Any]:
    """``values`` as parameters of a complete test, all but ``kept`` for `make test-slow` only."""
    return _left_to(pytest.mark.slow, kept, values)


def a_share(share: float) -> settings:
    """For a test whose examples take long: this share of those that a test has otherwise."""
    return settings(max_examples=max(1, round(share * settings.default.max_examples)))


def _left_to(mark: pytest.MarkDecorator, kept: Collection[Any], values: Iterable[Any]) -> list[Any]:
    return [pytest.param(value, marks=() if value in kept else mark) for value in values]


ends_early = pytest.mark.filterwarnings("ignore::mapdpm.ConvergenceWarning")
"""For tests of fits that a limit or a callback ends before they converge."""
