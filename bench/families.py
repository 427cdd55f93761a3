"""Sweeps of every family at K = 20 clusters of D = 10 features: C, numba and plain Python.

Prints one line of JSON a family: the median of the microseconds a point, and the median of the ratios to numba, both of
interleaved rounds. Python runs once on a tenth of the points. ``--rounds N`` and ``--points N`` change the effort.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np
from machine import about

from mapdpm import state as states
from mapdpm.backends import BACKENDS
from mapdpm.data import point_set
from mapdpm.likelihoods import FAMILIES
from mapdpm.likelihoods._skipping import Skipping
from mapdpm.likelihoods._template import GammaExponential
from mapdpm.partition_priors import partition_prior
from mapdpm.protocol import Model

K, D, WORDS = 20, 10, 30


def points_of(family: type[Any], labels: Any, rng: np.random.Generator) -> Any:
    """Points of ``K`` clusters that a family can have, as its verbs read them."""
    name, n = family.__name__, len(labels)
    if name == "Categorical":
        words = np.array([rng.choice(D, p=p) for p in rng.dirichlet(np.full(D, 0.3), K)[labels]])
        return family(1.0).read(words)
    if name == "DirichletMultinomial":
        shares = rng.dirichlet(np.full(D, 0.3), K)[labels]
        return family(1.0).read(np.array([rng.multinomial(WORDS, p) for p in shares]))
    if name == "BetaBernoulli":
        return (rng.random((n, D)) < rng.beta(0.5, 0.5, (K, D))[labels]).astype(np.float64)
    if name == "GammaPoisson":
        return rng.poisson(rng.gamma(0.5, 20.0, (K, D))[labels]).astype(np.float64)
    if name == "GammaExponential":
        return rng.exponential(rng.gamma(0.5, 20.0, (K, D))[labels])
    return rng.normal(size=(n, D)) + 4.0 * rng.normal(size=(K, D))[labels]


def seconds(backend: Any, model: Model, start: Any, n: int) -> float:
    """CPU time of a sweep over n points, each a tenth of which begins in a wrong cluster."""
    part = model._replace(data=point_set(model.data).part(0, n))
    state = states.empty(model.likelihood, n, K + 1)
    state.labels[:] = start[:n]
    backend.statistics(part, state)
    begin = time.process_time()
    backend.sweep(part, state, 0, False)
    return time.process_time() - begin


def measured(likelihood: Any, data: Any, start: Any, rounds: int) -> dict[str, Any]:
    """Microseconds a point of each backend, and the ratio of C to numba."""
    model, n = Model(likelihood, partition_prior(1.0), data), len(start)
    backends = {name: BACKENDS[name] for name in ("c", "numba") if BACKENDS[name].implements(likelihood)}
    for backend in backends.values():
        seconds(backend, model, start, n)
    times = {name: [] for name in backends}
    for _ in range(rounds):
        for name, backend in backends.items():
            times[name].append(seconds(backend, model, start, n))
    found = {name: round(1e6 * float(np.median(each)) / n, 2) for name, each in times.items()}
    tenth = n // 10
    found["plain python"] = round(1e6 * seconds(BACKENDS["python"], model, start, tenth) / tenth, 1)
    if len(times) > 1:
        found["c / numba"] = round(float(np.median(np.divide(times["c"], times["numba"]))), 2)
    return found


def main() -> None:
    """Measure all families, and those of independent features with missing values, too."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--points", type=int, default=2000)
    chosen, rng = options.parse_args(), np.random.default_rng(0)
    for family in (*FAMILIES, GammaExponential):
        labels = rng.integers(0, K, chosen.points)
        start = np.where(rng.random(chosen.points) < 0.9, labels, rng.integers(0, K, chosen.points)).astype(np.int64)
        data = points_of(family, labels, rng)
        likelihood = family.empirical(point_set(data).array if hasattr(data, "array") else data).for_data(data)
        cases = [(family.__name__, likelihood, data)]
        if hasattr(likelihood, "feature"):
            gaps = np.where(rng.random(data.shape) < 0.1, np.nan, data)
            cases.append((f"{family.__name__}, a tenth missing", Skipping(likelihood, D), gaps))
        for name, each, points in cases:
            line = {"bench": "families", "family": name, "K": K, "D": D, **measured(each, points, start, chosen.rounds)}
            print(json.dumps({**line, **about()}), flush=True)


if __name__ == "__main__":
    main()
