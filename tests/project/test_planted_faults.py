"""``bench/planted_faults.py``: each fault can be planted, for the text that it changes is in the tree."""

import importlib

from repository import ROOT


def test_each_fault_has_its_text_and_its_tests(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    bench = importlib.import_module("planted_faults")
    for faults, suffix in ((bench.PYTHON, ".py"), (bench.C, ".c")):
        for fault in faults:
            assert bench.sources_of(fault, ROOT, suffix)  # exits where there is none
            if suffix == ".py":
                assert all((ROOT / "tests" / place).exists() for place in fault.tests.split())
