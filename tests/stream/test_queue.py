"""Snapshots of a chip that settles its warm-up in steps: Python finishes that, and goes on with the same bits."""

import numpy as np
import pytest

import mapdpm
from mapdpm.stream.c_options import modules

WARMUP, QUEUE, N = 40, 30, 150


@pytest.fixture
def points():
    rng = np.random.default_rng(4)
    return rng.normal(0.0, 1.0, (N, 2)) + 9.0 * rng.integers(3, size=(N, 1))


def chip(points, dtype, n_steps, *, sequence=None):
    """The snapshot of a learner with a queue, after the points and some steps of its settlement."""
    lib, ffi = modules(dtype)
    options = ffi.new("mapdpm_options *")
    options.family, options.n_features, options.max_clusters = lib.MAPDPM_NORMAL_GAMMA, 2, 8
    options.warmup, options.queue, options.alpha = WARMUP, QUEUE, 1.0
    memory = ffi.new("uint64_t[]", lib.mapdpm_stream_bytes(options) // 8)
    stream = ffi.cast("mapdpm_stream *", memory)
    assert lib.mapdpm_init(stream, ffi.sizeof(memory), options) == 0
    for x in points.tolist():
        assert lib.mapdpm_learn(stream, x, ffi.NULL, ffi.NULL) == 0
    for _ in range(n_steps):
        assert lib.mapdpm_settle_step(stream) == 1
    pieces = []

    @ffi.callback("int(void *, unsigned char *, size_t)")
    def put(_, piece, n):
        pieces.append(bytes(ffi.buffer(piece, n)))
        return 0

    number = ffi.NULL if sequence is None else ffi.new("uint32_t *", sequence)
    assert lib.mapdpm_snapshot_send(stream, number, ffi.cast("mapdpm_put", put), ffi.NULL) == 0
    return b"".join(pieces)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("n_points", "n_steps"), [(20, 0), (WARMUP, 0), (WARMUP + QUEUE, 3), (WARMUP + QUEUE, 900)])
def test_python_goes_on_with_the_same_bits(points, dtype, n_points, n_steps, tmp_path):
    path = tmp_path / "chip.mdpm"
    path.write_bytes(chip(points[:n_points], dtype, n_steps, sequence=2**32 - 1 if n_steps else 7))
    stream = mapdpm.load(path)
    stream.learn_many(points[n_points:])
    settings = {"alpha": 1.0, "warmup": WARMUP, "surprise": False, "relevance": "all", "resolution": 0}
    plain = mapdpm.OnlineMAPDPM(max_clusters=8, dtype=dtype, n_features=2, **settings)
    plain.learn_many(points)
    for made, name in ((stream, "a"), (plain, "b")):
        made.save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert stream.n_clusters >= 3


def test_a_point_that_cannot_be_learned_is_not_lost_silently(points, tmp_path):
    path = tmp_path / "chip.mdpm"
    path.write_bytes(chip(np.vstack([points[:WARMUP], [[1e90, 0.0]]]), "float64", 0))
    with pytest.warns(UserWarning, match="point of the file's queue could not be learned: range"):
        assert mapdpm.load(path).n_seen == WARMUP
