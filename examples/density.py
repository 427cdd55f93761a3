"""Estimate the density of galaxy velocities, and the number of groups: a density in one dimension.

82 made-up velocities in the manner of the survey that every text on mixtures shows: a bulk near 20,000 km/s that may be
two, and a few far from it. The prior says how wide a group is, so it is chosen by the density of held-out velocities.

    python examples/density.py            # writes density.png
"""

import numpy as np

from mapdpm import MAPDPM, NormalGamma, plots

FOLDS = 5


def velocities(rng: np.random.Generator) -> np.ndarray:
    """Draw 82 velocities in thousands of km/s, shape (82, 1)."""
    groups = [(7, 9.7, 0.4), (36, 19.8, 0.7), (33, 22.9, 1.0), (3, 26.9, 0.6), (3, 33.0, 0.9)]
    drawn = [rng.normal(centre, spread, size) for size, centre, spread in groups]
    return rng.permutation(np.concatenate(drawn))[:, None]


def held_out_density(X: np.ndarray, width: float) -> float:
    """Return the mean log density, in nats, of velocities that were left out of the fit: higher is better."""
    fold = np.arange(len(X)) % FOLDS
    return float(np.mean([model(X[fold != k], width).score(X[fold == k]) for k in range(FOLDS)]))


def model(X: np.ndarray, width: float) -> MAPDPM:
    """Fit groups that are about ``width`` thousand km/s wide, before any is seen: b0 / a0 is that, squared."""
    prior = NormalGamma(m0=20.0, c0=0.05, a0=2.0, b0=2.0 * width**2)
    return MAPDPM(alpha=1.0, likelihood=prior).fit(X)


def main() -> None:
    """Choose the width by held-out density, fit, and draw."""
    X = velocities(np.random.default_rng(82))
    widths = [0.1, 0.25, 0.5, 1.0, 2.0, 4.0]
    scores = []
    for width in widths:
        scores.append(held_out_density(X, width))
        print(f"groups about {width:4.2f} thousand km/s wide: held-out log density {scores[-1]:7.3f} nats")
    best = widths[int(np.argmax(scores))]
    fitted = model(X, best)
    print(f"\nwith {best}: {fitted.n_clusters_} groups, log joint {fitted.log_joint_:.2f} nats")
    for size, mean, variance in zip(fitted.cluster_sizes_, fitted.means_[:, 0], fitted.variances_[:, 0], strict=True):
        print(f"{size:4d} galaxies at {mean:5.1f} thousand km/s, give or take {np.sqrt(variance):.1f}")
    grid = np.linspace(5.0, 40.0, 7001)[:, None]
    inside = np.exp(fitted.score_samples(grid)).sum() * (grid[1, 0] - grid[0, 0])
    print(f"probability of a velocity between 5 and 40: {inside:.3f}")
    ax = plots.density(fitted, X)
    ax.set_xlabel("velocity, thousand km/s")
    ax.figure.savefig("density.png", dpi=120)
    print("picture: density.png")


if __name__ == "__main__":
    main()
