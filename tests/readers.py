"""All readers of bytes and texts from strangers: valid examples, a call that reads, and what the result must do.

A reader gives a result that can be used, or raises one of its documented errors in one sentence. Nothing else may come
out of it: no other exception, no warning, no crash.
"""

import argparse
import contextlib
import functools
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import mapdpm
import mutations
from mapdpm import MAPDPM, NormalGamma, NormalKnownVariance, OnlineAlphaSelector, OnlineMAPDPM, cli
from mapdpm.cli import columns, demo, fields, mqtt, tables, values
from mapdpm.cli.feed import RefusedInputError
from mapdpm.files import container
from mapdpm.files.c_export import as_stream, c_files
from mapdpm.files.container import ModelFileError
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


def _points(n=60, D=2):
    rng = np.random.default_rng(5)
    return rng.normal(size=(n, D)) + 9.0 * rng.integers(0, 3, n)[:, None]


def _table(points):
    return "".join(",".join(map(repr, row)) + "\n" for row in points.tolist()).encode()


def _written(data, folder, name):
    path = folder / name
    path.write_bytes(data)
    return path


# ---- batch models ----------------------------------------------------------------------------------------------------


@functools.cache
def batch_examples(folder=None):
    """Both families and real types, with and without a discount, weights, names, labels as a start, extras."""
    X = _points()
    fixed = NormalKnownVariance(4.0, 60.0, 1.0)
    frame = tables.Table(("height", "width"), X)
    models = [
        MAPDPM(1.5).fit(frame),
        MAPDPM(1.0, likelihood=fixed, discount=0.3).fit(X),
        MAPDPM(init=[0, 1] * 30, max_clusters=9, random_state=3, time_limit=9.0, n_jobs=2).fit(X[:, :1]),
        MAPDPM(likelihood=NormalGamma(0.0, 0.1, 1.0, 1.0)).fit(X, sample_weight=np.linspace(0.0, 2.0, 60)),
    ]
    bare = [container.pack(model._mixture, {}) for model in models[:2]]
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


# ---- stream learners -------------------------------------------------------------------------------------------------


@functools.cache
def stream_examples(folder=None):
    """Both families and real types, in and after the warm-up, forgetting, with a window, with missing values."""
    X, fixed = _points(), NormalKnownVariance(np.zeros(2), 60.0, 1.0)
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
    X, prior = _points(), NormalGamma(np.zeros(2), 0.1, 1.0, np.ones(2))
    banks = [
        OnlineAlphaSelector([0.1, 1.0], 4, likelihood=prior, margin=0.0).partial_fit(X),
        OnlineAlphaSelector([1e-3, 1.0, 9.0], 3, warmup=90, dtype="float32").partial_fit(X),
    ]
    return [bank.to_bytes() for bank in banks]


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
            number, score = model.learn_scored(x.tolist())
            assert number >= 0
            assert np.isfinite(score) or model.n_clusters == 0 or model.n_seen <= model.warmup
    model.to_bytes()
    with contextlib.suppress(ValueError):
        c_files(as_stream(model, dtype=model.dtype))
        OnlineMAPDPM.merged([before])


# ---- traces ----------------------------------------------------------------------------------------------------------

_X = _points(12, 1)
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
    return Trace.load(_written(data, folder, "trace.npz"))


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


# ---- the command line ------------------------------------------------------------------------------------------------


class RefusedError(Exception):
    """The command line ended with an error: one line, no traceback."""


def command(*argv):
    """The standard output of a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main([str(each) for each in argv])
    if code:
        lines = err.getvalue().splitlines()
        assert code in {1, 2}
        assert lines[-1].startswith("mapdpm: error: ")
        assert all(line.startswith("mapdpm: ") and line.isprintable() for line in lines)
        raise RefusedError(lines[-1])
    return out.getvalue()


@functools.cache
def state_examples(folder):
    """States in the middle of data.csv, with and without times, an output and a prior; and one that Python wrote."""
    data = np.c_[np.arange(60.0), _points()]
    _written(b"t,height,width\n" + _table(data), folder, "data.csv")
    prior = ("--prior", "m0=0", "--prior", "variance=1", "--prior", "prior_variance=50")
    commands = (
        ("--warmup", "20", "--output", folder / "out.jsonl"),
        ("--warmup", "40", "--columns", "width", "--format", "csv", "--max-clusters", "3"),
        ("--time", "t", "--half-life", "9", "--likelihood", "normal-known-variance", *prior),
    )
    found = []
    for argv in commands:
        path = folder / "state.mdpm"
        path.unlink(missing_ok=True)
        command("stream", folder / "data.csv", "--state", path, "--count", "30", "--quiet", *argv)
        found.append(path.read_bytes())
    return [*found, OnlineMAPDPM(4, warmup=20).partial_fit(data).to_bytes()]


def read_state(data, folder):
    """``mapdpm stream --state``: another file from its beginning, or the same file from where the state was."""
    _written((folder / "data.csv").read_bytes(), folder, "other.csv")
    found = []
    for name in ("other.csv", "data.csv"):
        path = _written(data, folder, "state.mdpm")
        argv = ("stream", folder / name, "--state", path, "--count", 3, "--on-error", "skip")
        try:
            found.append(command(*argv))
        except RefusedError as error:
            refused = error
    if not found:
        raise refused
    return "".join(found), path


def use_state(found):
    """Results are JSON or CSV, and the new state can be read."""
    out, path = found
    for line in out.splitlines():
        assert line.startswith(("{", "id,")) or line[0].isdigit()
        if line.startswith("{"):
            assert json.loads(line)["id"] >= 0
    mapdpm.load(path)


def table_examples(folder=None):
    """With and without a header, quoted, of one column."""
    plain = _table(_points(12, 3))
    return [plain, b"a,b,c\n" + plain, b'\xef\xbb\xbf"a","b b",""\r\n1,"2",3\r\n\r\n', b"x\n1\n2\n"]


def zipped_examples(folder=None):
    """Those, and some of gzip."""
    return [*table_examples(), *(gzip.compress(text, 1, mtime=0) for text in table_examples()[1:3])]


def read_table(data, folder):
    """``read_csv``, with all choices of columns."""
    path = _written(data, folder, "table.csv")
    found = [tables.read_csv(path)]
    for choice in (columns.chosen("2-"), columns.model_columns(["a", "b"], "model.mdpm"), columns.chosen("a,1")):
        with contextlib.suppress(ValueError):
            found.append(tables.read_csv(path, choice, gaps=True))
    return found


def use_table(found):
    """Finite numbers under as many names."""
    assert np.all(np.isfinite(found[0].values))
    for table in found:
        assert table.values.ndim == 2
        assert len(table.values) > 0
        assert table.columns is None or len(table.columns) == table.values.shape[1]


def recording_examples(folder=None):
    """A recording of a smart watch, as ``mapdpm demo`` reads."""
    rows = np.c_[np.repeat([0, 1], 20), _points(40, 6)]
    body = "".join(f"{int(row[0])},walk,{','.join(map(repr, row[1:].tolist()))}\n" for row in rows)
    return [f"recording,activity,{','.join(demo.CHANNELS)}\n{body}".encode()]


def use_recording(found):
    """Finite features, and as many activities."""
    assert np.all(np.isfinite(found.features))
    assert len(found.features) == len(found.activities) > 0


def read_lines(data, folder):
    """``mapdpm stream`` of a file."""
    return command("stream", _written(data, folder, "lines.csv"), "--warmup", "2", "--on-error", "skip", "--quiet")


def use_lines(out):
    """A result a line."""
    for line in out.splitlines():
        assert json.loads(line)["id"] >= 0


MESSAGES = (b"1,2,3", b"[1, 2.5, null]", b'{"a": 1, "b": -2e3, "c": null}', b'"1",2,nan\r')


def message_examples(folder=None):
    """CSV, and arrays and objects of JSON."""
    return list(MESSAGES)


def read_message(data, folder=None):
    """The cells of an MQTT message, and its point."""
    message = mqtt.Message(1, "digest", data, 1, len(data))
    cells = mqtt.Subscription.cells(None, message, ",")  # which needs no connection
    names = list(cells)
    found = fields.Fields(names if isinstance(cells, dict) else None, len(names), list(range(len(names))), None)
    return cells, found.point(cells, gaps=True), fields.Fields(["a", "b"], 2, [0, 1], 1)


def use_message(found):
    """Numbers."""
    cells, (x, t), other = found
    assert len(x) == len(cells)
    assert t is None
    with contextlib.suppress(RefusedInputError):
        assert len(other.point(cells, gaps=False)[0]) == 2


ARGUMENTS = {
    "--alphas": ("0.1:30:10", "0.5,1,2"),
    "--vary": ("b0=0.1:10:5", "c0=0.5,1"),
    "--prior": ("b0=0.5", "m0=0,2", "a0=3"),
    "--columns": ("1,2", "a-b,4-", "a", '"a,b",1-2'),
    "--delimiter": ("tab", ";"),
    "--moves": ("merge,split", "none"),
    "--mqtt": ("host:1883", "[::1]:1883", "host"),
    "--discount": ("0.5",),
    "--max-clusters": ("9",),
    "--time": ("t", "1"),
}


def argument_examples(folder=None):
    """An option, an equals sign, its value."""
    return [f"{name}={value}".encode() for name, held in ARGUMENTS.items() for value in held]


_TYPES = {
    "--alphas": values.grid,
    "--vary": values.varied,
    "--prior": values.assignment,
    "--delimiter": values.character,
    "--moves": values.moves,
    "--mqtt": values.address,
    "--discount": values.discount,
    "--max-clusters": values.count,
}


def read_argument(data, folder=None):
    """The value of an option; of columns, the choice in a file."""
    name, _, text = data.decode("utf-8", "surrogateescape").partition("=")
    if name == "--columns":
        return columns.chosen(text)("data.csv", ["a-b", "a", "2", "a,b"]).places
    if name == "--time":
        return columns.place_of_time(text, "data.csv", ["t", "a", "2"])
    return _TYPES.get(name, values.seed)(text)


def use_argument(found):
    """Nothing that numpy would not print."""
    assert repr(found)


def read_model(data, folder):
    """``mapdpm.load`` of any model."""
    return mapdpm.load(_written(data, folder, "model.mdpm"))


def use_model(model):
    """As its kind."""
    (use_batch if isinstance(model, MAPDPM) else use_stream)(model)


def every_model(folder=None):
    """One file each of all kinds."""
    return [*batch_examples()[:3], *stream_examples()[:3], *bank_examples()]


_MODELS = (ModelFileError,), mutations.mutated_model
READERS = {
    "MAPDPM.from_bytes": Reader(batch_examples, lambda data, _: MAPDPM.from_bytes(data), use_batch, *_MODELS),
    "OnlineMAPDPM.from_bytes": Reader(
        stream_examples, lambda data, _: OnlineMAPDPM.from_bytes(data), use_stream, *_MODELS
    ),
    "OnlineAlphaSelector.from_bytes": Reader(
        bank_examples, lambda data, _: OnlineAlphaSelector.from_bytes(data), use_stream, *_MODELS
    ),
    "mapdpm.load": Reader(every_model, read_model, use_model, *_MODELS),
    "Trace.load": Reader(trace_examples, read_trace, use_trace, (UnreadableTraceError,), mutations.mutated_npz),
    "mapdpm stream --state": Reader(state_examples, read_state, use_state, (RefusedError,), mutations.mutated_model),
    "mapdpm stream": Reader(table_examples, read_lines, use_lines, (RefusedError,), mutations.mutated_table),
    "read_csv": Reader(zipped_examples, read_table, use_table, (ValueError,), mutations.mutated_table),
    "mapdpm demo": Reader(
        recording_examples,
        lambda data, folder: demo.read(_written(data, folder, "watch.csv")),
        use_recording,
        (ValueError,),
        mutations.mutated_table,
    ),
    "MQTT messages": Reader(
        message_examples, read_message, use_message, (RefusedInputError,), mutations.mutated_json_text
    ),
    "arguments": Reader(
        argument_examples,
        read_argument,
        use_argument,
        (argparse.ArgumentTypeError, ValueError),
        mutations.mutated_text,
    ),
}
