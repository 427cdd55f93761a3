"""The page to play with: milliseconds of the main thread for a frame, at 1,000 points a second.

Run: python bench/web.py [--seconds 10] [--rounds 3] [--picture docs/pictures/play.png]. Needs clang, lld, chromium and
playwright. Prints a line of JSON for each source of points and each slowdown of the processor: 1, and 4 as a small
laptop (that of Chromium's developer tools). ``work`` is the time of the page's own frame function on the clock.
``script`` is the processor time of the page's code for a frame, and ``cpu`` that of the whole main thread: also style,
layout, garbage and, as there is no GPU, painting. Others at work on the machine cost ``work`` most. --picture also
saves the picture of README.md.
"""

from __future__ import annotations

import argparse
import io
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from machine import about
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "web"))

import build  # noqa: E402  (of web/)
import chromium  # noqa: E402

SPEED = 1000  # points a second
WARM = 800  # points before a measurement: code is compiled, and the canvas has points
PICTURED = 2200  # points: one source has parted, one has ended
SHADES = 256  # of the picture


def measured(page: Any, source: str, slowdown: int, seconds: float) -> dict[str, Any]:
    """Frames of a page that learns ``SPEED`` points a second, on a processor so many times as slow."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.check(f"input[value={source}]")
    if source == "paint":
        page.evaluate("for (let i = 0; i < 6; i++) document.getElementById('example').click()")
    page.evaluate(f"mapdpm.page.player.speed = {SPEED}")
    session.send("Emulation.setCPUThrottlingRate", {"rate": slowdown})
    while page.evaluate("mapdpm.page.shown.learned") < WARM:
        time.sleep(0.1)
    page.evaluate("mapdpm.page.frames.length = 0")
    before = _seconds(session)
    learned = page.evaluate("mapdpm.page.shown.learned")
    time.sleep(seconds)
    frames = page.evaluate("mapdpm.page.frames")
    spent = {name: 1000 * (value - before[name]) / len(frames) for name, value in _seconds(session).items()}
    learned = page.evaluate("mapdpm.page.shown.learned") - learned
    session.send("Emulation.setCPUThrottlingRate", {"rate": 1})
    work = [frame["work"] for frame in frames]
    length = (frames[-1]["at"] - frames[0]["at"]) / 1000
    return {
        "source": source,
        "slowdown": slowdown,
        "frames_a_second": round((len(frames) - 1) / length, 1),
        "points_a_second": round(learned / length),
        "work_ms": round(statistics.median(work), 2),
        "work_ms_95": round(statistics.quantiles(work, n=20)[-1], 2),
        "script_ms": round(spent["ScriptDuration"], 2),
        "cpu_ms": round(spent["TaskDuration"], 2),
    }


def _seconds(session: Any) -> dict[str, float]:
    """Processor time of the main thread so far."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return {each["name"]: each["value"] for each in metrics if each["name"].endswith("Duration")}


def _rounds(browser: Any, address: str, source: str, slowdown: int, options: Any) -> Iterator[dict[str, Any]]:
    for _ in range(options.rounds):
        page = chromium.opened(browser, address)
        yield measured(page, source, slowdown, options.seconds)
        page.context.close()


def draw(page: Any, target: Path) -> None:
    """Save the picture: the page in the middle of its example, with a half-life."""
    page.fill("#half-life", "3")
    page.click("#play")
    page.click("#example")
    page.evaluate(f"mapdpm.page.player.learn({PICTURED}, Infinity); mapdpm.page.wake()")
    page.wait_for_timeout(2000)
    shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    shot.quantize(SHADES, kmeans=2).save(target, optimize=True)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=3, help="the round of least cpu is printed")
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    if problem := build.missing_tools() or chromium.what_is_missing():
        print(f"not measured: {problem}", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as folder, chromium.launched() as browser:
        address = (Path(folder) / "index.html").as_uri()
        (Path(folder) / "index.html").write_text(build.page(), encoding="utf-8")
        for source in ("paint", "recording"):
            for slowdown in (1, 4):
                found = min(_rounds(browser, address, source, slowdown, options), key=lambda each: each["cpu_ms"])
                print(json.dumps({"bench": "web", **found, "browser": browser.version, **about()}), flush=True)
        if options.picture:
            draw(chromium.opened(browser, address, viewport={"width": 1280, "height": 800}), options.picture)


if __name__ == "__main__":
    main()
