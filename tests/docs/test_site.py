"""The site of docs/ builds without network and without a warning, and nothing in it is missing, dead or fetched."""

import importlib
import importlib.util
import inspect
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import pytest

import mapdpm
from mapdpm import protocol
from tests.docs.test_docs import FENCE, ROOT
from web.build import missing_tools

MISSING = [
    name
    for name in ("sphinx", "sphinx_copybutton", "myst_parser", "furo", "numpydoc", "math_core")
    if importlib.util.find_spec(name) is None
]
pytestmark = [  # the site is built
    pytest.mark.complete,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {MISSING}; try: pip install 'mapdpm[docs]'"),
]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md"))
MODULES = ["metrics", "plots", "samplers", *(f"testing.{name}" for name in ("laws", "exact", "backends", "data"))]
OFFLINE = """
import socket, sys

def refuse(*args, **kwargs):
    raise OSError("a page is made without network")

socket.getaddrinfo = socket.create_connection = socket.socket.connect = socket.socket.connect_ex = refuse
from sphinx.cmd.build import main

sys.exit(main(sys.argv[1:]))
"""


class Page(HTMLParser):
    """The contents of a page: its elements, anchors and links, and the files that a browser fetches for it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = {name: value or "" for name, value in attributes}
        self.elements.append(tag)
        self.ids += [given["id"]] if "id" in given else []
        if tag == "a":
            self.links += [given["href"]] if "href" in given else []
        else:
            self.fetched += [given[name] for name in ("src", "href", "data", "poster") if name in given]
            self.fetched += [each.split()[0] for each in given.get("srcset", "").split(",") if each.strip()]
            self.fetched += addresses_in(given.get("style", ""))


class Site(NamedTuple):
    folder: Path
    pages: dict[str, Page]


def addresses_in(css: str) -> list[str]:
    """The files that a style sheet fetches."""
    return re.findall(r"""(?:url\(|@import)\s*["']?([^"')\s;]+)""", css)


def is_remote(address: str) -> bool:
    return re.match(r"(?i)([a-z][a-z0-9+.-]*:)?//", address) is not None


def formulas_of(text: str) -> list[str]:
    """The formulas of a Markdown page, in order."""
    text = re.sub(r"`[^`\n]+`", "", FENCE.sub("", text))
    return [one or two for one, two in re.findall(r"\$\$(.+?)\$\$|\$(.+?)\$", text, flags=re.DOTALL)]


def dead_links(site: Site) -> list[str]:
    """Links within the site that lead nowhere."""
    dead = []
    for name, page in site.pages.items():
        for link in page.links + page.fetched:
            if is_remote(link) or re.match("(data|mailto):", link) or link == "#":
                continue
            path, _, anchor = link.partition("#")
            target = (site.folder / name).parent / path.partition("?")[0] if path else site.folder / name
            relative = os.path.relpath(target, site.folder)
            if not target.is_file() or (anchor and relative in site.pages and anchor not in site.pages[relative].ids):
                dead.append(f"{name}: {link}")
    return dead


def public_names() -> list[str]:
    """Anchors that the reference must have."""
    names = [f"mapdpm.{name}" for name in mapdpm.__all__]
    for kind in (mapdpm.MAPDPM, mapdpm.DPMeans):
        methods = [name for name, _ in inspect.getmembers(kind, callable) if not name.startswith("_")]
        names += [f"mapdpm.{kind.__name__}.{name}" for name in methods]
    for name in MODULES:
        module = importlib.import_module(f"mapdpm.{name}")
        own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
        listed = getattr(module, "__all__", [each for each in own if not each.startswith("_")])
        names += [f"{module.__name__}.{each}" for each in listed]
    for kind in (*protocol.PROTOCOLS, protocol.Likelihood, protocol.PartitionPrior):
        verbs = [name for name, value in vars(kind).items() if inspect.isroutine(value) and not name.startswith("_")]
        names += [f"mapdpm.protocol.{kind.__name__}.{verb}" for verb in verbs]
    return names


def build(source: Path, target: Path) -> str:
    """Build the site, all warnings being errors and all connections refused; what it printed if it failed."""
    command = [sys.executable, "-c", OFFLINE, "-W", "--keep-going", "-q", "-d", f"{target}.doctrees", source, target]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return run.stdout + run.stderr if run.returncode else ""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "html"
    failed = build(DOCS, folder)
    assert not failed, failed
    files = sorted(folder.rglob("*.html"))
    return Site(folder, {path.relative_to(folder).as_posix(): Page(path.read_text("utf-8")) for path in files})


def test_all_pages_are_there_with_one_title_each(site):
    assert {"index.html", "maths.html", "reference.html", "search.html"} <= set(site.pages)
    assert not [name for name in PAGES if f"{name}.html" not in site.pages]
    assert not [name for name in PAGES if site.pages[f"{name}.html"].elements.count("h1") != 1]
    index = (DOCS / "index.md").read_text("utf-8")  # the page itself, for the sidebar beside it links to all
    assert not [name for name in PAGES if name != "index" and f"]({name}.md)" not in index]


def test_each_formula_is_shown(site):
    counts = {name: len(formulas_of((DOCS / f"{name}.md").read_text("utf-8"))) for name in PAGES}
    assert counts["maths"] > 50
    assert {name: site.pages[f"{name}.html"].elements.count("math") for name in PAGES} == counts


def test_each_number_of_a_formula_has_an_anchor(site):
    numbers = re.findall(r"\\tag\{(\w+)\}", (DOCS / "maths.md").read_text("utf-8"))
    anchors = [name for name in site.pages["maths.html"].ids if name.startswith("equation-")]
    assert anchors == [f"equation-{number}" for number in numbers]
    assert "\\tag" not in (site.folder / "maths.html").read_text("utf-8")


def test_nothing_is_fetched_to_show_a_page(site):
    fetched = {(name, address) for name, page in site.pages.items() for address in page.fetched}
    for path in site.folder.rglob("*.css"):
        fetched |= {(path.name, address) for address in addresses_in(path.read_text("utf-8"))}
    assert ("mapdpm.css", "stix-two-math.woff2") in fetched
    assert not [each for each in sorted(fetched) if is_remote(each[1])]


def test_blocks_of_code_have_a_button_that_leaves_out_prompts(site):
    fetched = [address.partition("?")[0] for address in site.pages["reference.html"].fetched]
    assert {"_static/copybutton.js", "_static/clipboard.min.js"} <= set(fetched)
    script = (site.folder / "_static" / "copybutton.js").read_text("utf-8")
    call = re.search(r"formatCopyText\(text, '(?P<prompts>.*?)', (?P<is_regexp>\w+),", script)
    assert call
    assert call["is_regexp"] == "true"
    assert re.sub(call["prompts"].replace(r"\\", "\\"), "", ">>> f(\n... 1)\n") == "f(\n1)\n"


def test_each_public_name_is_in_the_reference_once(site):
    ids = site.pages["reference.html"].ids
    assert not [name for name in public_names() if ids.count(name) != 1]


@pytest.mark.parametrize("kind", [mapdpm.MAPDPM, mapdpm.DPMeans])
def test_attributes_are_listed_once(site, kind):
    """In the docstring of the class; not again as what its body annotates."""
    annotated = {name for each in kind.__mro__ for name in vars(each).get("__annotations__", {})}
    attributes = {name for name in annotated if not callable(getattr(kind, name, None))}  # a base annotates methods
    assert "labels_" in attributes
    assert not [name for name in attributes if f"mapdpm.{kind.__name__}.{name}" in site.pages["reference.html"].ids]


def test_each_link_leads_somewhere(site):
    assert sum(len(page.links) for page in site.pages.values()) > 1000
    assert not dead_links(site)


def test_the_page_to_play_with_is_a_part(site):
    if missing := missing_tools():
        pytest.skip(missing)
    assert "web/index.html" in site.pages["play.html"].links
    assert "WebAssembly.compile(" in (site.folder / "web" / "index.html").read_text("utf-8")


def test_what_is_looked_for_is_found(tmp_path):
    text = '<h1 id="a">x</h1><math></math><a href="b.html#c">y</a><a href="#no">z</a><img src="//cdn.org/p.png">'
    other = "<p id='b' style='background: url(https://x.org/y)'><script src='https://x.org/s.js'></script>"
    site = Site(tmp_path, {"a.html": Page(text), "b.html": Page(other)})
    for name in site.pages:
        (tmp_path / name).write_text("", encoding="utf-8")
    assert site.pages["a.html"].elements == ["h1", "math", "a", "a", "img"]
    assert [address for page in site.pages.values() for address in page.fetched if is_remote(address)] == [
        "//cdn.org/p.png",
        "https://x.org/y",
        "https://x.org/s.js",
    ]
    assert dead_links(site) == ["a.html: b.html#c", "a.html: #no"]
    assert addresses_in("@import 'a.css'; b { src: url(\"c.woff2\") }") == ["a.css", "c.woff2"]
    assert formulas_of("$a$ and `$b$`\n```console\n$ c $\n```\n$$d\n\\tag{1}$$ $e$") == ["a", "d\n\\tag{1}", "e"]


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("$\\nosuchcommand x$", "formula not understood"),
        ("[lost](nowhere.md)", "nowhere.md"),
        ("[lost](index.md#no-such-heading)", "no-such-heading"),
        ("[lost](../tests/no_such_file.py)", "no_such_file.py"),
    ],
)
def test_a_wrong_page_ends_the_build(tmp_path, text, warning):
    source = tmp_path / "docs"
    source.mkdir()
    for name in ("conf.py", "_ext", "_static"):
        (source / name).symlink_to(DOCS / name)
    (tmp_path / "LICENSE").write_text("", encoding="utf-8")
    (source / "index.md").write_text("# A title\n\nRight: $x_i$ and [a file](../LICENSE).\n", encoding="utf-8")
    assert build(source, tmp_path / "right") == ""
    assert "LICENSE" not in Page((tmp_path / "right" / "index.html").read_text("utf-8")).links
    (source / "index.md").write_text(f"# A title\n\n{text}\n", encoding="utf-8")
    assert warning in build(source, tmp_path / "wrong")
