"""Imports go one way: down the list of docs/design.md, decision 1, and in no circle inside an entry either."""

import ast
import re
from pathlib import PurePosixPath

import pytest

from repository import ROOT

PACKAGE = ROOT / "mapdpm"
LIST = re.search(r"\*\*1\. Imports.*?```text\n(.*?)```", (ROOT / "docs" / "design.md").read_text(), re.DOTALL)[1]
LINES = [re.split(r" {4,}", line)[0].split() for line in LIST.splitlines()]
MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


def name_of(path):
    """The name of a module as other modules import it."""
    return path.with_suffix("").as_posix().removesuffix("/__init__")


def entry_of(module):
    """The line and the entry of a module such as files/container: the longest entry that it lies in."""
    found = [
        (len(entry), number, entry)
        for number, line in enumerate(LINES)
        for entry in line
        if f"{module}/".startswith(entry if entry.endswith("/") else f"{entry}/")
    ]
    return max(found)[1:] if found else None


def loaded(tree):
    """The statements that run when a module is loaded: not those of functions, nor of ``if TYPE_CHECKING``."""
    return statements(tree, lambda node: isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or is_for_types(node))


def statements(tree, is_left_out=lambda _: False):
    """The statements of a tree, without those that are left out and what is in them; no expression holds one."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.expr) and not is_left_out(node):
            yield node
            yield from statements(node, is_left_out)


def is_for_types(node):
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imported(nodes):
    """The modules of the package that these statements import, as paths without suffix."""
    for node in nodes:
        if isinstance(node, ast.Import):
            dotted = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            dotted = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in dotted:
            parts = name.split(".")
            while parts[0] == "mapdpm" and len(parts) > 1:
                path = PurePosixPath(*parts[1:])
                if (PACKAGE / f"{path}.py").is_file() or (PACKAGE / path / "__init__.py").is_file():
                    yield path.as_posix()
                    break
                parts.pop()


def upward(module, source):
    """Imports of ``module`` that do not go down the list."""
    line, entry = entry_of(module)
    wrong = []
    for other in imported(loaded(ast.parse(source))):
        other_line, other_entry = entry_of(other)
        if other_entry != entry and other_line <= line:
            wrong.append(f"{module} (line {line}) imports {other} (line {other_line})")
    return wrong


def circles(sources):
    """Sets of modules of which each one imports each other one, directly or by way of more.

    All imports count, also those in functions and those for types alone: a reader of one file needs all the others.
    """
    direct = {module: set(imported(statements(ast.parse(source)))) - {module} for module, source in sources.items()}
    reached = {}
    for module in direct:
        reached[module], ahead = set(), [module]
        while ahead:
            new = direct.get(ahead.pop(), set()) - reached[module]
            reached[module] |= new
            ahead += new
    both = {each: frozenset(other for other in reached[each] if each in reached[other]) for each in direct}
    return set(both.values()) - {frozenset()}


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_imports_go_down_the_list(path):
    module = name_of(path)
    source = (PACKAGE / path).read_text()
    if module == "__init__" or entry_of(module) is None:  # the root loads public names when they are asked for;
        assert list(imported(loaded(ast.parse(source)))) == []  # files/ is several entries, and its __init__ is none
        return
    assert not upward(module, source)


def test_no_files_import_each_other():
    sources = {name_of(path): (PACKAGE / path).read_text() for path in MODULES}
    assert not circles(sources)


def test_a_circle_is_seen():
    down = {"state": "from mapdpm.rng import Rng", "rng": "", "jit": "def f():\n    from mapdpm import state"}
    assert not circles(down)
    assert circles(down | {"rng": "def f():\n    from mapdpm import jit"}) == {frozenset(down)}


def test_every_entry_exists():
    for entry in (each for line in LINES for each in line):
        assert (PACKAGE / entry).is_dir() if entry.endswith("/") else (PACKAGE / f"{entry}.py").is_file(), entry


def test_an_import_that_goes_up_is_seen():
    assert upward("state", "from mapdpm.search.problem import Problem")
    assert upward("state", "if 1:\n    import mapdpm.cli.tables")
    assert upward("likelihoods/normal_gamma", "from mapdpm import objective")
    assert upward("metrics", "from mapdpm import rng"), "two entries of one line"
    assert not upward("state", "def f():\n    from mapdpm.search.problem import Problem")
    assert not upward("search/problem", "from mapdpm.state import ClusterState")
