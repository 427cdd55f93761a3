"""Devices and a gateway: summaries, OnlineHDP.merged, set_base."""

import itertools
import math
import zlib

import numpy as np
import pytest

import mapdpm
from mapdpm import NormalGamma, NormalKnownVariance, OnlineHDP, OnlineMAPDPM
from mapdpm.files.errors import ModelFileError
from oracle.stream import KnownVarianceModel, Moments, NormalGammaModel
from oracle.stream_base import BasedStream
from tests.marks import complete_but

# C and the oracle round differently: see test_online_oracle.py.
TOLERANCE = 1e-8
PRIORS = {
    "normal-gamma": (NormalGamma, (np.full(3, 100.0), 0.05, 1.5, np.array([1.0, 2.0, 0.7])), NormalGammaModel),
    "known-variance": (
        NormalKnownVariance,
        (np.full(3, 100.0), np.full(3, 25.0), np.array([1.0, 1.5, 0.8])),
        KnownVarianceModel,
    ),
}
FLAT = NormalGamma(0.0, 0.05, 1.5, 1.0)
MIXED = {"alpha": 0.7, "gamma": 1.5}


def points(seed, n, K=4, first=0, D=3):
    """Points around centres number ``first`` to ``first + K - 1``, which are the same for all seeds."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(0, 6, (20, D))
    return 100.0 + centres[rng.integers(first, first + K, n)] + rng.normal(size=(n, D))


def flat_devices(n=5, size=120, **options):
    """Learners that know no groups; each sees three of six centres."""
    return [
        OnlineMAPDPM(8, likelihood=NormalGamma(100.0, 0.05, 1.5, 1.0), **options).partial_fit(
            points(i, size, K=3, first=i % 4)
        )
        for i in range(n)
    ]


def moments(n, mean, variance):
    """Moments of the oracle."""
    made = Moments(len(mean))
    made.n, made.mean, made.M2 = float(n), np.array(mean), n * np.array(variance)
    return made


def own_weight(learner):
    """The number of points in the summary of a learner."""
    return OnlineHDP.merged([learner.summary()], max_clusters=64).weights.sum()


# ---- the slow learner ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when_full", complete_but(["least-loss"], ["least-loss", "merge"]))
@pytest.mark.parametrize("half_life", [None, 150.0])
@pytest.mark.parametrize("name", sorted(PRIORS))
def test_same_as_the_slow_learner(name, half_life, when_full):
    """A base, points, another base, points: the same ids, densities, shares, and messages."""
    family, prior, model = PRIORS[name]
    options = MIXED | {"half_life": half_life, "when_full": when_full}
    slow = BasedStream(model(prior), 7, 2, **options)
    ours = OnlineHDP(7, 2, likelihood=family(*prior), with_base=True, **options)
    gateways = [
        OnlineHDP.merged([OnlineMAPDPM(9, likelihood=family(*prior)).partial_fit(points(s, 150, K, first))])
        for s, K, first in ((1, 4, 0), (2, 5, 2), (3, 3, 6))
    ]
    for i, gateway in enumerate([*gateways, gateways[0]]):
        ours.set_base(gateway.summary())
        found = gateway.clusters()
        tables = gateway.shares[:-1] * (gateway.gamma / gateway.shares[-1])
        order = np.lexsort((found.ids, -tables))
        slow.set_base([(tables[k], moments(found.weights[k], found.means[k], found.variances[k])) for k in order])
        X = points(10 + i, 180, K=5, first=2 * i)
        for j, x in enumerate(X):
            number, density = ours.learn_scored(x, j % 2)
            expected, expected_density = slow.learn(x, j % 2)
            assert number == expected, (i, j)
            assert abs(density - expected_density) <= TOLERANCE * (1 + abs(expected_density)), (i, j)
    slots = sorted((slot for _, slot in slow.used()), key=lambda slot: slot.id)
    np.testing.assert_allclose(ours.shares[:-1], [slow.tables(slot) / slow.all for slot in slots], rtol=TOLERANCE)
    np.testing.assert_allclose(ours.weights, [slow.faded(slot).n for slot in slots], rtol=TOLERANCE)
    assert {event.kind for event in ours.events} <= {kind for kind, _, _ in slow.events}
    sent = OnlineHDP(64, likelihood=family(*prior), with_base=True, gamma=1.0).set_base(ours.summary())
    expected = slow.summary()
    assert sent.n_clusters == len(expected)
    weights = sorted(each.n for _, each in expected)
    np.testing.assert_allclose(np.sort(sent.weights), weights, rtol=1e-6)
    assert math.isclose(sent.shares[-1], 1.0 / (1.0 + sum(tables for tables, _ in expected)), rel_tol=1e-6)


def test_a_new_device_weighs_the_dishes_by_their_shares():
    """Before its first point: log [sum_k beta_k p(x | k) + beta_u p(x)], with the oracle's densities."""
    gateway = OnlineHDP.merged(flat_devices(), max_clusters=16)
    device = OnlineHDP(16, 1, with_base=True).set_base(gateway.summary())
    assert device.n_seen == 0
    found, model = gateway.clusters(), NormalGammaModel((np.full(3, 100.0), 0.05, 1.5, np.ones(3)))
    for x in points(7, 40, K=8):
        terms = [model.density(moments(n, m, v), x) for n, m, v in zip(*found[1:], strict=True)]
        terms.append(model.density(Moments(3), x))
        expected = np.log(np.dot(gateway.shares, np.exp(terms)))
        assert math.isclose(device.score_one(x, "new"), expected, rel_tol=1e-9)


# ---- the gateway -----------------------------------------------------------------------------------------------------


def test_merged_counts_tables_and_any_order_will_do():
    devices = flat_devices()
    gateway = OnlineHDP.merged(devices, max_clusters=16, gamma=2.0)
    assert gateway.weights.sum() == sum(device.n_seen for device in devices)
    tables = gateway.shares[:-1] * (2.0 / gateway.shares[-1])
    np.testing.assert_allclose(tables, np.rint(tables), atol=1e-9)  # each device has one in each of its clusters
    assert tables.sum() == pytest.approx(sum(device.n_clusters for device in devices))
    assert (gateway.gamma, gateway.max_groups, gateway.group_names) == (2.0, 8, [])
    for order in itertools.islice(itertools.permutations(devices), 0, None, 23):
        other = OnlineHDP.merged([device.summary() for device in order], max_clusters=16, gamma=2.0)
        np.testing.assert_allclose(other.means, gateway.means, rtol=1e-12)
        np.testing.assert_allclose(other.shares, gateway.shares, rtol=1e-12)
    again = OnlineHDP.merged([gateway], max_clusters=16)
    np.testing.assert_allclose(again.shares, gateway.shares, rtol=1e-12)
    assert again.to_bytes() == OnlineHDP.merged([again]).to_bytes()


def test_a_heavy_cluster_of_one_device_weighs_less_than_light_ones_of_many():
    """The statistics are those of points, the shares those of devices."""
    prior = NormalKnownVariance(0.0, 100.0, 1.0)
    one = OnlineMAPDPM(likelihood=prior).partial_fit(np.full((5000, 1), 30.0))
    many = [OnlineMAPDPM(likelihood=prior).partial_fit([[0.0], [0.1]]) for _ in range(9)]
    gateway = OnlineHDP.merged([one, *many])
    assert gateway.weights.tolist() == [5000.0, 18.0]
    np.testing.assert_allclose(gateway.shares, [1 / 11, 9 / 11, 1 / 11], rtol=1e-12)
    assert gateway.score_one([0.0]) > gateway.score_one([30.0]) + 2.0


def test_merged_takes_parameters_from_the_state_that_has_seen_most():
    prior = NormalGamma(0.0, 0.05, 1.5, 1.0)
    few = OnlineHDP(5, 3, alpha=3.0, gamma=4.0, likelihood=prior).partial_fit([[0.0]], groups=["a"])
    most = OnlineHDP(6, 2, alpha=5.0, gamma=6.0, likelihood=prior, dtype="float32", with_base=True)
    most.learn_many([[0.0], [1.0]], ["a", "b"])
    merged = OnlineHDP.merged([few, most])
    known = {"max_clusters": 6, "max_groups": 2, "alpha": 5.0, "gamma": 6.0, "dtype": "float32", "with_base": False}
    assert known.items() <= merged.get_params().items()
    given = {"max_clusters": 4, "max_groups": 9, "alpha": 0.5, "gamma": 0.25, "dtype": "float64"}
    merged = OnlineHDP.merged([few, most], likelihood=NormalGamma(0.0, 0.5, 1.5, 1.0), **given)
    assert given.items() <= merged.get_params().items()
    assert merged.likelihood_.c0 == 0.5
    assert merged.n_seen == 3


def test_a_summary_has_the_parameters_and_the_rank_of_its_learner():
    """As learners or as messages, in any order: the same clusters, in as many places."""
    prior = NormalKnownVariance(0.0, 1000.0, 1.0)
    heavy = OnlineMAPDPM(likelihood=prior).partial_fit(np.zeros((100, 1)))
    many = OnlineMAPDPM(20, likelihood=prior, missing="skip").partial_fit([[30.0], [60.0], [90.0]] * 10)
    # Its weights have faded, but it has seen more than any other.
    faded = OnlineMAPDPM(5, likelihood=prior, half_life=10.0).partial_fit(np.zeros((150, 1)))
    for cls in (OnlineMAPDPM, OnlineHDP):
        for states, places in (([heavy, many], 16), ([heavy, many, faded], 5)):
            expected = cls.merged(states)
            assert (expected.max_clusters, expected.missing) == (places, "skip")
            for order in itertools.permutations(states):
                made = cls.merged([each.summary() for each in order])
                assert made.get_params(deep=False).keys() == expected.get_params(deep=False).keys()
                assert (made.max_clusters, made.half_life, made.missing) == (places, expected.half_life, "skip")
                np.testing.assert_allclose(made.weights, expected.weights, rtol=1e-12)
                np.testing.assert_allclose(made.means, expected.means, rtol=1e-12, atol=1e-12)


def test_a_learner_in_its_warm_up_has_nothing_to_say():
    warming = OnlineMAPDPM(n_features=3).partial_fit(points(0, 20))
    device = flat_devices(1)[0]
    assert OnlineHDP.merged([warming, device]).weights.sum() == device.n_seen
    with pytest.raises(ValueError, match="no state has ended its warm-up"):
        OnlineHDP.merged([warming])
    with pytest.raises(Exception, match=r"20 of 200 points of the warm-up"):
        warming.summary()


# ---- a device --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("window", [0, 20])
def test_a_device_sends_what_it_saw_and_nothing_else(dtype, window):
    """Whatever its clusters do, the weights in its message are its points, none of the base."""
    base = OnlineHDP.merged(flat_devices(), max_clusters=16).summary()
    device = OnlineHDP(16, 2, with_base=True, dtype=dtype, window=window, when_full="merge").set_base(base)
    n = 0
    for i in range(6):
        X = points(20 + i, 150, K=6, first=i)
        device.learn_many(X, np.arange(150) % 2)
        n += len(X)
        device.set_base(base)
        # A point that a window visits again may find nothing of its own to leave, after a split.
        assert own_weight(device) == pytest.approx(n, rel=1e-6 if not window else 0.05)
        assert device.n_seen == n


def test_the_gateway_of_devices_with_bases_is_that_of_devices_without():
    """Bases go down, summaries go up, twice: no point counts twice."""
    X = [points(i, 200, K=3, first=i) for i in range(4)]
    devices = [OnlineHDP(16, 1, with_base=True, likelihood=NormalGamma(100.0, 0.05, 1.5, 1.0)) for _ in X]
    for half in (slice(0, 100), slice(100, 200)):
        for device, x in zip(devices, X, strict=True):
            device.learn_many(x[half], np.zeros(100, dtype=int))
        sent = [device.summary("float64") for device in devices]
        for i, device in enumerate(devices):
            others = OnlineHDP.merged([*sent[:i], *sent[i + 1 :]])
            device.set_base(others.summary())
    gateway = OnlineHDP.merged([device.summary() for device in devices])
    assert gateway.weights.sum() == pytest.approx(800.0, rel=1e-12)
    mean = np.average(gateway.means, axis=0, weights=gateway.weights)
    np.testing.assert_allclose(mean, np.concatenate(X).mean(axis=0), rtol=1e-3)  # a split keeps halves, not the mean


def test_another_base_takes_the_place_of_the_last():
    """Ids stay, also of clusters that only others have seen; a base of nothing leaves what the device saw."""
    devices = flat_devices()
    base, more = (OnlineHDP.merged(devices[:n], max_clusters=16).summary() for n in (4, 5))
    device = OnlineHDP(24, 1, with_base=True).set_base(base)
    device.learn_many(points(40, 60, K=2), np.zeros(60, dtype=int))
    before, ids = device.clusters(), device.ids
    device.set_base(base)
    assert device.ids.tolist() == ids.tolist()
    np.testing.assert_allclose(device.weights, before.weights, rtol=1e-12)
    device.set_base(more)
    assert set(ids) <= set(device.ids)
    nothing = OnlineHDP(likelihood=NormalGamma(100.0, 0.05, 1.5, 1.0), n_features=3).summary()
    device.set_base(nothing)
    assert device.weights.sum() == pytest.approx(60.0)
    assert device.n_clusters <= 3
    assert {event.kind for event in device.events} >= {"created", "evicted"}


def test_a_cluster_whose_own_points_are_forgotten_is_one_of_the_base():
    """With a half-life: a point long ago does not turn what others saw into its own fading weight."""
    prior = NormalKnownVariance(0.0, 1000.0, 1.0)
    base = OnlineMAPDPM(likelihood=prior).partial_fit([[0.0]] * 1000 + [[50.0]] * 1000).summary()
    device = OnlineHDP(2, 1, with_base=True, likelihood=prior, half_life=5.0).set_base(base)
    device.learn_many([[50.5]] + [[0.0]] * 30, ["me"] * 31)
    ids = device.ids
    device.set_base(base)
    assert device.ids.tolist() == ids.tolist()
    assert device.weights[1] == 1000.0  # the point at 50.5 weighs 2**-6
    assert own_weight(device) == pytest.approx(1.0 / (1.0 - 0.5**0.2), rel=0.02)


def test_a_base_is_not_lost_with_the_parameters():
    """Where the learner has not seen a point yet, its base still belongs to its parameters."""
    message = flat_devices(1)[0].summary()
    device = OnlineHDP(with_base=True).set_base(message)
    with pytest.raises(ValueError, match="has a base keeps its parameters"):
        device.set_params(max_clusters=5)
    assert device.n_clusters > 0
    two = OnlineHDP(n_features=2, with_base=True)
    with pytest.raises(ValueError, match="the summary has 3 features, but the learner has 2"):
        two.set_base(message)
    assert two.n_clusters == 0


def test_what_others_saw_helps_at_once_and_does_no_harm_later():
    others = OnlineHDP.merged(flat_devices(4, 300), max_clusters=16)
    X = points(50, 600, K=3)
    groups = np.zeros(len(X), dtype=int)
    prior = NormalGamma(100.0, 0.05, 1.5, 1.0)
    alone = OnlineHDP(16, 1, likelihood=prior)
    device = OnlineHDP(16, 1, likelihood=prior, with_base=True).set_base(others.summary())
    with_base, without = (each.learn_many_scored(X, groups)[1] for each in (device, alone))
    assert with_base[:20].mean() > without[:20].mean() + 1.0
    assert with_base[300:].mean() > without[300:].mean() - 0.05  # the clusters are the same ones


def test_the_clusters_of_a_message_come_in_the_order_of_their_tables():
    """More of them than are found at once; each in as many devices as it has tables."""
    prior, rng = NormalKnownVariance(0.0, 1e6, 1.0), np.random.default_rng(5)
    tables, repeats = 1 + rng.permutation(40), rng.integers(1, 9, 40)
    places = 1000.0 * np.arange(40)
    devices = [
        OnlineMAPDPM(40, likelihood=prior).partial_fit(np.repeat(places[tables > i], repeats[tables > i])[:, None])
        for i in range(40)
    ]
    message = OnlineHDP.merged(devices, max_clusters=40).summary()
    for most in (1, 15, 16, 17, 33, 40):
        device = OnlineHDP(most, 1, with_base=True).set_base(message)
        np.testing.assert_allclose(np.sort(device.means[:, 0]), places[tables > 40 - most], atol=1e-6)


def test_more_clusters_than_slots():
    """Those of most tables come in, and what the device saw stays."""
    gateway = OnlineHDP.merged(flat_devices(), max_clusters=16)
    device = OnlineHDP(4, 1, likelihood=gateway.likelihood_, with_base=True)
    device.learn_many(np.full((30, 3), 300.0), np.zeros(30, dtype=int))
    device.set_base(gateway.summary())
    assert device.n_clusters == 4
    assert 30.0 in device.weights
    heaviest = np.sort(gateway.weights[np.argsort(-gateway.shares[:-1], kind="stable")[:3]])
    np.testing.assert_allclose(np.sort(device.weights[device.weights != 30.0]), heaviest)


def test_missing_values_keep_their_counts():
    """A feature that a cluster never had stays unknown on the other side."""
    X = points(3, 80, K=1)
    X[:, 2] = np.nan
    prior = NormalGamma(100.0, 0.05, 1.5, 1.0)
    device = OnlineMAPDPM(4, likelihood=prior, missing="skip").partial_fit(X)
    gateway = OnlineHDP.merged([device])
    asked = [math.nan, math.nan, 103.0]
    assert gateway.missing == "skip"
    # The weights of the cluster and of a new one are 80 and alpha on the device, one and gamma here.
    new = OnlineMAPDPM(4, likelihood=prior, missing="skip", n_features=3)
    assert gateway.score_one(asked) == pytest.approx(new.score_one(asked), abs=1e-12)
    with pytest.raises(ValueError, match="missing values where the learner has missing='error'"):
        OnlineHDP(4, 1, likelihood=prior, n_features=3, with_base=True).set_base(gateway.summary())


# ---- messages, files, bad input --------------------------------------------------------------------------------------


def test_the_bytes_of_a_message():
    """A header of 40, 28 of counts, 16 of concentrations, the prior, and 3 + 2 D reals a cluster; a CRC."""
    device = flat_devices(1)[0]
    D, K = 3, device.n_clusters
    assert len(device.summary("float32")) == 40 + 28 + 4 * (4 + (2 * D + 2) + K * (3 + 2 * D)) + 4
    assert len(device.summary()) == 40 + 28 + 8 * (4 + (2 * D + 2) + K * (2 + 2 * D)) + 4


def test_single_precision_reads_and_writes_all():
    device = flat_devices(1)[0]
    narrow = flat_devices(1, dtype="float32")[0]
    for message in (device.summary(), device.summary("float32"), narrow.summary()):
        for dtype in ("float32", "float64"):
            made = OnlineHDP(8, 1, with_base=True, dtype=dtype).set_base(message)
            np.testing.assert_allclose(np.sort(made.weights), np.sort(device.weights), rtol=1e-6)
            assert made.learn_one([100.0, 100.0, 100.0], "me") >= 0
    with pytest.raises(ValueError, match="writes float32 summaries"):
        narrow.summary("float64")


def test_the_means_of_a_message_in_single_precision_lie_where_they_lay():
    """m0 = 1.7e9 is rounded by up to 64 on its way; the means, which are relative to it, make up for that."""
    X = 1.7e9 + 40.0 + np.random.default_rng(0).normal(size=(500, 1))
    device = OnlineMAPDPM().partial_fit(X)
    assert abs(np.float32(device.likelihood_.m0[0]) - device.likelihood_.m0[0]) > 1.0
    newcomer = OnlineHDP(with_base=True, likelihood=device.likelihood_).set_base(device.summary("float32"))
    # One rounding of a number of at most 64 + 4, and that of double at 1.7e9.
    assert abs(newcomer.means[0, 0] - device.means[0, 0]) <= 68 * 2**-24 + 2 * 2**-22


@pytest.mark.parametrize(
    "prior",
    [NormalKnownVariance(0.0, 1e60, 1e60), NormalKnownVariance(0.0, 1e-60, 1e-60), NormalGamma(1e45, 1.0, 1.0, 1.0)],
)
def test_a_prior_that_single_precision_cannot_hold(prior):
    device = OnlineMAPDPM(likelihood=prior).partial_fit(np.full((4, 1), prior.m0))
    with pytest.raises(ValueError, match="the summary does not fit float32"):
        device.summary("float32")
    assert OnlineMAPDPM.merged([device.summary()]).likelihood_ == device.likelihood_


@pytest.mark.parametrize("log_alpha", [-20.0, -20.8, -40.0, -80.0, -5e8])
def test_a_small_alpha_comes_through_every_file(log_alpha):
    """Below 1e-9, alpha is no parameter, and below the smallest float it is no number."""
    device = OnlineMAPDPM(likelihood=NormalKnownVariance(0.0, 1000.0, 1.0), log_alpha=log_alpha)
    device.partial_fit([[0.0], [9.0]])
    made = [OnlineMAPDPM.merged([device.summary(dtype)]) for dtype in ("float64", "float32")]
    for each in (OnlineMAPDPM.from_bytes(device.to_bytes()), *made):
        found = math.log(each.alpha) if each.log_alpha is None else each.log_alpha
        assert found == pytest.approx(log_alpha, rel=2**-22)  # log and exp in single precision


def test_a_forged_message_gets_little_memory():
    """The places of the writer are a wish; 10**6 x 10**6 of them are 24 terabytes."""
    message = bytearray(OnlineHDP.merged(flat_devices(1)).summary())
    for at in (48, 60):
        message[at : at + 4] = (10**6).to_bytes(4, "little")
    message[-4:] = zlib.crc32(message[:-4]).to_bytes(4, "little")
    merged = OnlineHDP.merged([bytes(message)])
    assert (merged.max_clusters, merged.max_groups) == (1024, 1024)
    assert merged.nbytes < 2**27  # 24 bytes for each of 2**20 pairs, and the clusters


def test_a_device_goes_on_from_its_file():
    base = OnlineHDP.merged(flat_devices(), max_clusters=16).summary()
    device = OnlineHDP(12, 2, with_base=True, half_life=200.0).set_base(base)
    X = points(60, 200, K=5)
    groups = np.arange(200) % 2
    device.learn_many(X[:100], groups[:100])
    copy = OnlineHDP.from_bytes(device.to_bytes())
    assert copy.with_base
    for each in (device, copy):
        each.learn_many(X[100:], groups[100:])
        each.set_base(base)
    assert copy.to_bytes() == device.to_bytes()
    assert copy.summary() == device.summary()


def test_bad_messages_change_nothing(tmp_path):
    base = flat_devices(1)[0].summary()
    device = OnlineHDP(12, 2, with_base=True).set_base(base)
    before = device.to_bytes()
    flipped = bytearray(base)
    flipped[len(base) // 2] ^= 4
    for bad, what in (
        (b"", "not a mapdpm model"),
        (base[:-5], "truncated"),
        (bytes(flipped), "CRC does not match"),
        (before, "holds a stream learner of groups, which OnlineHDP reads"),
    ):
        with pytest.raises(ModelFileError, match=what):
            device.set_base(bad)
    wide = OnlineMAPDPM(likelihood=NormalGamma(np.zeros(2), 0.1, 1.0, 1.0)).partial_fit([[0.0, 1.0]])
    with pytest.raises(ValueError, match="the summary has 2 features, but the learner has 3"):
        device.set_base(wide.summary())
    far = OnlineMAPDPM(likelihood=NormalGamma(1e12, 0.1, 1.0, 1e20)).partial_fit([[1e12] * 3])
    narrow = OnlineHDP(4, 1, likelihood=FLAT, n_features=3, with_base=True, dtype="float32")
    with pytest.raises(ValueError, match="too far from the learner's prior mean for float32"):
        narrow.set_base(far.summary())
    assert narrow.n_clusters == 0
    assert device.to_bytes() == before
    with pytest.raises(ValueError, match="make it with with_base=True"):
        OnlineHDP(12, 2).set_base(base)
    with pytest.raises(ValueError, match="summary must be bytes, got int"):
        device.set_base(7)
    with pytest.raises(ValueError, match="a state must be bytes, got str"):
        OnlineHDP.merged(["device"])
    limit = OnlineMAPDPM.dp_means(4.0, n_features=1).partial_fit([[0.0], [9.0]])
    with pytest.raises(ValueError, match="has log_alpha=-5e\\+08, not alpha; give alpha="):
        OnlineHDP.merged([limit])
    assert OnlineHDP.merged([limit], alpha=1.0).weights.sum() == 2.0
    warming = OnlineHDP(12, 2, with_base=True, n_features=3)
    warming.learn_one([1.0, 2.0, 3.0], "a")
    with pytest.raises(ValueError, match="1 of 200 points"):
        warming.set_base(base)
    with pytest.raises(ValueError, match="with_base must be True or False"):
        OnlineHDP(with_base="yes")
    path = tmp_path / "message.mdpm"
    path.write_bytes(base)
    with pytest.raises(ValueError, match="holds a summary of a stream learner"):
        mapdpm.load(path)
