"""The pictures of docs/: each page of the guide has one, and the front page shows the gallery."""

import re

import pytest

from repository import ROOT

DOCS = ROOT / "docs"
INDEX = (DOCS / "index.md").read_text(encoding="utf-8")
GUIDE = re.findall(
    r"^- \[[^]]+\]\((\S+\.md)\)", INDEX.partition("## Start")[2].partition("\n## ")[0], flags=re.MULTILINE
)
PAGES = ["README.md", *sorted(f"docs/{path.name}" for path in DOCS.glob("*.md"))]
SCRIPTS = sorted(path.stem for path in (ROOT / "examples" / "gallery").glob("*.py"))
PICTURE = re.compile(r"!\[(?P<alt>[^]]*)\]\((?P<file>[^)]+)\)")
MOST_BYTES = 60 * 1024  # of a picture on the front page


def pictures_of(page):
    """The alternative text and the file of each picture of a page."""
    found = PICTURE.finditer((ROOT / page).read_text(encoding="utf-8"))
    return [(match["alt"], (ROOT / page).parent / match["file"]) for match in found]


@pytest.mark.parametrize("page", PAGES)
def test_pictures_are_there_and_say_what_is_seen(page):
    assert not [file for alt, file in pictures_of(page) if len(alt.split()) < 3 or not file.is_file()]


def test_each_page_of_the_guide_has_a_picture():
    assert {"first-steps.md", "messages.md"} <= set(GUIDE)
    assert not [page for page in GUIDE if not pictures_of(f"docs/{page}")]


def test_no_picture_is_forgotten():
    assert set((DOCS / "pictures").rglob("*.png")) <= {file for page in PAGES for _, file in pictures_of(page)}


def test_the_gallery_shows_each_script_with_its_picture():
    """A title, the picture, a link into the guide, and the script itself, so that its code is in one place."""
    sections = (DOCS / "gallery.md").read_text(encoding="utf-8").split("\n## ")[1:]
    wanted = r".*?\n\n!\[.*\]\(pictures/gallery/(\w+)\.png\)\n\nThe guide: \[.*\n\n```{literalinclude} (\S+)\n"
    found = [re.match(wanted, section).groups() for section in sections]
    assert sorted(name for name, _ in found) == SCRIPTS
    assert [script for _, script in found] == [f"../examples/gallery/{name}.py" for name, _ in found]


def test_the_front_page_links_each_picture_to_its_section():
    sections = (DOCS / "gallery.md").read_text(encoding="utf-8").split("\n## ")[1:]
    places = {
        PICTURE.search(section)["file"]: section.splitlines()[0].lower().replace(" ", "-") for section in sections
    }
    links = re.findall(r"^- \[!\[[^]]+\]\((\S+)\) [^]]+\]\(gallery\.md#(\S+)\)$", INDEX, flags=re.MULTILINE)
    assert dict(links) == places
    assert len(links) == len(SCRIPTS) == 10
    assert not [file for file, _ in links if (DOCS / file).stat().st_size > MOST_BYTES]
