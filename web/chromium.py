"""The Chromium of this machine, without a window and without network: for tests, measurements and pictures.

It is driven by playwright (PyPI), which brings no browser of its own here.
"""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
from collections.abc import Callable, Iterator
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
READY = "#status:not(:empty)"
WIDE = {"width": 1280, "height": 900}


def program() -> str | None:
    """The path of the browser."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def what_is_missing() -> str:
    """A message that names what is not there; empty if all is."""
    if importlib.util.find_spec("playwright") is None:
        return "playwright is missing; pip install 'mapdpm[test-all]'"
    return "" if program() else "there is no browser; on Debian and Ubuntu: apt-get install chromium"


@contextlib.contextmanager
def launched() -> Iterator[Any]:
    """A browser of playwright."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  (an optional package)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(), args=list(FLAGS))
        yield browser
        browser.close()


def opened(browser: Any, address: str, listen: Callable[[Any], object] | None = None, **options: Any) -> Any:
    """A page of an own context with these options, ready to be used. ``listen`` gets it before it loads."""
    page = browser.new_context(**{"viewport": WIDE} | options).new_page()
    page.set_default_timeout(20_000)
    if listen is not None:
        listen(page)
    page.goto(address)
    page.wait_for_selector(READY)
    return page
