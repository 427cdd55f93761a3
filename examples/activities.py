"""Cluster the seconds of a smart watch's recording into activities, without any known activity.

Reads examples/data/smartwatch.csv, makes one point of each second (how much each channel of the sensors varied, as
a logarithm), clusters half of the recordings, and assigns the seconds of the other half to the clusters found.

    python examples/activities.py         # writes activities.png and activities.mdpm
"""

import csv
from pathlib import Path

import numpy as np

from mapdpm import MAPDPM, load, plots
from mapdpm.metrics import adjusted_mutual_info

DATA = Path(__file__).resolve().parent / "data" / "smartwatch.csv"
CHANNELS = ("accel_x", "accel_y", "accel_z", "gyro_x", "gyro_y", "gyro_z")
SECOND = 10  # samples


def seconds() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features of each second, shape (n, 6), the activity then, and the recording that it is from."""
    with DATA.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    values = np.array([[float(row[name]) for name in CHANNELS] for row in rows])
    windows = values.reshape(-1, SECOND, len(CHANNELS))  # every recording is of 100 samples
    features = np.log(windows.std(axis=1) + 1e-3)
    first = rows[::SECOND]
    return features, np.array([row["activity"] for row in first]), np.array([int(row["recording"]) for row in first])


def main() -> None:
    """Cluster half of the recordings, and find the seconds of the others in these clusters."""
    X, activity, recording = seconds()
    known = recording % 2 == 0
    model = MAPDPM(n_restarts=10).fit(X[known])
    print(f"{known.sum()} seconds: {model.n_clusters_} clusters, log joint {model.log_joint_:.1f} nats")
    model.save("activities.mdpm")

    new = X[~known]
    labels = load("activities.mdpm").predict(new, novelty=True)
    names = np.unique(activity)
    print("\nthe other recordings, cluster by cluster:")
    print("cluster  " + "  ".join(f"{name:>9}" for name in names))
    for k in range(-1, model.n_clusters_):
        counts = [int(np.sum((labels == k) & (activity[~known] == name))) for name in names]
        if k >= 0 or any(counts):
            print(f"{'new' if k < 0 else k:>7}  " + "  ".join(f"{count:>9}" for count in counts))
    print(f"\nagreement with the activities (AMI): {adjusted_mutual_info(activity[~known], labels):.2f}")

    ax = plots.clusters(model, new, labels=labels, classes=activity[~known])
    ax.figure.savefig("activities.png", dpi=120)
    print("picture: activities.png")


if __name__ == "__main__":
    main()
