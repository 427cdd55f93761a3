"""The page that shows how to add a transformer shows the sources as they are; other pages name all transformers."""

import re

from mapdpm.features.transformer import KINDS
from repository import ROOT

GUIDE = (ROOT / "docs" / "adding-a-transformer.md").read_text("utf-8")


def test_the_guide_shows_a_file_of_the_library_and_names_all_of_its_members():
    (code,) = re.findall(r"```c\n(.*?)```", GUIDE, re.DOTALL)
    rooms = ROOT / "c_kernels" / "features"
    assert code == (rooms / "difference.c").read_text("utf-8")
    (kind,) = re.findall(r"\n([^\n{}]*;[^{}]*)\} step_kind;", (rooms / "mapdpm_transformers.h").read_text("utf-8"))
    members = re.findall(r"^    \w+ (?:\(\*)?(\w+)", kind, re.MULTILINE)
    assert members == re.findall(r"^\| `(\w+)", GUIDE, re.MULTILINE)


def test_pages_name_all_transformers():
    page, reference = ((ROOT / "docs" / name).read_text("utf-8") for name in ("features.md", "reference.md"))
    for name in KINDS:
        assert f"| `{name}(" in page
        assert f"mapdpm.features.{name}\n" in reference
