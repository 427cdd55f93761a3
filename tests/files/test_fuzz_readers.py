"""Every reader of bytes and texts from strangers, on mutated examples: it refuses them, or its result can be used."""

import math
import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mapdpm import OnlineMAPDPM
from mapdpm.files.errors import ModelFileError
from mutations import repaired
from readers import READERS
from tests.marks import complete_but

SHARES = {"mapdpm stream --state": 3, "mapdpm stream": 3, "Trace.load": 3}
FEW = 100
MANY = 20_000
QUICK = READERS.keys() - {"Trace.load"}  # what it read is gone on with, and kernels are compiled
_QUICK = {"suppress_health_check": list(HealthCheck), "deadline": None, "phases": (Phase.explicit, Phase.generate)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("readers")


def check(reader, data, folder):
    """Refused in words, or usable."""
    try:
        found = reader.read(data, folder)
    except reader.refusals as error:
        assert str(error)  # noqa: PT017  (a refusal is not needed)
        return
    reader.use(found)


@pytest.mark.parametrize("name", complete_but(QUICK, READERS))
def test_examples_are_read(name, folder):
    reader = READERS[name]
    for data in reader.examples(folder):
        reader.use(reader.read(data, folder))


@pytest.mark.parametrize("examples", complete_but([FEW], [FEW, 3 * FEW]))
@pytest.mark.parametrize("name", complete_but(QUICK, READERS))
def test_mutated_examples(name, examples, folder):
    """The same ones in every run."""
    few = examples // SHARES.get(name, 1)
    fuzz(name, folder, settings(max_examples=few, derandomize=True, database=None, **_QUICK))


@pytest.mark.parametrize("every", complete_but([3], [1, 3]))
@pytest.mark.parametrize("name", [name for name in READERS if name.endswith("from_bytes")])
def test_every_number(name, every, folder):
    """Each number of a file in turn is too large, too small, or none; `make test` tries each third."""
    reader = READERS[name]
    for data in reader.examples(folder)[:3]:
        for at in range(40, min(len(data) - 4, 500), 8 * every):
            for number in (-1.0, 1e-320, 1e17, 1e308, -1e308, math.nan, math.inf):
                check(reader, repaired(data[:at] + struct.pack("<d", number) + data[at + 8 :]), folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_many_mutated_examples(name, folder):
    """New ones in every run."""
    fuzz(name, folder, settings(max_examples=MANY // (10 if name in SHARES else 1), print_blob=True, **_QUICK))


def fuzz(name, folder, how):
    """Run ``check`` on as many mutated examples as ``how`` says."""
    reader = READERS[name]
    examples = reader.examples(folder)

    @how
    @given(st.randoms(use_true_random=True))
    def run(random):
        check(reader, reader.mutated(random, random.choice(examples), examples), folder)

    run()


def test_an_error_that_is_no_refusal_fails(folder):
    """The fuzzer can fail: by what a reader raises, and by what its result does."""
    reader = READERS["MAPDPM.from_bytes"]
    data = reader.examples(folder)[0]
    check(reader, data[:100], folder)
    with pytest.raises(ModelFileError):
        check(reader._replace(refusals=()), data[:100], folder)
    with pytest.raises(AssertionError):
        check(READERS["OnlineMAPDPM.from_bytes"]._replace(read=lambda *_: Broken()), data, folder)


class Broken(OnlineMAPDPM):
    """A learner whose densities are not finite."""

    def __init__(self):
        super().__init__(4)
        self.learn_many(np.arange(300.0)[:, None])

    @classmethod
    def from_bytes(cls, data):
        return OnlineMAPDPM.from_bytes(data)

    def score_one(self, x):
        return np.nan
