"""The decisions of docs/design.md: what refers to one finds it, and each is named by the code that it explains."""

import functools
import re

from repository import ROOT

PAGE = ROOT / "docs" / "design.md"
CODE = ("mapdpm", "c_kernels", "tests", "bench", "release", "web", "examples", "setup.py", "build_kernels.py")
SUFFIXES = {".py", ".c", ".h", ".js", ".md"}
GENERATED = "amalgamation/src"


def kept():
    """The numbers of the decisions."""
    return [int(number) for number in re.findall(r"^\*\*(\d+)\. ", PAGE.read_text(encoding="utf-8"), re.MULTILINE)]


def named(text):
    """The numbers of decisions that a text refers to."""
    return {int(number) for number in re.findall(r"\bdecision[\s*]+(\d+)\b", text, re.IGNORECASE)}


def references(*places):
    """The decisions that each file below ``places`` refers to."""
    return {name: numbers for place in places for name, numbers in references_in(place).items()}


@functools.cache
def references_in(place):
    files = (ROOT / place).rglob("*") if (ROOT / place).is_dir() else [ROOT / place]
    files = [path for path in files if path.suffix in SUFFIXES and GENERATED not in path.as_posix()]
    return {path.relative_to(ROOT).as_posix(): named(path.read_text(encoding="utf-8")) for path in files}


def test_no_number_is_used_twice():
    assert len(kept()) == len(set(kept()))


def test_references_find_their_decision():
    for name, numbers in references(*CODE, "docs", "README.md", "CONTRIBUTING.md").items():
        assert numbers <= set(kept()), name


def test_code_names_the_decision_that_explains_it():
    in_code = set().union(*references(*CODE).values())
    assert not set(kept()) - in_code


def test_a_reference_is_seen_in_any_comment():
    assert named("x = 1  # decision 8\n/* odd: decision\n * 45. */ Decision 10 (decision 8)") == {8, 10, 45}
