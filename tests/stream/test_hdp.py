"""OnlineHDP: the naive learner of groups, the laws of shares, places for groups, files, bad input."""

import copy
import itertools
import math
import pickle
import time

import numpy as np
import pytest
from scipy.special import digamma

import mapdpm
from mapdpm import NormalGamma, NormalKnownVariance, OnlineHDP, OnlineMAPDPM
from mapdpm.partition_priors.hierarchy import Hierarchy
from mapdpm.stream import StreamFullError
from mapdpm.stream.c_learner import Learner
from oracle.stream import KnownVarianceModel, Moments, NormalGammaModel
from oracle.stream_groups import GroupedStream, View, tables_of
from tests.marks import complete_but

# C and the oracle round differently: see test_online_oracle.py.
TOLERANCE = 1e-8
PRIORS = {
    "normal-gamma": (NormalGamma, (np.full(3, 100.0), 0.05, 1.5, np.array([1.0, 2.0, 0.7])), NormalGammaModel),
    "wide-normal-gamma": (NormalGamma, (np.full(3, 101.0), 0.05, 1.0, np.full(3, 25.0)), NormalGammaModel),
    "known-variance": (
        NormalKnownVariance,
        (np.full(3, 100.0), np.full(3, 25.0), np.array([1.0, 1.5, 0.8])),
        KnownVarianceModel,
    ),
}
PRIOR = NormalGamma(0.0, 0.05, 1.5, 1.0)


def grouped_stream(seed, n, D=3, n_groups=4, K=6, churns=False):
    """Points of groups with shares of their own, and a few outliers; if it churns, clusters come and go."""
    rng = np.random.default_rng(seed)
    centres, shares = rng.normal(0, 5, (K, D)), rng.dirichlet(np.full(K, 0.4), n_groups)
    groups = rng.integers(0, n_groups, n)
    y = np.array([rng.choice(K, p=shares[g]) for g in groups])
    y = (y // 2 + np.linspace(0, K - 3, n).astype(int)) if churns else y
    X = centres[y] + rng.normal(size=(n, D))
    outliers = rng.random(n) < 0.03
    X[outliers] = rng.uniform(-20, 20, (int(outliers.sum()), D))
    return X, groups


def naive_of(name, *sizes, **options):
    _, prior, model = PRIORS[name]
    return GroupedStream(model(prior), *sizes, **options)


def rows_of(groups):
    """The groups as numbers in order of first appearance, which are their rows."""
    rows = {}
    return [rows.setdefault(group, len(rows)) for group in groups]


@pytest.mark.parametrize(
    ("when_full", "half_life"),
    complete_but(
        [("least-loss", 150.0), ("merge", None)],
        itertools.product(["least-loss", "merge", "refuse"], [None, 150.0]),
        several=True,
    ),
)
@pytest.mark.parametrize("name", sorted(PRIORS))
def test_same_as_the_naive_learner(name, half_life, when_full):
    family, prior, _ = PRIORS[name]
    X, groups = grouped_stream(1, 700, churns=True)
    X = X + 100.0
    options = {"alpha": 0.7, "gamma": 1.5, "half_life": half_life, "when_full": when_full}
    naive = naive_of(name, 5, 4, **options)
    ours = OnlineHDP(5, 4, likelihood=family(*prior), **options)
    for i, (x, group, row) in enumerate(zip(X, groups, rows_of(groups), strict=True)):
        number, density = ours.learn_scored(x, int(group))
        expected, expected_density = naive.learn(x, row)
        assert number == expected, i
        assert abs(density - expected_density) <= TOLERANCE * (1 + abs(expected_density)), i
    slots = sorted((slot for _, slot in naive.used()), key=lambda slot: slot.id)
    weights = [naive.tables(slot) / naive.all for slot in slots]
    np.testing.assert_allclose(ours.shares[:-1], weights, rtol=TOLERANCE)
    assert [event.kind for event in ours.events] == [kind for kind, _, _ in naive.events][-len(ours.events) :]


@pytest.mark.complete
def test_the_streams_above_meet_every_kind_of_event():
    kinds = set()
    for half_life in (None, 150.0):
        for when_full in ("least-loss", "merge"):
            for name in PRIORS:
                X, groups = grouped_stream(1, 700, churns=True)
                naive = naive_of(name, 5, 4, alpha=0.7, gamma=1.5, half_life=half_life, when_full=when_full)
                for x, row in zip(X + 100.0, rows_of(groups), strict=True):
                    naive.learn(x, row)
                kinds |= {kind for kind, _, _ in naive.events}
    assert kinds == {"created", "split", "merged", "evicted", "aged out"}


class Flat:
    """A likelihood that knows nothing, so that only the prior counts."""

    m0 = np.zeros(1)

    def log_marginal(self, _):
        return 0.0


def test_a_merge_gains_what_the_exact_prior_says():
    """Within half a nat: the variance of the number of tables is left out. A merge must gain 3 nats."""
    rng, errors = np.random.default_rng(0), []
    while len(errors) < 300:
        table = rng.poisson(rng.gamma(0.5, 10.0, (rng.integers(1, 12), rng.integers(2, 6))))
        table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
        if table.shape[1] < 2:
            continue
        alpha, gamma = (float(rng.choice([0.3, 1.0, 3.0, 10.0])) for _ in range(2))
        stream, tables = GroupedStream(Flat(), 1, len(table), alpha, gamma), np.ones(table.shape[1])
        for _ in range(50):
            stream.all = gamma + tables.sum()
            tables = np.array(
                [tables_of(alpha * m / stream.all, cells) for m, cells in zip(tables, table.T, strict=True)]
            )
        stream.all = gamma + tables.sum()
        first, second = (View(Moments(1), table[:, k].astype(float), 0.0, tables[k]) for k in (0, 1))
        first.moments.n, second.moments.n = table[:, 0].sum(), table[:, 1].sum()
        merged, prior = np.column_stack([table[:, 0] + table[:, 1], table[:, 2:]]), Hierarchy((alpha,), gamma)
        assert stream.gain(first, second) >= stream.least_gain(first, second)
        errors.append(stream.gain(first, second) - (prior.log_partition(merged) - prior.log_partition(table)))
    assert np.abs(errors).max() < 0.5
    assert abs(np.mean(errors)) < 0.15


# ---- laws ------------------------------------------------------------------------------------------------------------


def test_large_alpha_is_the_pooled_learner_of_gamma():
    """All groups have the common shares then. A point sits at an old table with probability n / alpha < 1e-6."""
    X, groups = grouped_stream(2, 800)
    ours = OnlineHDP(64, 4, alpha=1e9, gamma=2.0, likelihood=PRIOR)
    pooled = OnlineMAPDPM(64, alpha=2.0, likelihood=PRIOR)
    ids, scores = ours.learn_many_scored(X, groups)
    expected, expected_scores = pooled.learn_many_scored(X)
    assert ids.tolist() == expected.tolist()
    np.testing.assert_allclose(scores, expected_scores, atol=1e-4)
    np.testing.assert_allclose(ours.shares, np.append(pooled.weights, 2.0) / 802.0, rtol=1e-5)


def test_one_group_and_large_gamma_is_the_learner_of_alpha():
    """No share is worth anything then, and the counts are those of the Dirichlet process with alpha."""
    X, _ = grouped_stream(3, 800)
    ours = OnlineHDP(12, 1, alpha=0.5, gamma=1e9, likelihood=PRIOR)
    pooled = OnlineMAPDPM(12, alpha=0.5, likelihood=PRIOR)
    ids, scores = ours.learn_many_scored(X, np.zeros(len(X), dtype=int))
    expected, expected_scores = pooled.learn_many_scored(X)
    assert ids.tolist() == expected.tolist()
    np.testing.assert_allclose(scores, expected_scores, atol=1e-6)


@pytest.mark.parametrize("half_life", [None, 60.0])
def test_shares_and_densities_are_those_of_the_formula(half_life):
    X, groups = grouped_stream(4, 400)
    model = OnlineHDP(8, 4, alpha=1.7, gamma=0.6, likelihood=PRIOR, half_life=half_life).partial_fit(X, groups)
    shares, weights = model.shares, model.group_weights
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)
    assert shares.sum() == pytest.approx(1.0, rel=1e-12)
    x, alone = [1.0, -2.0, 0.5], OnlineMAPDPM(1, likelihood=PRIOR, n_features=3).score_one([1.0, -2.0, 0.5])
    clusters = model.clusters()
    family = PRIOR.for_data(np.zeros((1, 3)))
    densities = [
        NormalGammaModel((family.m0, family.c0, family.a0, family.b0)).density(
            moments_of(w, mean, variance), np.array(x)
        )
        for w, mean, variance in zip(clusters.weights, clusters.means, clusters.variances, strict=True)
    ]
    for name, row in zip([*model.group_names, "a new one", None], [*weights, shares, shares], strict=True):
        expected = math.log(float(row @ np.exp([*densities, alone])))
        assert model.score_one(x, name) == pytest.approx(expected, abs=1e-9)


def moments_of(weight, mean, variance):
    moments = Moments(len(mean))
    moments.n, moments.mean, moments.M2 = weight, mean, variance * weight
    return moments


def cells_of(model, alpha):
    """n_gk, from the weights (n_gk + alpha beta_k) / (n_g + alpha), whose last column gives n_g."""
    totals = alpha * model.shares[-1] / model.group_weights[:, -1]
    return model.group_weights[:, :-1] * totals[:, None] - alpha * model.shares[:-1]


@pytest.mark.parametrize("half_life", [None, 400.0])
def test_cells_sum_to_clusters(half_life):
    """Also where a cluster splits, which divides each group and loses nothing. Evictions would take cells away."""
    X, groups = grouped_stream(5, 900)
    family = NormalGamma(0.0, 0.05, 1.0, 25.0)
    model = OnlineHDP(24, 4, alpha=1.3, likelihood=family, half_life=half_life).partial_fit(X, groups)
    kinds = {event.kind for event in model.events}
    assert "split" in kinds
    assert not kinds & {"evicted", "aged out"}
    assert len(model.events) == model.n_events
    assert cells_of(model, 1.3).sum() == pytest.approx(model.weights.sum(), rel=1e-9)
    if half_life is None:
        totals = [np.sum(groups == name) for name in model.group_names]
        np.testing.assert_allclose(cells_of(model, 1.3).sum(axis=1), totals, rtol=1e-9)


@pytest.mark.parametrize("options", [{}, {"half_life": 80.0}, {"window": 20}, {"warmup": 50, "likelihood": "auto"}])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_many_are_one_by_one_and_a_file_goes_on(options, dtype, tmp_path):
    X, groups = grouped_stream(6, 500)
    names = np.array(["a", "b", "c", "d"])[groups]
    options = {"likelihood": PRIOR} | options | {"dtype": dtype}
    one, many = OnlineHDP(6, 4, **options), OnlineHDP(6, 4, **options)
    expected = [one.learn_scored(x, name) for x, name in zip(X, names, strict=True)]
    ids, scores = many.learn_many_scored(X[:250], names[:250])
    many.save(tmp_path / "model.mdpm")
    back = mapdpm.load(tmp_path / "model.mdpm")
    assert type(back) is OnlineHDP
    assert back.get_params(deep=False).keys() == many.get_params(deep=False).keys()
    more, more_scores = back.learn_many_scored(X[250:], names[250:])
    assert [*ids, *more] == [number for number, _ in expected]
    np.testing.assert_array_equal([*scores, *more_scores], [score for _, score in expected])
    assert back.to_bytes() == one.to_bytes()
    assert back.group_names == one.group_names
    assert back.predict(X[:9], names[:9]).tolist() == [
        one.predict_one(x, n) for x, n in zip(X[:9], names[:9], strict=True)
    ]


def test_predicting_changes_nothing():
    X, groups = grouped_stream(7, 300)
    model = OnlineHDP(6, 4, likelihood=PRIOR).partial_fit(X, groups)
    before = model.to_bytes()
    model.predict(X, groups)
    model.score_samples(X)
    model.score_one(X[0], "nobody")
    model.predict_one(X[0], 2)
    assert model.to_bytes() == before


@pytest.mark.parametrize("again", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_go_on(again):
    X, groups = grouped_stream(8, 200)
    model = OnlineHDP(6, 5, likelihood=PRIOR).partial_fit(X, groups)
    twin = again(model)
    assert twin.learn_many(X, groups).tolist() == model.learn_many(X, groups).tolist()
    assert twin.to_bytes() == model.to_bytes()


def test_the_warm_up_takes_groups_with_it():
    X, groups = grouped_stream(9, 300)
    model = OnlineHDP(8, 4, warmup=300).partial_fit(X, groups)
    cells, tables = cells_of(model, 1.0), model.shares[:-1] / model.shares[-1]
    np.testing.assert_allclose(cells.sum(axis=0), model.weights, atol=1e-9)
    # Eight rounds from M = n. The slope of log M in log a is 1 - (groups in the cluster) / M, so each step is that much
    # shorter than the one before; a ninth one is asked here.
    slope = np.max(1.0 - np.sum(cells > 0.5, axis=0) / tables)
    again = [tables_of(share, column) for share, column in zip(model.shares[:-1], cells.T, strict=True)]
    assert np.abs(np.log(tables / again)).max() <= slope**8 * np.log(model.weights / tables).max()


def test_tables_are_those_of_the_digamma_function():
    """Within .02 for whole n, as docs/maths.md (59) says."""
    a, n = np.geomspace(1e-6, 1e6, 300)[:, None], np.unique(np.geomspace(1, 1e6, 300).astype(int))[None, :]
    exact = a * (digamma(a + n) - digamma(a))
    ours = np.array([[tables_of(x, [m]) for m in n[0, ::10]] for x in a[:, 0]])
    assert np.abs(ours - exact[:, ::10]).max() < 0.02


def test_missing_values_and_a_window():
    X, groups = grouped_stream(10, 300)
    X[::7, 1] = np.nan
    model = OnlineHDP(6, 4, likelihood=PRIOR, missing="skip", window=15).partial_fit(X, groups)
    assert np.isfinite(model.score_samples(X, groups)).all()


def test_knowing_the_group_pays():
    """Each of 8 groups has a cluster, 3 standard deviations from the next. Point and group share 1.79 nats."""
    rng = np.random.default_rng(11)
    groups = rng.integers(0, 8, 2000)
    X = (groups * 1.5)[:, None] + rng.normal(size=(2000, 1)) * 0.5
    _, scores = OnlineHDP(16, 8, likelihood=NormalGamma(0.0, 0.01, 2.0, 0.5)).learn_many_scored(X, groups)
    _, pooled = OnlineMAPDPM(16, likelihood=NormalGamma(0.0, 0.01, 2.0, 0.5)).learn_many_scored(X)
    assert scores[1000:].mean() > pooled[1000:].mean() + 1.5


def test_forgetting_keeps_the_shares_of_groups_that_stay():
    """A stationary stream: the tables are counted from the cells, so the share of new clusters does not rise again."""
    rng = np.random.default_rng(12)
    groups = rng.integers(0, 5, 6000)
    X = rng.choice([-20.0, 0.0, 20.0], size=(6000, 1)) + rng.normal(size=(6000, 1))
    model = OnlineHDP(8, 5, half_life=300.0, likelihood=NormalKnownVariance(0.0, 200.0, 1.0))
    model.learn_many(X, groups)
    assert model.n_clusters == 3
    assert model.shares[-1] < 1.0 / (1.0 + 3 * 5 * 0.99)  # each of 5 groups has a table in each of 3 clusters


# ---- places for groups -----------------------------------------------------------------------------------------------


def test_a_group_too_many_is_an_error_that_changes_nothing():
    model = OnlineHDP(4, 2, likelihood=PRIOR)
    model.learn_one([0.0], "a")
    model.learn_one([1.0], "b")
    before = model.to_bytes()
    with pytest.raises(StreamFullError, match="all 2 groups are taken and that of x is new; raise max_groups"):
        model.learn_one([2.0], "c")
    with pytest.raises(StreamFullError, match=r"X, row 1 .* the 1 rows before it were learned"):
        model.learn_many([[0.0], [1.0]], ["a", "c"])
    assert model.n_seen == 3
    assert model.group_names == ["a", "b"]
    assert OnlineHDP.from_bytes(before).group_names == ["a", "b"]
    assert np.isfinite(model.score_one([0.0], "c"))


@pytest.mark.parametrize("many", [False, True])
def test_the_idlest_group_is_replaced_and_its_tables_stay(many):
    X, groups = grouped_stream(13, 400)
    model = OnlineHDP(8, 4, likelihood=PRIOR, when_groups_full="replace").partial_fit(X, groups)
    for group in (0, 1, 3):
        model.learn_one(X[0], group)
    names, before = model.group_names, model.shares
    if many:
        model.learn_many(X[:1], ["new"])
    else:
        model.learn_one(X[0], "new")
    assert model.group_names == ["new" if name == 2 else name for name in names]
    np.testing.assert_allclose(model.shares, before, atol=0.05)
    assert model.score_one(X[0], 2) == model.score_one(X[0])  # unknown again
    back = OnlineHDP.from_bytes(model.to_bytes())
    assert back.group_names == model.group_names
    np.testing.assert_array_equal(back.group_weights, model.group_weights)


def test_many_more_groups_than_places():
    rng = np.random.default_rng(14)
    model = OnlineHDP(4, 3, likelihood=PRIOR, when_groups_full="replace", window=10, half_life=50.0)
    for i in range(3000):
        model.learn_one([float(rng.normal())], int(rng.integers(0, 1000)))
        assert len(model._numbers.known) <= 3, i
    assert len(model.group_names) == 3
    assert max(model._numbers.known.values()) <= 3


@pytest.mark.parametrize("many", [False, True])
def test_a_new_group_costs_no_pass_over_the_others(many):
    """Names are found by hashing. A pass of Python over 5,000 groups takes a millisecond; 5,000 of them, 5 s."""
    groups = [f"sensor {i}" for i in range(5000)]
    model = OnlineHDP(2, 5000, likelihood=PRIOR)
    began = time.process_time()
    if many:
        model.learn_many(np.zeros((5000, 1)), groups)
    else:
        for group in groups:
            model.learn_one([0.0], group)
    assert time.process_time() - began < 3.0
    assert model.group_names == groups


@pytest.mark.parametrize("name", [None, float("nan"), np.datetime64("NaT"), [1], {}])
def test_a_group_must_be_a_name(name):
    model = OnlineHDP(4, 2, likelihood=PRIOR).partial_fit([[0.0], [1.0]], ["a", "a"])
    with pytest.raises(ValueError, match="group"):
        model.learn_one([0.0], name)
    with pytest.raises(ValueError, match="groups"):
        model.learn_many([[0.0]], [name])
    if name is not None:
        with pytest.raises(ValueError, match="group"):
            model.score_one([0.0], name)


def test_names_are_those_of_a_dict():
    model = OnlineHDP(4, 8, likelihood=PRIOR)
    for name in (1, np.int64(1), 1.0, "1", ("a", 1), np.str_("1")):
        model.learn_one([0.0], name)
    assert model.group_names == [1, "1", ("a", 1)]
    with pytest.raises(ValueError, match="groups named by str, int, float or bool"):
        model.to_bytes()
    assert pickle.loads(pickle.dumps(model)).group_names == model.group_names


def test_without_groups_all_points_are_one_group():
    X, _ = grouped_stream(15, 100)
    with pytest.warns(UserWarning, match="all points are one group"):
        model = OnlineHDP(8, 2, likelihood=PRIOR).fit(X)
    assert model.group_names == [None]
    assert OnlineHDP.from_bytes(model.to_bytes()).group_names == [None]


def test_wrong_numbers_of_groups():
    model = OnlineHDP(4, 2, likelihood=PRIOR)
    with pytest.raises(ValueError, match=r"one label a point, shape \(2,\)"):
        model.learn_many([[0.0], [1.0]], ["a"])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_groups": 0}, "max_groups must be an integer >= 1"),
        ({"max_groups": 1.5}, "max_groups"),
        ({"gamma": 0.0}, "gamma must be > 0"),
        ({"gamma": math.nan}, "gamma"),
        ({"alpha": -1.0}, "alpha must be > 0"),
        ({"when_groups_full": "grow"}, "when_groups_full must be one of 'error', 'replace'"),
    ],
)
def test_invalid_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        OnlineHDP(**parameters)


def test_a_file_of_another_kind():
    X, groups = grouped_stream(16, 50)
    grouped = OnlineHDP(4, 4, likelihood=PRIOR).partial_fit(X, groups).to_bytes()
    flat = OnlineMAPDPM(4, likelihood=PRIOR).partial_fit(X).to_bytes()
    with pytest.raises(ValueError, match="which OnlineHDP reads"):
        OnlineMAPDPM.from_bytes(grouped)
    with pytest.raises(ValueError, match="which OnlineMAPDPM reads"):
        OnlineHDP.from_bytes(flat)


def test_a_file_from_a_chip_names_groups_by_numbers():
    X, groups = grouped_stream(17, 60)
    model = OnlineHDP(4, 4, likelihood=PRIOR).partial_fit(X, groups + 10)
    learner = Learner.read("float64", model.to_bytes())[0]
    back = OnlineHDP.from_bytes(learner.write())
    assert sorted(back.group_names) == [0, 1, 2, 3]
