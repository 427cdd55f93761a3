"""A bank of alphas: as good as the best of them, the same bits as each of them, nothing lost in a file."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import mapdpm
from mapdpm import NormalGamma, NormalKnownVariance, OnlineAlphaSelector, OnlineMAPDPM
from mapdpm.files.container import ModelFileError, check_stream, with_extras

GRID = [1e-3, 1e-1, 1e1, 1e3]
PRIOR = NormalGamma([0.0, 0.0], 0.05, 1.0, [1.0, 1.0])


def blobs(n, K=6, seed=0):
    rng = np.random.default_rng([9, seed])
    return rng.normal(0.0, 7.0, (K, 2))[rng.integers(0, K, n)] + rng.normal(size=(n, 2))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("likelihood", [PRIOR, "auto"])
def test_each_learner_has_the_bits_of_one_by_itself(dtype, likelihood):
    X = blobs(900)
    selector = OnlineAlphaSelector(GRID, 8, likelihood=likelihood, half_life=300, dtype=dtype)
    _, densities = selector.learn_many_scored(X)
    same = {"likelihood": likelihood, "half_life": 300, "dtype": dtype, "surprise": False}
    single = [OnlineMAPDPM(8, alpha=alpha, **same) for alpha in GRID]
    alone = np.array([each.learn_many_scored(X)[1] for each in single])
    assert [each.to_bytes() for each in single] == selector._bank.state()[1]
    # each point has the density of one of them, that of the learner that answered
    known = ~np.isnan(densities)
    assert np.all((alone == densities).any(axis=0)[known])
    best = GRID.index(selector.alpha)
    np.testing.assert_array_equal(selector.score_samples(X[:50]), single[best].score_samples(X[:50]))
    assert selector.ids.tolist() == single[best].ids.tolist()
    assert selector.n_seen == len(X)


def test_a_bank_of_one_is_the_learner():
    X = blobs(500)
    selector, alone = OnlineAlphaSelector([2.0], likelihood=PRIOR), OnlineMAPDPM(alpha=2.0, likelihood=PRIOR)
    assert [selector.learn_one(x) for x in X.tolist()] == [alone.learn_one(x) for x in X.tolist()]
    assert selector.events == alone.events
    assert selector.scores.tolist() == [0.0]


def test_scores_are_decayed_sums():
    X = blobs(700)
    selector = OnlineAlphaSelector(GRID, likelihood=PRIOR, score_half_life=100.0, margin=0.0)
    selector.learn_many(X)
    alone = np.array([OnlineMAPDPM(alpha=alpha, likelihood=PRIOR).learn_many_scored(X)[1] for alpha in GRID])
    weights = 0.5 ** (np.arange(len(X))[::-1] / 100.0)
    expected = (alone - alone[0]) @ weights
    # keep = 2^(-1/100) is rounded once, 700 powers of it and as many compensated sums follow
    np.testing.assert_allclose(selector.scores, expected, rtol=1e-11, atol=1e-11)
    assert selector.alpha == GRID[int(np.argmax(expected))]


@pytest.mark.parametrize("kind", ["still", "drifting", "churning"])
def test_it_predicts_as_the_best_fixed_alpha_in_hindsight(kind):
    rng = np.random.default_rng(3)
    n, K = 12_000, 8
    labels = rng.integers(0, K, n)
    if kind == "churning":
        labels = (labels + K * (np.arange(n) // 3000)) % 32
    centres = rng.normal(0.0, 6.0, (32, 3))
    ways = rng.normal(size=(32, 3)) * (8.0 if kind == "drifting" else 0.0)
    X = centres[labels] + ways[labels] * np.linspace(0.0, 1.0, n)[:, None] + rng.normal(size=(n, 3))
    half_life = None if kind == "still" else 1500
    grid = np.geomspace(1e-3, 1e2, 6)
    fixed = [OnlineMAPDPM(32, alpha=a, half_life=half_life).learn_many_scored(X)[1] for a in grid]
    selector = OnlineAlphaSelector(grid, 32, half_life=half_life)
    densities = selector.learn_many_scored(X)[1][200:]
    assert densities.mean() >= max(each[200:].mean() for each in fixed) - 0.01
    # and from the change on: the last third
    assert densities[7800:].mean() >= max(each[8000:].mean() for each in fixed) - 0.01


def test_it_switches_and_says_so():
    rng = np.random.default_rng(1)
    few = blobs(1500, K=1)
    many = rng.uniform(-40.0, 40.0, (60, 2))[rng.integers(0, 60, 3000)] + rng.normal(size=(3000, 2))
    selector = OnlineAlphaSelector([1e-8, 30.0], 64, likelihood=PRIOR, score_half_life=1000.0)
    selector.learn_many(few)
    assert selector.alpha == 1e-8
    selector.learn_many(many)
    assert selector.alpha == 30.0
    switches = [event for event in selector.events if event.kind == "switched"]
    assert [(event.id, event.other) for event in switches][-1] == (0, 1)
    assert 1500 < switches[-1].when <= 4500
    assert len(switches) == selector._bank.n_switches
    sure = OnlineAlphaSelector([1e-8, 30.0], 64, likelihood=PRIOR, margin=1e9)
    sure.learn_many(np.vstack([few, many]))
    assert sure.alpha == 1e-8
    assert not [event for event in sure.events if event.kind == "switched"]


def test_a_file_goes_on_with_the_same_bits(tmp_path):
    X = blobs(1200)
    selector = OnlineAlphaSelector(GRID, 8, half_life=400, margin=0.5, score_half_life=50.0)
    selector.learn_many(X[:700])
    selector.save(tmp_path / "bank.mdpm")
    for again in (mapdpm.load(tmp_path / "bank.mdpm"), pickle.loads(pickle.dumps(selector))):
        assert isinstance(again, OnlineAlphaSelector)
        assert (again.alpha, again.events, again.nbytes) == (selector.alpha, selector.events, selector.nbytes)
        np.testing.assert_array_equal(again.scores, selector.scores)
    again.learn_many(X[700:])
    selector.learn_many(X[700:])
    assert again.to_bytes() == selector.to_bytes()
    single = OnlineMAPDPM.from_bytes(selector.to_bytes())  # what a chip reads
    np.testing.assert_array_equal(single.score_samples(X[:9]), selector.score_samples(X[:9]))


@pytest.mark.parametrize(
    "changes",
    [
        {"n_features": 15, "max_clusters": 1, "likelihood": NormalGamma(np.zeros(15), 0.1, 1.0, np.ones(15))},
        {"n_features": 1, "likelihood": NormalGamma(np.zeros(1), 0.1, 1.0, np.ones(1))},
        {"likelihood": NormalGamma(np.ones(2), 0.1, 1.0, np.ones(2))},
        {"likelihood": NormalKnownVariance(np.zeros(2), 10.0, 1.0)},
        {"max_clusters": 5},
        {"alpha": 2.0},
        {"half_life": 10.0},
        {"when_full": "evict"},
        {"missing": "skip"},
        {"dtype": "float32"},
    ],
    ids=", ".join,
)
def test_every_learner_in_a_file_has_the_options_of_the_bank(changes):
    """C would read beyond the points, if a learner of more features could get in."""
    options = {"likelihood": NormalGamma(np.zeros(2), 0.1, 1.0, np.ones(2)), "n_features": 2}
    selector = OnlineAlphaSelector([0.1, 1.0], 6, **options).partial_fit([[0.0, 1.0]])
    file = selector.to_bytes()
    other = OnlineMAPDPM(**{"max_clusters": 6, "alpha": 1.0, **options, **changes}).to_bytes()
    with pytest.raises(ModelFileError, match="damaged"):
        OnlineAlphaSelector.from_bytes(with_extras(file, {"alpha_bank_learner_1": np.frombuffer(other, np.int8)}))


def test_damaged_files_are_refused():
    selector = OnlineAlphaSelector([0.1, 1.0], 4, likelihood=PRIOR)
    selector.learn_many(blobs(50))
    file = selector.to_bytes()
    bank = check_stream(file)[1]["alpha_bank"]
    changes = [
        {"alpha_bank": {**bank, "best": 2}},
        {"alpha_bank": {**bank, "margin": -1.0}},
        {"alpha_bank": {**bank, "switches": [["switched", 0]]}},
        {"alpha_bank": []},
        {"alpha_bank_alphas": np.array([0.1, -1.0])},
        {"alpha_bank_alphas": np.array([0.1, 1.0, 2.0])},
        {"alpha_bank_scores": np.zeros(3)},
        {"alpha_bank_scores": np.full(4, np.nan)},
        {"alpha_bank_learner_1": np.frombuffer(b"nothing", np.int8)},
    ]
    for change in changes:
        with pytest.raises(ModelFileError, match="damaged"):
            OnlineAlphaSelector.from_bytes(with_extras(file, change))
    for change in ({"alpha_bank_alphas": np.array([0.1, 1e60])}, {"alpha_bank_scores": np.full(4, 1e60)}):
        small = OnlineAlphaSelector([0.1, 1.0], 4, likelihood=PRIOR, dtype="float32").to_bytes()
        with pytest.raises(ModelFileError, match="damaged: its bank of alphas"):
            OnlineAlphaSelector.from_bytes(with_extras(small, change))
    with pytest.raises(ModelFileError, match="a single learner, no bank"):
        OnlineAlphaSelector.from_bytes(OnlineMAPDPM(likelihood=PRIOR).to_bytes())


def test_memory_is_that_of_the_learners():
    one = OnlineMAPDPM(16, n_features=3, surprise=False).nbytes
    selector = OnlineAlphaSelector(np.geomspace(0.01, 10.0, 7), 16, n_features=3)
    head_and_scores = 32 + 7 * 2 * 8
    assert selector.nbytes == 7 * one + head_and_scores
    before = selector.nbytes
    selector.learn_many(np.random.default_rng(0).normal(size=(3000, 3)))
    assert selector.nbytes == before


def test_parameters():
    selector = OnlineAlphaSelector(GRID, likelihood=PRIOR, margin=2.0)
    assert repr(clone(selector)) == repr(selector)
    assert "margin=2.0" in repr(selector)
    assert isinstance(OnlineAlphaSelector.merged([selector.partial_fit(blobs(60))]), OnlineMAPDPM)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alphas": []}, r"alphas must be one or more numbers > 0, got \[\]"),
        ({"alphas": [1.0, 0.0]}, "alphas must be one or more numbers > 0"),
        ({"alphas": ["a"]}, "alphas must be numbers > 0"),
        ({"alphas": [1.0, np.inf]}, "alphas must be one or more numbers > 0"),
        ({"when_full": "error"}, "is for a single learner"),
        ({"margin": -1.0}, "margin must be >= 0 nats, got -1.0"),
        ({"score_half_life": 0.5}, "score_half_life must be >= 1 point, or None, got 0.5"),
        ({"max_clusters": 0}, "max_clusters must be an integer >= 1"),
    ],
)
def test_bad_parameters(arguments, message):
    with pytest.raises(ValueError, match=message):
        OnlineAlphaSelector(arguments.pop("alphas", GRID), **arguments)


def test_bad_points_change_nothing():
    selector = OnlineAlphaSelector(GRID, likelihood=PRIOR)
    selector.learn_many(blobs(40))
    before = selector.to_bytes()
    for x in ([1.0], [np.nan, 0.0], [1e300, 0.0], "ab"):
        with pytest.raises(ValueError):  # noqa: PT011  (said in tests/stream/test_online.py)
            selector.learn_one(x)
    with pytest.raises(ValueError, match="counts points and takes no times"):
        selector.learn_one([0.0, 0.0], 3.0)
    assert selector.to_bytes() == before
