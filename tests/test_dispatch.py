"""Whichever processor: kernels compiled without variants for wider vectors decide the same, and score the same bits."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mapdpm import MAPDPM, DPMeans, NormalGamma
from mapdpm.backends import c
from test_regimes import REGIMES

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def default(tmp_path):
    """The library for float64 as a processor without AVX runs it."""
    command = [sys.executable, "setup.py", "-q", "build_ext", "-b", str(tmp_path), "-t", str(tmp_path / "objects")]
    subprocess.run(
        command, cwd=ROOT, env=os.environ | {"CFLAGS": "-DMAPDPM_NO_CLONES"}, check=True, capture_output=True
    )
    path = next(tmp_path.rglob("_c64*.so"))
    spec = importlib.util.spec_from_file_location("mapdpm.backends._c64", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.lib, module.ffi


def found(X):
    """All that a fit and scoring say."""
    scale = np.maximum(np.var(X, axis=0, dtype=np.float64), 1e-30)
    family = NormalGamma(X.mean(axis=0, dtype=np.float64), 0.05, 1.0, 0.05 * scale)
    model = MAPDPM(likelihood=family, backend="c", moves=()).fit(X)
    means = DPMeans(0.05 * float(scale.sum()), backend="c", moves=()).fit(X)
    yield from (model.labels_, model.history_, model.score_samples(X), model.predict_proba(X), model.predict(X, True))
    yield from (means.labels_, means.cluster_centers_)


def test_every_processor_finds_the_same(default, monkeypatch):
    """To the last bit: wider vectors round as narrow ones do, and what is fused is a bound and no more."""
    library = c.library
    for name in REGIMES:
        X = REGIMES[name](np.random.default_rng([37, *name.encode()])).astype(np.float64)
        monkeypatch.setattr(c, "library", library)
        ours = list(found(X))
        monkeypatch.setattr(c, "library", lambda dtype: default)
        for one, other in zip(ours, found(X), strict=True):
            np.testing.assert_array_equal(one, other, name)
