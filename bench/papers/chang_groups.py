"""Chang2013, Figure 2: super-clusters of neighbours, and super-clusters thrown at random."""

from __future__ import annotations

from typing import Any

import numpy as np
from chang_samplers import CLUSTERS, normals, wishart
from exhibits import Claim, Exhibit, Setting
from matplotlib.figure import Figure
from noise import mean_and_error

from mapdpm.partition_priors import DirichletProcess
from mapdpm.rng import seeded
from mapdpm.samplers import Chain
from mapdpm.samplers._neighbours import connected, draw_neighbours

GROUPS, DRAWS = 8, 200


def figure2(setting: Setting) -> Exhibit:
    """How often the nearest cluster is in the super-cluster of a cluster."""
    X, z = normals(2000)
    family = wishart(X).for_data(X)
    parameters = parameters_of(family, X, z)
    far = np.array([[family.divergence(a, b) for b in parameters] for a in parameters])
    np.fill_diagonal(far, np.inf)
    nearest, rng = far.argmin(axis=1), seeded(0)
    near = [connected(draw_neighbours(family, parameters, rng)) for _ in range(DRAWS)]
    thrown = np.random.default_rng(0).integers(0, GROUPS, (DRAWS, CLUSTERS))
    together = {name: np.mean(np.asarray(each) == np.asarray(each)[:, nearest], axis=1) for name, each in
                (("neighbours", near), ("at random", thrown))}  # fmt: skip
    (mean, error), (other, other_error) = map(mean_and_error, together.values())
    claim = Claim(
        "Super-clusters group similar clusters; those of Lovell et al. are essentially random.",
        "similar (pictures)",
        f"{mean:.2f} ± {error:.2f} of clusters are with the nearest other one, {other:.2f} ± {other_error:.2f} of "
        f"those thrown at random, where chance is {1 / GROUPS:.2f}",
        mean - other > 10.0 * float(np.hypot(error, other_error)) and abs(other - 1 / GROUPS) < 4.0 * other_error,
        "more by ten standard errors, and at random within four of chance",
    )
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    for ax, groups, title in zip(
        figure.subplots(1, 2, sharey=True), (near[0], thrown[0]), ("neighbours", "at random"), strict=True
    ):
        ax.scatter(*X.T, c=np.unique(groups, return_inverse=True)[1][z], cmap="tab10", vmin=0, vmax=9, s=3)
        ax.set_title(title, fontsize="medium")
    figure.savefig(setting.pictures / "chang2013-figure2.png", dpi=90)
    note = (
        f"2,000 points of ten normal clusters, parameters drawn once given the true clusters, {DRAWS} draws of "
        f"super-clusters: those of neighbours (Algorithm 1; exp(-4 J) as in the authors' program), and {GROUPS} "
        "groups that clusters are thrown into. A colour is a super-cluster."
    )
    return Exhibit(
        "Super-clusters", (claim,), picture="chang2013-figure2.png",
        alt="Ten clusters coloured by super-cluster: neighbours have one colour on the left, any clusters on the right",
        note=note,
    )  # fmt: skip


def parameters_of(family: Any, X: Any, z: Any) -> Any:
    """A draw of the parameters of each cluster given its points."""
    rows, rng = Chain(family, DirichletProcess(1.0), X, z).state.rows, seeded(1)
    parameters = np.empty((CLUSTERS, family.n_parameters()))
    for k in range(CLUSTERS):
        family.draw(rows[k], parameters[k], rng)
    return parameters
