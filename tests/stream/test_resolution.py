"""Values in steps: the warm-up finds the steps as a table does, and equal values are no cluster."""

import struct

import numpy as np
import pytest
from scipy import stats

from mapdpm import MAPDPM, NormalGamma, OnlineAlphaSelector, OnlineHDP, OnlineHDPHMM, OnlineMAPDPM, metrics
from mapdpm.data.steps import grid_of
from mapdpm.files.errors import ModelFileError
from mapdpm.stream import single_precision
from tests.mutations import repaired

N = 200

ROUNDED = {
    "tenths": lambda rng: rng.normal(20, 3, N).round(1),
    "whole numbers": lambda rng: rng.normal(20, 3, N).round(),
    "quarters": lambda rng: (4 * rng.normal(20, 3, N)).round() / 4,
    "tens": lambda rng: rng.normal(2000, 300, N).round(-1),
    "a converter": lambda rng: rng.integers(100, 900, N) * 5 / 1023,
    "a converter, in print": lambda rng: (rng.integers(100, 160, N) * 5 / 1023).round(3),
    "degrees Fahrenheit": lambda rng: rng.normal(20, 2, N).round(1) * 1.8 + 32,
    "small units": lambda rng: rng.normal(3e-6, 1e-6, N).round(7),
    "large numbers": lambda rng: rng.integers(10**6, 10**6 + 500, N).astype(float),
    "two numbers": lambda rng: 3.5 * rng.integers(0, 2, N),
}


def steps_of(column, dtype="float64", **settings):
    """That of a column, beside one without a step."""
    X = np.c_[column, np.linspace(0.0, 1.0, len(column)) ** 2]
    step, other = OnlineMAPDPM(8, warmup=len(column), dtype=dtype, **settings).partial_fit(X).likelihood_.resolution
    assert other == 0.0
    return step


# ---- which steps -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(ROUNDED))
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_steps_are_those_of_a_table(name, dtype):
    """C finds by gaps what Python finds by a line through all values; float32 has seven digits of a value."""
    column = ROUNDED[name](np.random.default_rng(0))
    expected = grid_of(np.unique(column)).step
    assert steps_of(column, dtype) == pytest.approx(expected, rel=1e-3 if "print" in name else 1e-5)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_random_numbers_have_no_step(dtype):
    rng = np.random.default_rng(1)
    columns = np.stack([make(size=N) for make in (rng.normal, rng.exponential, rng.random) for _ in range(40)], axis=1)
    columns *= 10.0 ** rng.integers(-9, 9, 120)
    model = OnlineMAPDPM(8, warmup=N, dtype=dtype, relevance="all").partial_fit(columns)
    assert not model.likelihood_.resolution.any()


@pytest.mark.parametrize(
    "column",
    [np.full(N, 3.7), np.full(N, 0.0), np.where(np.arange(N) % 9, np.nan, 1.5), np.full(N, np.nan)],
    ids=["a constant", "zeros", "gaps", "nothing"],
)
def test_a_column_without_two_values_has_no_step(column):
    assert steps_of(column, missing="skip") == 0.0


def test_a_value_that_is_held_has_its_usual_distance():
    """As in a table: no grid, and fewer than half of the values are distinct."""
    held = np.repeat(np.random.default_rng(2).normal(size=N // 4), 4)
    gaps = np.diff(np.unique(held))
    nearest = np.minimum(np.append(gaps, gaps[-1]), np.append(gaps[0], gaps))
    assert steps_of(held) == pytest.approx(np.sort(nearest)[len(nearest) // 2 - 1], rel=1e-12)


def test_a_fine_step_does_not_matter():
    """Hardly any value is there twice: they are taken as exact."""
    column = np.random.default_rng(3).normal(0, 1e4, N).round(1)
    assert grid_of(np.unique(column)).step == pytest.approx(0.1)
    assert steps_of(column) == 0.0


# ---- what they change ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [OnlineMAPDPM, OnlineHDP, OnlineHDPHMM, OnlineAlphaSelector])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_found_steps_are_given_steps(learner, dtype):
    rng = np.random.default_rng(4)
    X = np.c_[(8 * rng.integers(0, 3, 900) + rng.normal(size=900)).round(), rng.normal(size=900)]
    groups = {"groups": np.zeros(900)} if learner is OnlineHDP else {}
    found, given = learner(dtype=dtype, relevance="all"), learner(dtype=dtype, relevance="all", resolution=[1.0, 0.0])
    assert found.learn_many(X, **groups).tolist() == given.learn_many(X, **groups).tolist()
    assert found.likelihood_.resolution.tolist() == given.likelihood_.resolution.tolist() == [1.0, 0.0]
    np.testing.assert_array_equal(found.means, given.means)
    assert [found.score_one(x) for x in X[:50]] == [given.score_one(x) for x in X[:50]]


def test_scores_are_student_t_of_rows_with_cells():
    """One cluster of whole numbers: the density of a new point, by scipy, and the variance of the values."""
    X = np.random.default_rng(5).normal(3, 2, (400, 1)).round()
    prior = NormalGamma(0.0, 0.1, 2.0, 3.0, resolution=1.0)
    model = OnlineMAPDPM(1, likelihood=prior, when_full="refuse").partial_fit(X)
    n, mean, squares = len(X), X.mean(), np.sum((X - X.mean()) ** 2)
    a, c = 2.0 + n / 2, 0.1 + n
    b = 3.0 + (squares + n / 12) / 2 + 0.1 * n * mean**2 / (2 * c)
    new = np.linspace(-9, 9, 7)
    in_cluster = stats.t.logpdf(new, 2 * a, n * mean / c, np.sqrt(b * (c + 1) / (a * c)))
    opened = stats.t.logpdf(new, 4.0, 0.0, np.sqrt(3.0 / 2.0 * 1.1 / 0.1))
    expected = np.logaddexp(np.log(n) + in_cluster, opened) - np.log(n + 1)
    np.testing.assert_allclose(model.score_samples(new[:, None]), expected, rtol=1e-9)
    assert model.variances[0, 0] == pytest.approx(squares / n, rel=1e-9)


def test_a_fit_of_rounded_values_goes_on():
    """Steps, statistics and densities stay as they were; the next rounded points add their cells."""
    rng = np.random.default_rng(6)
    X = (8 * rng.integers(0, 3, (600, 1)) + rng.normal(size=(600, 2))).round()
    fit = MAPDPM(covariance="diagonal", relevance="all").fit(X)
    assert fit.likelihood_.resolution.tolist() == [1.0, 1.0]
    stream = OnlineMAPDPM.from_model(fit)
    assert stream.likelihood_.resolution.tolist() == [1.0, 1.0]
    np.testing.assert_allclose(stream.variances, fit.variances_, rtol=1e-9)
    exact = OnlineMAPDPM.from_model(fit, resolution=0)
    np.testing.assert_allclose(exact.variances, [X[fit.labels_ == k].var(axis=0) for k in exact.ids], rtol=1e-9)
    np.testing.assert_allclose(stream.score_samples(X), fit.score_samples(X), rtol=1e-9)
    tree, expected = stream.merge_tree(), fit.merge_tree()
    np.testing.assert_allclose(tree.losses, expected.losses, rtol=1e-6)
    stream.learn_many(np.tile(X[:1], (50, 1)))
    assert stream.n_clusters == fit.n_clusters_


def test_pooled_learners_keep_steps_and_cells():
    rng = np.random.default_rng(7)
    X = (8 * rng.integers(0, 2, (600, 1)) + rng.normal(size=(600, 1))).round()
    halves = [OnlineMAPDPM(8, warmup=100).partial_fit(part) for part in (X[:300], X[300:])]
    pooled = OnlineMAPDPM.merged(halves)
    assert pooled.likelihood_.resolution.tolist() == [1.0]
    assert pooled.n_clusters == 2
    members = [X[pooled.predict(X) == number] for number in pooled.ids]
    np.testing.assert_allclose(np.sort(pooled.variances[:, 0]), np.sort([each.var() for each in members]), rtol=1e-6)


# ---- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_points", [50, 150, 400])
def test_a_file_goes_on_with_the_same_bits(n_points):
    rng = np.random.default_rng(8)
    X = (8 * rng.integers(0, 3, (600, 1)) + rng.normal(size=(600, 2))).round(1)
    through, back = OnlineMAPDPM(8, warmup=100), OnlineMAPDPM(8, warmup=100)
    back = OnlineMAPDPM.from_bytes(back.partial_fit(X[:n_points]).to_bytes())
    assert through.partial_fit(X).to_bytes() == back.partial_fit(X[n_points:]).to_bytes()
    assert back.resolution == "auto"


@pytest.mark.parametrize("step", [np.nan, np.inf, 1e150, 1e-160])
def test_a_forged_step_is_refused(step):
    X = np.random.default_rng(9).normal(size=(300, 1)).round(1)
    data = bytearray(OnlineMAPDPM(2, warmup=100, relevance="all").partial_fit(X).to_bytes())
    at = data.rindex(struct.pack("<d", 0.1))
    data[at : at + 8] = struct.pack("<d", step)
    with pytest.raises(ModelFileError):
        OnlineMAPDPM.from_bytes(repaired(bytes(data)))


@pytest.mark.parametrize("wrong", [[0.1, 0.2, 0.3], "fine", [-1.0], [np.nan], [[0.1, 0.1]], []])
def test_wrong_steps_are_refused(wrong):
    with pytest.raises(ValueError, match="resolution must be"):
        OnlineMAPDPM(resolution=wrong, n_features=2).partial_fit([[0.0, 0.0]])


# ---- a first hour ----------------------------------------------------------------------------------------------------


def agreement(X, classes, first=500, **settings):
    model = OnlineMAPDPM(**settings)
    model.learn_many(X)
    return metrics.adjusted_mutual_info(classes[first:], model.predict(X[first:])), model


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("noise", [0, 4, 20])
@pytest.mark.parametrize("step", [1.0, 0.1])
def test_rounded_sources_beside_rounded_noise(step, noise, seed):
    """Three sources six deviations apart, of which normal tails leave some 2 % of points in doubt."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 3, 1500)
    X = np.c_[6 * classes + rng.normal(size=1500), rng.normal(size=(1500, noise))]
    agrees, model = agreement(np.round(X / step) * step + 50, classes)
    assert agrees >= 0.95
    assert model.n_clusters <= 4


@pytest.mark.parametrize("seed", range(3))
def test_a_relay_beside_two_numbers(seed):
    rng = np.random.default_rng(seed)
    classes, relay = rng.integers(0, 3, 1500), rng.integers(0, 2, 1500)
    X = np.c_[8 * classes + rng.normal(size=1500), 5 * (classes == 1) + rng.normal(size=1500), relay]
    assert agreement(X, classes)[0] >= 0.95


@pytest.mark.parametrize("seed", range(3))
def test_five_rounded_numbers_of_a_plug(seed):
    """Watts, volts, amperes, a power factor and hertz: watts and amperes say the same, and repeat."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 3, 3000)
    watts = np.array([2.0, 60.0, 900.0])[classes] * (1 + 0.02 * rng.normal(size=3000))
    volts = 230 + rng.normal(size=3000)
    others = (0.9 + 0.05 * rng.random(3000)).round(1), (50 + 0.05 * rng.normal(size=3000)).round(1)
    X = np.c_[watts.round(), volts.round(), (watts / volts).round(1), others[0], others[1]]
    assert agreement(X, classes, 1000)[0] >= 0.95


@pytest.mark.parametrize("rounds", [False, True])
def test_a_relay_that_was_off_in_the_warm_up(rounds):
    """It has no step then; one is found, and clusters that it had parted merge again, in most streams all of them."""
    agreements = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        classes, relay = rng.integers(0, 3, 4000), rng.integers(0, 2, 4000) * (np.arange(4000) >= 400)
        X = np.c_[8 * classes + rng.normal(size=4000), 5 * (classes == 1) + rng.normal(size=4000), relay]
        X[:, :2] = X[:, :2].round(1) if rounds else X[:, :2]
        model = OnlineMAPDPM().partial_fit(X)
        assert model.likelihood_.resolution[2] == pytest.approx(1.0)
        agreements.append(metrics.adjusted_mutual_info(classes, model.predict(X)))
        again = OnlineMAPDPM.from_bytes(model.to_bytes())
        assert again.learn_many(X[:50]).tolist() == model.learn_many(X[:50]).tolist()
    assert np.median(agreements) >= 0.98


def test_a_glitch_of_a_constant_is_no_step():
    rng = np.random.default_rng(1)
    X = np.c_[rng.normal(size=5000), np.where(rng.random(5000) < 0.01, 85.0, 20.0)]
    X[:300, 1] = 20.0
    model = OnlineMAPDPM().partial_fit(X)
    assert model.likelihood_.resolution[1] == 0.0
    assert model.assess_one([0.0, 85.0]).surprise < 1e-3


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_far_regimes_of_continuous_columns_are_no_steps(dtype):
    """A thousand deviations away, where two normal clusters look like two values; and after a constant."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(3000, 2))
    X[1000:, 0] += 1000.0
    X[:, 1] = np.where(np.arange(3000) < 400, 0.0, 20.0 + 0.1 * X[:, 1])
    model = OnlineMAPDPM(dtype=dtype).partial_fit(X)
    assert model.likelihood_.resolution.tolist() == [0.0, 0.0]
    assert model.n_clusters >= 2


def test_cells_of_a_step_that_comes_late_are_those_of_all_points():
    """One cluster, and its halves: the squares of two values about their mean, and a twelfth of a step for each."""
    X = np.zeros((590, 2))
    X[:, 0] = np.random.default_rng(2).normal(size=590)
    X[300:, 1] = np.random.default_rng(3).integers(0, 2, 290) * 4.0
    model = OnlineMAPDPM(1, when_full="refuse", relevance="all").partial_fit(X)
    assert model.likelihood_.resolution.tolist() == [0.0, 4.0]
    np.testing.assert_allclose(model.variances[0], X.var(axis=0), rtol=1e-9)
    whole, *halves = moments_of_one_slot(model.to_bytes())
    step = whole[2] / X[:, 1].mean() * 4.0  # in the units of the learner; its means are counted from 0
    assert all(half[0] > 0 for half in halves)
    for n, _, mean, _, squares in (whole, *halves):
        share = mean / step
        assert squares == pytest.approx(n * (share * (1 - share) + 1 / 12) * step**2, rel=1e-9)


def moments_of_one_slot(data):
    """The moments of a cluster and of its halves, as docs/format.md has them."""
    parts = list(single_precision._shape_of(data).parts("<f8"))
    place = [name for name, _, _ in parts].index("slots")
    at = 40 + 4 * 4 + 4 * 8 + sum(n * np.dtype(kind).itemsize for _, kind, n in parts[:place])
    return np.frombuffer(data, "<f8", parts[place][2], at)[:-1].reshape(3, 5)


@pytest.mark.parametrize("digits", [None, 1])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_values_off_the_grid_of_the_warm_up(dtype, digits):
    """A valve that is closed or open at first, and half open later: the step becomes finer, for all points."""
    rng = np.random.default_rng(5)
    classes = np.where(np.arange(3000) < 400, rng.integers(0, 2, 3000), rng.integers(0, 4, 3000))
    valve = np.array([0.0, 100.0, 20.0, 60.0])[classes] + np.where(classes > 1, rng.normal(size=3000), 0.0)
    X = np.c_[valve if digits is None else valve.round(digits), rng.normal(size=3000)]
    model = OnlineMAPDPM(dtype=dtype)
    ids = model.learn_many(X)
    assert metrics.adjusted_mutual_info(classes[1500:], ids[1500:]) >= 0.95
    assert model.likelihood_.resolution[0] == pytest.approx(0.1 if digits else 0.0, rel=1e-3)


def test_the_cells_of_a_finer_step_are_those_of_all_points():
    rng = np.random.default_rng(6)
    X = np.c_[rng.integers(0, 2, 900) * 4.0, rng.normal(size=900)]
    X[400:, 0] += rng.integers(0, 2, 500)
    model = OnlineMAPDPM(1, when_full="refuse", relevance="all").partial_fit(X[:400])
    assert model.likelihood_.resolution.tolist() == [4.0, 0.0]
    model.partial_fit(X[400:])
    assert model.likelihood_.resolution.tolist() == [1.0, 0.0]
    np.testing.assert_allclose(model.variances[0], X.var(axis=0), rtol=1e-9)


def test_a_column_that_was_missing_in_the_warm_up_has_no_step():
    """It has no value from which another would be a step away; a constant at first, and then two clusters."""
    rng = np.random.default_rng(7)
    classes = rng.integers(0, 2, 3000) * (np.arange(3000) >= 1500)
    noise = np.where(np.arange(3000) < 1500, 0.0, 0.01 * rng.normal(size=3000))
    late = np.where(np.arange(3000) < 400, np.nan, 21.3 + 0.4 * classes + noise)
    model = OnlineMAPDPM(missing="skip").partial_fit(np.c_[rng.normal(size=3000), late])
    assert model.likelihood_.resolution.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_values_near_the_grid_are_off_it(dtype):
    """A valve of 0 and 100, and later of 99.2 and 100 with noise: a hundredth of the step is no whole step."""
    rng = np.random.default_rng(8)
    nearly = rng.integers(0, 2, 3000)
    valve = np.where(np.arange(3000) < 400, 100.0 * nearly, 99.2 + 0.8 * nearly + 0.05 * rng.normal(size=3000))
    model = OnlineMAPDPM(dtype=dtype).partial_fit(np.c_[valve, rng.normal(size=3000)])
    assert model.likelihood_.resolution[0] == 0.0


def test_values_of_float32_stay_on_their_grid():
    """A learner of float64 that is given them: tenths are off by more than reals of eight bytes are."""
    rng = np.random.default_rng(9)
    X = np.c_[rng.normal(20.0, 3.0, 3000).round(1), rng.normal(size=3000).round(1)].astype(np.float32)
    assert OnlineMAPDPM().partial_fit(X).likelihood_.resolution == pytest.approx([0.1, 0.1], rel=1e-4)
