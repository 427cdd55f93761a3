"""Streams of compressed files and of UTF-16: the results of the plain file, resumed anywhere, in bounded memory."""

import gzip
import os
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import mapdpm
from command_line import called, made, streamed, text_of
from mapdpm.cli.decoding import Decoder

TEXT = "höhe,width\n" + text_of(made(300))
UTF_16 = TEXT.encode("utf-16")
BYTES = {
    "UTF-16": UTF_16,
    "UTF-16, big-endian": b"\xfe\xff" + TEXT.encode("utf-16-be"),
    "gzip": gzip.compress(TEXT.encode()),
    "gzip, in members": b"".join(gzip.compress(TEXT.encode()[i : i + 999]) for i in range(0, 20000, 999)) + bytes(9),
    "gzip of UTF-16": gzip.compress(UTF_16),
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    path = tmp_path_factory.mktemp("plain") / "x.csv"
    path.write_text(TEXT)
    return called("stream", path, "--quiet").stdout


@pytest.mark.parametrize("name", BYTES)
def test_as_the_plain_file(name, plain, monkeypatch):
    Path("x").write_bytes(BYTES[name])
    assert called("stream", "x", "--quiet").stdout == plain
    reader, writer = os.pipe()  # in pieces of no meaning
    os.write(writer, BYTES[name])
    os.close(writer)
    read = os.read
    monkeypatch.setattr(os, "read", lambda file, _: read(file, 997))
    with os.fdopen(reader) as file:
        monkeypatch.setattr(sys, "stdin", file)
        streamed("--quiet", "--output", "o.jsonl")
    assert Path("o.jsonl").read_text() == plain


@pytest.mark.parametrize("name", ["UTF-16", "gzip, in members"])
@pytest.mark.parametrize("at", [1, 150, 300])
def test_a_run_that_is_resumed(name, at, plain):
    Path("x").write_bytes(BYTES[name])
    argv = ["x", "--state", "s.mdpm", "--output", "o.jsonl"]
    streamed(*argv, "--count", at)
    run = called("stream", *argv)
    assert f"x goes on with line {at + 2}" in run.stderr
    assert Path("o.jsonl").read_text() == plain
    assert mapdpm.load("s.mdpm").feature_names_in_.tolist() == ["höhe", "width"]
    pack = gzip.compress if "gzip" in name else bytes
    for data, message in (
        (pack(TEXT.replace("w", "W").encode("utf-16")), "it is another file"),
        (pack(TEXT[:99].encode("utf-16")), "it is shorter than it was"),
    ):
        Path("x").write_bytes(data)
        run = called("stream", *argv)
        assert run.returncode == 1
        assert message in run.stderr


def test_a_file_that_grows(plain):
    half = len(UTF_16) // 2 | 1  # within a letter
    argv = ["x", "--state", "s.mdpm", "--output", "o.jsonl", "--quiet"]
    Path("x").write_bytes(UTF_16[:half])
    streamed(*argv, "--follow", "--count", UTF_16[:half].count(b"\n\0") - 1)
    Path("x").write_bytes(UTF_16)
    streamed(*argv)
    assert Path("o.jsonl").read_text() == plain


@pytest.mark.parametrize(
    ("data", "argv", "message"),
    [
        (BYTES["gzip"][:-20], [], "x is not a whole gzip file: it ends too early"),
        (
            BYTES["gzip"] + b"more",
            [],
            "x is not a whole gzip file: Error -3 while decompressing data: incorrect header",
        ),
        (UTF_16[:-1], [], "x is not a text file in utf-16"),
        (UTF_16.replace("9".encode("utf-16-le"), b"\x00\xdc"), [], "x is not a text file in utf-16"),
        (UTF_16[2:], [], "line 1 is not text in UTF-8"),
        (UTF_16[2:], ["--encoding", "utf-16-le"], "300 points learned, 0 skipped"),
    ],
)
def test_damaged_files(data, argv, message):
    Path("x").write_bytes(data)
    assert message in called("stream", "x", *argv).stderr


def test_what_unpacks_to_much_is_decoded_in_blocks():
    packed = gzip.compress(b"1,2\n" * (1 << 23))  # 32 MB in 32 KB
    decoder, n = Decoder.of(packed, None, "x"), 0
    tracemalloc.start()
    data = packed
    while data or decoder.holds:
        n += len(decoder.decoded(data))
        data = b""
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n == 4 << 23
    assert peak < 1 << 20


def test_times_and_numbers_do_not_change():
    rows = "".join(f"2026-10-25T10:{i // 60:02}:{i % 60:02}Z;{i % 7},5\n" for i in range(90))
    Path("x").write_bytes(("time;höhe\n" + rows).encode("utf-16"))
    run = called("stream", "x", "--time", "time", "--state", "s.mdpm", "--warmup", "20")
    assert "x: text in UTF-16" in run.stderr
    assert "90 points learned" in run.stderr
    model = mapdpm.load("s.mdpm")
    np.testing.assert_allclose(model.weights @ model.means, [sum(i % 7 + 0.5 for i in range(90))])
