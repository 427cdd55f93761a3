"""The lists of files in the Makefile are right."""

import re

from repository import ROOT

NAMES_A_PAGE = re.compile(r'"docs"|"docs/|"[A-Z]+\.md"|DOCS\b')


def readers():
    """The tests that name a page, or their folder."""
    files = [path for path in (ROOT / "tests").rglob("*.py") if NAMES_A_PAGE.search(path.read_text("utf-8"))]
    return {path.relative_to(ROOT).as_posix() for path in files}


def test_tests_that_read_pages_run_when_pages_change():
    named = re.search(r"^READ_PAGES := (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)[1].split()
    found = readers()
    assert {"tests/docs/test_docs.py", "tests/test_public_names.py"} <= found
    assert not [name for name in found if not any(name == each or name.startswith(f"{each}/") for each in named)]


def test_make_attack_makes_the_attacks_of_the_page():
    """Each test that docs/security.md names; a short form of reader_memory.py is one of them."""
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    command = (ROOT / "bench" / "attack.py").read_text(encoding="utf-8")
    named = re.findall(r"`((?:tests|bench)/[\w/]+\.py)`", page)
    assert len(named) > 10
    assert not [name for name in named if f'"{name}"' not in command and name != "bench/reader_memory.py"]
