"""Follow the vibration of a machine: its states, when they change, and how surprising each moment is.

The data is made here: a motor idles, runs and runs under load. Its spectrum in five bands is measured once a second.
Late in the recording a bearing fails now and then, which adds to two of the bands. The stream of states learns in fixed
memory, and the surprise of a point is minus its log density given the past.

    python examples/vibration.py         # prints the states that it finds, and writes vibration.png
"""

import numpy as np

from mapdpm import OnlineHDPHMM, plots

BANDS = ("0-50 Hz", "50-200 Hz", "200-800 Hz", "0.8-3 kHz", "3-10 kHz")
LEVELS = {  # decibel in each band
    "idle": (20.0, 22.0, 18.0, 15.0, 12.0),
    "run": (26.0, 28.0, 22.0, 17.0, 12.0),
    "load": (28.0, 31.0, 24.0, 18.5, 13.0),
    "fault": (28.0, 31.0, 25.0, 23.0, 19.0),
}
SECONDS, FAULT_FROM = 20_000, 10_000


def measured(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The levels of each second, and what the machine did."""
    names, state = [], "idle"
    for second in range(SECONDS):
        if rng.random() < 1.0 / 120.0:
            state = rng.choice([name for name in LEVELS if name != "fault"])
        failing = state == "load" and second > FAULT_FROM and second % 200 < 60
        names.append("fault" if failing else state)
    X = np.array([LEVELS[name] for name in names]) + rng.normal(0.0, 2.5, (SECONDS, len(BANDS)))
    return X, np.array(names)


def main() -> None:
    """Learn the stream, and tell what was found."""
    X, names = measured(np.random.default_rng(0))
    model = OnlineHDPHMM(kappa=20.0)
    ids, scores, changes = [], [], 0
    for x in X.tolist():
        number, score = model.learn_scored(x)
        ids.append(number)
        scores.append(score)
        changes += model.run_length == 1
    now = [model.resolve(number) for number in ids]

    print(f"{SECONDS:,} seconds, {model.n_clusters} states, {changes} changes, {model.nbytes:,} bytes")
    print("state     " + "".join(f"{name:>8}" for name in LEVELS))
    for number in model.ids.tolist():
        counts = (int(np.sum((names == name) & (np.array(now) == number))) for name in LEVELS)
        print(f"{number:>10}" + "".join(f"{count:>8,}" for count in counts))
    new = np.array(scores[FAULT_FROM:])
    fault = names[FAULT_FROM:] == "fault"
    print(f"surprise in nats: {-new[~fault].mean():.1f} as usual, {-new[fault].mean():.1f} while the bearing fails")

    last = slice(FAULT_FROM, FAULT_FROM + 1200)
    ax = plots.segments(None, X[last], labels=np.unique(now, return_inverse=True)[1][last])
    ax.figure.savefig("vibration.png", dpi=120)
    print("picture: vibration.png")


if __name__ == "__main__":
    main()
