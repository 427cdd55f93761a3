"""The lines for the console of the browser in docs/play.md run."""

import pytest

from tests.docs.test_docs import FENCE, ROOT

pytestmark = pytest.mark.complete


def test_the_lines_of_the_page_run(page):
    text = (ROOT / "docs" / "play.md").read_text("utf-8")
    (code,) = [match["code"] for match in FENCE.finditer(text) if match["language"] == "js"]
    assert "learner.clusters();" in code
    assert page.evaluate(f"async () => {{ {code}\n return [learner.done, learner.isWarming]; }}") == [2, True]
