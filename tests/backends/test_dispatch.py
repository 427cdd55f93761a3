"""Kernels compiled without variants for wider vectors decide the same, and score the same bits."""

import importlib.util
import shutil
import subprocess
import sys
import sysconfig

import numpy as np
import pytest

from mapdpm import MAPDPM, DPMeans, NormalGamma
from mapdpm.backends import c_calls
from repository import ROOT
from tests.backends.test_regimes import REGIMES


@pytest.fixture
def default(tmp_path, monkeypatch):
    """The library for float64 as a processor without AVX runs it."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler; apt-get install gcc")
    monkeypatch.syspath_prepend(str(ROOT))
    build = importlib.import_module("build_kernels")
    source, library = tmp_path / "_c64.c", tmp_path / "_c64.abi3.so"
    build.float64.emit_c_code(str(source))
    flags = [*build._FLAGS, "-fPIC", "-shared", "-DMAPDPM_REAL=double", "-DMAPDPM_MISSING", "-DMAPDPM_NO_CLONES"]
    folders = [f"-I{sysconfig.get_path('include')}", f"-I{ROOT / 'c_kernels'}"]
    sources = [str(source), *map(str, sorted((ROOT / "c_kernels").glob("*.c")))]
    subprocess.run([compiler, *flags, *folders, *sources, "-lm", "-o", str(library)], check=True, capture_output=True)
    spec = importlib.util.spec_from_file_location("mapdpm.backends._c64", library)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module.lib, module.ffi
    sys.modules.pop("build_kernels", None)


def found(X):
    """All that a fit and scoring say."""
    scale = np.maximum(np.var(X, axis=0, dtype=np.float64), 1e-30)
    family = NormalGamma(X.mean(axis=0, dtype=np.float64), 0.05, 1.0, 0.05 * scale)
    model = MAPDPM(likelihood=family, backend="c", moves=()).fit(X)
    means = DPMeans(0.05 * float(scale.sum()), backend="c", moves=()).fit(X)
    yield from (model.labels_, model.history_, model.score_samples(X), model.predict_proba(X), model.predict(X, True))
    yield from (means.labels_, means.cluster_centers_)


@pytest.mark.complete
def test_every_processor_finds_the_same(default, monkeypatch):
    """To the last bit: wider vectors round as narrow ones do, and what is fused is a bound and no more."""
    library = c_calls.library
    for name in REGIMES:
        X = REGIMES[name](np.random.default_rng([37, *name.encode()])).astype(np.float64)
        monkeypatch.setattr(c_calls, "library", library)
        ours = list(found(X))
        monkeypatch.setattr(c_calls, "library", lambda dtype: default)
        for one, other in zip(ours, found(X), strict=True):
            np.testing.assert_array_equal(one, other, name)
