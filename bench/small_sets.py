"""The share of sets of two to eight points for which MAPDPM finds the best of all partitions.

Run: python bench/small_sets.py [--sets 4000] [--restarts 1]. A line for each number of restarts: the number of
sets, how many were solved, and the largest difference of the log joint from the best, in nats.
"""

from __future__ import annotations

import argparse
import itertools
import json

import numpy as np

from mapdpm import MAPDPM
from mapdpm.partition_priors import partition_prior
from mapdpm.testing.data import Case, small
from mapdpm.testing.enumeration import partitions
from mapdpm.testing.laws import row_of

TOLERANCE = 1e-9  # of the log joint: rounding


def best_log_joint(case: Case) -> float:
    """The highest log joint of all partitions, from the marginal of every subset of the points."""
    n, likelihood = len(case.X), case.likelihood
    assert likelihood is not None
    prior = partition_prior(case.alpha, case.discount)
    subsets = (s for size in range(1, n + 1) for s in itertools.combinations(range(n), size))
    marginals = {s: likelihood.log_marginal(row_of(likelihood, case.X, s)) for s in subsets}

    def log_joint(z: tuple[int, ...]) -> float:
        clusters = [tuple(i for i in range(n) if z[i] == k) for k in range(max(z) + 1)]
        sizes = np.array([float(len(cluster)) for cluster in clusters])
        return prior.log_partition(sizes) + sum(marginals[cluster] for cluster in clusters)

    return max(map(log_joint, partitions(n)))


def main() -> None:
    """Fit, compare, and print a line for each number of restarts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=4000)
    parser.add_argument("--restarts", type=int, nargs="+", default=[1])
    arguments = parser.parse_args()
    cases = [small(np.random.default_rng([8, seed])) for seed in range(arguments.sets)]
    best = [best_log_joint(case) for case in cases]
    for n_restarts in arguments.restarts:
        short = []
        for seed, (case, highest) in enumerate(zip(cases, best, strict=True)):
            model = MAPDPM(
                case.alpha, likelihood=case.likelihood, discount=case.discount, n_restarts=n_restarts, random_state=seed
            )
            short.append(highest - model.fit(case.X).log_joint_)
        solved = sum(bool(d <= TOLERANCE * (1.0 + abs(b))) for d, b in zip(short, best, strict=True))
        figures = {"restarts": n_restarts, "sets": len(cases), "solved": solved}
        print(json.dumps(figures | {"largest_nats": round(float(max(short)), 3)}), flush=True)


if __name__ == "__main__":
    main()
