"""Every reader of bytes that may come from a stranger: examples, the errors that it may raise, and a use of the result.

A reader refuses bytes by one of its errors, whose text is one line; or its result is as usable as any.
"""

import contextlib
import gzip
import io
import struct
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mapdpm import MAPDPM, NormalGamma, NormalKnownVariance, OnlineAlphaSelector, OnlineMAPDPM, cli, load
from mapdpm.cli import tables
from mapdpm.cli.feed import RefusedInputError
from mapdpm.cli.mqtt import Message, Subscription
from mapdpm.files.container import ModelFileError
from mapdpm.samplers import CollapsedGibbs, SplitMerge, Trace, sample
from mapdpm.samplers.trace_files import UnreadableTraceError, written

D = 2
CSV = "x,y\n" + "".join(f"{i % 5},{9 * (i % 2)}\n" for i in range(24))


class Reader(NamedTuple):
    """A reader; ``repaired`` makes bytes that were changed pass its first check, the CRC."""

    name: str
    examples: Callable[[], list[bytes]]
    read: Callable[[bytes, Path], Any]
    use: Callable[[Any], object]
    errors: tuple[type[Exception], ...]
    repaired: Callable[[bytes], bytes] = bytes


def points() -> Any:
    """Two clusters."""
    return np.r_[np.zeros((12, D)), np.full((12, D), 9.0)] + np.linspace(-1.0, 1.0, 24)[:, None]


def with_crc(data: bytes) -> bytes:
    """A model file whose CRC and length are right again."""
    if len(data) < 48:
        return data
    data = data[:32] + struct.pack("<Q", len(data)) + data[40:]
    return data[:-4] + struct.pack("<I", zlib.crc32(data[:-4]))


def batch_models() -> list[bytes]:
    """Models of both families that have a file, one with names of features."""
    known = NormalKnownVariance.empirical(points())
    named = MAPDPM(discount=0.2, likelihood=NormalGamma.empirical(points())).fit(points())
    named.feature_names_in_ = np.array(["x", "y"], dtype=object)
    return [
        MAPDPM().fit(points()).to_bytes(),
        MAPDPM(likelihood=known).fit(points()).to_bytes("float32"),
        named.to_bytes(),
    ]


def learners() -> list[bytes]:
    """Learners in a warm-up and after it, with times and missing values, of both real types."""
    early, late = OnlineMAPDPM(4, warmup=30), OnlineMAPDPM(6, warmup=10, half_life=40.0, missing="skip")
    prior = NormalKnownVariance(np.zeros(D), np.full(D, 9.0), np.ones(D))
    known = OnlineMAPDPM(5, likelihood=prior, dtype="float32", half_life=100.0)
    for model in (early, late):
        model.learn_many(points())
    known.learn_many(points(), t=np.arange(24.0))
    return [early.to_bytes(), late.to_bytes(), known.to_bytes()]


def selectors() -> list[bytes]:
    """A bank of alphas."""
    bank = OnlineAlphaSelector([0.1, 1.0], max_clusters=4, likelihood=NormalGamma.empirical(points()))
    return [bank.partial_fit(points()).to_bytes()]


def traces() -> list[bytes]:
    """Traces with alpha drawn and without partitions."""
    likelihood = NormalGamma.empirical(points())
    kinds = (CollapsedGibbs(1.0, likelihood=likelihood), SplitMerge(1.0, likelihood=likelihood))
    return [
        written(sample(points(), kind, draws=3, keep=keep))
        for kind, keep in zip(kinds, ((), ("partitions",)), strict=True)
    ]


def states() -> list[bytes]:
    """States of ``mapdpm stream``: of a file that it reads to its end, and of standard input."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        (at / "data.csv").write_text(CSV)
        for columns in ("y,x", "1"):
            quiet(
                "stream",
                at / "data.csv",
                "--columns",
                columns,
                "--warmup",
                10,
                "--state",
                at / "s",
                "--output",
                at / "o",
            )
            found.append((at / "s").read_bytes())
            (at / "s").unlink()
    return found


def csv_files() -> list[bytes]:
    """Points with a header and quotes, without, compressed, and with a byte order mark."""
    text = b'x,"y"\r\n1,2\r\n3.5,-4e-3\r\n"5",6\r\n'
    return [text, b"1\n2\n", gzip.compress(text), b"\xef\xbb\xbf1,2\n"]


def payloads() -> list[bytes]:
    """Messages of MQTT."""
    return [b"1,2", b"[1, 2.5]", b'{"x": 1, "y": null}', b'"1",2']


def use_model(model: Any) -> None:
    """Finite probabilities that sum to 1, and densities, for points of many sizes."""
    for scale in (0.0, 1.0, 1e3, 1e9):
        shares = model.predict_proba(scale * points()[:3])
        assert np.all(np.isfinite(shares)), shares
        assert np.allclose(shares.sum(axis=1), 1.0), shares
        assert not np.any(np.isnan(model.score_samples(scale * points()[:3])))
    model.predict(points())
    assert repr(model)
    assert model.to_bytes()


def use_learner(model: Any) -> None:
    """Learns or says why not, and is written again."""
    try:
        model.learn_many(points())
        model.predict(points())  # or it is in its warm-up
        assert not np.any(np.isnan(model.score_samples(points())))
    except (ValueError, RuntimeError) as error:  # full, ids used up, out of range, times that go back, other features
        assert str(error)  # noqa: PT017
    assert repr(model)
    assert model.to_bytes()


def use_trace(trace: Any) -> None:
    """Sums itself up, and goes on or says why not."""
    assert repr(trace)
    trace.summary()


def quiet(*argv: Any) -> int:
    """The exit code of a command whose output nobody needs."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        code = cli.main([str(word) for word in argv])
    assert code in {0, 1, 2}
    assert code == 0 or said.getvalue().startswith("mapdpm: "), said.getvalue()
    return code


def read_state(data: bytes, folder: Path) -> None:
    """The command with this state, on a file and on standard input."""
    (folder / "data.csv").write_text(CSV)
    (folder / "state").write_bytes(data)
    quiet("stream", folder / "data.csv", "--state", folder / "state", "--output", folder / "out")


def read_path(function: Callable[[Path], Any]) -> Callable[[bytes, Path], Any]:
    """``function`` of a file that holds the bytes."""

    def read(data: bytes, folder: Path) -> Any:
        path = folder / ("file.gz" if data.startswith(b"\x1f\x8b") else "file")
        path.write_bytes(data)
        return function(path)

    return read


def read_payload(data: bytes, _: Path) -> Any:
    """The cells of a message."""
    return Subscription.cells(None, Message(1, None, data, 1, len(data)), ",")  # type: ignore[arg-type]


READERS = (
    Reader(
        "MAPDPM.from_bytes",
        batch_models,
        lambda data, _: MAPDPM.from_bytes(data),
        use_model,
        (ModelFileError,),
        with_crc,
    ),
    Reader(
        "OnlineMAPDPM.from_bytes",
        learners,
        lambda d, _: OnlineMAPDPM.from_bytes(d),
        use_learner,
        (ModelFileError,),
        with_crc,
    ),
    Reader(
        "OnlineAlphaSelector.from_bytes",
        selectors,
        lambda d, _: OnlineAlphaSelector.from_bytes(d),
        use_learner,
        (ModelFileError,),
        with_crc,
    ),
    Reader(
        "mapdpm.load",
        lambda: batch_models() + learners() + selectors(),
        read_path(load),
        repr,
        (ModelFileError,),
        with_crc,
    ),
    Reader("Trace.load", traces, read_path(Trace.load), use_trace, (UnreadableTraceError,)),
    Reader("mapdpm stream --state", states, read_state, repr, (), with_crc),
    Reader("tables of the command line", csv_files, read_path(tables.read_csv), repr, (ValueError,)),
    Reader("messages of MQTT", payloads, read_payload, repr, (RefusedInputError,)),
)
