"""numba's cache is named after every source that compiled code is made of, and after no others."""

import ast
import gc
import importlib
import inspect
import json
import pkgutil
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import mapdpm
import numba_cache
from mapdpm import jit
from mapdpm.protocol import PROTOCOLS

PACKAGE = Path(mapdpm.__file__).resolve().parent
VERBS = {verb for protocol in PROTOCOLS for verb in vars(protocol) if not verb.startswith("_")}
KINDS_OF_CONSTANTS = (bool, int, float, tuple, np.generic)


def modules():
    """All modules of the package."""
    found = pkgutil.walk_packages([str(PACKAGE)], "mapdpm.")
    return [importlib.import_module(each.name) for each in found if not each.name.endswith("__main__")]


def is_ours(value):
    return getattr(value, "__module__", "").partition(".")[0] == "mapdpm"


def roots():
    """The functions that numba is given: kernels, what they share, and the verbs of NamedTuples."""
    loaded = modules()
    kernels = [each.kernel for each in gc.get_objects() if isinstance(each, jit.compiled)]
    classes = {each for module in loaded for each in vars(module).values() if inspect.isclass(each) and is_ours(each)}
    named_tuples = [each for each in classes if issubclass(each, tuple) and hasattr(each, "_fields")]
    verbs = [vars(each)[verb] for each in named_tuples for verb in VERBS & set(vars(each))]
    return [each for each in (*jit._shared, *kernels, *verbs) if is_ours(each)]


def imported_from(path):
    """The module that each name of a file was imported from."""
    tree = ast.parse(path.read_text("utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name: node.module for node in imports for alias in node.names}


def names_in(code):
    nested = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return {*code.co_names, *(name for each in nested for name in names_in(each))}


def file_of(module_name):
    return Path(sys.modules[module_name].__file__).resolve()


def sources():
    """The files of all functions that numba compiles, of the constants in them, and of the tuples they are given."""
    files, seen, left = set(), set(), roots()
    while left:
        function = inspect.unwrap(left.pop())
        if function in seen:
            continue
        seen.add(function)
        home = file_of(function.__module__)
        files.add(home)
        names, origin = names_in(function.__code__), imported_from(home)
        named = {name: function.__globals__[name] for name in names & set(function.__globals__)}
        inside = [vars(value) for value in named.values() if isinstance(value, types.ModuleType) and is_a_part(value)]
        files |= {file_of(each["__name__"]) for each in inside}
        for name, value in (*named.items(), *(pair for each in inside for pair in each.items() if pair[0] in names)):
            if isinstance(value, types.FunctionType) and is_ours(value):
                left.append(value)
            elif isinstance(value, KINDS_OF_CONSTANTS) and origin.get(name, "").startswith("mapdpm."):
                files.add(file_of(origin[name]))
        files |= {file_of(each.__module__) for each in (*named.values(), *annotated(function)) if is_named_tuple(each)}
    return files


def is_a_part(module):
    return module.__name__.startswith("mapdpm.")


def is_named_tuple(value):
    return inspect.isclass(value) and is_ours(value) and issubclass(value, tuple)


def annotated(function):
    names = {name for text in function.__annotations__.values() for name in names_in(compile(str(text), "", "eval"))}
    return [function.__globals__[name] for name in names & set(function.__globals__)]


@pytest.fixture(scope="module")
def compiled_from():
    """As a fresh interpreter finds it, where nothing has been compiled."""
    code = f"import sys; sys.path[:0] = {sys.path!r}; import test_numba_cache as t; t.print_sources()"
    folder = Path(__file__).parent
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=folder)
    assert run.returncode == 0, run.stderr
    return {Path(name) for name in json.loads(run.stdout)}


def print_sources():
    print(json.dumps(sorted(map(str, sources()))))


def test_all_that_numba_compiles_names_the_cache(compiled_from):
    assert len(compiled_from) > 20
    assert not compiled_from - set(numba_cache.kernel_sources())


def test_the_walk_finds_functions_constants_and_tuples(compiled_from):
    found = {path.relative_to(PACKAGE).as_posix() for path in compiled_from}
    assert {"objective.py", "backends/generic.py", "samplers/split_merge.py"} <= found  # kernels
    assert {"special.py", "samplers/_pairs.py", "likelihoods/_draws.py"} <= found  # what they share
    assert {"rng.py", "partition_priors/pitman_yor.py", "likelihoods/beta_bernoulli.py"} <= found  # verbs
    assert {"state.py", "samplers/_orders.py"} <= found  # tuples


def test_what_numba_never_reads_is_left_out():
    listed = {path.relative_to(PACKAGE).as_posix() for path in numba_cache.kernel_sources()}
    assert not [name for name in listed if name.partition("/")[0] in {"cli", "diagnostics", "estimators", "plots"}]
    assert not listed & {"backends/c.py", "samplers/sample.py", "samplers/trace.py", "validation.py"}


@pytest.mark.parametrize("name", ["special.py", "likelihoods/_moments.py"])
def test_a_change_of_a_kernel_changes_the_folder(name, tmp_path, monkeypatch):
    for path in numba_cache.kernel_sources():
        copy = tmp_path / path.relative_to(PACKAGE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    before = numba_cache.folder()
    monkeypatch.setattr(numba_cache, "PACKAGE", tmp_path)
    assert numba_cache.folder() == before
    (tmp_path / "metrics.py").write_text("# no kernel\n", "utf-8")
    assert numba_cache.folder() == before
    (tmp_path / name).write_text((tmp_path / name).read_text("utf-8") + "\n# a change\n", "utf-8")
    assert numba_cache.folder() != before
