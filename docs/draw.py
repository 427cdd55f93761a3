"""Draw docs/pictures/*.png anew: ``python docs/draw.py``; for some pages only, ``python docs/draw.py guide streams``.

The python blocks of a page run in order, in one namespace and a folder that is removed afterwards. Then the page's
function below draws what they made; the blocks of plots.md draw their pictures themselves. docs/demo.png is made by
``mapdpm demo``, pictures/papers/*.png by bench/papers/, pictures/roofline.png by bench/report.py, pictures/missing.png
by bench/missing.py --picture, and pictures/gas_sensor.png by examples/gas_sensor.py.
"""  # noqa: INP001  (a script, not a package)

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from PIL import Image

from mapdpm import OnlineMAPDPM, plots, select_alpha
from mapdpm.plots import canvas

HERE = Path(__file__).resolve().parent
BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
DPI = 100
SHADES = 200  # of a picture: a third of the bytes, and no difference to the eye
Names = Mapping[str, Any]


def main(pages: list[str]) -> None:
    """Draw the pictures of some pages, or of all."""
    for page in pages or list(PAGES):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            Path("pictures").mkdir()
            names = _run(HERE.parent / "README.md" if page == "readme" else HERE / f"{page}.md")
            PAGES[page](names)
            for picture in Path("pictures").glob("*.png"):
                Image.open(picture).convert("RGB").quantize(SHADES).save(HERE / picture, optimize=True)
            os.chdir(HERE)


def _run(page: Path) -> Names:
    """Run the blocks as tests/docs/test_docs.py does."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        exec(compile(block, page, "exec"), names)  # noqa: S102  (our own page)
    return names


def _save(figure: Any, name: str) -> None:
    figure.savefig(f"pictures/{name}.png", dpi=DPI)


def _panels(rows: int, columns: int, **options: Any) -> tuple[Figure, Any]:
    figure = Figure(figsize=(9.0, 4.2), layout="constrained")
    return figure, figure.subplots(rows, columns, **options)


def _fit(file: str, name: str, *options: str) -> None:
    """Draw a file that a page has written, as its command does."""
    command = ["fit", file, "--picture", f"pictures/{name}.png", "--quiet", *options]
    subprocess.run([sys.executable, "-m", "mapdpm", *command], check=True)  # noqa: S603  (our own command)


def guide(names: Names) -> None:
    """Draw its model, and clusters drawn beside clusters found."""
    _save(plots.clusters(names["model"], names["X"]).figure, "guide")
    figure, panels = _panels(1, 2, sharex=True, sharey=True)
    for ax, kind, labels in zip(panels, ("drawn", "found"), (names["truth"], names["found"].labels_), strict=True):
        plots.clusters(None, names["points"], labels=labels, ax=ax).get_legend().remove()
        ax.set_title(f"{labels.max() + 1} clusters {kind}", loc="left")
    _save(figure, "mode")


def choosing(names: Names) -> None:
    """Draw the scores of the first choice on the page."""
    found = select_alpha(names["X"], [0.1, 1.0, 10.0], likelihood=names["prior"])
    _save(found.plot().figure, "choosing")


def streams(names: Names) -> None:
    """Draw the stream that changes: its points by cluster, and the weights of clusters, over time."""
    levels, step = names["levels"], 25
    model = OnlineMAPDPM(max_clusters=8, half_life=200)
    ids, weights = [], []
    for begin in range(0, len(levels), step):
        ids += model.learn_many(levels[begin : begin + step, None]).tolist()
        if model.n_clusters:
            ids = [model.resolve(number) for number in ids] if not weights else ids  # those of the warm-up
            weights += [(begin + step, *each) for each in zip(model.ids.tolist(), model.weights.tolist(), strict=True)]
    figure, (above, below) = _panels(2, 1, sharex=True)
    known = sorted(set(ids))
    for place, number in enumerate(known):
        shade = canvas.colour(place, len(known))
        own = [n for n, other in enumerate(ids) if other == number]
        if len(own) > 1:
            above.plot(own, levels[own], ".", color=shade, markersize=2.5)
            own_weights = [(when, weight) for when, other, weight in weights if other == number]
            below.plot(*zip(*own_weights, strict=True), color=shade, label=f"cluster {number}")
        else:
            above.plot(own, levels[own], "x", color=canvas.INK, markersize=6.0)
    above.set_ylabel("value")
    below.set_ylabel("weight")
    below.set_xlabel("points")
    below.legend(loc="lower right", fontsize="small", frameon=False)
    _save(figure, "streams")


def alarms(names: Names) -> None:
    """Draw the stream with three incidents, and its surprises."""
    _save(plots.surprise(None, names["X"], names["found"], names["alarm"])[0].figure, "alarms")


def groups(names: Names) -> None:
    """Draw the shares of the clusters in each room."""
    _save(names["ax"].figure, "groups")


def samplers(names: Names) -> None:
    """Draw the summary partition, the posterior of the number of clusters, and what ``plots`` has for draws."""
    figure, (left, right) = _panels(1, 2)
    plots.clusters(None, names["X"], labels=names["summary"], ax=left).set_title("vi_estimate", loc="left")
    shares = names["trace"].n_clusters_posterior()
    right.bar(range(len(shares)), shares, color=canvas.GREY)
    right.set_xlim(np.flatnonzero(shares)[0] - 1.0, len(shares))
    right.xaxis.set_major_locator(MaxNLocator(integer=True))
    right.set_xlabel("clusters")
    right.set_ylabel("share of draws")
    right.set_title("n_clusters_posterior", loc="left")
    _save(figure, "samplers")
    figure, (left, right) = _panels(1, 2)
    plots.trace(names["trace"], of="n_clusters", ax=left)
    plots.similarity(names["trace"], ax=right)
    _save(figure, "draws")


def river(names: Names) -> None:
    """Draw the points in the clusters that the pipeline predicts."""
    points = [dict(enumerate(row)) for row in names["X"].tolist()]
    ids = [names["model"].predict_one(x) for x in points]
    labels = np.unique(ids, return_inverse=True)[1]
    _save(plots.clusters(None, names["X"], labels=labels).figure, "river")


def documents(names: Names) -> None:
    """Draw the topics of the last draw."""
    figure = names["ax"].figure
    figure.set_size_inches(6.6, 2.4)
    _save(figure, "topics")


PAGES: dict[str, Callable[[Names], None]] = {
    "readme": lambda _: _fit("your.csv", "readme"),
    "first-steps": lambda _: _fit("data.csv", "first-steps"),
    "guide": guide,
    "choosing": choosing,
    "groups": groups,
    "samplers": samplers,
    "documents": documents,
    "states": lambda names: _save(names["segments"].figure, "segments"),
    "streams": streams,
    "alarms": alarms,
    "river": river,
    "command-line": lambda _: _fit("data.csv", "command-line", "--columns", "height,width"),
    "plots": lambda _: None,  # its blocks have drawn
}

if __name__ == "__main__":
    main(sys.argv[1:])
