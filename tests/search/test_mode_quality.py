"""The quality of the modes that the search finds: against brute force, the paper's algorithm, and the best known."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest

from mapdpm import MAPDPM, DPMeans, metrics
from mapdpm.testing.data import crp_mixture, small
from tests.marks import ends_early
from tests.oracle.search import all_joints

BEST_KNOWN = {  # log joint at alpha = 1 under the empirical prior, and that of the paper's algorithm
    "wine": (-3526.7, -3776.2),
    "iris": (-469.5, -469.5),
    "breast_cancer_wisconsin": (-9199.1, -9826.8),
    "soybean_266": (251.8, -1054.4),
    "parkinsons": (6842.6, 6771.9),
    "pima": (-21479.9, -21917.4),
    "vehicle": (-48602.9, -58592.6),
}


def solved_by_brute_force(n_sets, n_restarts):
    """The number of random sets of up to 8 points that are solved; no result may exceed the best of all partitions."""
    solved = 0
    for seed in range(n_sets):
        case = small(np.random.default_rng([8, seed]))
        best = all_joints(case.X, case.likelihood, case.alpha, case.discount)[1].max()
        model = MAPDPM(
            case.alpha, likelihood=case.likelihood, discount=case.discount, n_restarts=n_restarts, random_state=seed
        ).fit(case.X)
        tolerance = 1e-9 * (1.0 + abs(best))
        assert model.log_joint_ <= best + tolerance
        solved += model.log_joint_ >= best - tolerance
    return solved


@pytest.mark.parametrize("n_sets", [40, pytest.param(500, marks=pytest.mark.slow)])
def test_small_problems_are_solved(n_sets):
    assert solved_by_brute_force(n_sets, n_restarts=1) == n_sets


def gains_on_section_4_1(n_sets, n_restarts):
    """Mean gain over the paper's algorithm in nats, share of sets below it, and mean NMI."""
    rows = []
    for seed in range(n_sets):
        X, labels, likelihood = crp_mixture(np.random.default_rng([41, seed]))
        paper = MAPDPM(3.0, likelihood=likelihood, moves=()).fit(X)
        model = MAPDPM(3.0, likelihood=likelihood, n_restarts=n_restarts).fit(X)
        gain = model.log_joint_ - paper.log_joint_
        rows.append((gain, gain < -1e-6, metrics.normalized_mutual_info(labels, model.labels_)))
    print(f"n_restarts={n_restarts}: gain, share below, NMI {np.mean(rows, axis=0)}")
    return np.mean(rows, axis=0)


@pytest.mark.complete
def test_moves_gain_on_section_4_1():
    """The issue's bounds: 12 nats at one run, NMI .73; 20.8 (standard error 2) and .738 are found."""
    gain, below, nmi = gains_on_section_4_1(100, 1)
    assert gain >= 12.0
    assert below <= 0.03
    assert nmi >= 0.73


@pytest.mark.slow
def test_restarts_gain_more_on_section_4_1():
    gain, below, nmi = gains_on_section_4_1(100, 20)
    assert gain >= 18.0
    assert below <= 0.03
    assert nmi >= 0.73


def uci(name):
    """Points and classes of a UCI set; skipped where the data is not named."""
    folder = os.environ.get("MAPDPM_DATA")
    if folder is None:
        pytest.skip("set MAPDPM_DATA to a folder with tabular/*.csv, the UCI sets of Raykov2014")
    with (Path(folder) / "tabular" / f"{name}.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if all(cell.strip() for cell in row.values())]
    features = [column for column in rows[0] if column not in {"id", "name", "label"}]
    return np.array([[float(row[c]) for c in features] for row in rows]), [row["label"] for row in rows]


def iris():
    from sklearn.datasets import load_iris

    return load_iris()


@pytest.mark.slow
@pytest.mark.parametrize("name", BEST_KNOWN)
def test_uci_sets_reach_the_best_known(name):
    """Within 2 nats, or 3 % of the distance from the paper's algorithm.

    3 % is a floor against regressions: Wisconsin's whole numbers from 1 to 10 have many modes near the best, and seeds
    of ten restarts end 1.4 to 2.7 % below it; on the other sets all end within 0.5 nats.
    """
    best, paper = BEST_KNOWN[name]
    X = iris().data if name == "iris" else uci(name)[0]
    assert MAPDPM(likelihood=None, moves=()).fit(X).log_joint_ == pytest.approx(paper, abs=0.06)
    models = [MAPDPM(likelihood=None, n_restarts=10, random_state=seed) for seed in range(3)]
    found = [model.fit(X).log_joint_ for model in models]
    print(name, np.round(found, 1), "best known", best)
    assert min(found) >= best - max(2.0, 0.03 * (best - paper))


def test_dp_means_on_iris():
    """Raykov2014 Table 2: NMI .76, as here."""
    data = iris()
    model = DPMeans(n_clusters=3).fit(data.data)
    assert model.n_clusters_ == 3
    assert metrics.normalized_mutual_info(data.target, model.labels_) == pytest.approx(0.76, abs=0.01)


def test_a_start_with_one_cluster_ends_no_lower_than_one_with_the_truth():
    """Ten clusters in 10,000 points; under the empirical prior the sequential start, and sweeps, stay at one or two."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        means, labels = rng.normal(0.0, 8.0, (10, 2)), rng.integers(0, 10, 10_000)
        X = means[labels] + rng.normal(size=(10_000, 2))
        assert MAPDPM(likelihood=None, moves=()).fit(X).n_clusters_ <= 2
        model = MAPDPM(likelihood=None).fit(X)
        assert model.converged_
        truth = MAPDPM(likelihood=None, init=labels).fit(X)
        assert model.log_joint_ >= truth.log_joint_ - 2.0  # some 300 nats above the labels that made the data


@pytest.mark.complete
@ends_early
def test_a_time_limit_is_kept():
    """No sweep of this data takes a second; the search without a limit takes minutes."""
    import time

    X, _, likelihood = crp_mixture(np.random.default_rng([41, 0]), 2000)
    start = time.perf_counter()
    model = MAPDPM(3.0, likelihood=likelihood, n_restarts=10_000, time_limit=1.0).fit(X)
    assert time.perf_counter() - start < 20.0  # of a busy machine
    one = MAPDPM(3.0, likelihood=likelihood).fit(X)
    assert model.log_joint_ >= one.log_joint_
    hurried = MAPDPM(3.0, likelihood=likelihood, time_limit=1e-9).fit(X)
    assert not hurried.converged_
    assert np.isfinite(hurried.log_joint_)
    assert len(hurried.labels_) == 2000
