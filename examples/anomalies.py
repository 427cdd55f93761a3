"""Detect readings unlike normal ones: a score for each, and a threshold with a known rate of false alarms.

A smart watch learns what standing and walking look like; running and badminton come later. The score is the log
predictive density in nats: high is normal. A quantile of the scores of normal seconds that were held out is the
threshold, so that about one normal second in a hundred raises an alarm.

    python examples/anomalies.py          # reads the recording as activities.py does, which lies beside it
"""

import numpy as np
from activities import seconds

from mapdpm import MAPDPM

FALSE_ALARMS = 0.01


def main() -> None:
    """Learn what is normal, set the threshold, and score what came later."""
    X, activity, recording = seconds()
    normal = np.isin(activity, ["standing", "walking"])
    fitted = normal & (recording % 3 == 0)
    held_out = normal & (recording % 3 == 1)
    later = normal & (recording % 3 == 2)

    model = MAPDPM(n_restarts=5).fit(X[fitted])
    threshold = np.quantile(model.score_samples(X[held_out]), FALSE_ALARMS)
    print(f"{fitted.sum()} normal seconds, {model.n_clusters_} clusters; alarm below {threshold:.1f} nats\n")

    print("            seconds  median score  alarms")
    rates = {}
    for name, chosen in (
        ("normal", later),
        *((name, activity == name) for name in ("running", "badminton")),
    ):
        scores = model.score_samples(X[chosen])
        rates[name] = float(np.mean(scores < threshold))
        print(f"{name:<10}  {chosen.sum():>7}  {np.median(scores):>12.1f}  {rates[name]:>6.1%}")

    strangest = np.argsort(model.score_samples(X))[:3]
    print("\nthe strangest seconds of all:")
    for i in strangest:
        print(f"recording {recording[i]}, {activity[i]}: {model.score_samples(X[i : i + 1])[0]:.1f} nats")
    assert rates["running"] > 0.9  # what an alarm is for


if __name__ == "__main__":
    main()
