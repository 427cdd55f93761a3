"""The installed package: its cost, its requirements, and that the compiled modules have the real types they name."""

import importlib.metadata
import importlib.util
import re
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

import mapdpm
from repository import ROOT

GUESTS = ("numba", "scipy", "matplotlib", "sklearn", "pandas", "pyod", "river", "paho", "openpyxl", "pyarrow")


def child(code: str) -> str:
    """The output of a fresh interpreter, started outside the tree."""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=sys.prefix)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def seconds_to_import(module: str) -> float:
    return float(child(f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"))


@pytest.mark.complete
def test_import_costs_numpy_and_no_more():
    # 1.3: everything public is loaded when first used, so numpy is joined by one small file (measured: 0.98-1.01).
    # Measured with mapdpm.estimators loaded as well: 1.35; with scipy.special 2.8, with numba 2.3.
    # Pairs, so that both see the same load; the best of three medians, since a busy machine only ever adds.
    ratios = []
    for _ in range(3):
        pairs = [(seconds_to_import("mapdpm"), seconds_to_import("numpy")) for _ in range(15)]
        ours, numpys = zip(*pairs, strict=True)
        ratios.append(statistics.median(ours) / statistics.median(numpys))
        if ratios[-1] < 1.3:
            return
    pytest.fail(f"import mapdpm / import numpy took {ratios}")


def test_importing_loads_no_guest_and_no_part():
    loaded = child("import sys, mapdpm; print(*sys.modules)").split()
    assert "numpy" in loaded
    assert not {name.partition(".")[0] for name in loaded} & set(GUESTS)
    assert [name for name in loaded if name.startswith("mapdpm")] == ["mapdpm"]


def test_fitting_in_c_loads_no_guest():
    code = (
        "import sys, numpy as np, mapdpm\n"
        "model = mapdpm.MAPDPM(backend='c').fit(np.random.default_rng(0).normal(size=(50, 2)))\n"
        "assert model.backend_ == 'c'; model.predict([[0.0, 0.0]])\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    assert not set(child(code).split()) & set(GUESTS)


def test_requirements_are_numpy_and_cffi():
    always = [r for r in importlib.metadata.requires("mapdpm") if "extra ==" not in r]
    assert sorted(re.match(r"[\w.-]+", r).group() for r in always) == ["cffi", "numpy"]


def test_version_is_said_once():
    assert importlib.metadata.version("mapdpm") == mapdpm.__version__
    header = Path(mapdpm.get_include(), "mapdpm.h").read_text(encoding="utf-8")
    assert f'#define MAPDPM_VERSION "{mapdpm.__version__}"' in header
    assert f"\nversion: {mapdpm.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_headers_and_sources_are_shipped():
    folder = Path(mapdpm.get_include())
    for name in ("mapdpm.h", "mapdpm_batch.h", "mapdpm.c", "files/snapshot.c", "amalgamation/src/mapdpm.c"):
        assert (folder / name).is_file(), name


@pytest.mark.parametrize(("module", "size", "other"), [("_c32", 4, "_c64"), ("_c64", 8, "_c32")])
def test_real_types_of_the_compiled_modules(module, size, other):
    # The declaration, and the objects that were linked: both extensions compile the same sources. The other one is
    # loaded first, so that a symbol that leaks from it is found here.
    code = (
        f"from mapdpm.backends import {other}, {module} as m\n"
        "print(m.ffi.sizeof('mapdpm_real'), m.lib.mapdpm_real_size(), m.ffi.string(m.lib.mapdpm_version()).decode())"
    )
    assert child(code) == f"{size} {size} {mapdpm.__version__}"


@pytest.mark.parametrize("module", ["_c32", "_c64"])
def test_compiled_modules_use_the_stable_abi(module):
    assert ".abi3." in importlib.util.find_spec(f"mapdpm.backends.{module}").origin


@pytest.mark.complete
@pytest.mark.parametrize("threaded", [False, True])
def test_a_free_threaded_python_compiles_without_the_stable_abi(threaded):
    # Pretended, for there is no such Python here. Setuptools refuses the option there, and cffi 2 leaves it out itself.
    code = (
        "import os, sysconfig\n"
        f"os.chdir({str(ROOT)!r})\n"
        "real = sysconfig.get_config_var\n"
        f"sysconfig.get_config_var = lambda name: {int(threaded)} if name == 'Py_GIL_DISABLED' else real(name)\n"
        "from setuptools.dist import Distribution\n"
        "from distutils.core import run_setup\n"
        "made = run_setup('setup.py', stop_after='init')\n"
        "print('py_limited_api' in made.get_option_dict('bdist_wheel'), {m.py_limited_api for m in made.ext_modules})"
    )
    assert child(code).endswith("False {False}" if threaded else "True {True}")


def test_every_public_name_is_there():
    for name in mapdpm.__all__:
        assert getattr(mapdpm, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        mapdpm.nothing  # noqa: B018
