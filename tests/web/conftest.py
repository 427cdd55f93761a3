"""The page of web/, built and opened in a Chromium without a window. No test reaches the network."""

import pytest

from web import build, chromium

NARROW = {"width": 360, "height": 740}


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    """The address of the built page, a file."""
    if problem := build.missing_tools():
        pytest.skip(problem)
    path = tmp_path_factory.mktemp("web") / "index.html"
    build.main(path)
    return path.as_uri()


@pytest.fixture(scope="module")
def browser():
    if problem := chromium.what_is_missing():
        pytest.skip(problem)
    with chromium.launched() as browser:
        yield browser


@pytest.fixture
def open_page(browser, address):
    """Open the page with options of a context. At the end: nothing but the file was fetched, and nothing went wrong."""
    pages, requests, problems = [], [], []

    def listen(page):
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text))

    def open_(**options):
        pages.append(chromium.opened(browser, address, listen, **options))
        return pages[-1]

    yield open_
    for page in pages:
        page.context.close()
    assert {url for url in requests if not url.startswith(("blob:", "data:"))} == {address}
    assert problems == []


@pytest.fixture
def page(open_page):
    return open_page()
