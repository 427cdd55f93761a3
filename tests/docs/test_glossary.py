"""The glossary has each term once, and no page shows a name that is old."""

import re

import pytest

from mapdpm.deprecated import RENAMED
from repository import ROOT
from tests.docs.test_docs import FILES

ENTRY = re.compile(r"^- \*\*.*?(?=^- |^#|\Z)", re.MULTILINE | re.DOTALL)


def page(name):
    return (ROOT / name).read_text(encoding="utf-8")


def terms():
    """Each term with its entry; an entry may have several terms."""
    entries = ENTRY.findall(page("docs/glossary.md"))
    return [(term.lower(), entry) for entry in entries for term in re.findall(r"\*\*(.+?)\*\*", entry)]


def test_each_term_is_there_once():
    names = [term for term, _ in terms()]
    assert len(names) > 60
    assert sorted(names) == sorted(set(names))


def test_no_entry_forbids_its_own_words():
    for term, entry in terms():
        forbidden = re.search(r"\[([^]]+)\]\s*\Z", entry)
        assert forbidden is None or term not in forbidden[1].split(", "), term


def test_the_page_of_c_defines_no_term_again():
    for term in re.findall(r"^\| (\w+) \|", page("c_kernels/README.md"), re.MULTILINE):
        assert term not in {name for name, _ in terms()}, term


OLD = [(package, old) for package, names in RENAMED.items() for old in names]


@pytest.mark.parametrize("file", FILES)
def test_pages_have_no_old_name(file):
    text = page(file)
    for package, old in OLD:
        short = package.removeprefix("mapdpm.")
        assert not re.search(rf"\b{short}\.{old}\b|from {package} import [^\n]*\b{old}\b", text), f"{short}.{old}"
    assert "--n-groups" not in text
