"""Fits of chunks on Dask: the bits of one process, whoever computes, and clear errors."""

import itertools
import os
import signal
import threading
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import mapdpm.dask as on_dask
from mapdpm import MAPDPM, DirichletMultinomial, DPMeans, NormalGamma, NormalKnownVariance, load
from mapdpm.search import fit_in_passes
from mapdpm.validation import NotFittedError
from tests.search.test_fit_in_passes import blobs

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
N = 2400
X, Z = blobs(0, n=N, spread=20.0)
LOCAL = {
    "n_workers": 2,
    "threads_per_worker": 1,
    "host": "127.0.0.1",
    "dashboard_address": "127.0.0.1:0",  # any free port
}
EDGES = (0, 500, 500, 1300, 2399, N)  # an empty chunk, and one of a point


def chunks_of(points, edges=EDGES):
    return [dask.delayed(points[first:last]) for first, last in itertools.pairwise(edges)]


def bits_of(model):
    arrays = (model.cluster_sizes_, model.means_, model.variances_, model.history_)
    return [array.tobytes() for array in arrays]


@pytest.fixture(autouse=True)
def _nothing_hangs():
    """A test that takes two minutes has failed: seconds are usual."""

    def end(*_):
        pytest.fail("the test hangs")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(**LOCAL) as made:
        yield made


@pytest.fixture
def client(cluster):
    with Client(cluster, set_as_default=False) as made:
        yield made


def test_a_plain_model_as_good_as_one_of_points_in_memory(tmp_path):
    model = on_dask.fit(MAPDPM(), chunks_of(X))
    assert type(model) is MAPDPM
    assert not hasattr(model, "labels_")
    in_memory = MAPDPM().fit(X)
    np.testing.assert_allclose(model.log_joint_, in_memory.log_joint_, rtol=1e-12)
    assert model.converged_
    labels = np.concatenate(dask.compute(*on_dask.labels(model, chunks_of(X))))
    np.testing.assert_array_equal(labels, in_memory.labels_)
    np.testing.assert_array_equal(np.bincount(labels), model.cluster_sizes_)
    model.save(tmp_path / "model.mapdpm")
    np.testing.assert_array_equal(load(tmp_path / "model.mapdpm").predict(X), model.predict(X))


def test_whoever_computes_the_bits_are_the_same(client):
    chunks = chunks_of(X[:900], (0, 400, 400, 899, 900))
    here = on_dask.fit(MAPDPM(), chunks)
    wanted = np.concatenate(dask.compute(*on_dask.labels(here, chunks)))
    here.callback = threading.Lock().acquire  # a model may hold what cannot travel
    found = client.gather(client.compute(on_dask.labels(here, chunks)))
    np.testing.assert_array_equal(np.concatenate(found), wanted)
    for n_workers in (2, 1):
        workers = list(client.scheduler_info()["workers"])[:n_workers]
        with dask.annotate(workers=workers):
            there = on_dask.fit(MAPDPM(n_jobs=2), chunks, client)
        assert bits_of(there) == bits_of(here)


def test_every_form_of_points(tmp_path):
    n, edges = 600, (0, 200, 400, 600)
    some = X[:n]
    wanted = bits_of(on_dask.fit(MAPDPM(), chunks_of(some, edges)))
    array = da.from_array(some, chunks=(200, 1))
    assert bits_of(on_dask.fit(MAPDPM(), array)) == wanted
    unknown = array[array[:, 0] > -np.inf]
    assert np.isnan(unknown.shape[0])
    assert bits_of(on_dask.fit(MAPDPM(), unknown)) == wanted
    frames = [pd.DataFrame(some[at : at + 200], columns=["a", "b"]) for at in edges[:-1]]
    frame = dd.from_delayed([dask.delayed(each) for each in frames], meta=frames[0])
    model = on_dask.fit(MAPDPM(), frame)
    assert bits_of(model) == wanted
    assert model.feature_names_in_.tolist() == ["a", "b"]
    for number, each in enumerate(frames):
        np.save(tmp_path / f"points_{number}.npy", each.to_numpy())
        each.to_parquet(tmp_path / f"points_{number}.parquet")
    assert bits_of(on_dask.fit(MAPDPM(), tmp_path / "points_*.npy")) == wanted
    assert bits_of(on_dask.fit(MAPDPM(), sorted(tmp_path.glob("*.parquet")))) == wanted
    in_memory = MAPDPM().fit(some)
    for lazy in (on_dask.labels(in_memory, unknown), on_dask.labels(model, frame)):
        np.testing.assert_array_equal(np.asarray(lazy.compute()), in_memory.labels_)
    np.testing.assert_array_equal(on_dask.predict(model, frame).compute(), model.predict(pd.concat(frames)))
    scores = on_dask.score_samples(in_memory, array)
    assert scores.shape == (n,)
    np.testing.assert_array_equal(scores.compute(), in_memory.score_samples(some))


def with_mean_1(weights):
    return weights / weights[weights > 0].mean()


@pytest.mark.complete
def test_chunks_that_are_kept_on_workers(client):
    expected = bits_of(on_dask.fit(MAPDPM(), chunks_of(X, range(0, N + 1, 600))))
    array = da.from_array(X, chunks=(600, -1))
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=2)
    for given in (client.persist(array), client.persist(list(array.to_delayed().ravel()))):
        assert bits_of(on_dask.fit(MAPDPM(), given, client)) == expected
    assert on_dask.fit(MAPDPM(), client.persist(frame), client).n_clusters_ == len(set(Z.tolist()))


@pytest.mark.complete
def test_counts_weights_and_priors():
    weights = with_mean_1(np.random.default_rng(1).integers(0, 3, N))  # passes take weights as they are
    for parameters in ({"discount": 0.2}, {"max_clusters": 3}):
        parameters["covariance"] = "diagonal"
        model = on_dask.fit(MAPDPM(**parameters), chunks_of(X), sample_weight=chunks_of(weights))
        in_memory = MAPDPM(**parameters).fit(X, sample_weight=weights)
        np.testing.assert_allclose(model.log_joint_, in_memory.log_joint_, rtol=1e-12)
    edges = (0, 500, 900, N)
    weights[:500] = 0.0  # no point of this chunk takes part
    weights = with_mean_1(weights)
    diagonal = MAPDPM(covariance="diagonal")
    model = on_dask.fit(diagonal, chunks_of(X, edges), sample_weight=chunks_of(weights, edges))
    in_memory = MAPDPM(covariance="diagonal").fit(X, sample_weight=weights)
    np.testing.assert_allclose(model.log_joint_, in_memory.log_joint_, rtol=1e-12)
    words = np.random.default_rng(2).poisson([[5.0, 1.0, 1.0]] * 300 + [[1.0, 1.0, 6.0]] * 300)
    prior = DirichletMultinomial(1.0)
    model = on_dask.fit(MAPDPM(likelihood=prior), chunks_of(words, (0, 250, 600)))
    np.testing.assert_allclose(model.log_joint_, MAPDPM(likelihood=prior).fit(words).log_joint_, rtol=1e-12)


def test_dp_means():
    seen = []
    model = on_dask.fit(DPMeans(n_clusters=6, callback=lambda p: seen.append(-p.log_joint)), chunks_of(X))
    np.testing.assert_allclose(seen[-1], model.objective_, rtol=1e-12)
    labels = np.concatenate(dask.compute(*on_dask.labels(model, chunks_of(X))))
    np.testing.assert_array_equal(np.bincount(labels), model.cluster_sizes_)
    means = np.array([X[labels == k].mean(axis=0) for k in range(model.n_clusters_)])
    np.testing.assert_allclose(model.cluster_centers_, means, rtol=1e-12)
    squares = ((X - means[labels]) ** 2).sum()
    np.testing.assert_allclose(model.objective_, squares + model.lam_ * model.n_clusters_, rtol=1e-12)
    in_memory = DPMeans(n_clusters=6).fit(X)
    np.testing.assert_allclose(model.lam_, in_memory.lam_, rtol=1e-12)
    assert model.objective_ <= in_memory.objective_ * (1.0 + 1e-12)
    small = on_dask.fit(DPMeans(n_clusters=6), chunks_of(X * 2.0**-20))  # a unit is nothing special
    assert small.cluster_sizes_.tolist() == model.cluster_sizes_.tolist()


def test_a_sample_is_enough_to_start_from(monkeypatch):
    monkeypatch.setattr(fit_in_passes, "SAMPLE", 200)
    model = on_dask.fit(MAPDPM(likelihood=None), chunks_of(X))
    np.testing.assert_allclose(model.log_joint_, MAPDPM(likelihood=None).fit(X).log_joint_, rtol=1e-12)


@pytest.mark.parametrize("far", [0.0, 1000.0])
def test_a_sample_of_all_points_starts_at_their_clusters(far):
    """Passes mend a start from elsewhere, too; but then the first one is hundreds of nats below the last."""
    model = on_dask.fit(MAPDPM(likelihood=None), chunks_of(X + far))
    assert model.history_[0] > model.history_[-1] - 1.0


@pytest.mark.complete
def test_a_prior_is_fitted_to_the_sample():
    """All points are in it here, so the prior is that of a fit in memory; and so are the clusters."""
    for likelihood in ("auto", NormalKnownVariance):
        model = on_dask.fit(MAPDPM(likelihood=likelihood), chunks_of(X))
        in_memory = MAPDPM(likelihood=likelihood).fit(X)
        assert model.likelihood_ == in_memory.likelihood_
        np.testing.assert_allclose(model.log_joint_, in_memory.log_joint_, rtol=1e-12)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (lambda: [X[:5], np.where(np.arange(10).reshape(5, 2) == 7, np.nan, X[5:10])], r"chunk 1 .*NaN at row 3, col"),
        (lambda: [X[:5], X[:0], X[5:9, :1]], "chunk 2 has 1 feature, but chunk 0 has 2 features"),
        (lambda: [X[:5], X[5:9].astype(np.float32)], "chunk 1 has float32 points, but chunk 0 has float64"),
        (lambda: [X[:0], X[:0]], "no chunk has a point"),
        (lambda: [X[:5].astype(str)], "chunk 0 .*numbers only"),
        (
            lambda: [pd.DataFrame(X[:5], columns=["a", "b"]), pd.DataFrame(X[:5], columns=["b", "a"])],
            "chunk 1 has the col",
        ),
    ],
)
def test_what_is_wrong_with_a_chunk(points, message):
    with pytest.raises(ValueError, match=message):
        on_dask.fit(MAPDPM(), [dask.delayed(each) for each in points()])


class Changes:
    """Makes a chunk, and another one from the second time on."""

    def __init__(self, *made):
        self.made, self.times = made, 0

    def __call__(self):
        self.times += 1
        return self.made[min(self.times, len(self.made)) - 1]


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ((X[:500], X[:499]), "had 500 points, and 499 points when"),
        ((X[:500], X[:0]), "had 500 points, and 0 points"),
        ((X[:0], X[:500]), "had 0 points, and 500 points"),
        ((X[:500], X[:500] + 1e-9), "had 500 points, and other values"),
        ((X[:500], X[499::-1]), "had 500 points, and other values"),
        ((X[:500], X[:500], X[:500], X[1:501]), "had 500 points, and other values"),
    ],
)
@pytest.mark.parametrize("estimator", [MAPDPM, DPMeans])
def test_a_chunk_that_is_not_the_same_again_is_refused(made, message, estimator):
    """As a reader without a seed or without an order, or a file that someone writes meanwhile."""
    blocks = [dask.delayed(X[500:]), dask.delayed(Changes(*made), pure=False)()]
    model = estimator() if estimator is MAPDPM else estimator(n_clusters=3)
    with dask.config.set(scheduler="synchronous"), pytest.raises(ValueError, match=f"chunk 1 .*{message}.* a seed"):
        on_dask.fit(model, blocks)


def test_weights_that_change_and_arrays_of_wrong_sizes_are_refused():
    weights = [dask.delayed(Changes(np.ones(N), np.full(N, 2.0)), pure=False)()]
    with dask.config.set(scheduler="synchronous"), pytest.raises(ValueError, match=r"chunk 0 .*other values"):
        on_dask.fit(MAPDPM(), [dask.delayed(X)], sample_weight=weights)
    wrong = da.from_delayed(dask.delayed(X[:400]), shape=(500, X.shape[1]), dtype=float)
    with pytest.raises(ValueError, match=r"chunk 0 .* has 400 rows, and its dask array says 500"):
        on_dask.fit(MAPDPM(), wrong)


def test_other_bad_input(tmp_path):
    (tmp_path / "points.csv").write_text("1,2\n")
    blocks = chunks_of(X)
    for arguments, message in (
        ((MAPDPM(), X), "in memory use model.fit"),
        ((MAPDPM(moves=()), blocks), "moves must be"),
        ((MAPDPM(init=Z), blocks), "init must be the name"),
        ((NormalGamma(0.0, 1.0, 1.0, 1.0), blocks), "MAPDPM or a DPMeans"),
        ((MAPDPM(), tmp_path / "points.csv"), "neither npy nor parquet"),
        ((MAPDPM(), str(tmp_path / "none_*.npy")), "there is no file"),
        ((DPMeans(n_clusters=N + 1), blocks), "at most the number of points"),
        ((MAPDPM(likelihood=dict), blocks), "no rule to fit the prior of dict"),
        ((MAPDPM(likelihood=3), blocks), "likelihood must be one with its prior, .* got 3"),
    ):
        with pytest.raises(ValueError, match=message):
            on_dask.fit(*arguments)
    with pytest.raises(ValueError, match="1 chunks and X has 5"):
        on_dask.fit(MAPDPM(), blocks, sample_weight=chunks_of(np.ones(N), (0, N)))


def test_columns_are_those_of_the_fit():
    frames = [pd.DataFrame(X[at : at + 800], columns=["a", "b"]) for at in (0, 800, 1600)]
    model = on_dask.fit(MAPDPM(), [dask.delayed(each) for each in frames])
    with pytest.raises(ValueError, match="feature names"):
        dask.compute(*on_dask.labels(model, [dask.delayed(frames[0][["b", "a"]])]))
    with pytest.raises(ValueError, match="2-D array"):
        on_dask.labels(model, da.from_array(X[:, 0], chunks=800))
    with pytest.raises(NotFittedError):
        on_dask.labels(MAPDPM(), chunks_of(X))


def test_missing_values_are_for_points_in_memory():
    """A model that was fitted there reads them in chunks."""
    gaps = X.copy()
    gaps[::4, 0] = np.nan
    with pytest.raises(ValueError, match="missing='skip' is for points in memory"):
        on_dask.fit(MAPDPM(missing="skip"), chunks_of(gaps))
    with pytest.raises(ValueError, match="groups= needs points in memory"):
        on_dask.fit(MAPDPM(groups="auto"), chunks_of(X))
    model = MAPDPM(missing="skip", likelihood=NormalGamma(0.0, 0.01, 1.0, 1.0), groups=2).fit(gaps)
    for function, expected in ((on_dask.labels, model.labels_), (on_dask.predict, model.predict(gaps))):
        np.testing.assert_array_equal(np.concatenate(dask.compute(*function(model, chunks_of(gaps)))), expected)


def test_a_closed_client_is_refused_and_a_client_that_closes_ends_the_fit(cluster):
    with Client(cluster, set_as_default=False) as closed:
        pass
    with pytest.raises(ValueError, match="closed"):
        on_dask.fit(MAPDPM(), chunks_of(X), closed)
    closing = Client(cluster, set_as_default=False)

    def close(_):
        threading.Thread(target=closing.close).start()
        time.sleep(0.5)

    with pytest.raises(RuntimeError, match="closed during the fit"):
        on_dask.fit(MAPDPM(callback=close), chunks_of(X), closing)


def test_an_error_of_a_task_is_an_error_also_where_it_looks_like_waiting(client):
    def late(_):
        msg = "the server of files"
        raise TimeoutError(msg)

    with pytest.raises(TimeoutError, match="server of files"):
        on_dask.fit(MAPDPM(), [dask.delayed(late)(0)], client)


def _die(block):
    os.kill(os.getpid(), signal.SIGKILL)
    return block


@pytest.mark.complete
def test_killed_workers_change_no_bit_and_a_deadly_chunk_is_an_error():
    """Three workers are killed in the middle of a fit; a chunk that kills its worker each time ends in an error."""
    expected = bits_of(on_dask.fit(MAPDPM(), chunks_of(X)))
    with LocalCluster(**LOCAL) as made, Client(made, set_as_default=False) as client:
        killed = []

        def kill(progress):
            running = sorted(client.run(os.getpid).values())
            if len(killed) < 3 and running:  # the last one that was killed may not have come back
                killed.append(running[0])
                os.kill(running[0], signal.SIGKILL)

        model = on_dask.fit(MAPDPM(callback=kill), chunks_of(X), client)
        assert len(killed) == 3
        assert bits_of(model) == expected
        blocks = chunks_of(X)
        blocks[2] = dask.delayed(_die)(blocks[2])
        with pytest.raises(RuntimeError, match="smaller chunks"):
            on_dask.fit(MAPDPM(), blocks, client)


@pytest.mark.slow
@pytest.mark.parametrize("share", np.linspace(0.0, 1.0, 12).tolist())
def test_workers_killed_at_any_moment_change_no_bit(share):
    """One of two is killed, from the first look at chunks to the last pass."""
    expected = bits_of(on_dask.fit(MAPDPM(), chunks_of(X)))
    with LocalCluster(**LOCAL) as made, Client(made, set_as_default=False) as client:
        start = time.monotonic()
        on_dask.fit(MAPDPM(), chunks_of(X), client)
        whole = time.monotonic() - start
        killer = threading.Timer(share * whole, os.kill, (min(client.run(os.getpid).values()), signal.SIGKILL))
        killer.start()
        assert bits_of(on_dask.fit(MAPDPM(), chunks_of(X), client)) == expected
        killer.join()


@pytest.mark.slow
def test_chunks_that_spill_to_disk_change_no_bit():
    """Workers may hold a third of the points that are kept on them."""
    rng, size = da.random.default_rng(0), (300_000, 42)
    given = rng.normal(size=size, chunks=(20_000, 42)) + 20.0 * rng.integers(0, 3, (300_000, 1), chunks=(20_000, 1))
    model = MAPDPM(likelihood=NormalGamma(0.0, 0.01, 1.0, 1.0), relevance="all", max_clusters=6)
    expected = bits_of(on_dask.fit(model, given))
    limits = {"distributed.worker.memory.target": 0.05, "distributed.worker.memory.spill": 0.06}
    with (
        dask.config.set(limits),
        LocalCluster(**LOCAL, memory_limit="600MB") as made,
        Client(made, set_as_default=False) as client,
    ):
        kept = client.persist(given)
        assert bits_of(on_dask.fit(model, kept, client)) == expected
        assert sum(client.run(lambda dask_worker: len(dask_worker.data.slow)).values()) > 0


def test_columns_of_noise_and_constants():
    """Columns, densities and means are those of points in memory, in chunks of any size and by any scheduler."""
    rng = np.random.default_rng(0)
    n, edges = 900, (0, 400, 400, 899, 900)
    wide = np.column_stack([rng.normal(size=(n, 3)), X[:n, 0], np.full(n, 5.0), X[:n, 1]])
    in_memory = MAPDPM().fit(wide)
    assert in_memory.relevant_.tolist() == [False, False, False, True, False, True]
    with dask.config.set(scheduler="synchronous"):
        model = on_dask.fit(MAPDPM(), chunks_of(wide, edges))
    with dask.config.set(scheduler="threads"):
        assert bits_of(on_dask.fit(MAPDPM(), chunks_of(wide, edges))) == bits_of(model)
    assert model.relevant_.tolist() == in_memory.relevant_.tolist()
    np.testing.assert_allclose(model.log_joint_, in_memory.log_joint_, rtol=1e-12)
    np.testing.assert_allclose(model.relevance_, in_memory.relevance_, rtol=1e-9)
    np.testing.assert_allclose(model.means_, in_memory.means_, atol=1e-12)
    np.testing.assert_allclose(model.variances_, in_memory.variances_, atol=1e-11)
    np.testing.assert_allclose(model.score_samples(wide), in_memory.score_samples(wide), atol=1e-10)
    found = dask.compute(*on_dask.labels(model, chunks_of(wide, edges)))
    assert np.concatenate(found).tolist() == in_memory.labels_.tolist()
    assert type(model).from_bytes(model.to_bytes()).score(wide) == model.score(wide)


def test_what_no_sample_shows_is_that_of_all_points(monkeypatch):
    """A column of one value but for one point is no constant, and its density is that of all points."""
    monkeypatch.setattr(fit_in_passes, "SAMPLE", 600)
    rng = np.random.default_rng(0)
    wide = np.column_stack([X, np.full(N, 5.0), rng.normal(size=N)])
    wide[N // 2, 2] = 6.0
    model = on_dask.fit(MAPDPM(), chunks_of(wide))
    assert model.relevant_.tolist() == [True, True, False, False]
    assert model.predict(wide[N // 2 : N // 2 + 1], novelty=True) != -1
    np.testing.assert_allclose(np.average(model.means_, axis=0, weights=model.cluster_sizes_), wide.mean(axis=0))
    background = model._relevance.background
    assert background.counts.tolist() == [N]
    means, variances = background.likelihood.moments(background.state.rows[:1])
    np.testing.assert_allclose(means[0] + background.anchor, wide[:, 2:].mean(axis=0))
    np.testing.assert_allclose(variances[0], wide[:, 2:].var(axis=0))


def test_noise_alone_is_one_cluster():
    noise = np.random.default_rng(0).normal(size=(N, 4))
    model = on_dask.fit(MAPDPM(), chunks_of(noise))
    assert model.n_clusters_ == 1
    assert not model.relevant_.any()
    np.testing.assert_allclose(model.log_joint_, MAPDPM().fit(noise).log_joint_, rtol=1e-12)


def test_a_rounded_column_without_clusters():
    n, edges = 900, (0, 400, 400, 899, 900)
    wide = np.column_stack([X[:n], np.round(2.0 * np.random.default_rng(0).normal(size=n))])
    model, in_memory = on_dask.fit(MAPDPM(), chunks_of(wide, edges)), MAPDPM().fit(wide)
    assert model.relevant_.tolist() == in_memory.relevant_.tolist() == [True, True, False]
    assert model.likelihood_.resolution.tolist() == [0.0, 0.0, 1.0]
    np.testing.assert_allclose(model.log_joint_, in_memory.log_joint_, rtol=1e-12)
    np.testing.assert_allclose(model.score_samples(wide), in_memory.score_samples(wide), atol=1e-10)
    np.testing.assert_allclose(model.variances_, in_memory.variances_, atol=1e-10)
