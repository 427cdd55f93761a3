"""Readers of models and traces from strangers: valid examples, a call that reads, and what the result must do."""

import contextlib
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import mapdpm
import mutations
from mapdpm import (
    HDPHMM,
    MAPDPM,
    HDPMixture,
    NormalGamma,
    NormalKnownVariance,
    OnlineAlphaSelector,
    OnlineHDP,
    OnlineMAPDPM,
)
from mapdpm.cli import tables
from mapdpm.features import Transformer, parse
from mapdpm.features.transformer import KINDS
from mapdpm.files import container
from mapdpm.files.c_export import as_stream, c_files
from mapdpm.files.errors import ModelFileError
from mapdpm.partition_priors.hyperpriors import GammaPrior
from mapdpm.samplers import CollapsedGibbs, Hybrid, SplitMerge, Trace, UncollapsedGibbs, sample
from mapdpm.samplers.trace import UnreadableTraceError
from mapdpm.stream import StreamFullError
from mapdpm.validation import NotFittedError


class Reader(NamedTuple):
    """A reader of bytes."""

    examples: Callable[[Path], list[bytes]]
    """Valid bytes; files of one folder."""
    read: Callable[[bytes, Path], Any]
    """Read the bytes, or write them to a file of the folder and read that."""
    use: Callable[[Any], None]
    """AssertionError, or any other exception, where the result cannot be used."""
    refusals: tuple[type[Exception], ...]
    """What it may raise."""
    mutated: Callable[..., bytes]


def points(n=60, D=2):
    rng = np.random.default_rng(5)
    return rng.normal(size=(n, D)) + 9.0 * rng.integers(0, 3, n)[:, None]


def table_of(points):
    return "".join(",".join(map(repr, row)) + "\n" for row in points.tolist()).encode()


def written(data, folder, name):
    path = folder / name
    path.write_bytes(data)
    return path


# ---- batch models ----------------------------------------------------------------------------------------------------


@functools.cache
def batch_examples(folder=None):
    """Both families and real types, with and without a discount, weights, names, labels, extras, missing values."""
    X = points()
    gaps = np.where(np.arange(120).reshape(60, 2) % 5 == 3, np.nan, X)
    fixed = NormalKnownVariance(4.0, 60.0, 1.0)
    frame = tables.Table(("height", "width"), X)
    models = [
        MAPDPM(1.5).fit(frame),
        MAPDPM(1.0, likelihood=fixed, discount=0.3).fit(X),
        MAPDPM(init=[0, 1] * 30, max_clusters=9, random_state=3, time_limit=9.0, n_jobs=2).fit(X[:, :1]),
        MAPDPM(likelihood=NormalGamma(0.0, 0.1, 1.0, 1.0)).fit(X, sample_weight=np.linspace(0.0, 2.0, 60)),
        MAPDPM(likelihood=NormalGamma(0.0, 0.1, 1.0, 1.0), missing="skip").fit(gaps),
    ]
    bare = [container.pack(model._mixture, {}) for model in (*models[:2], models[-1])]
    return [model.to_bytes(dtype) for model in models for dtype in ("float64", "float32")] + bare


def use_batch(model):
    """It predicts finite shares of each point, and can be saved, shown and exported."""
    means, m0 = model.means_, model.likelihood_.m0
    middle = m0 + 0.5 * (means - m0)
    if np.all(np.abs(middle) < 1e49):  # no points are larger
        use_points(model, middle)
    for X in (means, means + 1.0, 0.0 * means, m0[None], 0.0 * means + 1e30, 0.0 * means - 1e200):
        with contextlib.suppress(ValueError):  # too far from the prior mean
            use_points(model, X)
    again, X = MAPDPM.from_bytes(model.to_bytes()), named(model, middle)
    with contextlib.suppress(ValueError):
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert repr(model)
    assert model.get_feature_names_out().shape == (model.n_clusters_ + 1,)
    with contextlib.suppress(ValueError):  # a stream has other limits
        c_files(as_stream(model))


def named(model, X):
    """``X`` with the names of the model's features, if it has any."""
    names = getattr(model, "feature_names_in_", None)
    return tables.Table(None if names is None else tuple(names), X)


def use_points(model, X):
    """Finite shares that sum to 1, finite densities, labels that there are."""
    X = named(model, X)
    shares = model.predict_proba(X)
    assert shares.shape == (len(X.values), model.n_clusters_ + 1)
    assert np.all(np.isfinite(shares))
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    assert np.all(np.isfinite(model.score_samples(X)))
    assert np.isfinite(model.score(X))
    for labels, least in ((model.predict(X), 0), (model.predict(X, novelty=True), -1)):
        assert least <= labels.min() <= labels.max() < model.n_clusters_


# ---- models of groups -----------------------------------------------------------------------------------------------


@functools.cache
def grouped_examples(folder=None):
    """Both families, names of each type that a file has, one group without a name, priors of concentrations."""
    X, fixed = points(), NormalKnownVariance(4.0, 60.0, 1.0)
    rooms, prior = np.repeat(["hall", "roof", "attic"], 20), GammaPrior(1.0, 1.0)
    models = [
        HDPMixture(1.5, 2.0).fit(tables.Table(("height", "width"), X), rooms),
        HDPMixture(likelihood=fixed, alpha_prior=prior, gamma_prior=prior).fit(X, [1, 2.5, True, "x"] * 15),
        HDPMixture(max_clusters=3, random_state=3, moves=()).fit(X, [f"{i // 2}" for i in range(60)]),
    ]
    return [model.to_bytes() for model in models]


def use_grouped(model):
    """It scores points of each group and of a new one, and can be saved and shown."""
    names = None if model.group_names_[0] is None else [*model.group_names_, "new"]
    m0, n = model.likelihood_.m0, len(model.group_names_) + 1
    for X in (np.tile(m0, (n, 1)), np.tile(m0 + 0.5 * (model.means_[0] - m0), (n, 1))):
        frame = named(model, X)
        if np.all(np.abs(X) < 1e49):  # no points are larger
            np.testing.assert_allclose(model.predict_proba(frame, names).sum(axis=1), 1.0, rtol=1e-12)
            assert np.all(np.isfinite(model.score_samples(frame, names)))
    np.testing.assert_allclose(model.weights_.sum(axis=1), 1.0, rtol=1e-9)  # of shares that sum to 1 within as much
    again = HDPMixture.from_bytes(model.to_bytes())
    np.testing.assert_array_equal(again.weights_, model.weights_)
    assert repr(model)


# ---- models of states in time ---------------------------------------------------------------------------------------


@functools.cache
def states_examples(folder=None):
    """Both families, one sequence and several, names of features, priors of concentrations, a cap."""
    X, fixed = points(), NormalKnownVariance(4.0, 60.0, 1.0)
    X, prior = X[np.argsort(X[:, 0], kind="stable")], GammaPrior(1.0, 1.0)
    models = [
        HDPHMM(1.5, 2.0).fit(tables.Table(("height", "width"), X), np.repeat(["a", "b"], 30)),
        HDPHMM(likelihood=fixed, kappa=9.0, alpha_prior=prior, gamma_prior=prior).fit(X),
        HDPHMM(max_states=3, random_state=3, moves=(), init=np.arange(60) // 25).fit(X[:, :1], np.arange(60) // 2),
    ]
    return [model.to_bytes() for model in models]


def use_states(model):
    """It finds paths and filters, scores sequences, draws one, and can be saved and shown."""
    K, m0 = model.n_states_, model.likelihood_.m0
    for X in (np.tile(m0, (4, 1)), np.tile(m0 + 0.5 * (model.means_[0] - m0), (4, 1))):
        frame, ids = named(model, X), [0, 0, 1, 1]
        if np.all(np.abs(X) < 1e49):  # no points are larger
            for shares in (model.predict_proba(frame, ids), model.filter_proba(frame, ids)):
                np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-9)
            assert 0 <= model.predict(frame).min() <= model.predict(frame).max() < K
            assert np.isfinite(model.score(frame, ids))
            assert np.isclose(model.filter_one(X[0], model.filter_one(X[0])).sum(), 1.0, rtol=1e-9)
    np.testing.assert_allclose(model.transitions_.sum(axis=1), 1.0, rtol=1e-9)
    assert np.all(model.durations_ >= 1.0)
    assert np.all(np.isfinite(model.durations_))
    assert np.all(np.isfinite(model.sample_path(5, 0).points))
    again = HDPHMM.from_bytes(model.to_bytes())
    np.testing.assert_array_equal(again.transitions_, model.transitions_)
    assert repr(model)


# ---- stream learners -------------------------------------------------------------------------------------------------


@functools.cache
def stream_examples(folder=None):
    """Both families and real types, in and after the warm-up, forgetting, with a window, with missing values."""
    X, fixed = points(), NormalKnownVariance(np.zeros(2), 60.0, 1.0)
    gaps = X.copy()
    gaps[::7, 0] = np.nan
    learners = [
        OnlineMAPDPM(4, likelihood=fixed).partial_fit(X),
        OnlineMAPDPM(5, warmup=30).partial_fit(tables.Table(("height", "width"), X)),
        OnlineMAPDPM(3, warmup=90, dtype="float32").partial_fit(X),
        OnlineMAPDPM(3, warmup=20, window=25, dtype="float32").partial_fit(X),
        OnlineMAPDPM(3, warmup=20, missing="skip", when_full="merge").partial_fit(gaps),
        OnlineMAPDPM.dp_means(4.0, n_features=2, max_clusters=3).partial_fit(X),
        OnlineMAPDPM(2, n_features=1, when_full="error"),
        OnlineMAPDPM(4, warmup=30, half_life=40.0, n_features=2),
    ]
    learners[-1].learn_many(X, t=np.linspace(0.0, 9.0, len(X)))
    return [learner.to_bytes() for learner in learners]


@functools.cache
def bank_examples(folder=None):
    """Banks in and after the warm-up, in both real types."""
    X, prior = points(), NormalGamma(np.zeros(2), 0.1, 1.0, np.ones(2))
    banks = [
        OnlineAlphaSelector([0.1, 1.0], 4, likelihood=prior, margin=0.0).partial_fit(X),
        OnlineAlphaSelector([1e-3, 1.0, 9.0], 3, warmup=90, dtype="float32").partial_fit(X),
    ]
    return [bank.to_bytes() for bank in banks]


@functools.cache
def grouped_stream_examples(folder=None):
    """Learners of groups, in both real types, with a warm-up, a window and forgetting; names of all sorts."""
    X, prior = points(), NormalGamma(np.zeros(2), 0.1, 1.0, np.ones(2))
    groups = [("a", 2, 0.5, True)[i % 4] for i in range(len(X))]
    learners = [
        OnlineHDP(4, 4, likelihood=prior).partial_fit(X, groups),
        OnlineHDP(3, 2, warmup=20, window=9, when_groups_full="replace", dtype="float32").partial_fit(X, groups),
        OnlineHDP(3, 5, warmup=90, half_life=30.0).partial_fit(X, groups),
    ]
    based = OnlineHDP(4, 2, with_base=True, window=5).set_base(learners[0].summary())
    learners.append(based.partial_fit(X, [group in ("a", 2) for group in groups]))
    return [learner.to_bytes() for learner in learners]


@functools.cache
def summary_examples(folder=None):
    """Summaries in both real types, of either family, with missing values, and of nothing."""
    X, prior = points(), NormalGamma(np.zeros(2), 0.1, 1.0, np.ones(2))
    gaps = X.copy()
    gaps[::3, 0] = np.nan
    learners = [
        OnlineMAPDPM(4, likelihood=prior).partial_fit(X),
        OnlineMAPDPM(4, likelihood=NormalKnownVariance(np.zeros(2), 9.0, 1.0), dtype="float32").partial_fit(X),
        OnlineMAPDPM(3, warmup=20, missing="skip").partial_fit(gaps),
        OnlineHDP(3, 2, likelihood=prior, n_features=2),
    ]
    return [learner.summary() for learner in learners]


def read_summary(data, _):
    """``set_base`` of a learner that takes the prior of the summary."""
    return OnlineHDP(4, 3, with_base=True, missing="skip").set_base(data)


def use_grouped_stream(model):
    """It scores finite numbers, goes on learning old and new groups, and can be saved."""
    before, D = model.to_bytes(), model.n_features_in_
    assert type(model).from_bytes(before).to_bytes() == before
    assert model.group_weights.shape == (len(model.group_names), model.n_clusters + 1)
    assert np.all(np.isfinite(model.shares))
    origin = np.zeros(D)
    with contextlib.suppress(ValueError):
        origin = origin if model.likelihood_ is None else model.likelihood_.m0
    for x in (origin, origin + 1.0, *model.means[:2], np.full(D, 1e30)):
        for group in (*model.group_names[:2], "new"):
            with contextlib.suppress(ValueError, StreamFullError, NotFittedError, OverflowError):
                score = model.score_one(x.tolist(), group)
                assert np.isfinite(score) or model.n_clusters == 0
                assert model.predict_one(x.tolist(), group) in model.ids
                number, score = model.learn_scored(x.tolist(), group)
                assert number >= 0
                assert np.isfinite(score) or model.n_clusters == 0 or model.n_seen <= model.warmup
    model.to_bytes()


def assert_assessed(found):
    """A surprise and a novelty are probabilities, or nan."""
    assert not found.surprise > 1.0
    assert not found.surprise < 0.0
    assert not found.novelty > 1.0
    assert not found.novelty < 0.0


def use_stream(model):
    """It scores and predicts finite numbers, goes on learning, and can be saved and exported."""
    before, D = model.to_bytes(), model.n_features_in_
    assert type(model).from_bytes(before).to_bytes() == before
    assert repr(model)
    assert len(model.events) <= model.n_events + 64
    found = model.clusters()
    assert np.all(np.isfinite(found.weights))
    assert np.all(np.isfinite(found.means))
    assert len(found.ids) == model.n_clusters
    origin = np.zeros(D)
    with contextlib.suppress(ValueError):  # C has wider limits of parameters than Python
        origin = origin if model.likelihood_ is None else model.likelihood_.m0
    for x in (origin, origin + 1.0, *found.means[:2], np.full(D, 1e30)):
        with contextlib.suppress(ValueError, StreamFullError, NotFittedError, OverflowError):
            score = model.score_one(x.tolist())
            assert np.isfinite(score) or model.n_clusters == 0
            assert model.predict_one(x.tolist()) in model.ids
            if not isinstance(model, OnlineAlphaSelector):
                assert_assessed(model.learn_assessed(x.tolist()))
            number, score = model.learn_scored(x.tolist())
            assert number >= 0
            assert np.isfinite(score) or model.n_clusters == 0 or model.n_seen <= model.warmup
    model.to_bytes()
    with contextlib.suppress(ValueError):
        c_files(as_stream(model, dtype=model.dtype))
        OnlineMAPDPM.merged([before])


# ---- features --------------------------------------------------------------------------------------------------------

_PIPELINES = (
    " | ".join(kind.example for kind in KINDS.values()),
    "Seasonal('week', half_life=3.0, utc_offset=-2.5)",
    "RMS(4) + CrestFactor(4) + BandEnergy(4, [(0, 1.5), (1.5, 2)], 4.0)",
    "Lag(1, dtype='float32')",
)


@functools.cache
def feature_examples(folder=None):
    """Pipelines of all kinds of steps, in both real types, after some points with gaps."""
    X = points()
    t = 40_000.0 * np.arange(len(X))
    X[::7, 0] = np.nan
    made = [parse(text) for text in _PIPELINES]
    for each in made:
        each.transform_many(X, t)
    return [each.to_bytes() for each in made]


def use_features(pipeline):
    """It goes on, and what it says of itself is true."""
    assert parse(repr(pipeline)).c_steps() == pipeline.c_steps()
    assert type(pipeline).from_bytes(pipeline.to_bytes()).to_bytes() == pipeline.to_bytes()
    X = np.zeros((20, pipeline.n_features_in_))
    rows = pipeline.transform_many(X, 3600.0 * np.arange(20.0))
    assert rows.shape[1] == pipeline.n_features_out
    assert not np.isinf(rows).any()


# ---- traces ----------------------------------------------------------------------------------------------------------

_X = points(12, 1)
_SAMPLERS = (
    CollapsedGibbs(likelihood=NormalGamma(0.0, 0.1, 1.0, 1.0)),
    UncollapsedGibbs(likelihood=NormalGamma(0.0, 0.1, 1.0, 1.0)),
    Hybrid(
        [
            CollapsedGibbs(likelihood=NormalGamma(0.0, 0.1, 1.0, 1.0)),
            SplitMerge(likelihood=NormalGamma(0.0, 0.1, 1.0, 1.0)),
        ]
    ),
)


@functools.cache
def trace_examples(folder):
    """Samplers with and without arrays of their own, with and without partitions."""
    found = []
    for sampler in _SAMPLERS:
        for keep in (("partitions",), ()):
            path = folder / "trace.npz"
            sample(_X, sampler, draws=5, chains=2, keep=keep, random_state=1).save(path)
            found.append(path.read_bytes())
    return found


def read_trace(data, folder):
    """``Trace.load``."""
    return Trace.load(written(data, folder, "trace.npz"))


def use_trace(trace):
    """It is summed up, saved, and gone on with, where the points and the sampler are the same."""
    assert repr(trace)
    assert np.isclose(trace.n_clusters_posterior().sum(), 1.0)
    assert trace.constants().keys() <= trace.values.keys()
    assert trace.summary().keys() >= {"log_joint"}
    assert isinstance(trace.best_alpha + trace.best_discount, float)
    if trace.partitions is not None:
        assert trace.similarity().shape == (len(trace.best), len(trace.best))
        assert trace.sizes(0, 0).sum() == len(trace.best)
    for sampler in _SAMPLERS if trace.thin < 10 else ():  # as many steps a draw
        with contextlib.suppress(ValueError):
            assert len(sample(_X, sampler, draws=1, resume=trace).best) == len(_X)


# ---- models of any kind ----------------------------------------------------------------------------------------------


def read_model(data, folder):
    """``mapdpm.load`` of any model."""
    return mapdpm.load(written(data, folder, "model.mdpm"))


def use_model(model):
    """As its kind."""
    (use_batch if isinstance(model, MAPDPM) else use_stream)(model)


def every_model(folder=None):
    """One file each of all kinds."""
    return [*batch_examples()[:3], *stream_examples()[:3], *bank_examples()]


_MODELS = (ModelFileError,), mutations.mutated_model
MODELS = {
    "HDPHMM.from_bytes": Reader(states_examples, lambda data, _: HDPHMM.from_bytes(data), use_states, *_MODELS),
    "HDPMixture.from_bytes": Reader(
        grouped_examples, lambda data, _: HDPMixture.from_bytes(data), use_grouped, *_MODELS
    ),
    "MAPDPM.from_bytes": Reader(batch_examples, lambda data, _: MAPDPM.from_bytes(data), use_batch, *_MODELS),
    "OnlineMAPDPM.from_bytes": Reader(
        stream_examples, lambda data, _: OnlineMAPDPM.from_bytes(data), use_stream, *_MODELS
    ),
    "OnlineHDP.from_bytes": Reader(
        grouped_stream_examples, lambda data, _: OnlineHDP.from_bytes(data), use_grouped_stream, *_MODELS
    ),
    "OnlineHDP.set_base": Reader(summary_examples, read_summary, use_grouped_stream, *_MODELS),
    "OnlineAlphaSelector.from_bytes": Reader(
        bank_examples, lambda data, _: OnlineAlphaSelector.from_bytes(data), use_stream, *_MODELS
    ),
    "Transformer.from_bytes": Reader(
        feature_examples, lambda data, _: Transformer.from_bytes(data), use_features, *_MODELS
    ),
    "mapdpm.load": Reader(every_model, read_model, use_model, *_MODELS),
    "Trace.load": Reader(trace_examples, read_trace, use_trace, (UnreadableTraceError,), mutations.mutated_npz),
}
