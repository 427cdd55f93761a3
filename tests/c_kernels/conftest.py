"""The modules of c_kernels/firmware, for the tests that build and run programs with them."""

import importlib

import pytest

from compiling import FIRMWARE


@pytest.fixture
def shared(monkeypatch):
    """The module that builds for all machines, in the folder that `make test-firmware` uses too."""
    monkeypatch.syspath_prepend(str(FIRMWARE))
    return importlib.import_module("firmware")


@pytest.fixture
def firmware(shared, monkeypatch, tmp_path):
    """The same, in a folder of the test."""
    monkeypatch.setattr(shared, "BUILD", tmp_path)
    return shared


@pytest.fixture
def stacks(shared):
    return shared.stacks


@pytest.fixture
def smallest(shared):
    """The switches of the smallest library."""
    del shared
    return ["-DMAPDPM_REAL=float", *importlib.import_module("targets").FIXED.split()]
