"""Follow storms through the images of a rain radar: where each is, how it moves, and which is which (Porteous2006).

The images are made here: cells of rain that move, grow, come and go. A real archive may be given instead, an .npz file
with the arrays code (images, rows, columns) and code_to_mm_per_5min. Rain becomes points, more where it rains more.
DependentDP gives a storm one label in all images. OnlineMAPDPM with forgetting reads the same points image after image,
in fixed memory, and its clusters have ids of their own.

    python examples/storms.py                    # writes storms.png
    python examples/storms.py --radar FILE.npz   # every fourth image, at most ten
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from mapdpm import DependentDP, DriftingNormal, OnlineMAPDPM
from mapdpm.diagnostics import correspondence
from mapdpm.samplers import StickBreaking

IMAGES, POINTS = 10, 900
# Of each storm: its first image and its last, place and step by image, width, and points an image.
STORMS = (
    (0, 9, (0.15, 0.30), (0.045, 0.020), 0.030, 30),
    (0, 9, (0.20, 0.75), (0.050, -0.010), 0.035, 35),
    (0, 5, (0.60, 0.20), (0.030, 0.030), 0.025, 20),
    (3, 9, (0.25, 0.55), (0.060, 0.010), 0.030, 25),
)


def made() -> tuple[np.ndarray, np.ndarray]:
    """The points of all images, and the image of each."""
    rng = np.random.default_rng(0)
    X, images = [], []
    for first, last, place, step, width, points in STORMS:
        for t in range(first, last + 1):
            n = rng.poisson(points)
            X.append(np.add(place, np.multiply(t, step)) + width * rng.normal(size=(n, 2)))
            images.append(np.full(n, t))
    order = np.argsort(np.concatenate(images), kind="stable")
    return np.concatenate(X)[order], np.concatenate(images)[order]


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The points of a radar's images: blocks of ten pixels have as many as it rains there."""
    with np.load(path) as file:
        rain = np.nan_to_num(file["code_to_mm_per_5min"][file["code"][::4][:IMAGES]])
    rows, columns = (size // 10 for size in rain.shape[1:])
    blocks = rain[:, : 10 * rows, : 10 * columns].reshape(len(rain), rows, 10, columns, 10).mean(axis=(2, 4))
    unit = blocks.sum() / POINTS
    for _ in range(50):  # blocks of less than a point have none
        unit *= np.floor(blocks / unit).sum() / POINTS
    counts = np.floor(blocks / unit).astype(int)
    image, y, x = np.nonzero(counts)
    at = np.stack([x + 0.5, rows - y - 0.5], axis=1) / max(rows, columns)
    return np.repeat(at, counts[image, y, x], axis=0), np.repeat(image, counts[image, y, x])


def main() -> None:
    """Follow the storms, and draw them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--radar", type=Path)
    given = parser.parse_args()
    X, images = made() if given.radar is None else read(given.radar)

    prior = DriftingNormal(m0=X.mean(axis=0), variance=0.1, rate=0.05, nu0=4.0, psi0=0.002)
    shares = StickBreaking.gamma_family(gamma=1.0, decay=0.7)
    model = DependentDP(sticks=shares, likelihood=prior, random_state=0).fit(X, images)
    print(f"{len(X)} points in {images.max() + 1} images: DependentDP finds {model.n_clusters_} storms")
    print(f"neighbours in neighbouring images have one label: {correspondence(X, images, model.labels_):.0%}", end=", ")
    stream = OnlineMAPDPM(half_life=150.0, max_clusters=32, warmup=50)
    ids = stream.learn_many(X)
    print(f"one of {len(np.unique(ids))} ids of OnlineMAPDPM: {correspondence(X, images, ids):.0%}")
    for k in range(model.n_clusters_):
        seen = np.unique(images[model.labels_ == k])
        way = model.means_[k, seen[-1]] - model.means_[k, seen[0]]
        speed = np.hypot(*way) / max(seen[-1] - seen[0], 1)
        print(f"storm {k}: images {seen[0]} to {seen[-1]}, {np.sum(model.labels_ == k)} points, {speed:.3f} an image")

    figure = Figure(figsize=(12.0, 5.2), layout="constrained")
    for t, ax in enumerate(figure.subplots(2, 5, sharex=True, sharey=True).ravel()):
        for k in range(model.n_clusters_):
            own = X[(images == t) & (model.labels_ == k)]
            seen = np.unique(images[model.labels_ == k])
            path = model.means_[k, seen[seen <= t]]
            ax.plot(*path.T, color=f"C{k % 10}", linewidth=1.0, alpha=0.6)
            ax.plot(*own.T, ".", color=f"C{k % 10}", markersize=3.0)
        ax.set_title(f"image {t}", fontsize=9)
    figure.savefig("storms.png", dpi=110)
    print("picture: storms.png")


if __name__ == "__main__":
    main()
