"""Kernels compiled for each level of processors decide the same, and score the same bits."""

import importlib
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from mapdpm import MAPDPM, DPMeans, NormalGamma
from mapdpm.backends import c_calls
from repository import ROOT
from tests.backends.test_regimes import REGIMES
from tests.compiling import need, run

CLONES = ("default", "arch=x86-64-v2", "arch=x86-64-v3", "arch=x86-64-v4")


@pytest.fixture
def build(monkeypatch):
    """``build_kernels``, which is not part of the package."""
    monkeypatch.syspath_prepend(str(ROOT))
    yield importlib.import_module("build_kernels")
    sys.modules.pop("build_kernels", None)


def found(X):
    """All that a fit and scoring say."""
    scale = np.maximum(np.var(X, axis=0, dtype=np.float64), 1e-30)
    family = NormalGamma(X.mean(axis=0, dtype=np.float64), 0.05, 1.0, 0.05 * scale)
    model = MAPDPM(likelihood=family, backend="c", moves=()).fit(X)
    means = DPMeans(0.05 * float(scale.sum()), backend="c", moves=()).fit(X)
    yield from (model.labels_, model.history_, model.score_samples(X), model.predict_proba(X), model.predict(X, True))
    yield from (means.labels_, means.cluster_centers_)


def test_the_names_of_clones(build):
    """Those that are compiled are those that are tested."""
    text = (ROOT / "c_kernels" / "mapdpm_verbs.h").read_text(encoding="utf-8")
    assert tuple(build.CLONES) == CLONES
    assert all(f'"{name}"' in text for name in CLONES)


def test_the_loops_over_lanes_call_no_function():
    """A call of a function without wide vectors stalls Intel processors: it must be inlined."""
    library = importlib.import_module("mapdpm.backends._c64").__file__
    text = run(need("objdump", "binutils"), "-d", "--no-show-raw-insn", library)
    bodies = dict(re.findall(r"^[0-9a-f]+ <(bound_\w+_of_\w+\.arch_x86_64_v[34])>:\n((?:.+\n)+)", text, re.MULTILINE))
    if not bodies:
        pytest.skip("this library has no clones for processors of x86")
    assert len(bodies) >= 8
    assert not [name for name, body in bodies.items() if "call" in body]


@pytest.fixture(scope="module")
def common(tmp_path_factory):
    """A folder for the objects that all clones have."""
    return tmp_path_factory.mktemp("common")


@pytest.fixture(scope="module")
def ours():
    """The finds of the library as it is installed, with the data, by their name."""
    data = {name: REGIMES[name](np.random.default_rng([37, *name.encode()])).astype(np.float64) for name in REGIMES}
    return {name: (X, list(found(X))) for name, X in data.items()}


@pytest.mark.complete
@pytest.mark.parametrize("clone", CLONES)
def test_every_processor_finds_the_same(clone, build, common, ours, tmp_path, monkeypatch):
    """To the last bit: wider vectors round as narrow ones do, and what is fused is a bound and no more."""
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc; apt-get install gcc")
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split() if Path("/proc/cpuinfo").exists() else []
    if not build.CLONES[clone] <= set(flags):
        pytest.skip(f"this processor does not have {', '.join(sorted(build.CLONES[clone] - set(flags)))}")
    loaded = build.load_clone(clone, tmp_path, common)
    monkeypatch.setattr(c_calls, "library", lambda dtype: loaded)
    for name, (X, wanted) in ours.items():
        for one, other in zip(wanted, found(X), strict=True):
            np.testing.assert_array_equal(one, other, name)
