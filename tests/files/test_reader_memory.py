"""Peak memory of readers: at most 64 MB and eight times the file. ``bench/reader_memory.py`` has all cases."""

import gzip
import importlib.util
import sys

import numpy as np
import pytest

from mapdpm import OnlineMAPDPM
from repository import ROOT

N = 1 << 23

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("reader_memory", ROOT / "bench" / "reader_memory.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def packed_json(bench, kind):
    return bench.npz({"about": np.frombuffer(bench.texts(N)[kind], np.uint8)}, packed=True)


CASES = {
    "lists in a learner": (
        "load",
        lambda bench: bench.with_json(OnlineMAPDPM(4, n_features=2).to_bytes(), bench.texts(N)["lists"]),
    ),
    "objects in a state": (
        "stream --state",
        lambda bench: bench.with_json(OnlineMAPDPM(4, n_features=2).to_bytes(), bench.texts(N)["objects"]),
    ),
    "lists in a trace": ("Trace.load", lambda bench: packed_json(bench, "lists")),
    "a line in a gzip": ("read_csv", lambda _: gzip.compress(b"1" * (1 << 27), 1)),
}


@pytest.mark.parametrize("name", CASES)
def test_peak_memory(bench, tmp_path, name):
    reader, make = CASES[name]
    path = tmp_path / "file"
    path.write_bytes(make(bench))
    assert bench.measured(reader, path) <= bench.SPARE + bench.RATIO * path.stat().st_size


@pytest.mark.complete
def test_the_measure_sees_memory(bench, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"1.25,2\n" * 1_000_000)
    assert bench.measured("read_csv", path) >= 8 * 1_000_000  # half of it: what the imports have freed is used again
