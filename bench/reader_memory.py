"""Peak memory of every reader of files from strangers: at most 64 MB and eight times the file, above the imports.

Run: python bench/reader_memory.py [--mb N]. Files are hostile and honest, of up to N MB; each is read in a process of
its own. Prints a line a file, and exits with 1 where one takes more.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import mapdpm
from mapdpm import MAPDPM, NormalGamma, OnlineAlphaSelector, OnlineMAPDPM, cli
from mapdpm.cli import mqtt, tables
from mapdpm.files import container
from mapdpm.samplers import CollapsedGibbs, Trace, sample

SPARE, RATIO = 64 << 20, 8
MB = 1 << 20


def stream_of_state(path: Path) -> None:
    """``mapdpm stream --state``."""
    data = path.with_suffix(".csv")
    data.write_text("1,2\n")
    cli.main(["stream", str(data), "--state", str(path), "--quiet"])


def message(path: Path) -> None:
    """An MQTT message, as it comes from the client."""
    payload = path.read_bytes()
    mqtt.Subscription.cells(None, mqtt.Message(1, None, payload, 1, len(payload)), ",")  # type: ignore[arg-type]


READERS: dict[str, Callable[[Path], object]] = {
    "load": mapdpm.load,
    "Trace.load": Trace.load,
    "read_csv": tables.read_csv,
    "stream": lambda path: cli.main(["stream", str(path), "--quiet", "--max-clusters", "2", "--warmup", "2"]),
    "stream --state": stream_of_state,
    "MQTT": message,
}


def repaired(data: bytes) -> bytes:
    """A model file with its size and CRC made right."""
    body = data[:32] + struct.pack("<Q", len(data)) + data[40:-4]
    return body + struct.pack("<I", zlib.crc32(body))


def with_json(data: bytes, text: bytes) -> bytes:
    """A model file whose extras are ``text``."""
    end = len(data) - 4 - struct.unpack_from("<I", data, 28)[0]
    tail = struct.pack("<I", len(text)) + text
    return repaired(data[:28] + struct.pack("<I", len(tail)) + data[32:end] + tail + bytes(4))


def texts(n: int) -> dict[str, bytes]:
    """JSON of about n bytes."""
    empty = b'{"plain": {"x": [%s]}, "arrays": []}'
    return {
        "nested": b"[" * n,
        "lists": empty % (b"[]," * (n // 3) + b"1"),
        "objects": empty % (b"{}," * (n // 3) + b"1"),
        "numbers": empty % (b"1.5," * (n // 4) + b"1"),
        "texts": empty % (b'"aa",' * (n // 5) + b"1"),
        "one text": empty % (b'"' + b"a" * n + b'"'),
    }


def npz(arrays: dict[str, Any], *, packed: bool) -> bytes:
    """A .npz."""
    file = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(file, **arrays)
    return file.getvalue()


def files(n: int) -> Iterator[tuple[str, str, bytes]]:
    """Reader, what the file is, and the file, of about n bytes where it can be."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n // 1000, 20))
    prior = NormalGamma(np.zeros(20), 0.1, 1.0, np.ones(20))
    models = {
        "batch, many points": MAPDPM(likelihood=prior, max_sweeps=1, moves=()).fit(X[:2000]).to_bytes(),
        "stream": OnlineMAPDPM(n // 1200, likelihood=prior).to_bytes(),
        "stream, warm-up": OnlineMAPDPM(4, n_features=20, warmup=n // 170).to_bytes(),
        "bank": OnlineAlphaSelector([0.1, 1.0, 10.0], n // 4800, likelihood=prior).to_bytes(),
    }
    K = n // 340
    for dtype in ("float64", "float32"):
        mixture, _ = container.unpack(MAPDPM(likelihood=prior).fit(X[:50]).to_bytes())
        row = mixture.statistics[:1] * np.r_[1.0, np.zeros(40)] + np.r_[np.zeros(21), np.ones(20)]
        many = container.mixture_of(
            mixture.likelihood, mixture.prior, mixture.anchor, np.full(K, 50), np.repeat(row, K, 0)
        )
        models[f"batch, many clusters, {dtype}"] = container.pack(many, {}, dtype)
    for name, data in models.items():
        yield "load", name, data
        for place, size in ((12, n), (16, n), (16, 2**27), (24, 2**27), (28, 2**32 - 1)):
            yield "load", f"{name}, forged size", repaired(data[:place] + struct.pack("<I", size) + data[place + 4 :])
    for name, text in texts(n).items():
        for kind in ("batch, many points", "stream"):
            yield "load", f"{kind}, JSON of {name}", with_json(models[kind], text)
        yield "stream --state", f"JSON of {name}", with_json(OnlineMAPDPM(4, n_features=2).to_bytes(), text)
        yield "MQTT", f"JSON of {name}", text[: 1 << 20]
        yield "Trace.load", f"JSON of {name}", npz({"about": np.frombuffer(text, np.uint8)}, packed=False)
        yield "Trace.load", f"packed JSON of {name}", npz({"about": np.frombuffer(text, np.uint8)}, packed=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.npz"
        sample(X[:100], CollapsedGibbs(likelihood=prior), draws=20, chains=2, random_state=0).save(path)
        arrays = dict(np.load(path))
    arrays["partitions"] = np.zeros((2, 20, n // 40), np.int8)
    arrays["best"] = np.zeros(n // 40, np.int64)
    yield "Trace.load", "bomb", npz(arrays, packed=True)
    yield "Trace.load", "arrays", npz(arrays, packed=False)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as whole:
        for number in range(n // 200):
            whole.writestr(f"{number}.npy", b"")
    yield "Trace.load", "many members", archive.getvalue()
    tables_of = {
        "numbers": b"1.25,2\n" * (n // 7),
        "short numbers": b"1,2\n" * (n // 4),
        "no end of line": b"1" * n,
        "many columns": (b"11," * (n // 3))[:-1] + b"\n",
        "many columns below the limit": (b"11," * min(n // 3, 1_390_000))[:-1] + b"\n",
        "a quoted cell": b'"' + b"1\n" * (n // 2),
        "blank lines": b"\n" * n,
        "nuls": b"\0" * n,
    }
    for name, data in tables_of.items():
        yield "read_csv", name, data
        yield "read_csv", f"{name}, gzip", gzip.compress(data, 6)
        yield "stream", name, data if "numbers" not in name else data[: n // 8]
    yield "read_csv", "gzip bomb", gzip.compress(bytes(64 * n), 6)


def measured(reader: str, path: Path) -> int:
    """Bytes that reading ``path`` adds to the peak of the imports."""
    command = [sys.executable, __file__, "--child", reader, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout.splitlines()[-1])


def child(reader: str, path: Path) -> None:
    """Read, and print by how much the peak has grown since the imports."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak of the imports is forgotten
    before = peak()
    try:
        READERS[reader](path)
    except ValueError as error:
        print(str(error)[:100])
    print(peak() - before)


def peak() -> int:
    """Peak memory of this process in bytes; that of ``getrusage`` begins with the peak of its parent."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return 1024 * int(status["VmHWM"].split()[0])


def main() -> None:
    """Write the files, read each, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=float, default=30.0)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child[0], Path(arguments.child[1]))
        return
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for reader, name, data in files(int(arguments.mb * MB)):
            path = Path(folder) / "file"
            path.write_bytes(data)
            took, limit = measured(reader, path), SPARE + RATIO * len(data)
            worst = max(worst, took / limit)
            line = {"bench": "reader_memory", "reader": reader, "file": name, "bytes": len(data), "memory": took}
            print(json.dumps(line | {"fits": took <= limit}), flush=True)
    sys.exit(worst > 1.0)


if __name__ == "__main__":
    main()
