"""Marks for the tests that `make test` leaves to `make test-all`, and this to `make test-slow`."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest

QUICK_BACKENDS = ("c", "python")
"""Those of `make test`: numba compiles for seconds each."""


def complete_but(quick: Collection[Any], values: Iterable[Any]) -> list[Any]:
    """``values`` as parameters of a test, all but ``quick`` for `make test-all` only."""
    return _left_to(pytest.mark.complete, quick, values)


def slow_but(kept: Collection[Any], values: Iterable[Any]) -> list[Any]:
    """``values`` as parameters of a complete test, all but ``kept`` for `make test-slow` only."""
    return _left_to(pytest.mark.slow, kept, values)


def _left_to(mark: pytest.MarkDecorator, kept: Collection[Any], values: Iterable[Any]) -> list[Any]:
    return [pytest.param(value, marks=() if value in kept else mark) for value in values]


ends_early = pytest.mark.filterwarnings("ignore::mapdpm.ConvergenceWarning")
"""For tests of fits that a limit or a callback ends before they converge."""
