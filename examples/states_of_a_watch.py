"""Segment a smart watch's recording into states, as a stream and as a whole, without any known activity.

Reads examples/data/smartwatch.csv as activities.py does, which lies beside it: one point a second. Recordings are put
in a row, as if someone did one thing for a while, and then another. OnlineHDPHMM learns second after second in fixed
memory; HDPHMM sees all of it.

    python examples/states_of_a_watch.py         # writes states_of_a_watch.png
"""

import numpy as np
from activities import seconds

from mapdpm import HDPHMM, OnlineHDPHMM, OnlineMAPDPM, plots
from mapdpm.metrics import adjusted_mutual_info

MINUTES = 10  # recordings of one activity in a row: someone does one thing for a while


def main() -> None:
    """Put recordings in a row, and find the states."""
    X, activity, recording = seconds()
    rng = np.random.default_rng(0)
    of_activity = {name: rng.permutation(np.unique(recording[activity == name])) for name in np.unique(activity)}
    turns = [parts[i : i + MINUTES] for parts in of_activity.values() for i in range(0, len(parts), MINUTES)]
    order = np.concatenate([turns[i] for i in rng.permutation(len(turns))])
    rows = np.concatenate([np.flatnonzero(recording == each) for each in order])
    X, activity = X[rows], activity[rows]

    stream, flat = OnlineHDPHMM(kappa=10.0, warmup=50), OnlineMAPDPM(warmup=50)
    ids = stream.learn_many(X)
    print(f"{len(X)} seconds; agreement with the activities (AMI) after the first 100:")
    print(f"OnlineHDPHMM, {stream.nbytes:,} bytes: {adjusted_mutual_info(activity[100:], ids[100:]):.2f}")
    print(f"OnlineMAPDPM: {adjusted_mutual_info(activity[100:], flat.learn_many(X)[100:]):.2f}")
    model = HDPHMM(kappa=10.0).fit(X)
    print(
        f"HDPHMM: {adjusted_mutual_info(activity[100:], model.labels_[100:]):.2f}, {model.n_states_} states,", end=" "
    )
    print("expected to last", ", ".join(f"{each:.0f} s" for each in model.durations_))

    ax = plots.segments(model, X)
    ax.figure.savefig("states_of_a_watch.png", dpi=120)
    print("picture: states_of_a_watch.png")


if __name__ == "__main__":
    main()
