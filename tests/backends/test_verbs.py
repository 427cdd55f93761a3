"""Families that C calls by their verbs do what the plain Python twin does, whatever the form of their points.

Rows have the same bits: verbs are the same operations. Scores differ by rounding, which the order of sums makes, and
``lgamma``: that of CPython and that of libm differ in the last bits.
"""

import numpy as np
import pytest

from families import FAMILIES, as_array, example
from mapdpm import HDPHMM, HDPMixture
from mapdpm import state as states
from mapdpm.backends import BACKENDS, agglomeration, c_calls, halves, parts
from mapdpm.backends.agglomeration import Agglomeration
from mapdpm.backends.halves import Draws, Tried
from mapdpm.data import point_set
from mapdpm.likelihoods._skipping import Skipping
from mapdpm.partition_priors import partition_prior
from mapdpm.protocol import Model
from mapdpm.search.moves.merge_split import LATER
from mapdpm.testing.backends import agree
from mapdpm.testing.data import Case
from tests.marks import complete_but
from tests.missing_values import with_gaps

BY_VERBS = [family for family in FAMILIES if not c_calls.has_twin(example(family, np.random.default_rng(0))[0])]
CASES = [(family, skips) for family in BY_VERBS for skips in (False, True)[: 1 + hasattr(family, "feature")]]
QUICK = [case for case in CASES if not case[1] or case[0].__name__ == "GammaPoisson"]
C, PYTHON = BACKENDS["c"], BACKENDS["python"]
ROUNDING = {"rtol": 1e-12, "atol": 1e-12}

every_case = pytest.mark.parametrize(
    "case", complete_but(QUICK, CASES), ids=lambda case: case[0].__name__ + "-with-gaps" * case[1]
)


def model_of(case, seed, n=40, D=3, discount=0.0, weighted=False):
    (family, skips), rng = case, np.random.default_rng([seed, n])
    likelihood, data = example(family, rng, n, D)
    if skips:
        likelihood, data = Skipping(likelihood, D), with_gaps(data, 0.2, seed=seed)
    return Model(likelihood, partition_prior(1.5, discount), data, rng.uniform(0.5, 2.0, n) if weighted else None)


def state_of(model, K, capacity):
    n = point_set(model.data).n_points
    state = states.empty(model.likelihood, n, capacity)
    state.labels[:] = np.append(np.arange(K), np.random.default_rng(n).integers(0, K, n - K))
    PYTHON.statistics(model, state)
    return state


def both(state):
    return ((C, state.copy()), (PYTHON, state.copy()))


def same(one, other):
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_array_equal(one.counts, other.counts)
    assert one.rows.tobytes() == other.rows.tobytes()


@every_case
@pytest.mark.parametrize("weighted", [False, True])
def test_points_move_alike(case, weighted):
    for seed in range(3):
        model = model_of(case, seed, discount=0.3 * (seed == 1), weighted=weighted)
        begun = states.empty(model.likelihood, 40, 6)
        order, uniforms = np.random.default_rng(seed).permutation(40), np.random.default_rng(seed).random(40)
        ended = []
        for backend, state in both(begun):
            found = [backend.sequential_start(model, state, order, False), backend.sweep(model, state, 0, False)]
            kept = state.copy()
            backend.perturb(model, state, uniforms)
            backend.statistics(model, state)
            moving = np.zeros(40, dtype=np.bool_)
            backend.restless(model, state, moving)
            ended.append((found, kept, state, moving.tolist()))
        (ours, mine, last, restless), (theirs, expected, end, still) = ended
        assert ours == theirs
        same(mine, expected)
        same(last, end)
        assert restless == still


@every_case
def test_points_are_scored_alike(case):
    model = model_of(case, 7)
    state, found = state_of(model, 4, 6), []
    for backend, _ in both(state):
        scores, shares, densities, gains = np.empty((40, 6)), np.empty((40, 6)), np.empty(40), np.empty(40)
        slots = np.empty((2, 40), dtype=np.int64)
        backend.score(model, state, scores)
        backend.posteriors(model, state, shares)
        backend.log_densities(model, state, densities)
        backend.left_out(model, state, gains)
        for may_open in (0, 1):
            backend.best_slots(model, state, bool(may_open), slots[may_open])
        constants, parameters = np.empty(4), np.zeros((4, model.likelihood.n_parameters()))
        backend.tangents(model.likelihood, model.prior, state._replace(rows=state.rows[:4]), constants, parameters)
        by_tangent, margins = np.empty(40, dtype=np.int64), np.empty(40)
        backend.tangent_slots(model, constants, parameters, by_tangent, margins)
        found.append((scores, shares, densities, gains, margins, slots, by_tangent))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, **ROUNDING)


@every_case
def test_clusters_are_merged_and_cut_alike(case):
    model = model_of(case, 3, discount=0.2)
    state = state_of(model, 8, 9)
    atoms, found = state.rows[:8], []
    for backend, own in both(state):
        best, came_from = np.empty((9, 4)), np.zeros((9, 4), dtype=np.int64)
        backend.segments(model.likelihood, model.prior, atoms, 8, best, came_from)
        cut = backend.cut(model, np.random.default_rng(1).permutation(40), 10)
        joined = states.empty(model.likelihood, 0, 3)
        statistics = state.rows[:6, : model.likelihood.n_statistics()].reshape(2, 3, -1)
        backend.join_rows(model.likelihood, np.ascontiguousarray(statistics), joined)
        marginals = backend.log_marginals(model.likelihood, state)
        n = backend.merge(model, own, Agglomeration(model.likelihood, model.prior, backend), 64)
        found.append((cut, best, marginals, joined.rows, came_from, own.labels, n))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, **ROUNDING)


@every_case
def test_searches_are_those_of_the_twins(case):
    """With the kernels of C to the last bit: halves, parts and merges."""
    for seed in range(3):
        model = model_of(case, seed, n=60, weighted=seed == 1)
        width = point_set(model.data).width
        draws = Draws.drawn(LATER, 60, width, np.random.default_rng(seed))
        ours, theirs = C.best_halves(model, draws, Tried(60)), halves.best_halves(C, model, draws, Tried(60))
        assert (ours.state is None) == (theirs.state is None)
        np.testing.assert_allclose(ours[1:], theirs[1:], rtol=1e-9, atol=1e-9 * (1.0 + abs(theirs.before)))
        if ours.state is not None:
            same(ours.state, theirs.state)
        state = state_of(model, 6, 6)
        points = np.flatnonzero(state.labels < 3)
        order, labels = np.arange(0, len(points), 2), state.labels[points].copy()
        labels[order] = -1
        anew = [states.empty(model.likelihood, 0, 4)._replace(labels=labels.copy()) for _ in range(2)]
        gains = [twin(*call, order, 5) for twin, call in (
            (C.recluster, (model, state, points, anew[0])),
            (lambda *rest: parts.recluster(C, *rest), (model, state, points, anew[1])),
        )]  # fmt: skip
        same(*anew)
        np.testing.assert_allclose(*gains, rtol=1e-9, atol=1e-9)
        pairs = [Agglomeration(model.likelihood, model.prior, C) for _ in range(2)]
        other = state.copy()
        assert C.merge(model, state, pairs[0], 64) == agglomeration.merge(C, model, other, pairs[1], 64)
        np.testing.assert_array_equal(state.labels, other.labels)


@pytest.mark.parametrize("family", complete_but(BY_VERBS[:1], BY_VERBS))
def test_fits_agree(family):
    likelihood, data = example(family, np.random.default_rng(5), 24, 3)
    X = data.words if hasattr(data, "words") else as_array(data)
    agree(Case(X, likelihood, 0.7), "c", "python", moves=("merge", "split", "permutation", "regroup"))
    agree(Case(X, likelihood, 1.2, 0.3, np.arange(1.0, 25.0) % 3.0 + 0.5), "c", "python")
    if hasattr(family, "feature"):
        agree(Case(with_gaps(X, 0.3, seed=1), likelihood, missing="skip"), "c", "python")


@pytest.mark.parametrize("family", complete_but(BY_VERBS[1:2], BY_VERBS))
def test_groups_and_sequences_agree(family):
    likelihood, data = example(family, np.random.default_rng(6), 24, 2)
    groups, init = np.repeat([0, 1, 2], 8), np.arange(24) // 4 % 3
    for kind in (HDPMixture, HDPHMM):
        ours, theirs = (
            kind(likelihood=likelihood, backend=name, init=init, n_restarts=1).fit(data, groups)
            for name in ("c", "python")
        )
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
        np.testing.assert_allclose(ours.history_[-1], theirs.history_[-1], rtol=1e-9)
        np.testing.assert_allclose(ours.predict_proba(data, groups), theirs.predict_proba(data, groups), atol=1e-9)
