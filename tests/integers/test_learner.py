"""The learner in whole numbers: C has the bits of its definition in Python, and takes the steps of the one of reals."""

import numpy as np
import pytest

from integer_learners import FULL, InC, drawn
from mapdpm import NormalGamma, OnlineMAPDPM
from mapdpm.integers.clusters import Prior
from mapdpm.integers.learner import Learner
from mapdpm.integers.slots import NONE, Options
from mapdpm.metrics import adjusted_mutual_info


def assert_same(in_c, defined):
    assert in_c.events() == defined.events
    clusters = [defined.slot(k) for k in defined.used()]
    views = [defined.prior.view(each.own, defined.weight) for each in clusters]
    origin = [8192 * each for each in defined.options.centre]
    assert in_c.clusters() == [
        (slot.id, view.weight, [a + b for a, b in zip(view.places, origin, strict=True)], view.squares)
        for slot, view in zip(clusters, views, strict=True)
    ]


def compare(seed, n):
    options, points, _ = drawn(seed, n)
    defined, in_c = Learner(options), InC(options)
    for x in points.tolist():
        assert in_c.learn(x) == defined.learn(x)
    assert_same(in_c, defined)


@pytest.mark.parametrize("seed", range(12))
def test_c_has_the_bits_of_the_definition(seed):
    compare(seed, 600)


@pytest.mark.parametrize("half_life", [0, 70])
def test_clusters_of_another_go_on(half_life):
    """With their ids, also where a half-life has begun; both learners then go on with the same bits."""
    points, _ = clusters_of_normals(0, 900)
    rows = points.tolist()
    options = options_for(3, max_clusters=12, half_life=half_life)
    other, defined, in_c = InC(options), Learner(options), InC(options)
    other.learn_many(points)
    for each in (defined, in_c):
        for x in rows[:100]:
            each.learn(x)
    number = defined.next_id + 3
    for _, weight, means, squares in other.clusters()[: 12 - len(defined.used())]:
        for each in (defined, in_c):
            each.insert(number, weight, means, squares)
        number += 2
    assert_same(in_c, defined)
    assert max(cluster[0] for cluster in in_c.clusters()) == number - 2
    for x in rows[100:400]:
        assert in_c.learn(x) == defined.learn(x)
    assert_same(in_c, defined)


@pytest.mark.complete
@pytest.mark.parametrize("seed", range(100, 116))
def test_c_has_the_bits_of_the_definition_for_long(seed):
    compare(seed, 3000)


def of_reals(options, points, names=("least-loss", "merge", "evict", "refuse", "error")):
    prior = options.prior
    b0 = np.array(prior.twice_b0) / 512
    family = NormalGamma(np.array(options.centre, float), prior.c0 / 65536, prior.twice_a0 / 512, b0)
    learner = OnlineMAPDPM(
        options.max_clusters,
        likelihood=family,
        alpha=options.alpha / 65536,
        half_life=options.half_life or None,
        when_full=names[options.when_full],
        surprise=False,
    )
    scores = np.array([(learner.score_one(x), learner.learn_one(x)) for x in points.astype(float)])
    return learner, scores[:, 0], scores[:, 1].astype(int)


def clusters_of_normals(seed, n=3000, K=8, D=3, apart=6, unit=400):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, K, n)
    X = rng.normal(0, apart, (K, D))[labels] + rng.normal(size=(n, D))
    return np.clip(np.rint(unit * X), -32767, 32767).astype(np.int16), labels


def options_for(D, unit=400, **more):
    return Options(Prior(3277, 512, (2 * unit**2 * 256,) * D), [0] * D, 65536, **more)


@pytest.mark.parametrize(
    ("slots", "half_life", "when_full"), [(16, 0, 0), (5, 0, 0), (5, 0, 1), (5, 0, 2), (16, 300, 0)]
)
def test_it_learns_as_the_learner_of_reals(slots, half_life, when_full):
    better = []
    for seed in range(3):
        points, labels = clusters_of_normals(seed)
        options = options_for(3, max_clusters=slots, half_life=half_life, when_full=when_full)
        _, scores, ids = of_reals(options, points)
        found, mine = InC(options).learn_many(points)
        better.append(adjusted_mutual_info(labels, found) - adjusted_mutual_info(labels, ids))
        if slots == 16:  # else another choice of a slot to free changes all that follows
            assert np.median(np.abs(mine - scores)) < 0.01
    assert np.mean(better) >= -0.02
    assert slots < 16 or np.mean(better) <= 0.02


def test_a_new_cluster_near_an_old_one_is_found():
    X = np.random.default_rng(3).normal(size=(1500, 2)) + 5.0 * (np.arange(1500) >= 1000)[:, None]
    ids, _ = InC(options_for(2)).learn_many(np.rint(400 * X))
    assert len(set(ids[500:1000])) == 1
    assert set(ids[1200:]) == {max(ids)} != {ids[900]}


def test_a_full_learner_that_refuses_changes_nothing():
    options = options_for(1, max_clusters=1, when_full=4)
    defined, in_c = Learner(options), InC(options)
    defined.learn([0]), in_c.learn([0])
    before = in_c.memory.copy()
    assert defined.learn([30000]) == in_c.learn([30000]) == (NONE, FULL)
    np.testing.assert_array_equal(in_c.memory, before)


def test_weights_halve_at_the_largest():
    options = options_for(2)
    defined = Learner(options)
    for x in np.random.default_rng(0).integers(-400, 400, (300, 2)).tolist():
        defined.learn(x)
    heavy = defined.slot(0).own
    factor = (1 << 30) // heavy.weight
    heavy.weight, heavy.squares = heavy.weight * factor, [each * factor for each in heavy.squares]
    before = (heavy.weight, list(heavy.squares), list(heavy.means))
    for _ in range(400):
        defined.learn([5, 5])
    assert before[0] / 2 < defined.slot(0).own.weight < before[0] / 2 + 401 * 256
    np.testing.assert_allclose(heavy.means, before[2], atol=1 << 23)
    assert abs(heavy.squares[0] / before[1][0] - 0.5) < 1e-3


def test_a_million_points_leave_means_where_they_are():
    points = np.random.default_rng(1).integers(-200, 1000, (1_000_000, 1)).astype(np.int16)
    learner = InC(options_for(1, max_clusters=1, when_full=3))
    learner.learn_many(points)
    ((_, weight, (mean,), (squares,)),) = learner.clusters()
    assert weight == 256 * len(points)
    assert abs(mean / 8192 - points.mean()) < 1
    assert abs(squares / weight / points.var() - 1) < 1e-3
