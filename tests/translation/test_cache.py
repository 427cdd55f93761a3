"""A family of a user is compiled once, into a folder, and runs without C where that fails."""

import os
import stat
import subprocess
import sys

import numpy as np
import pytest

from mapdpm import MAPDPM, jit
from mapdpm.backends import resolve
from mapdpm.likelihoods._template import GammaExponential
from mapdpm.testing.backends import agree
from mapdpm.testing.data import Case
from mapdpm.translation import cache


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MAPDPM_CACHE_DIR", str(tmp_path / "kept"))
    return tmp_path / "kept"


def family(**verbs):
    """A class that nothing was compiled of yet."""
    return type("Waiting", (GammaExponential,), {"__slots__": (), **verbs})


def test_it_is_compiled_once(folder, monkeypatch):
    assert resolve("auto", family()(1.0, 1.0)).name == "c"
    kept = list(folder.iterdir())
    assert [path.suffix for path in kept] == [".so"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    before = kept[0].stat().st_mtime_ns
    monkeypatch.setattr(subprocess, "run", lambda command, **_: pytest.fail(str(command)))
    assert resolve("c", family()(1.0, 1.0)).name == "c"
    assert [path.stat().st_mtime_ns for path in folder.iterdir()] == [before]


def test_another_verb_is_another_file(folder):
    def log_marginal(self, row):
        return row[0]

    for kind in (family(), family(log_marginal=log_marginal)):
        assert resolve("c", kind(1.0, 1.0)).name == "c"
    assert len(list(folder.iterdir())) == 2


def test_it_does_as_python_does(folder):
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.exponential(0.1, (12, 2)), rng.exponential(30.0, (12, 2))])
    agree(Case(X, family()(2.0, 1.0)), "c", "python")
    agree(Case(X, family()(2.0, 1.0), weights=rng.uniform(0.5, 2.0, 24)), "c", "python")
    X[::5, 0] = np.nan
    agree(Case(X, family()(2.0, 1.0), missing="skip"), "c", "python")


def test_float32_is_read_as_it_is(folder):
    X = np.random.default_rng(2).exponential(2.0, (30, 2)).astype(np.float32)
    one, two = (MAPDPM(likelihood=family()(2.0, 1.0), backend="c").fit(x) for x in (X, X.astype(np.float64)))
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.score_samples(X), two.score_samples(X.astype(np.float64)))


def test_without_a_compiler(folder, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    kind = family()
    assert resolve("auto", kind(1.0, 1.0)).name == "numba"
    with pytest.raises(ValueError, match=r"backend 'c' cannot run Waiting: there is no C compiler; .* install gcc"):
        resolve("c", kind(1.0, 1.0))
    monkeypatch.setattr(jit, "available", lambda: False)
    with pytest.warns(RuntimeWarning, match="Waiting runs in plain Python"):
        assert resolve("auto", kind(1.0, 1.0)).name == "python"
    assert not folder.exists()


def test_with_a_broken_compiler(folder, monkeypatch, tmp_path):
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\necho 'first' >&2\necho 'it is broken' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CC", str(broken))
    kind = family()
    with pytest.warns(RuntimeWarning, match=r"^Waiting was not compiled: it is broken$") as said:
        assert resolve("auto", kind(1.0, 1.0)).name == "numba"
    assert len(said) == 1
    assert resolve("auto", kind(1.0, 1.0)).name == "numba"  # says nothing again
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("mode", [0o770, 0o777])
def test_no_code_from_a_folder_of_others(folder, mode):
    folder.mkdir()
    folder.chmod(mode)
    with pytest.warns(
        RuntimeWarning, match=r"others can write into .*kept; set MAPDPM_CACHE_DIR to a folder of your own"
    ):
        assert resolve("auto", family()(1.0, 1.0)).name == "numba"


def test_where_families_are_kept(monkeypatch):
    monkeypatch.delenv("MAPDPM_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert str(cache.folder()) == ("/somewhere/mapdpm" if sys.platform != "darwin" else str(cache.folder()))
    monkeypatch.setenv("MAPDPM_CACHE_DIR", os.sep + "mine")
    assert cache.folder().name == "mine"
