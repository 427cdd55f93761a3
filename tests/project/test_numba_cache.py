"""Entries of numba's cache are named after every file that a kernel is compiled of, and after few others."""

import ast
import functools
import gc
import importlib
import inspect
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import mapdpm
from mapdpm import jit
from mapdpm.backends import generic
from mapdpm.protocol import PROTOCOLS
from repository import ROOT

PACKAGE = Path(mapdpm.__file__).resolve().parent
VERBS = {verb for protocol in PROTOCOLS for verb in vars(protocol) if not verb.startswith("_")}
KINDS_OF_CONSTANTS = (bool, int, float, tuple, np.generic)
SEAM = ("mapdpm.jit", "import jit", "NamedTuple")


@pytest.fixture(scope="module", autouse=True)
def modules():
    """The modules of the package that numba may read."""
    paths = [path for path in PACKAGE.rglob("*.py") if any(name in path.read_text("utf-8") for name in SEAM)]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in paths]
    return [importlib.import_module(name) for name in names if not name.startswith(("mapdpm.dask", "mapdpm.compat"))]


def kernels():
    gc.unfreeze()  # what tests/conftest.py froze would not be among the objects
    found = {each.kernel for each in gc.get_objects() if type(each) is jit.compiled and is_ours(each.kernel)}
    gc.freeze()
    return found


def named_tuples(modules):
    classes = {each for module in modules for each in vars(module).values() if is_named_tuple(each)}
    return {each: verbs for each in classes if (verbs := verbs_of(each))}


def verbs_of(kind):
    return [value for name, value in vars(kind).items() if name in VERBS and inspect.isfunction(value)]


def is_ours(value):
    return getattr(value, "__module__", "").startswith("mapdpm.")


def is_part(module):
    return module.__name__.startswith("mapdpm.")


def is_named_tuple(value):
    return inspect.isclass(value) and is_ours(value) and issubclass(value, tuple)


@functools.cache
def imported_from(module):
    """The module that each name of a file was imported from."""
    tree = ast.parse(Path(sys.modules[module].__file__).read_text("utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name: node.module for node in imports for alias in node.names}


@functools.cache
def names_in(code):
    nested = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return {*code.co_names, *(name for each in nested for name in names_in(each))}


def annotated(function):
    names = {name for text in function.__annotations__.values() for name in names_in(compile(str(text), "", "eval"))}
    return [function.__globals__[name] for name in names & set(function.__globals__)]


def read_from(*functions):
    """The modules of all functions that these call by name, of the tuples they make, and of constants in them."""
    found, constants, seen, left = set(), set(), set(), list(functions)
    while left:
        function = inspect.unwrap(left.pop())
        if function in seen:
            continue
        seen.add(function)
        found.add(function.__module__)
        names, origin = names_in(function.__code__), imported_from(function.__module__)
        named = {name: function.__globals__[name] for name in names & set(function.__globals__)}
        inside = [value for value in named.values() if isinstance(value, types.ModuleType) and is_part(value)]
        found |= {module.__name__ for module in inside}
        within = [pair for module in inside for pair in vars(module).items() if pair[0] in names]
        for name, value in (*named.items(), *within):
            if isinstance(value, types.FunctionType) and is_ours(value):
                left.append(value)
            elif isinstance(value, KINDS_OF_CONSTANTS) and origin.get(name, "").startswith("mapdpm."):
                constants.add((function.__module__, name))
        found |= {each.__module__ for each in (*named.values(), *annotated(function)) if is_named_tuple(each)}
    return found, constants


def test_all_that_a_kernel_calls_by_name_is_in_its_key():
    assert len(kernels()) > 40
    for kernel in kernels():
        found, constants = read_from(kernel)
        assert found <= jit.sources(kernel), kernel
        for module, name in constants:
            assert f"'{name}'".encode() in jit._text_and_constants(module)


def test_verbs_are_in_the_key_of_the_kernels_that_are_given_them(modules):
    def kernel():
        pass

    kernel.__module__ = "mapdpm.jit"
    assert len(named_tuples(modules)) > 15
    for each, verbs in named_tuples(modules).items():
        found, _ = read_from(*verbs)
        assert found <= jit.sources(kernel, [each]), each


@pytest.mark.compiled
def test_all_that_numba_really_compiles_is_in_the_key():
    event = pytest.importorskip("numba.core.event")
    from mapdpm.backends.generic import log_marginals
    from mapdpm.likelihoods import NormalGamma
    from mapdpm.state import empty

    class NeverCompiled(NormalGamma):
        __slots__ = ()

    class Files(event.Listener):
        def __init__(self):
            self.found = set()

        def on_start(self, event):
            self.found.add(event.data["dispatcher"].py_func.__module__)

        def on_end(self, event):
            pass

    args = (NeverCompiled(0.0, 1.0, 2.0, 3.0), empty(NeverCompiled(0.0, 1.0, 2.0, 3.0), 0, 2))
    with event.install_listener("numba:compile", Files()) as listener:
        jit.compiled(log_marginals)(*args)
    compiled = {module for module in listener.found if module.startswith("mapdpm.")}
    assert {"mapdpm.backends.generic", "mapdpm.likelihoods.normal_gamma"} <= compiled  # others may be compiled already
    assert compiled <= jit.sources(log_marginals, jit._classes(args))


def test_a_change_of_what_a_kernel_is_compiled_of_changes_its_name(monkeypatch):
    from mapdpm.backends.generic import score
    from mapdpm.likelihoods import GammaPoisson, NormalGamma

    def named(*classes):
        jit._text_and_constants.cache_clear()
        return jit._kept(score, frozenset(classes)).__qualname__

    before = {each: named(each) for each in (NormalGamma, GammaPoisson)}
    assert len(set(before.values())) == 2
    assert before[NormalGamma] == named(NormalGamma)
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + b"#" * (path.name == "normal_gamma.py"))
    assert named(NormalGamma) != before[NormalGamma]
    assert named(GammaPoisson) == before[GammaPoisson]
    monkeypatch.setattr("mapdpm.likelihoods.gamma_poisson.LARGE_COUNT", 1.0)
    assert named(GammaPoisson) != before[GammaPoisson]


@pytest.mark.parametrize("own_names", [True, False])
def test_two_processes_that_save_at_once_never_mix_their_code(tmp_path, monkeypatch, own_names):
    """The one saves between the index and the file of the other, and had read the index before both."""
    one, two = (cache_of(tmp_path) for _ in range(2))
    if not own_names:  # numba's own: this test would notice
        del one._data_name, two._data_name
    save_file = one._save_data

    def late(name, code):
        with monkeypatch.context() as patch:
            patch.setattr(two, "_load_index", dict)
            two.save("its signature", "its code")
        save_file(name, code)

    monkeypatch.setattr(one, "_save_data", late)
    one.save("a signature", "a code")
    found = cache_of(tmp_path).load("its signature")
    assert (found == "its code") == own_names
    assert cache_of(tmp_path).load("a signature") in ({None, "a code"})


def cache_of(folder):
    """numba's cache of a kernel, in this folder."""
    file = jit.compiled(generic.sweep)._dispatcher(frozenset())._cache._cache_file
    file._cache_path, file._index_path = str(folder), str(folder / file._index_name)
    return file
