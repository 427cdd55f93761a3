"""The page to play with as a part of the site: web/index.html there is the built page, not its source.

A link to ``../web/index.html`` is one to the built page. Without the tools that build it, the site has no such page.
The link is plain text then, as others to files of the repository.
"""

# ruff: noqa: INP001  (beside conf.py, which puts its folder on the path)

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

WEB = Path(__file__).resolve().parents[2] / "web"
SOURCE, TARGET = "../web/index.html", "web/index.html"
_spec = importlib.util.spec_from_file_location("mapdpm_web_build", WEB / "build.py")
build = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(build)


def setup(app: Any) -> dict[str, Any]:
    """Register the transform, and the end of a build."""
    app.add_transform(LinksToThePage)
    app.connect("build-finished", add_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class LinksToThePage(SphinxTransform):
    """Replace links to the source of the page by those to the built one."""

    default_priority = 4  # before those of other files become plain text

    def apply(self, **kwargs: Any) -> None:  # noqa: ARG002  (the interface of docutils)
        """Change the document in place."""
        if build.missing_tools():
            return
        for node in [*self.document.findall(lambda node: isinstance(node, addnodes.download_reference))]:
            if node["reftarget"] == SOURCE:
                node.replace_self(nodes.reference("", "", *node.children, internal=True, refuri=TARGET))


def add_page(app: Any, problem: Exception | None) -> None:
    """Build the page into the site."""
    if problem is not None or app.builder.format != "html" or "play" not in app.env.found_docs:
        return
    if missing := build.missing_tools():
        print(f"the site has no page to play with: {missing}", file=sys.stderr)  # noqa: T201  (the site is there)
        return
    target = Path(app.outdir) / TARGET
    target.parent.mkdir(exist_ok=True)
    target.write_text(build.page(), encoding="utf-8")
