"""The page of web/, built and opened in a Chromium without a window. No test reaches the network."""

import importlib.util
import shutil

import pytest

from repository import ROOT

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
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 360, "height": 740}


def builder():
    """The module web/build.py."""
    spec = importlib.util.spec_from_file_location("web_build", ROOT / "web" / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    """The address of the built page, a file."""
    build = builder()
    if problem := build.missing_tools():
        pytest.skip(problem)
    path = tmp_path_factory.mktemp("web") / "index.html"
    build.main(path)
    return path.as_uri()


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is missing; pip install 'mapdpm[test]'")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("there is no browser; on Debian and Ubuntu: apt-get install chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser, address):
    """Open the page with options of a context. At the end: nothing but the file was fetched, and nothing went wrong."""
    contexts, requests, problems = [], [], []

    def open_(**options):
        context = browser.new_context(**{"viewport": WIDE} | options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text))
        page.goto(address)
        page.wait_for_selector(READY)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert {url for url in requests if not url.startswith(("blob:", "data:"))} == {address}
    assert problems == []


@pytest.fixture
def page(open_page):
    return open_page()
