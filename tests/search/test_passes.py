"""Passes: moving any points at once by tangents never lowers the log joint, and labels are those of a slow twin."""

import itertools
import math

import numpy as np
import pytest

from mapdpm import NormalGamma, NormalInverseWishart, NormalKnownVariance
from mapdpm.backends import BACKENDS
from mapdpm.data import point_set
from mapdpm.likelihoods._squared_distance import SquaredDistance
from mapdpm.partition_priors import ClusterPenalty, partition_prior
from mapdpm.partition_priors.emptied import largest_held
from mapdpm.protocol import Model
from mapdpm.search import chunks, climb_in_passes, passes
from mapdpm.search.chunks import Chunk, Frame
from mapdpm.search.climb_in_passes import Climb, Limits, Start
from mapdpm.search.fit_in_passes import InThreads
from mapdpm.search.moves import split_in_passes
from mapdpm.state import empty, statistics
from mapdpm.testing.laws import row_of
from tests.families import FAMILIES, example
from tests.marks import complete_but

UNIT = 2.0**-52
PRIORS = (partition_prior(1.0, 0.0), partition_prior(0.7, 0.4))
NORMAL = (NormalGamma, NormalKnownVariance, NormalInverseWishart)


def frame_of(family, seed=0, n=40, prior=PRIORS[0], backend="python"):
    likelihood, data = example(family, np.random.default_rng(seed), n)
    return Frame(likelihood.for_data(data), prior, np.zeros(point_set(data).n_features), backend), data


def joint_terms(frame, data, labels):
    """The terms of the log joint, from rows that are made of the points."""
    sizes = np.bincount(labels)
    groups = [np.flatnonzero(labels == k) for k in np.flatnonzero(sizes)]
    marginals = [frame.likelihood.log_marginal(row_of(frame.likelihood, data, group)) for group in groups]
    return [frame.prior.log_partition(sizes[sizes > 0].astype(float)), *marginals]


def slopes_of(frame, data, labels, K):
    sums = chunks.sums_of(frame, data, None, labels, K)
    constants, parameters, _ = chunks.labelling_of(frame, sums)
    n = point_set(data).n_points
    return np.array(
        [[constants[k] + frame.likelihood.log_likelihood(parameters[k], data, i) for k in range(K)] for i in range(n)]
    )


@pytest.mark.parametrize("prior", PRIORS, ids=("dirichlet-process", "pitman-yor"))
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n_moves", [*complete_but([300], [300, 1500]), pytest.param(10_000, marks=pytest.mark.slow)])
def test_the_joint_rises_by_at_least_what_tangents_say(family, prior, n_moves):
    """J(z') - J(z) >= the sum of s_z'(x) - s_z(x), whatever moves at once: maths (97)."""
    frame, data = frame_of(family, seed=3, n=24, prior=prior)
    rng, K, n = np.random.default_rng(4), 4, 24
    held = largest_held(prior, K)
    seen = 0
    while seen < n_moves:
        before = rng.integers(0, K, n)
        sizes = np.bincount(before, minlength=K)
        if sizes.min() <= held:
            continue
        joint, slopes = joint_terms(frame, data, before), slopes_of(frame, data, before, K)
        for share in rng.random(20):
            after = np.where(rng.random(n) < share, rng.integers(0, K, n), before)
            rise = math.fsum([*joint_terms(frame, data, after), *(-term for term in joint)])
            least = math.fsum(slopes[np.arange(n), after] - slopes[np.arange(n), before])
            size = sum(map(abs, joint)) + np.abs(slopes).max(axis=1).sum()
            assert rise >= least - 64 * frame.likelihood.size() * UNIT * (1.0 + size)
            seen += 1


def test_small_clusters_are_held_for_a_reason():
    """To empty them may lose, and to empty a larger one may not: n psi(n) - lnG(n) against ln alpha, maths (105)."""
    for alpha in (0.1, 1.0, 10.0, 1e3, 1e6):
        for discount in (0.0, 0.3, 0.9):
            prior = partition_prior(alpha, discount)
            held = largest_held(prior, 5)
            for n in range(1, 40):
                loses = prior.log_new(4, float(n)) - n * prior.slope(float(n)) > 0.0
                assert not loses or n <= held
    assert largest_held(ClusterPenalty(3.0), 5) == 0.0
    # A point that a pass would move out of its cluster, at a loss, for the prior knows where the mean is.
    likelihood, prior = NormalKnownVariance(0.0, 1e-3, 1.0), partition_prior(1e3, 0.0)
    data = np.array([[0.0]] * 20 + [[0.1]])
    frame = Frame(likelihood, prior, np.zeros(1), "python")
    labels = np.array([0] * 20 + [1])
    slopes = slopes_of(frame, data, labels, 2)
    assert slopes[20, 0] > slopes[20, 1]
    assert math.fsum(joint_terms(frame, data, np.zeros(21, dtype=np.int64))) < math.fsum(
        joint_terms(frame, data, labels)
    )


@pytest.mark.parametrize(
    ("name", "family"),
    [
        *itertools.product(["python"], FAMILIES),
        *(("c", family) for family in FAMILIES),
        *(pytest.param("numba", family, marks=pytest.mark.complete) for family in FAMILIES),
    ],
)
def test_labels_and_margins_are_those_of_the_slow_twin(name, family):
    frame, data = frame_of(family, seed=1, n=70, backend=name)
    K, labels = 5, np.arange(70) % 4
    labels[-3:] = 4
    sums = chunks.sums_of(frame._replace(backend_name="python"), data, None, labels, K)
    twice = chunks.Sums(sums.counts[[0, 0, 1, 2, 3, 4]], sums.statistics[[0, 0, 1, 2, 3, 4]])  # slots 0 and 1 tie
    labelling = chunks.labelling_of(frame, twice)
    found = passes.labelled(frame, Chunk(data, None, 0), labelling)
    scores = slopes_of(frame, data, labels, K)[:, [0, 0, 1, 2, 3, 4]]
    np.testing.assert_array_equal(found.labels, scores.argmax(axis=1))
    ordered = np.sort(scores, axis=1)
    bound = 64 * frame.likelihood.size() * UNIT * (1.0 + np.abs(scores).max(axis=1))
    assert np.all(np.abs(found.margins - (ordered[:, -1] - ordered[:, -2])) <= bound)


def test_squared_distances_make_a_pass_of_lloyd():
    rng = np.random.default_rng(2)
    X, labels = rng.normal(size=(50, 3)), np.arange(50) % 4
    frame = Frame(SquaredDistance(np.ones(3)), ClusterPenalty(2.0), np.zeros(3), "c")
    labelling = chunks.labelling_of(frame, chunks.sums_of(frame, X, None, labels, 4))
    means = np.array([X[labels == k].mean(axis=0) for k in range(4)])
    nearest = ((X[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(passes.labelled(frame, Chunk(X, None, 0), labelling).labels, nearest)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", complete_but(["c", "python"], ["python", "numba", "c"]))
def test_restless_points_are_those_that_a_sweep_would_move_first(name, weighted):
    """Each point is tried by a sweep of its own, from a fresh copy; an outlier is left open, never overlooked."""
    rng = np.random.default_rng(7)
    likelihood = NormalGamma(np.zeros(2), 0.1, 1.0, np.full(2, 0.5))
    X = np.vstack([rng.normal(size=(30, 2)), rng.normal(size=(12, 2)) + 2.0, [[1e6, 0.0]], [[7.0, 7.0]]])
    weights = rng.uniform(0.5, 2.0, len(X)) if weighted else None
    labels = np.r_[np.zeros(30), np.ones(12), 1, 2].astype(np.int64)
    labels[:6] = 1
    model, backend = Model(likelihood, PRIORS[0], X, weights), BACKENDS[name]
    state = empty(likelihood, 0, 4)._replace(labels=labels)
    backend.statistics(model, state)
    rows, found = state.rows.copy(), np.empty(len(X), dtype=np.bool_)
    backend.restless(model, state, found)
    np.testing.assert_array_equal(state.rows, rows)
    expected = []
    for i in range(len(X)):
        order = np.r_[i, np.delete(np.arange(len(X)), i)]
        first = empty(likelihood, 0, 4)._replace(labels=labels[order])
        of_order = Model(likelihood, PRIORS[0], X[order], None if weights is None else weights[order])
        BACKENDS["python"].statistics(of_order, first)
        BACKENDS["python"].sweep(of_order, first, 0, False)
        expected.append(first.labels[0] != labels[i])
    np.testing.assert_array_equal(found, np.array(expected))
    assert 0 < found.sum() < len(X)


def test_a_pass_says_whether_it_picked_all_that_would_move():
    """Three outliers want a cluster of their own, if one may be opened; a quota of two leaves one of them."""
    rng = np.random.default_rng(3)
    X = np.vstack([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 9.0, np.full((3, 2), -30.0)])
    likelihood = NormalGamma(np.zeros(2), 0.01, 1.0, np.full(2, 0.5))
    frame = chunks.frame_of(likelihood, PRIORS[0], np.zeros(2), "c")
    clusters = chunks.sums_of(frame, X, None, np.repeat([0, 1, 0], (40, 40, 3)), 2)
    labelling = chunks.labelling_of(frame, clusters)

    def picked(may_open, most):
        quota = chunks.Quota(most, 0.0)  # nobody because of the margin
        return passes.restless(frame, Chunk(X, None, 0), labelling, clusters, may_open, quota, 1).picked

    everyone = picked(may_open=True, most=50)
    assert everyone.numbers.tolist() == [80, 81, 82]
    assert everyone.is_complete
    some = picked(may_open=True, most=2)
    assert len(some.numbers) == 2
    assert not some.is_complete
    assert len(picked(may_open=False, most=50).numbers) == 0


def test_a_point_that_was_moved_is_not_held_where_it_was():
    """The labelling puts three points into a small cluster, and one has moved to the large one: two are held."""
    X = np.r_[np.zeros(20), 50.0, 50.1, 50.2][:, None]
    frame = chunks.frame_of(NormalGamma(0.0, 0.1, 1.0, 1.0).for_data(X), partition_prior(1e3, 0.0), np.zeros(1), "c")
    before = chunks.sums_of(frame, X, None, np.repeat([0, 1], (20, 3)), 2)
    after = chunks.sums_of(frame, X, None, np.repeat([0, 1, 0], (20, 2, 1)), 2)
    limits = Limits(None, 50, lambda: False, lambda _: False)
    climb = Climb(InThreads(X, None, 1), frame, Start(before, X[:0]), limits, np.random.default_rng(0))
    moved = chunks.Held(np.array([22]), np.array([0]))
    held = climb._held(chunks.labelling_of(frame, before), after, moved)
    assert (held.numbers.tolist(), held.slots.tolist()) == ([20, 21], [1, 1])


def test_halves_are_sought_on_samples_of_the_whole_cluster(monkeypatch):
    """The points are sorted: a sample of those that come first would be one of the two clusters."""
    seen = []
    monkeypatch.setattr(split_in_passes, "_PICKED", 400)
    monkeypatch.setattr(split_in_passes, "SAMPLE", 100)
    monkeypatch.setattr(split_in_passes, "best_halves", lambda whole, starts: seen.append(whole.points))
    X = np.repeat([0.0, 5.0], 1000)[:, None] + np.random.default_rng(0).normal(size=(2000, 1))
    frame = chunks.frame_of(NormalGamma.empirical(X), PRIORS[0], np.zeros(1), "c")
    start = Start(chunks.sums_of(frame, X, None, np.zeros(2000, dtype=np.int64), 1), X[:0])
    limits = Limits(None, 50, lambda: False, lambda _: False)
    climb = Climb(InThreads(X, None, 1), frame, start, limits, np.random.default_rng(0))
    split_in_passes.SplitInPasses()(climb)
    assert [len(sample) > 100 for sample in seen] == [True, True]
    for sample in seen:
        assert 0.4 < np.mean(sample > 2.5) < 0.6  # the share is .5, its standard error .035


@pytest.mark.parametrize("name", complete_but(["c", "python"], ["python", "numba", "c"]))
def test_rows_are_made_anew_from_the_points_that_are_elsewhere(name):
    """An outlier that leaves destroys the row, which is then made of its base and of the points that are here."""
    rng = np.random.default_rng(5)
    likelihood = NormalGamma(np.zeros(1), 0.1, 1.0, np.ones(1))
    X = np.r_[rng.normal(size=40), 1e7][:, None]
    here = np.r_[40, 0:5]
    whole = empty(likelihood, 0, 2)._replace(labels=np.zeros(41, dtype=np.int64))
    statistics(likelihood, X, None, whole)
    base = empty(likelihood, 0, 2)._replace(labels=np.where(np.isin(np.arange(41), here), -1, 0))
    statistics(likelihood, X, None, base)
    some = whole._replace(labels=np.zeros(6, dtype=np.int64), base=base.rows)
    BACKENDS[name].sweep(Model(likelihood, PRIORS[0], X[here]), some, 0, False)
    assert some.labels.tolist() == [1, 0, 0, 0, 0, 0]
    expected = row_of(likelihood, X, range(40))
    np.testing.assert_allclose(some.rows[0], expected, rtol=1e-12, atol=1e-12)  # sums of 40 numbers near 1


class Watched(Climb):
    """A climb that makes sure that no step lowers the log joint by more than its rounding."""

    raw = -math.inf

    def _take(self, total, held):
        live = total.counts > 0
        joint = self.joint_of(self.frame.prior, chunks.Sums(total.counts[live], total.statistics[live]))
        size = np.abs(self.marginals(chunks.Sums(total.counts[live], total.statistics[live]))).sum()
        # Each sum goes through a rounding a point when it is made, and some for each chunk it is joined with.
        assert joint >= self.raw - 256 * UNIT * (abs(joint) + size + self.run.n_points)
        self.raw = joint
        return super()._take(total, held)


@pytest.mark.parametrize("alpha", [0.5, 30.0, 1e3])
@pytest.mark.parametrize("family", complete_but(NORMAL, FAMILIES))
@pytest.mark.parametrize("n_passes", [*complete_but([40], [40, 200]), pytest.param(1000, marks=pytest.mark.slow)])
def test_no_pass_lowers_the_joint(family, alpha, n_passes, monkeypatch):
    """Chunks of ten points, random starts, moves of one point among a few after each pass: many clusters vanish."""
    monkeypatch.setattr(chunks, "PART", 10)
    monkeypatch.setattr(climb_in_passes, "_FEWEST_BETWEEN", 1)
    monkeypatch.setattr(climb_in_passes, "BETWEEN", 20)
    frame, data = frame_of(family, seed=9, n=150, prior=partition_prior(alpha, 0.0), backend="c")
    rng, done, small = np.random.default_rng(1), 0, 0
    limits = Limits(None, 50, lambda: False, lambda _: False)
    while done < n_passes:
        labels = np.unique(rng.integers(0, rng.integers(2, 60), 150), return_inverse=True)[1]
        start = chunks.sums_of(frame, data, None, labels.astype(np.int64), labels.max() + 1)
        climb = Watched(InThreads(data, None, 1), frame, Start(start, point_set(data).part(0, 0)), limits, rng)
        climb.climb(merges=True, split=None)
        done += climb.n_passes
        small += len(climb.labelling.held.numbers)
        assert climb.clusters.counts.sum() == 150
    assert small or alpha < 1e3
