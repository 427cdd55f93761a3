"""Comparison of two checkouts bit for bit: fits, streams, files and traces, each as a hash.

``python bench/same_bits.py`` prints the hashes of this checkout, one line a result. ``python bench/same_bits.py
--against DIR`` runs this script on the checkout in DIR too, whose C modules must be built, and prints what differs; it
exits with 1 if anything does. It uses public names only, so it runs on old checkouts as well.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

FITS, STREAMS = 50, 12


def digest(*values: Any) -> str:
    """A hash of arrays, numbers and bytes."""
    whole = hashlib.sha256()
    for value in values:
        whole.update(value if isinstance(value, bytes) else np.ascontiguousarray(value).tobytes())
    return whole.hexdigest()[:16]


def fits() -> Iterator[tuple[str, str]]:
    """Labels, log joints, histories, densities and files of fits to hostile data."""
    from mapdpm import MAPDPM, DPMeans  # noqa: PLC0415  (of the checkout that PYTHONPATH names)
    from mapdpm.testing.data import hostile  # noqa: PLC0415

    for number in range(FITS):
        case = hostile(np.random.default_rng(number))._asdict()
        X, weights = case.pop("X"), case.pop("weights")
        settings = {"n_restarts": 3 if number % 5 == 0 else 1, "moves": () if number % 7 == 0 else ("merge", "split")}
        model = MAPDPM(**case, **settings).fit(X, sample_weight=weights)
        found = (model.labels_, model.history_, model.n_sweeps_, model.score_samples(X), model.predict_proba(X))
        yield f"fit {number}", digest(*found, model.predict(X, novelty=True), model.to_bytes())
        means = DPMeans(n_restarts=2).fit(X, sample_weight=weights)
        yield f"dp-means {number}", digest(means.labels_, means.history_, means.cluster_centers_, means.transform(X))


def families() -> Iterator[tuple[str, str]]:
    """Labels and densities under other likelihoods, and the choice of alpha."""
    from mapdpm import (  # noqa: PLC0415
        MAPDPM,
        BetaBernoulli,
        DirichletMultinomial,
        GammaPoisson,
        NormalInverseWishart,
        select_alpha,
    )

    rng = np.random.default_rng(0)
    counts = rng.poisson(rng.gamma(0.4, 5.0, (4, 12))[rng.integers(4, size=200)])
    normal = rng.normal(size=(4, 3))[rng.integers(4, size=200)] * 6.0 + rng.normal(size=(200, 3))
    for family, X in (
        (DirichletMultinomial, counts),
        (GammaPoisson, counts),
        (BetaBernoulli, (counts > 2).astype(float)),
        (NormalInverseWishart, normal),
    ):
        model = MAPDPM(likelihood=family.empirical(X), n_restarts=2).fit(X)
        yield family.__name__, digest(model.labels_, model.history_, model.score_samples(X))
    for method in ("cv", "nll", "map", "empirical-bayes"):
        found = select_alpha(normal, method=method, likelihood=None, random_state=0)
        yield f"alpha by {method}", digest(found.alpha, found.scores, found.model.labels_)


def sharing() -> Iterator[tuple[str, str]]:
    """Fits of groups and of states from given labels: two runs, by whatever number of restarts that is."""
    from mapdpm import HDPHMM, HDPMixture, NormalGamma  # noqa: PLC0415

    prior = NormalGamma(0.0, 0.05, 2.0, 2.0)
    for number in range(STREAMS):
        rng = np.random.default_rng(number)
        X = rng.normal(size=(240, 2)) + 4.0 * rng.integers(0, 4, (240, 1)).repeat(2, axis=1)
        groups, labels = rng.integers(0, 6, 240), rng.integers(0, 5, 240)
        for kind, given in ((HDPMixture, (groups,)), (HDPHMM, ())):
            runs: set[int] = set()
            kind(likelihood=prior, init=labels, callback=lambda p, seen=runs: seen.add(p.restart)).fit(X, *given)
            model = kind(likelihood=prior, init=labels, n_restarts=3 - len(runs)).fit(X, *given)
            yield f"{kind.__name__} {number}", digest(model.labels_, model.history_, model.predict_proba(X, *given))


def streams() -> Iterator[tuple[str, str]]:
    """Ids, densities and snapshots of stream learners."""
    from mapdpm import OnlineAlphaSelector, OnlineMAPDPM  # noqa: PLC0415

    for number in range(STREAMS):
        rng = np.random.default_rng(number)
        X = rng.normal(0.0, 5.0, (6, 3))[rng.integers(6, size=3000)] + rng.normal(size=(3000, 3))
        dtype = ("float64", "float32")[number % 2]
        settings = {"half_life": None if number % 3 else 400.0, "window": 50 if number % 4 == 1 else 0}
        learner = OnlineMAPDPM(8, dtype=dtype, **settings)
        ids, scores = learner.learn_many_scored(X)
        half = OnlineMAPDPM(8, dtype=dtype).fit(X[::2])
        pooled = OnlineMAPDPM.merged([half.to_bytes(), OnlineMAPDPM(8, dtype=dtype).fit(X[1::2]).to_bytes()])
        yield f"stream {number}", digest(ids, scores, learner.to_bytes(), pooled.to_bytes())
    selector = OnlineAlphaSelector([0.1, 1.0, 10.0], max_clusters=8).fit(X)
    yield "selector", digest(selector.to_bytes())


def chains() -> Iterator[tuple[str, str]]:
    """Draws of the reference samplers."""
    from mapdpm import NormalGamma  # noqa: PLC0415
    from mapdpm.samplers import (  # noqa: PLC0415
        CollapsedGibbs,
        GammaPrior,
        PermutationAugmented,
        SequentialSplitMerge,
        SplitMerge,
        UncollapsedGibbs,
        sample,
    )

    rng = np.random.default_rng(0)
    X = rng.normal(0.0, 4.0, (4, 2))[rng.integers(4, size=60)] + rng.normal(size=(60, 2))
    prior = NormalGamma(0.0, 0.05, 2.0, 2.0)
    for kind in (CollapsedGibbs, UncollapsedGibbs, SplitMerge, SequentialSplitMerge, PermutationAugmented):
        sampler = kind(1.0, likelihood=prior, alpha_prior=GammaPrior(2.0, 1.0))
        trace = sample(X, sampler, draws=30, burn_in=10, chains=2, random_state=1)
        yield kind.__name__, digest(trace.partitions, trace.log_joint, trace.alpha, trace.best)


def hashes() -> Iterator[tuple[str, str]]:
    """All results of this checkout."""
    for results in (fits, families, sharing, streams, chains):
        yield from results()


def printed(checkout: Path) -> dict[str, str]:
    """The output of this script on ``checkout``."""
    environment = os.environ | {"PYTHONPATH": str(checkout), "NUMBA_CACHE_DIR": str(checkout / ".cache" / "same_bits")}
    command = [sys.executable, str(Path(__file__).resolve())]
    run = subprocess.run(command, env=environment, cwd=checkout, capture_output=True, text=True, check=True)
    return dict(line.rsplit(" ", 1) for line in run.stdout.splitlines())


def main() -> int:
    """Print hashes, or the results that differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, metavar="DIR", help="another checkout")
    against = parser.parse_args().against
    if against is None:
        for name, value in hashes():
            print(name, value, flush=True)
        return 0
    ours, theirs = printed(Path(__file__).resolve().parent.parent), printed(against.resolve())
    differ = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
    print(f"{len(ours)} results, {len(differ)} differ{': ' if differ else ''}{', '.join(differ)}")
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main())
