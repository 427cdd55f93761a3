"""How Sphinx builds the site from the pages of this folder: ``sphinx-build -W docs build/site``. Nothing is fetched."""

# ruff: noqa: INP001  (a script of Sphinx, not a package)

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS.parent), str(DOCS / "_ext")]

import mapdpm  # noqa: E402

project = "mapdpm"
author = "The mapdpm developers"
version = release = mapdpm.__version__
html_title = f"mapdpm {release}"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "plain_docstrings",
    "numpydoc",
    "mathml",
    "page_to_play",
    "repository_links",
]
exclude_patterns = ["_*"]
source_suffix = {".md": "markdown"}
nitpicky = True

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3  # as on GitHub
copybutton_prompt_text = r">>> |\.\.\. "  # of the examples in docstrings; those of pages have no prompts
copybutton_prompt_is_regexp = True
copybutton_selector = "div:not(.highlight-text) > div.highlight > pre"  # text is output
smartquotes = False  # much of what stands in quotes is code

# Types are in the docstrings, with what they mean.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
autosummary_generate = False  # numpydoc brings autosummary, which is not used

toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#2a6b4a",
        "color-brand-content": "#1d5f99",
        "color-brand-visited": "#1d5f99",
        "color-api-name": "#2a6b4a",
        "color-api-pre-name": "#2a6b4a",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7fc79e",
        "color-brand-content": "#7db7e8",
        "color-brand-visited": "#7db7e8",
        "color-api-name": "#7fc79e",
        "color-api-pre-name": "#7fc79e",
    },
}
html_static_path = ["_static"]
html_css_files = ["mapdpm.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
pygments_style, pygments_dark_style = "friendly", "github-dark"
