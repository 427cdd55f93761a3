"""Settings of all tests: the folder of compiled code, and the number of examples of hypothesis."""

import functools
import gc
import os

from repository import ROOT

# Before numba, hypothesis or matplotlib is imported, and a family compiled; processes that tests start inherit it.
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".cache" / "numba"))
os.environ.setdefault("MAPDPM_CACHE_DIR", str(ROOT / ".cache" / "families"))
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(ROOT / ".cache" / "hypothesis"))
os.environ.setdefault("MPLBACKEND", "Agg")

import pytest
from hypothesis import HealthCheck, settings
from pytest import DoctestItem, Module  # noqa: PT013  (classes)

# quick: the same examples in every run, so that a commit that passed passes again. slow: new ones each time, and more;
# what fails is printed as a blob to reproduce it, and kept. Compiling makes first examples slow: no deadlines.
_SHARED = {"deadline": None, "print_blob": True, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("quick", max_examples=50, derandomize=True, database=None, **_SHARED)
settings.register_profile("slow", max_examples=1000, **_SHARED)
settings.load_profile("quick")

# An example of a docstring that takes seconds in plain Python.
LONG_EXAMPLES = (
    "mapdpm/models/dependent_dp.py",
    "mapdpm/samplers/dependent_dp_gibbs.py",
    "mapdpm/samplers/sub_cluster_splits.py",
)


def pytest_configure():
    """While thousands of tests are collected, nothing becomes garbage; looking for it takes a fifth of the time."""
    gc.disable()


def pytest_collection_finish():
    """What was collected stays: it is not looked at again."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path):
    """Look for examples of docstrings in the library only: no test has one."""
    found = yield
    of_tests = file_path.is_relative_to(ROOT / "tests")
    return [each for each in found if type(each) is Module] if of_tests else found


def pytest_collection_modifyitems(items):
    """Run examples of docstrings with kernels in plain Python, which takes less than compiling them."""
    for item in items:
        if isinstance(item, DoctestItem):
            item.runtest = functools.partial(_in_plain_python, item.runtest)
            if item.path.relative_to(ROOT).as_posix() in LONG_EXAMPLES:
                item.add_marker("complete")


def _in_plain_python(run):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mapdpm.jit.compiled.__call__", _plain)
        run()


def _plain(self, *args):
    return self.kernel(*args)


@pytest.fixture(autouse=True)
def kernels_as_a_test_needs_them(request, monkeypatch):
    """Run kernels as plain Python, where a test of `make test` does not say that it compiles: that takes seconds each.

    Those left to `make test-all` compile, and those of the backend of this name.
    """
    marks = {mark.name for mark in request.node.iter_markers()}
    given = request.node.callspec.params.values() if hasattr(request.node, "callspec") else ()
    named = any(isinstance(value, str) and value == "numba" for value in given)
    if not named and not marks & {"compiled", "complete", "slow"}:
        monkeypatch.setattr("mapdpm.jit.compiled.__call__", _plain)
