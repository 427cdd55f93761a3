"""Public names: what `dir` shows, and that every name of docs/reference.md is there, and is what the page says."""

import importlib
import inspect
import re
import subprocess
import sys

import pytest

import mapdpm
from repository import ROOT
from tests.marks import complete_but

PAGE = ROOT / "docs" / "reference.md"
DIRECTIVE = re.compile(r"^\.\. auto(?P<kind>\w+):: (?P<name>[\w.]+)\n(?P<options>(?: {3}:.*\n)*)", re.MULTILINE)
MEMBERS = re.compile(r":members:(?P<names>.*)")
PARTS = [
    "dask",
    "diagnostics",
    "features",
    "metrics",
    "plots",
    "point_estimates",
    "samplers",
    "selection",
    "stream",
    "testing",
]
KINDS = {
    "class": lambda value: inspect.isclass(value) and not issubclass(value, BaseException),
    "exception": lambda value: inspect.isclass(value) and issubclass(value, BaseException),
    "function": inspect.isroutine,
    "module": inspect.ismodule,
}


def found(name):
    """The object of a dotted name: the longest part that is a module, and then attributes."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        owner, _, last = name.rpartition(".")
        return getattr(found(owner), last)


def members_of(module):
    public = getattr(module, "__all__", None)
    if public is not None:
        return list(public)
    own = {name: getattr(value, "__module__", None) for name, value in vars(module).items()}
    return [name for name, home in own.items() if home == module.__name__ and not name.startswith("_")]


def documented():
    """Every name of the page with the kind that it says, or None where it says none."""
    pytest.importorskip("river", reason="river is not installed; try: pip install 'mapdpm[river]'")
    names = []
    for entry in DIRECTIVE.finditer(PAGE.read_text(encoding="utf-8")):
        names.append((entry["name"], entry["kind"]))
        members = MEMBERS.search(entry["options"])
        if members is None or (entry["kind"] != "module" and not members["names"].strip()):
            continue
        listed = [word.strip() for word in members["names"].split(",") if word.strip()]
        listed = listed or members_of(importlib.import_module(entry["name"]))
        names += [(f"{entry['name']}.{member}", None) for member in listed]
    return names


def test_names_of_the_reference_are_there_and_of_their_kind():
    names = documented()
    assert len(names) > 100
    assert {kind for _, kind in names} == {*KINDS, None}
    for name, kind in names:
        value = found(name)
        assert kind is None or KINDS[kind](value), f"{name} is no {kind}"


def test_names_of_the_reference_say_where_they_are():
    """``__module__`` is what a repr shows, and where a pickle looks: the module of the page, or a part of it."""
    homes = {}
    for name, _ in documented():
        value = found(name)
        if (inspect.isclass(value) or inspect.isfunction(value)) and inspect.ismodule(found(name.rpartition(".")[0])):
            homes.setdefault(value, []).append(name.rpartition(".")[0])
    assert len(homes) > 80
    for value, pages in homes.items():
        home = value.__module__
        assert getattr(importlib.import_module(home), value.__qualname__) is value
        assert any(f"{home}.".startswith(f"{page}.") for page in pages), f"{value!r} is documented in {pages}"
        if inspect.isclass(value):
            assert repr(value) == f"<class '{home}.{value.__qualname__}'>"


@pytest.mark.parametrize("part", complete_but(["", *PARTS[:2]], ["", *PARTS]))
def test_dir_shows_public_names_only(part):
    name = f"mapdpm.{part}".rstrip(".")
    module = importlib.import_module(name)
    expected = [*module.__all__, *(() if part else ("__version__", *PARTS))]
    code = f"import {name}\nprint(*dir({name}))\nassert all(hasattr({name}, each) for each in dir({name}))\n"
    more = "import mapdpm.cli.commands, mapdpm.testing.laws\n"  # imports make attributes
    done = subprocess.run([sys.executable, "-c", code + more + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [line.split() for line in done.stdout.splitlines()] == [sorted(expected)] * 2


def test_parts_are_those_of_the_reference():
    heads = {entry["name"].split(".")[1] for entry in DIRECTIVE.finditer(PAGE.read_text(encoding="utf-8"))}
    assert set(PARTS) <= heads
    for part in PARTS:
        assert getattr(mapdpm, part) is sys.modules[f"mapdpm.{part}"]
