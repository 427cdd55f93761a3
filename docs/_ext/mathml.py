r"""Formulas as MathML, made when the site is built: no script and no font is fetched when a page is read.

``\tag{n}`` becomes a number at the margin, with the anchor ``equation-n``.
"""

# ruff: noqa: INP001  (beside conf.py, which puts its folder on the path)

from __future__ import annotations

import re
from html import escape
from typing import Any

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.util import logging

_TAG = re.compile(r"\s*\\tag\{([^{}]*)\}\s*$")
_LEAF = re.compile(r">[^<>\s]+<")
_MANY = 75  # letters, numbers and signs: a formula of more is set smaller, to fit the page
_CONVERTER = LatexToMathML(fancy_error=False)
_logger = logging.getLogger(__name__)


def setup(app: Any) -> dict[str, Any]:
    """Register the renderer ``mathml``, and choose it."""
    app.add_html_math_renderer("mathml", inline_renderers=(_visit_inline, None), block_renderers=(_visit_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _visit_inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(_mathml(node, node.astext(), displaystyle=False))
    raise nodes.SkipNode


def _visit_block(translator: Any, node: nodes.math_block) -> None:
    latex, number = node.astext().strip(), ""
    if tag := _TAG.search(latex):
        latex, name = latex[: tag.start()], escape(tag[1])
        anchor = f"equation-{name}"
        number = f'<a class="equation-number" id="{anchor}" href="#{anchor}">({name})</a>'
    formula = _mathml(node, latex, displaystyle=True)
    size = "equation wide" if len(_LEAF.findall(formula)) > _MANY else "equation"
    translator.body.append(f'<div class="{size}"><div class="formula">{formula}</div>{number}</div>\n')
    raise nodes.SkipNode


def _mathml(node: nodes.Node, latex: str, *, displaystyle: bool) -> str:
    try:
        return _CONVERTER.convert_with_local_state(latex, displaystyle=displaystyle)
    except LatexError as error:  # a warning ends the build, by -W
        _logger.warning("formula not understood: %s: %s", latex, error, location=node)
        return f"<code>{escape(latex)}</code>"
