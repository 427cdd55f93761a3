"""C, numba and python decide alike; float32 nearly so."""

import itertools

import numpy as np
import pytest

from mapdpm import MAPDPM, DPMeans, NormalGamma, NormalKnownVariance
from mapdpm import state as states
from mapdpm.backends import resolve
from mapdpm.likelihoods._template import GammaExponential
from mapdpm.partition_priors import partition_prior
from mapdpm.protocol import Model
from mapdpm.testing.backends import agree
from mapdpm.testing.data import hostile
from mapdpm.testing.laws import row_of
from tests.marks import complete_but, slow_but

pytestmark = pytest.mark.compiled

MOVES = ("merge", "split", "permutation", "regroup")


def problems(n, seed, most_points=400):
    return [hostile(np.random.default_rng([seed, i]), most_points) for i in range(n)]


@pytest.mark.complete
@pytest.mark.parametrize("fourth", slow_but([0], range(4)))
def test_c_and_numba_agree_on_hostile_data(fourth):
    for i, case in enumerate(problems(100, 1)[25 * fourth : 25 * fourth + 25], 25 * fourth):
        agree(case, "c", "numba", moves=("merge", "split") if i % 4 == 0 else ())
    for case in problems(20, 5, 80)[5 * fourth : 5 * fourth + 5]:
        agree(case, "c", "numba", moves=MOVES)


@pytest.mark.parametrize("backend", complete_but(["python"], ["numba", "python"]))
def test_backends_agree_on_exact_ties(backend):
    """Corners of cubes and points of grids: many merges and neighbours cost the same up to rounding."""
    sizes = ((2, 3), (3, 3), (2, 4), (5, 2)) if backend == "numba" else ((2, 3),)
    for n, D in sizes:
        grid = np.array(list(itertools.product(np.arange(n) * 0.1, repeat=D)))
        known = NormalKnownVariance(np.zeros(D), np.full(D, 10.0), np.full(D, 0.1))
        for X, (alpha, moves) in itertools.product((grid, 20.0 * grid - 1.0), ((1e-6, ("merge",)), (1.0, MOVES[:2]))):
            parameters = {"likelihood": known, "init": np.arange(len(X)), "moves": moves}
            fits = [MAPDPM(alpha, backend=name, **parameters).fit(X) for name in ("c", backend)]
            np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)
        means = [DPMeans(0.015, n_restarts=3, backend=name).fit(grid) for name in ("c", backend)]
        np.testing.assert_array_equal(means[0].labels_, means[1].labels_)


@pytest.mark.parametrize("eighth", complete_but([1], range(8)))
def test_c_and_python_agree_on_hostile_data(eighth):
    for i, case in list(enumerate(problems(100, 2, 40)))[eighth * 13 : eighth * 13 + 13]:
        agree(case, "c", "python", moves=MOVES if i % 8 == 0 else ())


@pytest.mark.parametrize("power", [-60, -30, 30, 60, 100])
@pytest.mark.parametrize("family", [NormalGamma, NormalKnownVariance])
def test_one_prior_is_far_wider_or_narrower_than_the_other(family, power):
    """No scale leaves the range of the bounds of C: labels are those of plain Python, and each point has one."""
    wide = [60.0, 10.0**power]
    prior = family(0.0, 0.1, 1.0, wide) if family is NormalGamma else family(0.0, wide, 1.0)
    X = 9.0 * (np.arange(60) % 3)[:, None] + np.random.default_rng(3).normal(size=(60, 2))
    c, python = (MAPDPM(likelihood=prior, backend=name).fit(X) for name in ("c", "python"))
    np.testing.assert_array_equal(c.labels_, python.labels_)
    for points in (X, c.means_, X + 1e-3):
        np.testing.assert_array_equal(c.predict(points), python.predict(points))
        assert c.predict(points).min() >= 0


@pytest.mark.slow
def test_all_agree_on_hostile_data():
    for case in problems(200, 3):
        agree(case, "c", "python", moves=())
        agree(case, "c", "numba", moves=())
    for case in problems(400, 4):
        agree(case, "c", "numba")
        agree(case, "c", "numba", moves=())


def test_float32_data_is_not_rounded_again():
    """Groups 0.02 apart near 0 and most points near 1e6: an anchor at 1e6 in float32 would make the groups one."""
    rng = np.random.default_rng(3)
    parts = (rng.normal(1e6, 1.0, (600, 1)), rng.normal(0.0, 1e-3, (100, 1)), rng.normal(0.02, 1e-3, (100, 1)))
    X = np.vstack(parts).astype(np.float32)
    prior = NormalGamma(0.0, 1e-14, 1.0, 1e-6)
    one, two = (MAPDPM(likelihood=prior).fit(data) for data in (X, X.astype(np.float64)))
    assert one.n_clusters_ == two.n_clusters_ == 3
    np.testing.assert_array_equal(one.labels_, two.labels_)
    # the anchor of float64 data, near 1e6, rounds the small groups to 1e-10: a ten-millionth of their deviation
    np.testing.assert_allclose(one.score_samples(X), two.score_samples(X), atol=1e-5)


@pytest.mark.parametrize("backend", complete_but(["c", "python"], ["c", "numba", "python"]))
def test_lone_point_stays_alone_in_a_tie(backend):
    """It is scored as a new cluster, in whichever slot is free; slot 0 is, here, and the point is in slot 2."""
    X = np.array([[0.0], [0.1], [3.0]])
    likelihood = NormalKnownVariance(0.0, 9.0, 1.0).for_data(X)
    joined, alone = (row_of(likelihood, X, points) for points in ((0, 1), ()))
    gap = likelihood.log_predictive(joined, X, 2) - likelihood.log_predictive(alone, X, 2)
    prior = partition_prior(2.0 * np.exp(gap))
    state = states.empty(likelihood, 3, 4)
    state.labels[:] = [1, 1, 2]
    chosen = resolve(backend, likelihood)
    chosen.statistics(Model(likelihood, prior, X), state)
    assert chosen.sweep(Model(likelihood, prior, X), state, 0, True) == (3, 0)
    assert state.labels.tolist() == [1, 1, 2]


@pytest.mark.complete
def test_float32_differs_on_few_points():
    """Decisions are in float64, so only the rounding of the input shows: 6e-8 of a deviation, rarely near a tie."""
    points = different = 0
    for seed in range(80):
        rng = np.random.default_rng([4, seed])
        D, K = rng.integers(1, 21, 2)
        X = rng.normal(0.0, 3.0, (K, D))[rng.integers(0, K, 400)] + rng.normal(size=(400, D))
        X -= X.mean(axis=0)
        prior = NormalGamma(np.zeros(D), 0.1, 1.0, np.ones(D))
        one, two = (MAPDPM(likelihood=prior, backend="c").fit(X.astype(t)) for t in (np.float64, np.float32))
        points += len(X)
        different += np.count_nonzero(one.labels_ != two.labels_)
    print(f"float32: {different} of {points} points differ")
    assert different < 1e-3 * points


@pytest.mark.complete
def test_float32_is_read_alike_by_all():
    rng = np.random.default_rng(6)
    X = (rng.normal(0.0, 4.0, (5, 3))[rng.integers(0, 5, 300)] + rng.normal(size=(300, 3))).astype(np.float32)
    prior = NormalGamma(0.0, 0.1, 1.0, 1.0)
    c, numba = (MAPDPM(likelihood=prior, backend=name).fit(X) for name in ("c", "numba"))
    np.testing.assert_array_equal(c.labels_, numba.labels_)
    np.testing.assert_allclose(c.score_samples(X), numba.score_samples(X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("backend", complete_but(["c", "python"], ["c", "numba", "python"]))
def test_statistics_hold_after_sweeps(backend):
    rng = np.random.default_rng(7)
    X = np.vstack([[[1e9, -1e9]], rng.normal(size=(30, 2)), rng.normal(9.0, 1.0, (30, 2))])
    likelihood, prior = NormalGamma([0.0, 0.0], 0.1, 1.0, [1.0, 1.0]), partition_prior(1.0)
    chosen = resolve(backend, likelihood)
    state = states.empty(likelihood, len(X), 8)
    state.labels[:] = 0
    chosen.statistics(Model(likelihood, prior, X), state)
    position, moved = chosen.sweep(Model(likelihood, prior, X), state, 0, True)
    assert position == len(X)
    assert moved > 0
    # An outlier of 1e9 has left the cluster: what it leaves behind must have been made anew, not subtracted.
    states.check(likelihood, X, None, state, tolerance=1e-9)


def test_large_clusters_that_are_near_ties_score_alike():
    """Two clusters of 1e8 points, all but the same: the C sweep's plain product would be off by 5e-8."""
    D = 20
    likelihood, prior = NormalGamma(np.zeros(D), 0.1, 1.0, np.ones(D)), partition_prior(1.0)
    state = states.empty(likelihood, 0, 3)
    state.counts[:2] = 10**8
    state.rows[:2, 0] = 1e8
    state.rows[:2, 1 + D : 1 + 2 * D] = 1e8
    state.rows[1, 1] = 1e-9
    for row in state.rows:
        likelihood.prepare(row)
    X = np.random.default_rng(3).normal(0.0, 2.0, (50, D))
    scores = {}
    for name in ("c", "python"):
        scores[name] = np.empty((50, 3))
        resolve(name, likelihood).score(Model(likelihood, prior, X), state, scores[name])
    old = scores["c"][:, :2].max(axis=1) > scores["c"][:, 2]  # where a new cluster wins, nothing is near
    assert np.count_nonzero(old) > 25
    np.testing.assert_allclose(scores["c"][old, :2], scores["python"][old, :2], rtol=1e-12)


def test_the_mean_of_a_huge_cluster_has_the_density_of_all_clusters():
    """Rounding takes the bounding product there below 1; the exponent of 1e9 points makes hundreds of nats of it."""
    likelihood, prior = NormalGamma(0.0, 0.1, 1.0, 1.0).for_data(np.zeros((1, 1))), partition_prior(1.0)
    rng = np.random.default_rng(4)
    for _ in range(50):
        state = states.empty(likelihood, 0, 3)
        state.counts[:2] = 10
        mean = rng.normal(0.0, 20.0)
        state.rows[:2, :3] = [[1e9, mean, 1e9 * rng.uniform(0.1, 1.0)], [1e9, mean + 1.0, 1e9 * rng.uniform(1.0, 9.0)]]
        for row in state.rows:
            likelihood.prepare(row)
        model, found = Model(likelihood, prior, np.full((1, 1), mean)), np.empty((2, 1))
        for densities, name in zip(found, ("c", "python"), strict=True):
            resolve(name, likelihood).log_densities(model, state, densities)
        assert found[0] == pytest.approx(found[1], rel=1e-9)


@pytest.mark.parametrize("other", complete_but(["python"], ["python", "numba"]))
@pytest.mark.parametrize("seed", complete_but(range(20), range(40)))
def test_points_against_clusters_that_stay(seed, other):
    """Scores, the best slots and densities of C are those of another backend; and densities are sums of scores."""
    case = hostile(np.random.default_rng([6, seed]), most_points=60)
    model = MAPDPM(backend="python", moves=(), **{k: v for k, v in case._asdict().items() if k not in ("X", "weights")})
    model.fit(case.X)
    likelihood, prior, anchor, state = model._mixture
    X = np.vstack([case.X, case.X[::3] * 1.5]).astype(np.float64) - anchor
    found = {}
    for name in ("c", other):
        backend = resolve(name, likelihood)
        scores, densities = np.empty((len(X), state.capacity)), np.empty(len(X))
        backend.score(Model(likelihood, prior, X), state, scores)
        backend.log_densities(Model(likelihood, prior, X), state, densities)
        # Both are good to 1e-9 of their size, see testing.agree.
        np.testing.assert_allclose(np.logaddexp.reduce(scores, axis=1), densities, rtol=1e-9, atol=1e-9)
        shares = np.empty_like(scores)
        backend.posteriors(Model(likelihood, prior, X), state, shares)
        # a share is as good as the score it is the exponential of
        np.testing.assert_allclose(shares, np.exp(scores - densities[:, None]), rtol=1e-8, atol=1e-30)
        np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
        slots = np.empty((2, len(X)), dtype=np.int64)
        for may_open in (0, 1):
            backend.best_slots(Model(likelihood, prior, X), state, bool(may_open), slots[may_open])
        found[name] = scores, densities, slots
    # Far below the best a score is good to as many digits of the product that it is made of.
    size = np.abs(found[other][0]).max(axis=1, keepdims=True)
    assert np.all(np.abs(found["c"][0] - found[other][0]) <= 1e-9 * (1.0 + size))
    np.testing.assert_allclose(found["c"][1], found[other][1], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(found["c"][2], found[other][2])
    assert np.all(found["c"][2][0] < model.n_clusters_)


@pytest.mark.parametrize("cap", [1, 2])
@pytest.mark.parametrize("backend", complete_but(["c", "python"], ["c", "numba", "python"]))
def test_an_outlier_that_cannot_leave(backend, cap):
    """Its leave-one-out score is 1e-18 of what it is taken from: it must be made anew, not subtracted to nothing."""
    X = np.vstack([np.random.default_rng(8).normal(size=(30, 2)), [[1e9, -1e9], [2e9, 2e9]]])
    start = np.minimum(np.arange(32) // 31, cap - 1)
    prior = NormalGamma(0.0, 0.1, 1.0, 1.0)
    model = MAPDPM(likelihood=prior, max_clusters=cap, init=start, backend=backend).fit(X)
    oracle = MAPDPM(likelihood=prior, max_clusters=cap, init=start, backend="python").fit(X)
    np.testing.assert_array_equal(model.labels_, oracle.labels_)
    assert model.n_clusters_ == cap
    assert model.log_joint_ == pytest.approx(oracle.log_joint_, rel=1e-12)


def test_auto_is_c_where_it_can_be():
    prior = NormalGamma(0.0, 1.0, 1.0, 1.0)
    assert resolve("auto", prior).name == "c"
    assert resolve("auto", GammaExponential(1.0, 1.0)).name == "c"
    with pytest.raises(ValueError, match="backend must be one of 'auto', 'c', 'numba', 'python', got 'gpu'"):
        resolve("gpu", prior)


def test_without_numba(monkeypatch):
    """And without a compiler, for a class that nothing was compiled of."""
    monkeypatch.setattr("mapdpm.jit.available", lambda: False)
    monkeypatch.setenv("CC", "no-such-compiler")
    Other = type("Other", (GammaExponential,), {})
    with pytest.warns(RuntimeWarning, match="runs in plain Python"):
        assert resolve("auto", Other(1.0, 1.0)).name == "python"
    with pytest.raises(ValueError, match="numba is not installed"):
        resolve("numba", NormalGamma(0.0, 1.0, 1.0, 1.0))
