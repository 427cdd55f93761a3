"""Starts and numbers of runs mean the same for all estimators that search."""

import numpy as np
import pytest

from mapdpm import HDPHMM, MAPDPM, DPMeans, HDPMixture, NormalGamma
from mapdpm.partition_priors.hierarchy import Hierarchy
from mapdpm.partition_priors.transitions import Transitions
from tests.oracle import franchise, raw

PRIOR = NormalGamma(m0=0.0, c0=0.1, a0=1.0, b0=1.0)
RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 2)) + 4.0 * RNG.integers(0, 3, (40, 1))
LABELS = RNG.integers(0, 4, 40)
GROUPS = RNG.integers(0, 3, 40)


def log_likelihood(labels):
    family = PRIOR.for_data(X)
    return sum(franchise.log_marginal(X[labels == k], family) for k in np.unique(labels))


def of_points():
    return raw.log_joint(X, LABELS, PRIOR.for_data(X), 1.0, 0.0)


def of_groups():
    table = np.array([[np.sum((j == GROUPS) & (k == LABELS)) for k in range(4)] for j in range(3)])
    return Hierarchy((1.0,), 1.0).log_partition(table) + log_likelihood(LABELS)


def of_states():
    table = np.zeros((5, 4), dtype=np.int64)
    for v, k in zip([4, *LABELS[:-1]], LABELS, strict=True):
        table[v, k] += 1
    return Transitions(1.0, 1.0).log_partition(table) + log_likelihood(LABELS)


def of_means():
    return -sum(((X[k == LABELS] - X[k == LABELS].mean(axis=0)) ** 2).sum() + 5.0 for k in range(4))


ESTIMATORS = {
    "points": (lambda **given: MAPDPM(likelihood=PRIOR, **given), (), of_points),
    "groups": (lambda **given: HDPMixture(likelihood=PRIOR, **given), (GROUPS,), of_groups),
    "states": (lambda **given: HDPHMM(likelihood=PRIOR, **given), (), of_states),
    "means": (lambda **given: DPMeans(lam=5.0, **given), (), of_means),
}
EACH = pytest.mark.parametrize("name", ESTIMATORS)


@EACH
def test_without_sweeps_and_moves_the_objective_is_that_of_given_labels(name):
    made, groups, objective = ESTIMATORS[name]
    model = made(init=LABELS, moves=(), max_sweeps=0).fit(X, *groups)
    found = -model.objective_ if name == "means" else model.log_joint_
    assert found == pytest.approx(objective(), rel=1e-12)
    assert len(model.history_) == 1
    assert model.n_sweeps_ == 0
    assert not model.converged_
    assert len(np.unique(np.stack([model.labels_, LABELS]), axis=1).T) == 4


@EACH
def test_the_history_begins_with_the_objective_of_given_labels(name):
    made, groups, objective = ESTIMATORS[name]
    model = made(init=LABELS).fit(X, *groups)
    first = -model.history_[0] if name == "means" else model.history_[0]
    assert first == pytest.approx(objective(), rel=1e-12)


@EACH
@pytest.mark.parametrize("n_restarts", [1, 2, 6])
def test_the_number_of_restarts_is_that_of_runs(name, n_restarts):
    made, groups, _ = ESTIMATORS[name]
    seen = set()
    made(n_restarts=n_restarts, callback=lambda progress: seen.add(progress.restart)).fit(X, *groups)
    assert seen == set(range(n_restarts))


@EACH
def test_names_of_starts_and_moves_are_checked(name):
    made, groups, _ = ESTIMATORS[name]
    wrongs = [({"init": "best"}, "init must"), ({"moves": ("swap",)}, "moves must")]
    if name in {"points", "means"}:  # their starts have names
        wrongs.append(({"init": None}, "init must"))
    for wrong, said in wrongs:
        with pytest.raises(ValueError, match=said):
            made(**wrong).fit(X, *groups)
    cap = {"states": "max_states", "means": "n_clusters"}.get(name, "max_clusters")
    with pytest.raises(ValueError, match=rf"init has 4 (clusters|states), more than {cap}=3"):
        made(init=LABELS, **{cap: 3}).fit(X, *groups)
