"""Links to files of the repository that are no pages: their text remains, for the site has no such files.

On GitHub ``[tests/docs/test_docs.py](../tests/docs/test_docs.py)`` is a link; here it is plain text. The file must
exist.
"""

# ruff: noqa: INP001  (beside conf.py, which puts its folder on the path)

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

_logger = logging.getLogger(__name__)


def setup(app: Any) -> dict[str, Any]:
    """Register the transform."""
    app.add_transform(PlainRepositoryLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class PlainRepositoryLinks(SphinxTransform):
    """Replace links that lead out of the folder of the documentation by what they say."""

    default_priority = 5  # before files to download are collected

    def apply(self, **kwargs: Any) -> None:  # noqa: ARG002  (the interface of docutils)
        """Change the document in place."""
        home = Path(self.app.srcdir).resolve()
        page = Path(self.env.doc2path(self.env.docname)).resolve()
        kinds = (addnodes.pending_xref, addnodes.download_reference)
        for node in [*self.document.findall(lambda node: isinstance(node, kinds))]:
            target = str(node["reftarget"]).partition("#")[0]
            if "../" not in f"{target}/" or ":" in target:
                continue
            file = (page.parent / target).resolve()
            if file.is_relative_to(home):
                continue
            if not file.exists():
                _logger.warning("link to a file that is not there: %s", target, location=node)
            node.replace_self(nodes.inline("", "", *node.children))
