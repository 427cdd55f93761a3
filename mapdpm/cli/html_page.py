"""A page of HTML that needs no network: its frame, tables, paragraphs, and pictures as inline SVG."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Sequence
from typing import Any

from mapdpm.cli.stderr import printable

_IDS = re.compile(r'(\bid="|url\(#|href="#)')
_CODE = re.compile(r"`([^`]*)`")

PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; color: #222; }}
table {{ border-collapse: collapse; margin: 1em 0; display: block; overflow-x: auto; }}
th, td {{ text-align: left; vertical-align: top; padding: 0.2em 0.8em 0.2em 0; border-bottom: 1px solid #ddd; }}
td {{ overflow-wrap: break-word; max-width: 50em; }}
th, td:first-child {{ white-space: nowrap; }}
svg {{ max-width: 100%; height: auto; }}
pre {{ background: #f4f4f4; padding: 0.8em; overflow-x: auto; }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


def svg(ax: Any, name: str) -> str:
    """A picture as inline SVG: its ids begin with ``name``, for the page has several."""
    from matplotlib import rc_context  # noqa: PLC0415  (few fits draw)

    file = io.BytesIO()
    with rc_context({"svg.hashsalt": name}):  # the same picture has the same bytes
        ax.figure.savefig(file, format="svg", metadata={"Date": None})
    text = file.getvalue().decode()
    return _IDS.sub(rf"\g<1>{name}-", text[text.index("<svg") :])


def table(rows: Sequence[Sequence[str]], titles: Sequence[str] = ()) -> str:
    """A table of texts."""

    def line(cells: Sequence[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{escaped(cell)}</{tag}>' for cell in cells)}</tr>"

    head = [line(titles, "th")] if titles else []
    return "\n".join(["<table>", *head, *(line(row, "td") for row in rows), "</table>"])


def paragraph(text: str) -> str:
    """A paragraph, in which `words` are code; nothing for no text."""
    code = _CODE.sub(r"<code>\g<1></code>", escaped(text))
    return f"<p>{code}</p>" if text else ""


def escaped(text: str, *, keep_lines: bool = False) -> str:
    """A text as HTML, without characters that cannot be printed."""
    return "\n".join(html.escape(printable(line)) for line in (text.split("\n") if keep_lines else [text]))
