"""The functions of a backend are listed once, in ``Backend``; everything else agrees with that list."""

import inspect
import re

import pytest

from mapdpm import backends
from mapdpm.backends.composed import Composed
from mapdpm.backends.python import KERNELS
from repository import ROOT

FUNCTIONS = backends.functions()
DOCS = ROOT / "docs"


def test_the_functions_are_kernels_or_made_of_them():
    assert {kernel.__name__ for kernel in KERNELS} | set(vars(Composed)) >= set(FUNCTIONS)
    assert {kernel.__name__ for kernel in KERNELS} <= set(FUNCTIONS)


@pytest.mark.parametrize("backend", backends.BACKENDS)
def test_every_backend_has_them_with_the_same_arguments(backend):
    for name in FUNCTIONS:
        function = getattr(backends.BACKENDS[backend], name)
        wanted = list(inspect.signature(getattr(backends.Backend, name)).parameters)[1:]
        assert list(inspect.signature(getattr(function, "kernel", function)).parameters) == wanted, name


def test_the_reference_has_the_kernels():
    page = (DOCS / "reference.md").read_text(encoding="utf-8")
    listed = re.findall(
        r"automodule:: mapdpm\.backends\.(?:generic|passes|grouped|states|paths)\n   :members: (.*)\n", page
    )
    others = {"gibbs_sweep", "grouped_gibbs_sweep", "GroupCounts", "Rows"}
    assert set(", ".join(listed).split(", ")) == {kernel.__name__ for kernel in KERNELS} | others


def test_pages_name_every_function_and_count_none():
    page = (DOCS / "adding-a-backend.md").read_text(encoding="utf-8")
    assert [name for name in FUNCTIONS if f"`{name}(" not in page] == []
    counted = re.compile(
        r"\b(seven|eight|nine|ten|eleven|twelve|thirteen|\d+) (backend |other )?functions\b", re.IGNORECASE
    )
    for path in sorted(DOCS.glob("*.md")):
        assert not counted.search(path.read_text(encoding="utf-8")), path.name
