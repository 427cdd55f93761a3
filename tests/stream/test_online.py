"""OnlineMAPDPM: what it promises to who uses it."""

import copy
import ctypes
import datetime as dt
import pickle
import subprocess
import sys
import threading
import tracemalloc
import zlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mapdpm
from mapdpm import MAPDPM, NormalGamma, NormalKnownVariance, OnlineMAPDPM
from mapdpm.files.errors import ModelFileError
from mapdpm.metrics import adjusted_mutual_info
from mapdpm.stream import StreamFullError
from repository import ROOT
from stream_points import blobs, flow

PRIOR = NormalGamma([0.0, 0.0], 0.05, 1.0, [1.0, 1.0])


def every_setting():
    """Learners of all sorts."""
    return {
        "prior": OnlineMAPDPM(6, likelihood=PRIOR),
        "warmup": OnlineMAPDPM(6, warmup=50, n_features=2),
        "forgetting": OnlineMAPDPM(6, likelihood=PRIOR, half_life=200.0),
        "warmup-forgetting": OnlineMAPDPM(5, warmup=50, half_life=200.0, n_features=2),
        "missing": OnlineMAPDPM(6, likelihood=PRIOR, missing="skip"),
        "window": OnlineMAPDPM(6, likelihood=PRIOR, window=40),
        "window-forgetting-warmup": OnlineMAPDPM(6, warmup=30, window=40, half_life=150.0, n_features=2),
        "float32": OnlineMAPDPM(6, likelihood=PRIOR, dtype="float32"),
        "float32-missing": OnlineMAPDPM(6, warmup=50, dtype="float32", missing="skip", n_features=2),
        "known": OnlineMAPDPM(6, likelihood=NormalKnownVariance([0.0, 0.0], 50.0, 1.0)),
        "dp-means": OnlineMAPDPM.dp_means(30.0, 6, n_features=2),
    }


# ---- learning --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(every_setting()))
def test_many_is_one_by_one_and_snapshots_change_nothing(name):
    X = flow()
    if "missing" in name:
        X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
        X = X[~np.isnan(X).all(axis=1)]
    whole, single = every_setting()[name], every_setting()[name]
    ids = whole.learn_many(X)
    singly = []
    for i, x in enumerate(X):
        if i % 3 == 0:  # asking changes nothing, and asking for a score does not either
            single.score_one(x)
        row = x if i % 4 == 0 else x.tolist()
        singly.append(single.learn_scored(row)[0] if i % 2 else single.learn_one(row))
        if i % 97 == 0:
            single = OnlineMAPDPM.from_bytes(single.to_bytes())
    assert ids.tolist() == singly
    assert whole.to_bytes() == single.to_bytes()
    assert single.nbytes == whole.nbytes == every_setting()[name].nbytes


def test_finds_what_the_batch_finds():
    X, y = blobs(8000, seed=3, D=4, K=6)
    ids = OnlineMAPDPM(16).learn_many(X)
    batch = MAPDPM().fit(X[4000:])
    ours = adjusted_mutual_info(y[4000:], ids[4000:])
    assert ours >= adjusted_mutual_info(y[4000:], batch.labels_) - 0.005


def test_scores_tell_what_is_strange():
    X, _ = blobs(3000, D=3)
    model = OnlineMAPDPM(16).partial_fit(X)
    strange = np.random.default_rng(1).uniform(-100, 100, (200, 3))
    normal = np.sort(model.score_samples(X))
    assert np.median(model.score_samples(strange)) < normal[3]


def test_score_is_the_density_of_the_clusters():
    X, _ = blobs(1500, seed=5)
    model = OnlineMAPDPM(8, likelihood=PRIOR, alpha=0.5).partial_fit(X)
    grid = np.stack(np.meshgrid(np.linspace(-150, 150, 1501), np.linspace(-150, 150, 1501)), -1).reshape(-1, 2)
    # The prior's Student t tails, of 2 degrees of freedom, have the rest; alpha / (n + alpha) of them.
    assert np.exp(model.score_samples(grid)).sum() * 0.04 == pytest.approx(1.0, abs=2e-3)
    before = model.to_bytes()
    score = model.score_one(X[3])
    assert model.score_samples(X[3:4])[0] == score == model.learn_scored(X[3])[1]
    assert model.to_bytes() != before


def test_warmup():
    X, _ = blobs(400, seed=2)
    model = OnlineMAPDPM(8, warmup=100, n_features=2)
    bytes_at_first = model.nbytes
    ids = [model.learn_one(x) for x in X[:99]]
    assert ids == list(range(99))
    assert np.isnan(model.score_one(X[0]))
    assert model.n_clusters == 0
    assert model.likelihood_ is None
    assert model.resolve(7) == 7
    with pytest.raises(mapdpm.validation.NotFittedError, match="99 of 100 points of the warm-up"):
        model.predict(X)
    model.learn_one(X[99])
    assert model.nbytes == bytes_at_first
    assert model.n_clusters == 5
    assert model.ids.min() == 100
    prior = model.likelihood_
    np.testing.assert_allclose(prior.m0, X[:100].mean(axis=0), rtol=1e-12)
    assert 0.02 - 1e-15 < prior.c0 < 0.1  # it follows the spread of the means
    now = [model.resolve(i) for i in range(100)]
    assert now == model.predict(X[:100]).tolist()


@pytest.mark.parametrize("when_full", ["least-loss", "merge", "evict", "refuse", "error"])
def test_warmup_may_take_every_slot(when_full):
    X, _ = blobs(400, seed=2, K=5)
    for room in (1, 3, 5):
        model = OnlineMAPDPM(room, warmup=200, when_full=when_full).partial_fit(X[:200])
        assert model.n_clusters == room
        assert set(model.predict(X).tolist()) <= set(model.ids.tolist())
        if when_full != "error":
            model.learn_many([*X[200:], [400.0, 400.0]])
            assert model.n_clusters <= room


def test_warmup_is_its_own_prior_for_points_in_hindsight():
    """b0 / a0 is the pooled variance within the clusters of the warm-up."""
    X, y = blobs(300, seed=4)
    model = OnlineMAPDPM(16, warmup=300).partial_fit(X)
    within = sum(((X[y == k] - X[y == k].mean(axis=0)) ** 2).sum(axis=0) for k in range(5)) / (300 - 5)
    prior = model.likelihood_
    assert prior.a0 in {1.0, 2.0, 4.0, 8.0}
    np.testing.assert_allclose(prior.b0 / prior.a0, within, rtol=0.02)  # a few points on borders


def test_constant_columns_and_constant_data():
    X, _ = blobs(500)
    model = OnlineMAPDPM(8).partial_fit(np.column_stack([X, np.full(500, 7.0)]))
    assert model.n_clusters == 5
    assert OnlineMAPDPM(8).partial_fit(np.full((500, 2), 3.0)).n_clusters == 1


@pytest.mark.parametrize("offset", [0.0, 1e6, -1e9])
def test_offset(offset):
    X, _ = blobs(3000, seed=6)
    X = np.round(X * 64) / 64  # so that adding the offset loses nothing
    plain, moved = OnlineMAPDPM(8).learn_many(X), OnlineMAPDPM(8).learn_many(X + offset)
    assert np.array_equal(plain, moved)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_units_do_not_matter(scale):
    X, _ = blobs(3000, seed=6)
    for dtype in ("float32", "float64"):
        plain, scaled = (OnlineMAPDPM(8, dtype=dtype).learn_many(Y) for Y in (X, X * scale))
        assert np.mean(plain == scaled) >= 0.999


# ---- invariants ------------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.sampled_from(["least-loss", "merge", "refuse"]), st.integers(1, 8))
def test_total_weight_is_conserved(seed, when_full, max_clusters):
    model = OnlineMAPDPM(max_clusters, likelihood=PRIOR, when_full=when_full)
    model.learn_many(flow(400, seed))
    lost = [event for event in model.events if event.kind == "evicted"]
    assert model.weights.sum() == model.n_seen or lost
    assert np.all(model.weights == np.round(model.weights))


@pytest.mark.parametrize("half_life", [None, 100.0])
def test_ids_rise_and_are_never_used_twice(half_life):
    model = OnlineMAPDPM(5, likelihood=PRIOR, half_life=half_life)
    ended, seen, last = set(), 0, -1
    for x in flow(6000, 3):
        number = model.learn_one(x)
        for event in model.events[len(model.events) - (model.n_events - seen) :]:
            new = {"created": event.id, "split": event.other}.get(event.kind)
            if new is not None:
                assert new == last + 1
                last = new
            if event.kind in {"merged", "evicted", "aged out"}:
                ended.add(event.id)
        seen = model.n_events
        assert number not in ended
        assert not ended & set(model.ids.tolist())
    assert len(ended) > 20


def test_half_life_halves():
    model = OnlineMAPDPM(4, likelihood=PRIOR, half_life=10.0)
    for t in (0.0, 0.0, 0.0):
        model.learn_one([0.0, 0.0], t)
    assert model.weights.tolist() == [3.0]
    model.learn_one([50.0, 50.0], 10.0)
    assert model.weights[0] == pytest.approx(1.5, rel=1e-12)
    model.learn_one([50.0, 50.0], 40.0)
    assert model.ids.tolist() == [2]  # 3 / 16 and 1 / 8 are below half a point
    assert [event.kind for event in model.events[-3:]] == ["aged out", "aged out", "created"]


def test_policies():
    far, prior = [[100.0 * i, 0.0] for i in range(6)], NormalGamma([0.0, 0.0], 1e-4, 1.0, [1.0, 1.0])
    kinds = {}
    for when_full in ("least-loss", "merge", "evict", "refuse"):
        model = OnlineMAPDPM(3, likelihood=prior, when_full=when_full)
        model.learn_many(far)
        assert model.n_clusters <= 3
        kinds[when_full] = {event.kind for event in model.events} - {"created"}
    assert "evicted" in kinds["evict"]
    assert kinds["merge"] == {"merged"}
    assert "evicted" not in kinds["refuse"]
    model = OnlineMAPDPM(3, likelihood=prior, when_full="error").partial_fit(far[:3])
    before = model.to_bytes()
    with pytest.raises(StreamFullError, match="all 3 clusters are taken and x wants another; raise max_clusters"):
        model.learn_one(far[4])
    assert model.to_bytes() == before
    model.learn_one(far[1])


def test_clusters_at_once():
    model = OnlineMAPDPM(6, likelihood=PRIOR).partial_fit(flow(500))
    ids, weights, means, variances = model.clusters()
    assert np.array_equal(ids, model.ids)
    assert np.array_equal(weights, model.weights)
    assert np.array_equal(means, model.means)
    assert np.array_equal(variances, model.variances)


def test_resolve():
    model = OnlineMAPDPM(6, likelihood=PRIOR)
    model.learn_many(flow(2000))
    for event in model.events:
        if event.kind == "merged" and event.other in model.ids:
            assert model.resolve(event.id) == event.other
    for number in model.ids.tolist():
        assert model.resolve(number) == number
    for number in (10**6, 2**32, 2**40):
        with pytest.raises(KeyError, match="never given"):
            model.resolve(number)
    evicted = OnlineMAPDPM(1, likelihood=PRIOR, when_full="evict")
    evicted.learn_many([[0.0, 0.0], [99.0, 99.0]])
    with pytest.raises(KeyError, match="has ended"):
        evicted.resolve(0)


def test_missing_is_exact():
    """A value that is not there has no say: the density is that of the features that are there."""
    rng = np.random.default_rng(0)
    X, _ = blobs(600)
    both = NormalGamma([0.0, 0.0], 0.05, 1.0, [1.0, 2.0])
    full = OnlineMAPDPM(8, likelihood=both).partial_fit(X)
    skipping = OnlineMAPDPM(8, likelihood=both, missing="skip").partial_fit(X)
    np.testing.assert_allclose(full.score_samples(X), skipping.score_samples(X), rtol=1e-12)
    # Integrated over what is missing: the Student t tails beyond the grid have less than 1e-4 of it.
    line = np.linspace(-2000, 2000, 400_001)
    for x in X[:3]:
        points = np.column_stack([np.full_like(line, x[0]), line])
        expected = np.log(np.exp(full.score_samples(points)).sum() * (line[1] - line[0]))
        assert skipping.score_one([x[0], np.nan]) == pytest.approx(expected, abs=1e-4)
    # One feature never there: the other alone, as if it were all.
    alone = OnlineMAPDPM(8, likelihood=NormalGamma([0.0], 0.05, 1.0, [1.0]))
    half = OnlineMAPDPM(8, likelihood=both, missing="skip")
    Y = np.column_stack([X[:, 0], np.full(len(X), np.nan)])
    assert half.learn_many(Y).tolist() == alone.learn_many(X[:, :1]).tolist()
    np.testing.assert_allclose(half.score_samples(Y), alone.score_samples(X[:, :1]), rtol=1e-9)
    holes = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    holes = holes[~np.isnan(holes).all(axis=1)]
    model = OnlineMAPDPM(8, likelihood=both, missing="skip").partial_fit(holes)
    assert model.weights.sum() == len(holes)


def test_window_keeps_weight_and_helps():
    X, y = blobs(4000, seed=8, K=6)
    model = OnlineMAPDPM(10, likelihood=NormalGamma([0.0, 0.0], 0.05, 1.0, [4.0, 4.0]), window=200)
    ids = model.learn_many(X)
    assert model.weights.sum() == pytest.approx(len(X), rel=1e-12)
    assert adjusted_mutual_info(y[2000:], ids[2000:]) > 0.9


def test_dp_means_is_greedy_dp_means():
    """Without splits and merges to make, one pass of DP-means with the factor n / (n + 1)."""
    rng = np.random.default_rng(1)
    centres = np.array([[0.0, 0.0], [40.0, 0.0], [0.0, 40.0], [40.0, 40.0]])
    X = np.repeat(centres, 50, axis=0)[rng.permutation(200)] + rng.normal(size=(200, 2))
    for dtype in ("float64", "float32"):
        ids = OnlineMAPDPM.dp_means(100.0, 8, n_features=2, dtype=dtype).learn_many(X)
        means, sizes, expected = [], [], []
        for x in X:
            costs = [n / (n + 1) * ((x - m) ** 2).sum() for m, n in zip(means, sizes, strict=True)]
            k = int(np.argmin([*costs, 100.0]))
            if k == len(means):
                means.append(x.copy())
                sizes.append(0)
            sizes[k] += 1
            means[k] += (x - means[k]) / sizes[k]
            expected.append(k)
        assert ids.tolist() == expected


# ---- numbers: float32, memory ----------------------------------------------------------------------------------------


def test_float32_at_an_offset():
    X, _ = blobs(100_000, seed=9, D=3, K=6, offset=1e6)
    X = X.astype(np.float32).astype(np.float64)
    single, double = OnlineMAPDPM(8, dtype="float32"), OnlineMAPDPM(8)
    a, b = single.learn_many(X), double.learn_many(X)
    assert np.mean(a == b) >= 0.999
    assert single.weights.sum() == len(X)
    sd = np.sqrt(double.variances)
    assert np.all(np.abs(single.means - double.means) <= 1e-3 * sd)
    assert np.all(np.abs(np.sqrt(single.variances) - sd) <= 1e-3 * sd)


@pytest.mark.slow
def test_float32_at_an_offset_for_ten_million_points():
    single, double = OnlineMAPDPM(8, dtype="float32"), OnlineMAPDPM(8)
    same = n = 0
    for part in range(100):
        X, _ = blobs(100_000, seed=9, D=3, K=6, offset=1e6)
        X = (X + np.random.default_rng(part).normal(0, 0.1, X.shape)).astype(np.float32).astype(np.float64)
        same += int(np.sum(single.learn_many(X) == double.learn_many(X)))
        n += len(X)
    assert same >= 0.999 * n
    assert single.weights.sum() == double.weights.sum() == n
    sd = np.sqrt(double.variances)
    assert np.all(np.abs(single.means - double.means) <= 1e-3 * sd)
    assert np.all(np.abs(np.sqrt(single.variances) - sd) <= 1e-3 * sd)


def test_memory_is_what_the_macro_says(tmp_path):
    source = tmp_path / "size.c"
    shapes = [(3, 8), (4, 32), (1, 1), (17, 5)]
    macros = [f"MAPDPM_STATE_BYTES({D}, {K})" for D, K in shapes]
    macros += [f"MAPDPM_STATE_BYTES({D}, {K}) + MAPDPM_SURPRISE_BYTES({K})" for D, K in shapes]
    prints = "".join(f'printf("%zu\\n", {macro});' for macro in macros)
    source.write_text(f'#include "mapdpm.h"\n#include <stdio.h>\nint main(void) {{ {prints} return 0; }}\n')
    for dtype, real in (("float32", "float"), ("float64", "double")):
        program = tmp_path / real
        subprocess.run(["cc", f"-DMAPDPM_REAL={real}", f"-I{ROOT / 'c_kernels'}", source, "-o", program], check=True)
        sizes = [int(line) for line in subprocess.check_output([program], text=True).split()]
        models = [
            OnlineMAPDPM(K, likelihood=NormalGamma(0.0, 1.0, 1.0, 1.0), n_features=D, dtype=dtype, surprise=knows)
            for knows in (False, True)
            for D, K in shapes
        ]
        assert [model.nbytes for model in models] == sizes
    assert (
        OnlineMAPDPM(
            8, likelihood=NormalGamma(0.0, 1.0, 1.0, 1.0), n_features=3, dtype="float32", surprise=False
        ).nbytes
        <= 2048
    )


@pytest.mark.parametrize("alpha", [1e-9, 0.7, 1e9])
def test_a_float32_file_has_the_numbers_that_were_given(alpha):
    """Rounded to float32, 1e-9 is below the least alpha."""
    model = OnlineMAPDPM(alpha=alpha, half_life=0.3, n_features=2, dtype="float32")
    again = OnlineMAPDPM.from_bytes(model.to_bytes())
    assert (again.alpha, again.half_life) == (alpha, 0.3)


# ---- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(every_setting()))
def test_files(name, tmp_path):
    model = every_setting()[name].partial_fit(flow(700))
    path = tmp_path / "state.mdpm"
    model.save(path)
    again = mapdpm.load(path)
    assert isinstance(again, OnlineMAPDPM)
    assert again.to_bytes() == model.to_bytes()
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert other.to_bytes() == model.to_bytes()
        assert repr(other) == repr(model)
    X = flow(300, 5)
    assert again.learn_many(X).tolist() == model.learn_many(X).tolist()


def test_copies_of_what_has_seen_nothing():
    model = OnlineMAPDPM(7, alpha=2.0)
    assert repr(pickle.loads(pickle.dumps(model))) == "OnlineMAPDPM(max_clusters=7, alpha=2.0)"
    with pytest.raises(mapdpm.validation.NotFittedError, match="give it n_features"):
        model.to_bytes()


def test_files_of_the_other_kind(tmp_path):
    X, _ = blobs(50)
    stream, batch = OnlineMAPDPM(4, likelihood=PRIOR).partial_fit(X).to_bytes(), MAPDPM().fit(X).to_bytes()
    with pytest.raises(ModelFileError, match=r"holds a batch model, which MAPDPM reads; mapdpm\.load reads all kinds"):
        OnlineMAPDPM.from_bytes(batch)
    with pytest.raises(ModelFileError, match="holds a stream learner, which OnlineMAPDPM reads"):
        MAPDPM.from_bytes(stream)
    (tmp_path / "batch.mdpm").write_bytes(batch)
    assert isinstance(mapdpm.load(tmp_path / "batch.mdpm"), MAPDPM)


@pytest.mark.parametrize("name", ["prior", "warmup", "window-forgetting-warmup", "float32-missing"])
def test_damaged_files_are_refused(name):
    model = every_setting()[name]
    model.learn_many(flow(60)[:40])
    data = model.to_bytes()
    rng = np.random.default_rng(0)
    for bit in rng.choice(8 * len(data), 400, replace=False):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ModelFileError):
            OnlineMAPDPM.from_bytes(bytes(damaged))
    for length in [*range(48), *rng.choice(len(data), 100)]:
        with pytest.raises(ModelFileError):
            OnlineMAPDPM.from_bytes(data[:length])
    with pytest.raises(ModelFileError, match="truncated"):
        OnlineMAPDPM.from_bytes(data[:-1])


def test_a_full_disk_leaves_the_old_state(tmp_path, monkeypatch):
    path = tmp_path / "state.mdpm"
    model = OnlineMAPDPM(4, likelihood=PRIOR).partial_fit(flow(100))
    model.save(path)
    old = path.read_bytes()
    model.learn_many(flow(100))
    monkeypatch.setattr("os.fsync", _full)
    with pytest.raises(OSError, match="cannot write"):
        model.save(path)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def _full(*_):
    raise OSError(28, "No space left on device")


# ---- who calls -------------------------------------------------------------------------------------------------------


def test_frames_and_scikit_learn_names():
    X, _ = blobs(500)
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = OnlineMAPDPM(8).partial_fit(frame)
    assert model.partial_fit(frame) is model
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert model.n_features_in_ == 2
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["b", "a"]])
    assert OnlineMAPDPM.from_bytes(model.to_bytes()).feature_names_in_.tolist() == ["a", "b"]
    from sklearn.base import clone

    fresh = clone(OnlineMAPDPM(3, likelihood=PRIOR, half_life=5.0))
    assert repr(fresh) == repr(OnlineMAPDPM(3, likelihood=PRIOR, half_life=5.0))
    assert OnlineMAPDPM(3).set_params(alpha=2.0).alpha == 2.0
    with pytest.raises(ValueError, match="keeps its parameters"):
        model.set_params(alpha=2.0)
    assert model.fit(X[:300]).n_seen == 300
    assert np.isfinite(model.score(X))


def test_threads_take_turns(monkeypatch):
    X, _ = blobs(20_000)
    model = OnlineMAPDPM(8, likelihood=PRIOR)
    rows = X.tolist()

    def one_by_one():
        for i, row in enumerate(rows):
            (model.learn_one, model.learn_scored, model.learn_assessed)[i % 3](row)

    def ask():
        while any(thread.is_alive() for thread in threads[1:]):
            seen = model.n_seen
            assert seen <= model.weights.sum() + 0.5
            assert model.predict_one(rows[0]) >= 0

    model.learn_one(rows[0])
    failed = []
    monkeypatch.setattr(threading, "excepthook", failed.append)
    threads = [threading.Thread(target=ask), *(threading.Thread(target=one_by_one) for _ in range(2))]
    threads += [threading.Thread(target=model.learn_many, args=(X,)) for _ in range(2)]
    for thread in reversed(threads):
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert model.n_seen == model.weights.sum() == 4 * len(X) + 1


@pytest.mark.parametrize("x", [[1, 2], (1.0, 2.0), np.array([1.0, 2.0]), np.array([1, 2]), np.float32([1, 2])])
def test_points_of_all_types(x):
    assert OnlineMAPDPM(likelihood=PRIOR).learn_one(x) == 0


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([1.0], "x has 1 features, but the learner expects 2"),
        (np.zeros(3), "x has 3 features"),
        (3.0, "x must be a sequence of numbers, one a feature, got 3.0"),
        ("ab", "x must be a sequence of numbers"),
        ({"a": 1.0}, "mapdpm.compat.river takes dicts"),
        ([1.0, "b"], "x must be a sequence of 2 numbers"),
        ([1.0, None], "x must be a sequence of 2 numbers"),
        (np.zeros((1, 2)), "x must be a sequence of numbers"),
        ([1.0, np.nan], "x contains NaN at feature 1; remove or impute it, or set missing='skip' for NaN"),
        ([np.inf, 0.0], "x contains infinity at feature 0"),
        ([1e200, 0.0], "x lies too far from the prior mean"),
        ([0.0, 1e308], "x lies too far from the prior mean"),
    ],
)
def test_bad_points_change_nothing(x, message):
    model = OnlineMAPDPM(4, likelihood=PRIOR).partial_fit(flow(50))
    before = model.to_bytes()
    for ask in (model.learn_one, model.learn_scored, model.predict_one, model.score_one):
        with pytest.raises(ValueError, match="^" + message.split("(")[0] if message.startswith("x ") else message):
            ask(x)
    assert model.to_bytes() == before


def test_bad_batches():
    model = OnlineMAPDPM(4, likelihood=PRIOR)
    with pytest.raises(ValueError, match=r"X contains NaN at row 2, column 1"):
        model.learn_many([[0.0, 1.0], [1.0, 1.0], [2.0, np.nan]])
    assert model.n_seen == 0
    tiny = OnlineMAPDPM(4, likelihood=NormalGamma([0.0, 0.0], 0.05, 1.0, [1e-60, 1e-60]))
    with pytest.raises(ValueError, match=r"X, row 1 .* lies too far .*; the 1 rows before it were learned"):
        tiny.learn_many([[0.0, 1.0], [9e48, 1.0]])
    assert tiny.n_seen == 1
    skipping = OnlineMAPDPM(4, likelihood=PRIOR, missing="skip")
    with pytest.raises(ValueError, match="X has no value at all in row 1"):
        skipping.learn_many([[0.0, np.nan], [np.nan, np.nan]])
    with pytest.raises(ValueError, match="no value at all"):
        skipping.learn_one([np.nan, np.nan])
    with pytest.raises(ValueError, match="X has 3 features"):
        model.learn_many(np.zeros((2, 3)))


def test_bad_times():
    model = OnlineMAPDPM(4, likelihood=PRIOR, half_life=5.0)
    model.learn_one([0.0, 0.0], 10.0)
    before = model.to_bytes()
    for t, message in (
        (9.0, "t went backwards"),
        (None, "some points had a time"),
        (np.nan, "finite"),
        ("x", "number"),
    ):
        with pytest.raises(ValueError, match=message):
            model.learn_one([0.0, 0.0], t)
    assert model.to_bytes() == before
    with pytest.raises(ValueError, match=r"t must have one entry a point, shape \(2,\), got shape \(3,\)"):
        model.learn_many(np.zeros((2, 2)), [1.0, 2.0, 3.0])
    for bad, message in (([1.0, "x"], "t must be numbers, in seconds"), ([1.0, np.inf], "infinity at entry 1")):
        with pytest.raises(ValueError, match=message):
            model.learn_many(np.zeros((2, 2)), bad)
    with pytest.raises(ValueError, match="t went backwards"):
        model.learn_many(np.zeros((2, 2)), [1e300, 1e300])
    assert model.to_bytes() == before
    with pytest.raises(ValueError, match=r"t went backwards.*; the 2 rows before it were learned"):
        model.learn_many(np.zeros((4, 2)), [10.0, 12.0, 11.0, 13.0])
    assert model.n_seen == 3


def test_dates_are_times():
    """Naive dates are UTC. A learner of dates has the bits of one of their seconds."""
    naive = [dt.datetime.fromisoformat(f"2026-03-29T{when}") for when in ("01:59:30", "02:00:30")]
    zoned = [when.replace(tzinfo=dt.UTC).astimezone(dt.timezone(dt.timedelta(hours=2))) for when in naive]
    seconds = [1774749570.0, 1774749630.0]
    series = pd.Series(zoned)
    frames = (series, series.dt.tz_convert("Europe/Berlin"), pd.DatetimeIndex(naive), pd.Series(naive, dtype=object))
    numpy = [np.array(naive, dtype=f"datetime64[{unit}]") for unit in ("ns", "us", "ms", "s")]
    wanted = OnlineMAPDPM(likelihood=PRIOR, half_life=10.0)
    wanted.learn_many([[0.0, 0.0], [1.0, 1.0]], t=seconds)
    for dates in (naive, zoned, *frames, *numpy, list(numpy[0])):
        many, each = (OnlineMAPDPM(likelihood=PRIOR, half_life=10.0) for _ in range(2))
        many.learn_many([[0.0, 0.0], [1.0, 1.0]], t=dates)
        for x, t in zip((0.0, 1.0), dates, strict=True):
            each.learn_one([x, x], t=t)
        assert many.to_bytes() == each.to_bytes() == wanted.to_bytes()


def test_durations_are_times_and_days_are_their_midnight():
    model = OnlineMAPDPM(likelihood=PRIOR, half_life=10.0)
    dates = np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]")
    model.learn_many([[0.0, 0.0], [1.0, 1.0]], t=dates - dates[0])
    assert model.last_time == 86400.0
    model.learn_one([0.0, 0.0], t=dt.timedelta(days=2))
    assert model.last_time == 172800.0
    model.learn_one([0.0, 0.0], t=dt.date(2026, 1, 2))
    assert model.last_time == 1767312000.0


@pytest.mark.parametrize("wrong", [pd.NaT, np.datetime64("NaT"), "2026-01-01", [dt.date(2026, 1, 1)], 1j])
def test_what_is_no_time(wrong):
    model = OnlineMAPDPM(likelihood=PRIOR, half_life=10.0)
    with pytest.raises(ValueError, match="t must be"):
        model.learn_one([0.0, 0.0], t=wrong)
    with pytest.raises(ValueError, match=r"t must be|t must have|t contains"):
        model.learn_many([[0.0, 0.0], [0.0, 0.0]], t=[wrong, wrong])
    assert model.n_seen == 0


def test_many_at_times_is_one_by_one():
    X = flow(300)
    times = np.cumsum(np.random.default_rng(0).exponential(0.1, len(X))).tolist()
    whole, single = (OnlineMAPDPM(6, likelihood=PRIOR, half_life=5.0) for _ in range(2))
    ids, scores = whole.learn_many_scored(X, times)
    assert ids.tolist() == [single.learn_one(x.tolist(), t) for x, t in zip(X, times, strict=True)]
    assert whole.to_bytes() == single.to_bytes()
    assert np.isfinite(scores).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_clusters": 0}, "max_clusters must be an integer >= 1, got 0"),
        ({"max_clusters": 10**9}, "max_clusters must be at most"),
        ({"alpha": -1.0}, "alpha must be > 0, got -1.0"),
        ({"alpha": 1e300}, "alpha must be between 1e-09 and 1e"),
        ({"half_life": 0.0}, "half_life must be > 0, got 0.0"),
        ({"warmup": 1}, "warmup must be an integer >= 2, got 1"),
        (
            {"when_full": "panic"},
            "when_full must be one of 'least-loss', 'merge', 'evict', 'refuse', 'error', got 'panic'",
        ),
        ({"missing": "drop"}, "missing must be one of 'error', 'skip', got 'drop'"),
        ({"dtype": "float16"}, "dtype must be one of 'float64', 'float32', 'int16', got 'float16'"),
        ({"likelihood": NormalGamma}, "a stream knows NormalGamma and NormalKnownVariance, each with its prior"),
        ({"likelihood": PRIOR, "n_features": 3}, "2 entries but the data has 3 features"),
        ({"window": -1}, "window must be an integer >= 0, got -1"),
        ({"n_features": 0}, "n_features must be an integer >= 1, got 0"),
        ({"likelihood": NormalGamma([0.0], 1.0, 1.0, [1e-80]), "dtype": "float32", "n_features": 1}, "use float64"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        OnlineMAPDPM(**parameters)


def test_other_families_are_refused():
    from mapdpm.likelihoods import _template

    family = next(kind for kind in vars(_template).values() if isinstance(kind, type) and hasattr(kind, "_fields"))
    try:
        likelihood = family(*([1.0] * len(family._fields)))
    except (TypeError, ValueError):
        pytest.fail("the template takes other parameters")
    with pytest.raises(ValueError, match="MAPDPM runs any other in batch"):
        OnlineMAPDPM(likelihood=likelihood)


def test_without_the_compiled_modules(monkeypatch):
    monkeypatch.setattr("mapdpm.stream.c_options.is_built", lambda: False)
    with pytest.raises(RuntimeError, match=r"pip install -e \."):
        OnlineMAPDPM(n_features=2)


def test_import_costs_no_more():
    code = "import sys, mapdpm; sys.exit('mapdpm.stream.online' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert ctypes  # the C library is reached through cffi alone


@pytest.mark.parametrize(
    ("place", "value"),
    [(12, 2**20), (12, 2**27), (16, 2**27), (16, 10**6)],
    ids=["2**20 features", "features", "slots", "fewer"],
)
def test_a_small_file_asks_for_little_memory(place, value):
    """The sizes of the header are compared with that of the file, before there is memory for them."""
    data = bytearray(OnlineMAPDPM(4, likelihood=PRIOR).to_bytes())
    data[place : place + 4] = value.to_bytes(4, "little")
    data[-4:] = zlib.crc32(data[:-4]).to_bytes(4, "little")
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match="damaged"):
            OnlineMAPDPM.from_bytes(bytes(data))
        assert tracemalloc.get_traced_memory()[1] < 1e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("place", "value"), [(80, 1e154), (112, 1e154), (112, 1e-154)], ids=["m0", "b0", "small b0"])
def test_a_prior_beyond_the_limits_of_python(place, value):
    """C allows it."""
    data = bytearray(OnlineMAPDPM(4, likelihood=PRIOR, surprise=False).to_bytes())
    assert data[80:88] == np.float64(PRIOR.m0[0]).tobytes()
    assert data[112:120] == np.float64(PRIOR.b0[0]).tobytes()
    data[place : place + 8] = np.float64(value).tobytes()
    data[-4:] = zlib.crc32(data[:-4]).to_bytes(4, "little")
    with pytest.raises(ModelFileError, match=r"damaged: [mb]0 must be"):
        OnlineMAPDPM.from_bytes(bytes(data))


@pytest.mark.parametrize("n_features", [1, 2, 100])
@pytest.mark.parametrize("options", [{"warmup": 2}, {"warmup": 500}, {"window": 300, "warmup": 2}])
@pytest.mark.parametrize("max_clusters", [1, 2, 300])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_learners_take_at_most_twice_their_file(n_features, options, max_clusters, dtype):
    """The bound that tells forged sizes from true ones, with a factor of two to spare."""
    model = OnlineMAPDPM(max_clusters, n_features=n_features, dtype=dtype, **options)
    data = model.to_bytes()
    assert model.nbytes <= 2 * len(data) + 2048
    assert OnlineMAPDPM.from_bytes(data).to_bytes() == data


# ---- a new regime ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("n", [500, 5000])
@pytest.mark.parametrize("D", [1, 3])
def test_a_new_regime_is_found(n, spread, D):
    """Four deviations away, constant or not: within 200 points it has a cluster, and the old one keeps its place."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n + 400, D))
        X[n:] = spread * X[n:] + 4.0 * np.eye(D)[0]
        model = OnlineMAPDPM()
        ids = model.learn_many(X)
        new = model.predict([X[n:].mean(axis=0)])[0]
        assert np.mean(ids[n + 200 :] == new) > (
            0.6 if spread == 1.0 else 0.99
        )  # the old one weighs more at the border
        assert np.mean(model.predict(X[:n]) == new) < 0.1


def test_a_new_regime_between_two_others_leaves_them_alone():
    rng = np.random.default_rng(0)
    classes = np.concatenate([rng.integers(0, 2, 8000), np.full(1000, 2)])
    X = np.array([0.0, 8.0, 4.0])[classes] + rng.normal(size=9000)
    model = OnlineMAPDPM().partial_fit(X[:, None])
    assert model.n_clusters == 3
    np.testing.assert_allclose(np.sort(model.means[:, 0]), [0.0, 4.0, 8.0], atol=0.35)
