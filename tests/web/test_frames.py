"""The work of a frame, by the script that measures it; and that the page sleeps when there is nothing to do."""

import importlib.util

import pytest

from repository import ROOT
from tests.web.test_page import fast, is_at_rest

pytestmark = pytest.mark.complete

MOST = 0.5
"""The share of the main thread's time: with more, a processor half as fast could not keep up. At 60 frames a second of
3.2 ms (docs/play.md) it is 0.19. Others at work on the machine make frames longer, but also fewer."""


@pytest.fixture
def bench(monkeypatch):
    for folder in ("web", "bench"):
        monkeypatch.syspath_prepend(str(ROOT / folder))
    spec = importlib.util.spec_from_file_location("bench_web", ROOT / "bench" / "web.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("source", ["paint", "recording"])
def test_frames_leave_time(page, bench, source):
    found = bench.measured(page, source, slowdown=1, seconds=2.0)
    assert found["points_a_second"] > 0
    assert 0.0 < found["frames_a_second"] * found["cpu_ms"] / 1000.0 < MOST


def test_a_frame_ends_though_much_is_to_learn(page):
    """20,000 points are learned again in many frames."""
    page.evaluate("for (let i = 0; i < 20000; i++) mapdpm.page.paint((i * 0.37) % 1, (i * 0.61) % 1)")
    page.get_by_label("Slots").fill("30")
    fast(page)
    is_at_rest(page)
    page.evaluate("mapdpm.page.frames.length = 0")
    page.get_by_label("alpha").fill("6")
    page.locator("#events", has_text="learned 20000 points again").wait_for()
    is_at_rest(page)
    assert page.evaluate("mapdpm.page.frames.filter((frame) => frame.learned).length") > 5


def test_a_repaint_takes_many_frames(page):
    """3,000 points in other colours."""
    page.get_by_role("button", name="Show an example").click()
    fast(page)
    is_at_rest(page)
    page.evaluate("mapdpm.page.frames.length = 0; mapdpm.page.colours.read(); mapdpm.page.wake()")
    is_at_rest(page)
    assert page.evaluate("mapdpm.page.frames.length") > 5


def test_the_page_sleeps(page):
    page.get_by_role("button", name="Show an example").click()
    fast(page)
    is_at_rest(page)
    page.evaluate("mapdpm.page.frames.length = 0")
    page.wait_for_timeout(300)
    assert page.evaluate("mapdpm.page.frames.length") == 0
