"""Draw docs/pictures/*.png anew: ``python docs/draw.py``; for some pages only, ``python docs/draw.py guide streams``.

The python blocks of a page run in order, in one namespace and a folder that is removed afterwards. Then the page's
function below draws what they made; the blocks of plots.md and the scripts of the gallery draw their pictures
themselves. docs/demo.png is made by ``mapdpm demo``, pictures/papers/*.png by bench/papers/, pictures/roofline.png by
bench/report.py, pictures/missing.png by bench/missing.py --picture, pictures/gas_sensor.png by examples/gas_sensor.py,
and pictures/play.png by bench/web.py --picture.
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

from mapdpm import NormalInverseWishart, OnlineMAPDPM, plots, select_alpha
from mapdpm.plots import canvas

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"
BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
DPI = 100
SHADES = 200  # of a picture: a third of the bytes, and no difference to the eye
Names = Mapping[str, Any]


def main(pages: list[str]) -> None:
    """Draw the pictures of some pages, or of all."""
    for page in pages or list(PAGES):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            Path("pictures/gallery").mkdir(parents=True)
            names = _run(HERE.parent / "README.md" if page == "readme" else HERE / f"{page}.md")
            PAGES[page](names)
            for picture in Path("pictures").rglob("*.png"):
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


def _example(script: Path, folder: str, *options: str) -> None:
    """Run a script that writes its picture."""
    subprocess.run([sys.executable, script, *options], cwd=folder, check=True, stdout=subprocess.DEVNULL)  # noqa: S603


def gallery(_: Names) -> None:
    """Let each script draw its picture."""
    for script in sorted((EXAMPLES / "gallery").glob("*.py")):
        _example(script, "pictures/gallery")


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


def large_data(names: Names) -> None:
    """Draw a few of the points in the clusters of the fit, and the clusters of the streams that were merged."""
    figure, (left, right) = _panels(1, 2, sharex=True, sharey=True)
    plots.clusters(names["model"], names["X"][:2000], ax=left).get_legend().remove()
    left.set_title("a fit of 300,000 points; 2,000 are drawn", loc="left")
    plots.clusters(OnlineMAPDPM.merged(names["learners"]), ax=right).get_legend().remove()
    right.set_title("four streams, merged: no points are kept", loc="left")
    _save(figure, "large-data")


def features(names: Names) -> None:
    """Draw the room of the first example, and the scores of its residuals."""
    scores = np.concatenate([np.full(24, np.nan), names["scores"]])  # the first day is not scored
    days, found = names["hours"] / 24.0, np.nanargmin(scores)
    figure, panels = _panels(2, 1, sharex=True)
    titles = ("temperature", "log density of\nthe residual (nats)")
    for ax, values, title in zip(panels, (names["X"][:, 0], scores), titles, strict=True):
        canvas.axes(ax).plot(days, values, ".-", color=canvas.INK, linewidth=0.8, markersize=3.0)
        ax.plot(days[found], values[found], "o", color="tab:red")
        ax.set_ylabel(title)
    panels[1].set_xlabel("days")
    _save(figure, "seasonal")


def messages(_: Names) -> None:
    """Draw the parts of a message, each below what it says."""
    try:
        NormalInverseWishart(m0=0.0, c0=0.1, nu0=4.0, psi0=[[1, 2], [0, 1]])
    except ValueError as error:
        message = str(error)
    parts = re.fullmatch("(.*, )(got .*; )(.*)", message).groups()
    figure = Figure(figsize=(9.0, 0.9))
    ax = figure.add_axes((0.01, 0.0, 0.98, 1.0), xlim=(0.0, len(message)), ylim=(0.0, 1.0))
    ax.axis("off")
    size = 0.98 * 9.0 * 72.0 / (0.602 * len(message))  # letters of this font are 0.602 of their size wide
    begin = 0
    for part, says in enumerate(("what was wrong", "what was got", "what to do")):
        shade, end = canvas.colour(part, 3), begin + len(parts[part])
        ax.text(begin, 0.72, parts[part], family="DejaVu Sans Mono", fontsize=size, va="center")
        ax.plot([begin, end - 1], [0.5, 0.5], color=shade, linewidth=2.5)
        ax.text(begin, 0.22, says, color=shade, weight="bold", va="center")
        begin = end
    _save(figure, "message")


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
    "features": features,
    "large-data": large_data,
    "messages": messages,
    "streams-how": lambda _: _example(EXAMPLES / "life_of_clusters.py", "pictures", "--picture", "lives.png"),
    "gallery": gallery,
    "command-line": lambda _: _fit("data.csv", "command-line", "--columns", "height,width"),
    "plots": lambda _: None,  # its blocks have drawn
}

if __name__ == "__main__":
    main(sys.argv[1:])
