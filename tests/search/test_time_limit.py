"""A search ends soon after its time is up: the clock is looked at between blocks of points, and the result is valid."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

from mapdpm import MAPDPM, DPMeans, NormalGamma, NormalInverseWishart
from mapdpm.backends import agglomeration, resolve
from mapdpm.partition_priors import partition_prior
from mapdpm.protocol import Model
from mapdpm.search import problem as problems
from mapdpm.search import settings
from mapdpm.search.ascent import NEVER
from mapdpm.search.moves.merge_split import Merge
from mapdpm.search.problem import Problem
from mapdpm.search.units import Units
from tests.families import FAMILIES, KINDS_OF_ROWS, example
from tests.marks import complete_but

N = 300


class Clock:
    """Time that passes by looks at it: one second each."""

    def __init__(self):
        self.looks = itertools.count()

    def monotonic(self):
        return float(next(self.looks))


def after(looks):
    """Whether time is up, which it is after so many looks."""
    left = itertools.count(looks, -1)
    return lambda: next(left) <= 0


def problem_of(family, backend, expired, *, weighs=False):
    rng = np.random.default_rng(5)
    likelihood, data = example(family, rng, N, 3)
    weights = rng.uniform(0.1, 3.0, N) if weighs else None
    model = Model(likelihood, partition_prior(2.0, 0.0), data, weights)
    return Problem.of(model, resolve(backend, likelihood), None, expired)


def check(problem, state):
    """All points have labels, and rows and log joint are those of the labels."""
    fresh = state.copy()
    problem.refresh(fresh)
    assert state.labels.min() >= 0
    np.testing.assert_array_equal(state.counts, fresh.counts)
    np.testing.assert_allclose(problem.log_joint(state), problem.log_joint(fresh), rtol=1e-9)


@pytest.fixture
def short_blocks(monkeypatch):
    monkeypatch.setattr(problems, "_NUMBERS", 5000)


@pytest.mark.usefixtures("short_blocks")
@pytest.mark.parametrize("weighs", [False, True])
@pytest.mark.parametrize("backend", complete_but(["c"], ["c", "python"]))
@pytest.mark.parametrize("family", complete_but(KINDS_OF_ROWS, FAMILIES))
def test_blocks_change_no_bit(family, backend, weighs):
    found = []
    for expired in (NEVER, lambda: False):
        problem = problem_of(family, backend, expired, weighs=weighs)
        state = problem.sequential(np.random.default_rng(1).permutation(N))
        state, moved = problem.swept(state)
        state, more = problem.swept(state)
        found.append((state.labels, state.counts, state.rows, moved, more))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.usefixtures("short_blocks")
@pytest.mark.parametrize("family", complete_but(KINDS_OF_ROWS, FAMILIES))
@pytest.mark.parametrize("looks", [0, 1])
def test_a_late_start_and_a_late_sweep_are_valid(family, looks):
    problem = problem_of(family, "c", after(looks))
    state = problem.sequential(np.arange(N))
    whole = problem_of(family, "c", NEVER).sequential(np.arange(N))
    np.testing.assert_array_equal(state.labels[:10], whole.labels[:10])
    np.testing.assert_array_equal(state.labels[-50:], np.argmax(state.counts))
    check(problem, state)
    problem, labels = problem._replace(expired=after(looks)), np.arange(N) % 60
    state, moved = problem.swept(problem.from_labels(labels))
    assert moved
    np.testing.assert_array_equal(state.labels[-50:], labels[-50:])  # these were not reached
    check(problem, state)


@pytest.mark.usefixtures("short_blocks")
def test_a_row_made_anew_knows_the_points_behind_the_block():
    # a point so far away that taking it out of the row loses all digits of the others
    problem = problem_of(NormalGamma, "c", lambda: False)
    data = problem.model.data.copy()
    data[3] = 1e12
    problem = problem._replace(model=problem.model._replace(data=data))
    state, _ = problem.swept(problem.from_labels(np.arange(N) % 2))
    whole = problem._replace(expired=NEVER)
    other, _ = whole.swept(whole.from_labels(np.arange(N) % 2))
    np.testing.assert_array_equal(state.labels, other.labels)
    check(problem, state)


@pytest.mark.parametrize("backend", complete_but(["c"], ["c", "python"]))
@pytest.mark.parametrize("family", complete_but(KINDS_OF_ROWS, FAMILIES))
def test_partners_that_are_found_in_blocks_are_the_same(monkeypatch, family, backend):
    monkeypatch.setattr(agglomeration, "_NUMBERS", 0)
    found = []
    for expired in (NEVER, lambda: False):
        problem = problem_of(family, backend, expired)
        state = problem.grown(problem.from_labels(np.arange(N) % 97))
        state.rows[90:] = problem.blank  # some slots are not in use
        state.counts[90:] = 0
        state.labels[state.labels >= 90] = 0
        problem.refresh(state)
        state, merged = Merge(problem, None, expired)(state)
        found.append((state.labels, state.counts, state.rows, merged))
    assert merged
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("looks", [0, 1, 5])
def test_a_late_merge_leaves_the_state_as_it_is(monkeypatch, looks):
    monkeypatch.setattr(agglomeration, "_NUMBERS", 0)
    problem = problem_of(NormalGamma, "c", after(looks))
    state, merged = Merge(problem, None, problem.expired)(problem.from_labels(np.arange(N) % 97))
    assert merged == 0
    check(problem, state)
    move = Merge(problem, None, lambda: False)
    assert not move._pairs.found_in_time(state, after(looks))
    assert move(state)[1]  # what was found late is forgotten


def test_late_gains_of_columns_are_bounds():
    rng = np.random.default_rng(4)
    labels = np.arange(N) % 3
    X = np.column_stack([5.0 * labels + rng.normal(size=N), rng.normal(size=N)])
    columns = [np.array([0]), np.array([1])]
    is_late = []
    late_or_not = (NEVER, lambda: bool(is_late), lambda: True)
    whole, late, later = (Units(NormalGamma, columns, X, None, "error", up) for up in late_or_not)
    np.testing.assert_array_equal(whole.together, late.together)
    is_late.append(True)
    assert np.all(later.together < whole.together)
    assert np.all(late.gains(labels) < whole.gains(labels))
    for units in (late, later):
        has_clusters, has_none = units.gains(labels)
        assert has_clusters > 100.0
        assert has_none < 0.0


@pytest.mark.usefixtures("short_blocks")
@pytest.mark.parametrize("seconds", [2, 9, 40])
def test_dp_means_ends_in_time(monkeypatch, seconds):
    clock = Clock()
    monkeypatch.setattr(settings, "time", clock)
    X = np.random.default_rng(2).normal(size=(3000, 2))
    with pytest.warns(UserWarning, match="time_limit"):
        model = DPMeans(1e-6, time_limit=seconds).fit(X)
    assert next(clock.looks) <= seconds + 12
    assert not model.converged_
    assert model.n_clusters_ < len(X) / 2
    _, sizes = np.unique(model.labels_, return_counts=True)
    centres = np.array([X[model.labels_ == k].mean(axis=0) for k in range(model.n_clusters_)])
    expected = ((X - centres[model.labels_]) ** 2).sum() + 1e-6 * model.n_clusters_
    assert sizes.sum() == len(X)
    np.testing.assert_allclose(model.history_[-1], expected, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("model", "limit", "shape"),
    [
        (DPMeans(0.01), 0.5, (50_000, 10)),
        (MAPDPM(likelihood=NormalInverseWishart), 2.0, (600, 100)),
        (MAPDPM(likelihood=NormalInverseWishart), 2.0, (5000, 200)),
        (MAPDPM(1e4), 1.0, (20_000, 5)),
        (MAPDPM(), 5.0, (20_000, 500)),
        (MAPDPM(), 2.0, (300_000, 3)),
    ],
)
def test_seconds(model, limit, shape):
    X = np.cumsum(np.random.default_rng(3).normal(size=shape), axis=0) if shape[1] == 3 else None
    X = np.random.default_rng(3).normal(size=shape) if X is None else X
    begin = time.monotonic()
    labels = model.set_params(time_limit=limit).fit(X).labels_
    assert time.monotonic() - begin < limit + max(1.0, 0.2 * limit)
    assert labels.min() == 0
