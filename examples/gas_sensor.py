"""Tell gases apart by sensors that drift: identities over ten batches, of which no point is labelled.

The data is made here after the drift of metal-oxide sensors: two features of four gases, in batches months apart. The
response to each gas wanders, as sensors age, further than gases are apart; and a gas may be missing from a batch.
MAPDPM clusters all batches as one. OnlineMAPDPM with forgetting follows them point by point. DependentDP knows the
batches: a cluster's mean is a smooth path, and it has one label in all of them.

    python examples/gas_sensor.py         # prints how well each tells gases apart, and writes gas_sensor.png
"""

import numpy as np
from matplotlib.figure import Figure

from mapdpm import MAPDPM, DependentDP, DriftingNormal, OnlineMAPDPM
from mapdpm.metrics import adjusted_mutual_info

BATCHES, POINTS = 10, 120
GASES = ("ethanol", "ammonia", "acetone", "toluene")
PLACES = np.array([[0.0, 0.0], [2.5, 0.0], [0.0, 2.5], [2.5, 2.5]])
AGEING = np.array([[0.32, 0.18], [0.28, 0.22], [0.36, 0.12], [0.30, 0.25]])  # a batch


def measured(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The points, the batch and the gas of each."""
    batch = np.repeat(np.arange(BATCHES), POINTS)
    gas = rng.integers(0, len(GASES), len(batch))
    gas[(batch == 4) & (gas == 2)] = 0  # no acetone in that batch
    wander = np.cumsum(rng.normal(0.0, 0.12, (BATCHES, len(GASES), 2)), axis=0)
    centres = PLACES + AGEING * np.arange(BATCHES)[:, None, None] + wander
    return centres[batch, gas] + rng.normal(0.0, 0.35, (len(batch), 2)), batch, gas


def main() -> None:
    """Cluster by three models, and draw the paths of means."""
    X, batch, gas = measured(np.random.default_rng(1))
    flat = MAPDPM(random_state=0).fit(X)
    stream = OnlineMAPDPM(half_life=POINTS, warmup=POINTS)
    ids = stream.learn_many(X)
    prior = DriftingNormal(X.mean(axis=0), X.var(axis=0), rate=0.1, nu0=6.0, psi0=0.5)
    model = DependentDP(likelihood=prior, draws=500, random_state=0).fit(X, batch)

    print("agreement with the gases (AMI), over all batches:")
    print(f"MAPDPM, one partition of all points: {adjusted_mutual_info(gas, flat.labels_):.2f}")
    print(f"OnlineMAPDPM with forgetting: {adjusted_mutual_info(gas, ids):.2f}")
    print(f"DependentDP: {adjusted_mutual_info(gas, model.labels_):.2f}, {model.n_clusters_} clusters")

    figure = Figure(figsize=(10.0, 4.6), layout="constrained")
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    for ax, labels, title in zip(axes, (gas, model.labels_), ("gases", "clusters of DependentDP"), strict=True):
        for k in range(labels.max() + 1):
            ax.scatter(*X[labels == k].T, s=4.0 + batch[labels == k], color=f"C{k % 10}", alpha=0.3, linewidths=0.0)
        ax.set_title(f"{title}; larger dots are later")
    for k in range(model.n_clusters_):
        seen = np.unique(batch[model.labels_ == k])
        axes[1].plot(*model.means_[k, seen[0] : seen[-1] + 1].T, "o-", color=f"C{k % 10}", markersize=3.0)
    figure.savefig("gas_sensor.png", dpi=110)
    print("picture: gas_sensor.png")


if __name__ == "__main__":
    main()
