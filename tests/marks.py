"""Marks for the tests that `make test` leaves to `make test-all`."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def complete_but(quick: Collection[Any], values: Iterable[Any]) -> list[Any]:
    """``values`` as parameters of a test, all but ``quick`` for `make test-all` only."""
    return [pytest.param(value, marks=() if value in quick else pytest.mark.complete) for value in values]


ends_early = pytest.mark.filterwarnings("ignore::mapdpm.ConvergenceWarning")
"""For tests of fits that a limit or a callback ends before they converge."""
