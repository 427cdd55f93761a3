"""axe finds nothing in the page, in light and dark, wide and narrow, whatever it shows."""

import itertools
import re

import pytest

from tests.web.conftest import NARROW
from tests.web.test_page import fast, is_at_rest
from web.chromium import WIDE

pytestmark = pytest.mark.complete

# Rules of WCAG 2.2 up to AA, with the size of targets, and of good practice.
OPTIONS = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],
}


def violations(page):
    """What axe finds: the rule, and where."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python").Axe()
    found = axe.run(page, options=OPTIONS).response
    assert len(found["passes"]) > 20
    return [(each["id"], [node["target"] for node in each["nodes"]]) for each in found["violations"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_axe_finds_nothing(open_page, scheme, size):
    page = open_page(viewport=size, color_scheme=scheme)
    assert violations(page) == []
    page.get_by_role("button", name="Show an example").click()
    fast(page)
    is_at_rest(page)
    assert violations(page) == []
    page.get_by_label("CSV file", exact=True).check()
    page.locator("#csv").set_input_files({"name": "a.csv", "mimeType": "text/csv", "buffer": b"a;b\n1;2\n3;x\n"})
    page.locator("#message:not(:empty)").wait_for()
    assert page.locator("#columns input").count() == 2
    assert violations(page) == []
    page.get_by_label("Smart watch").check()
    fast(page)
    is_at_rest(page)
    assert violations(page) == []


def test_axe_would_find_something(page):
    page.evaluate("document.querySelector('label[for=alpha]').remove()")
    assert "label" in [rule for rule, _ in violations(page)]


def test_what_happens_is_spoken_now_and_then(page):
    """A status region gets a sentence at most every four seconds, while the list grows with each event."""
    assert page.locator("#spoken").get_attribute("role") == "status"
    page.evaluate(
        "globalThis.said = [];"
        "const spoken = document.getElementById('spoken');"
        "new MutationObserver(() => said.push([mapdpm.page.words.last, spoken.textContent]))"
        ".observe(spoken, { childList: true })"
    )
    page.get_by_label("Smart watch").check()
    fast(page)
    is_at_rest(page)
    page.get_by_label("Slots").fill("0")
    page.get_by_role("button", name="Again").click()
    page.get_by_label("Speed").fill("9")
    page.wait_for_timeout(4500)
    said = page.evaluate("said")
    assert said
    assert all(re.search(r"\. Clusters now: \d+\.$", text) for _, text in said)
    assert all(later - earlier >= 4000 for (earlier, _), (later, _) in itertools.pairwise(said))
