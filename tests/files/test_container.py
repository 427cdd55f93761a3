"""Models in files: Python and C write the same bytes and read each other's; nothing damaged is read."""

import errno
import os
import pickle
import stat
import struct
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import joblib
import numpy as np
import pytest

import mapdpm
from mapdpm import (
    MAPDPM,
    BetaBernoulli,
    Categorical,
    DirichletMultinomial,
    GammaPoisson,
    NormalGamma,
    NormalInverseWishart,
    NormalKnownVariance,
)
from mapdpm.backends import _c32, _c64
from mapdpm.files import container, disk
from mapdpm.files.batch_models import extras_of
from mapdpm.likelihoods import FAMILIES
from mapdpm.likelihoods._template import GammaExponential
from mapdpm.state import mixture_of


def fitted(family=NormalGamma, **parameters):
    rng = np.random.default_rng(3)
    X = rng.normal(0.0, 8.0, (4, 3))[rng.integers(0, 4, 80)] + rng.normal(size=(80, 3)) + 50.0
    likelihood = NormalGamma(50.0, 0.1, 1.0, 1.0) if family is NormalGamma else NormalKnownVariance(50.0, 60.0, 1.0)
    return MAPDPM(1.5, likelihood=likelihood, **parameters).fit(X), X


def forged(data, at, new):
    """``data`` with some bytes replaced, and a CRC that fits."""
    body = data[:at] + new + data[at + len(new) : -4]
    return body + struct.pack("<I", zlib.crc32(body))


@pytest.mark.parametrize("family", [NormalGamma, NormalKnownVariance])
@pytest.mark.parametrize("discount", [0.0, 0.25])
def test_round_trip_keeps_everything(tmp_path, family, discount):
    model, X = fitted(family, discount=discount, n_restarts=2, random_state=4, max_clusters=40)
    model.save(tmp_path / "a.mdpm")
    back = mapdpm.load(tmp_path / "a.mdpm")
    assert back.to_bytes() == model.to_bytes()
    np.testing.assert_array_equal(back.score_samples(X), model.score_samples(X))
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    for name in vars(model):
        if name.startswith("_") or name == "callback":
            continue
        mine, theirs = getattr(model, name), getattr(back, name)
        assert np.array_equal(mine, theirs) if isinstance(mine, np.ndarray) else mine == theirs, name
    refitted = back.fit(X)
    np.testing.assert_array_equal(refitted.labels_, model.labels_)
    mapdpm.save(model, tmp_path / "b.mdpm")
    assert (tmp_path / "b.mdpm").read_bytes() == model.to_bytes()


def test_empirical_prior_stays_empirical():
    X = np.random.default_rng(1).normal(size=(30, 2))
    back = MAPDPM.from_bytes(MAPDPM(likelihood=None, init=np.zeros(30, int)).fit(X).to_bytes())
    assert back.likelihood is None
    assert back.likelihood_ == NormalGamma.empirical(X)
    np.testing.assert_array_equal(back.init, np.zeros(30))


@pytest.mark.parametrize(("compiled", "dtype", "real"), [(_c32, "float32", np.float32), (_c64, "float64", np.float64)])
@pytest.mark.parametrize("family", [NormalGamma, NormalKnownVariance])
def test_c_reads_and_writes_the_same_bytes(compiled, dtype, real, family):
    lib, ffi = compiled.lib, compiled.ffi
    model, X = fitted(family)
    data = model.to_bytes(dtype)
    shape, read = ffi.new("mapdpm_model *"), ffi.new("mapdpm_model *")
    assert lib.mapdpm_model_shape(data, len(data), shape) == 0
    assert (shape.n_features, shape.n_clusters) == (3, model.n_clusters_)
    size = lib.mapdpm_model_bytes(shape.family, shape.n_features, shape.n_clusters)
    memory = ffi.new("uint64_t[]", size // 8 + 1)
    assert lib.mapdpm_model_read(data, len(data), memory, size, read) == 0
    assert read.alpha == 1.5
    assert [read.counts[k] for k in range(model.n_clusters_)] == model.cluster_sizes_.tolist()
    means = np.frombuffer(ffi.buffer(read.statistics, 7 * model.n_clusters_ * real().nbytes), real).reshape(-1, 7)
    anchor = np.frombuffer(ffi.buffer(read.anchor, 3 * real().nbytes), real)
    tolerance = 4 * np.finfo(real).eps * 60.0  # anchor, mean and their sum are rounded
    np.testing.assert_allclose(means[:, 1:4] + anchor, model.means_, atol=tolerance)
    file = ffi.new("unsigned char[]", len(data))
    written = ffi.new("size_t *")
    assert lib.mapdpm_model_write(read, file, len(data), written) == 0
    from_c = bytes(ffi.buffer(file, written[0]))
    bare = container.pack(container.unpack(data)[0], {}, dtype)
    assert from_c[:40] == bare[:40][:28] + bytes(4) + from_c[32:40]
    revived = MAPDPM.from_bytes(from_c)
    assert not hasattr(revived, "labels_")
    np.testing.assert_allclose(
        revived.score_samples(X), model.score_samples(X), rtol=1e-12 if real is np.float64 else 1e-4
    )
    other = {_c32: _c64, _c64: _c32}[compiled]
    assert other.lib.mapdpm_model_shape(data, len(data), other.ffi.new("mapdpm_model *")) == other.lib.MAPDPM_E_REAL


def test_float32_file_keeps_an_offset():
    """The anchor is rounded to float32, by 0.06 at 1e6; what is relative to it moves along."""
    X = fitted()[1] + 1e6 + 0.3
    model = MAPDPM(likelihood=NormalGamma(1e6, 0.1, 1.0, 1.0)).fit(X)
    back = MAPDPM.from_bytes(model.to_bytes("float32"))
    np.testing.assert_allclose(back.score_samples(X), model.score_samples(X), atol=1e-3)
    np.testing.assert_allclose(back.means_, model.means_, atol=1e-3)


def test_float32_refuses_what_it_cannot_hold():
    X = np.random.default_rng(2).normal(size=(20, 1))
    for b0 in (1e-60, 1e60):
        model = MAPDPM(likelihood=NormalGamma(0.0, 1.0, 1.0, b0)).fit(X)
        with pytest.raises(ValueError, match="does not fit float32; save it as float64"):
            model.to_bytes("float32")


@pytest.mark.parametrize("labels", [[-300, 7, 7], [True, False, True], np.array([255, 3, 200], np.uint8)])
def test_parameters_of_numpy_types_are_kept(labels):
    model = MAPDPM(init=labels, max_sweeps=np.int64(9), max_clusters=np.int32(5), random_state=np.int64(3))
    back = MAPDPM.from_bytes(model.fit([[1.0], [2.0], [3.0]]).to_bytes())
    assert (back.max_sweeps, back.max_clusters, back.random_state) == (9, 5, 3)
    np.testing.assert_array_equal(back.init, np.asarray(labels).astype(int))


def test_python_and_c_agree_on_what_is_damaged():
    """Every truncation, every flipped bit, and every forged header byte: both refuse, and read no further."""
    data = fitted()[0].to_bytes()
    lib, ffi = _c64.lib, _c64.ffi
    memory = ffi.new("uint64_t[]", 4096)
    read = ffi.new("mapdpm_model *")
    rng = np.random.default_rng(0)
    flips = [
        (int(at), int(bit)) for at, bit in zip(rng.integers(0, len(data), 300), rng.integers(0, 8, 300), strict=True)
    ]
    broken = [data[:n] for n in range(0, len(data), 7)]
    broken += [data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :] for at, bit in flips]
    broken += [forged(data, at, bytes([data[at] ^ 255])) for at in range(4, 40)]
    broken.append(data + b"\0")
    for bad in broken:
        with pytest.raises(container.ModelFileError) as caught:
            MAPDPM.from_bytes(bad)
        assert "\n" not in str(caught.value)
        assert lib.mapdpm_model_read(bad, len(bad), memory, 8 * 4096, read) < 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: b"PK\3\4" + d[4:], "not a mapdpm model"),
        (lambda d: b"", "not a mapdpm model"),
        (lambda d: d[:20], "truncated: 20 bytes"),
        (lambda d: d[:-9], "truncated: .* of .* bytes are there"),
        (lambda d: d[:60] + b"?" + d[61:], "damaged: its CRC does not match"),
        (lambda d: forged(d, 4, b"\7"), "has format 7, newer than format 1"),
        (lambda d: forged(d, 6, b"\310"), "damaged: kind is 200"),
        (lambda d: forged(d, 7, b"\2"), "damaged: size of a real is 2"),
        (lambda d: forged(d, 8, b"\77"), "damaged: family is 63"),
        (lambda d: forged(d, 16, bytes(4)), "damaged: number of clusters is 0"),
        (lambda d: forged(d, 12, b"\4"), "bytes do not hold what the header announces"),
        (lambda d: forged(d, 40, struct.pack("<d", -1.0)), "damaged: alpha must be > 0"),
        (lambda d: forged(d, 48, struct.pack("<d", 2.0)), r"damaged: discount must be in \[0, 1\)"),
        (lambda d: forged(d, 56, struct.pack("<d", np.nan)), "damaged: anchor is not finite"),
        (lambda d: forged(d, 80, struct.pack("<d", np.inf)), "damaged: m0 must be finite"),
        (lambda d: forged(d, 104, struct.pack("<d", -1.0)), "damaged: c0 must be > 0"),
        (lambda d: forged(d, 144, bytes(8)), "damaged: a cluster is empty"),
        (lambda d: forged(d, len(d) - 5, b"\0"), "damaged"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, change, message):
    path = tmp_path / "model.mdpm"
    path.write_bytes(change(fitted()[0].to_bytes()))
    with pytest.raises(ValueError, match=message):
        mapdpm.load(path)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("weight", 1e308, "a weight does not fit its count"),
        ("weight", 5e-324, "a weight does not fit its count"),
        ("weight", 0.2, "a weight does not fit its count"),  # less than the discount
        ("mean", 1e308, "prior scales from the prior mean"),
        ("mean", -1e48, "prior scales from the prior mean"),
        ("squares", 1e308, "prior scales from the prior mean"),
        ("anchor", 1e200, "contains 1e\\+200"),
        ("count", 5e-324 * 2**62, "counts are too large"),
        ("count", 5e-324 * (2**53 + 1), "counts are too large"),
    ],
)
@pytest.mark.parametrize("family", [NormalGamma, NormalKnownVariance])
def test_statistics_of_no_data(family, place, value, message):
    """Finite numbers, but shares and densities of points would be NaN."""
    model = fitted(family, discount=0.3)[0]
    data, K = model.to_bytes(), model.n_clusters_
    counts = 40 + 8 * (2 + 3 + {NormalGamma: 8, NormalKnownVariance: 9}[family])
    first = counts + 8 * K
    at = {"anchor": 56, "count": counts, "weight": first, "mean": first + 8, "squares": first + 32}[place]
    with pytest.raises(container.ModelFileError, match=f"damaged.*({message})"):
        MAPDPM.from_bytes(forged(data, at, struct.pack("<d", value)))


def test_a_nan_that_signals():
    data = fitted()[0].to_bytes("float32")
    with pytest.raises(container.ModelFileError, match="anchor is not finite"):
        MAPDPM.from_bytes(forged(data, 48, bytes.fromhex("010080ff")))


def test_the_most_extreme_data_can_be_saved():
    """Points at the limit of 1e35 prior scales, and weights at theirs."""
    X = np.array([[-1e35], [1e35], [1e35], [0.0]])
    for weights in (None, [1e-9, 1e9, 1.0, 1e9]):
        model = MAPDPM(likelihood=NormalKnownVariance(0.0, 1e50, 1.0)).fit(X, sample_weight=weights)
        back = MAPDPM.from_bytes(model.to_bytes())
        np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))


def test_a_file_is_whole_or_not_there(tmp_path, monkeypatch):
    model, _ = fitted()
    path = tmp_path / "model.mdpm"
    model.save(path)
    before = path.read_bytes()
    for target in (tmp_path, tmp_path / "no" / "folder.mdpm"):
        with pytest.raises(ValueError, match="cannot write"):
            model.save(target)

    def fails(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match=r"cannot write .*: No space left on device"):
        model.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model.mdpm"]


def test_links_are_followed_and_devices_left(tmp_path):
    model, _ = fitted()
    (tmp_path / "real.mdpm").write_bytes(b"old")
    (tmp_path / "link.mdpm").symlink_to("real.mdpm")
    model.save(tmp_path / "link.mdpm")
    assert (tmp_path / "link.mdpm").is_symlink()
    assert (tmp_path / "real.mdpm").read_bytes() == model.to_bytes()
    with pytest.raises(ValueError, match=r"cannot write .*: it is not a file"):
        model.save(os.devnull)
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def with_extras(data, **changes):
    model, extras = container.unpack(data)
    return container.pack(model, extras | changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"labels_": np.full(80, 2**40)},
        {"labels_": np.zeros(3, np.int8)},
        {"history_": np.array([0.0, -1.0])},
        {"converged_": 1},
        {"moves": 5},
        {"moves": ["merge", "swap"]},
        {"n_jobs": 0},
        {"verbose": -1},
        {"feature_names_in_": ["a", "b"]},
        {"feature_names_in_": ["a", "b", 3]},
        {"feature_names_in_": ["a", "b", None]},
        {"feature_names_in_": ["a", "b", ["c"]]},
        {"feature_names_in_": "abc"},
        {"feature_names_in_": {"a": 1, "b": 2, "c": 3}},
        {"max_clusters": "x"},
        {"max_clusters": 0},
        {"random_state": -1},
        {"init": {}},
        {"backend": "gpu"},
        {"n_restarts": 0},
        {"likelihood_": [[0.0] * 3, 0.1, 1.0, [1.0] * 3]},
        {"likelihood_": [[50.0] * 2, 0.1, 1.0, [1.0] * 2]},
        {"likelihood_": [10**400, 0.1, 1.0, 1.0]},
        {"likelihood": [1.0]},
        {"log_joint_": 3},
    ],
    ids=str,
)
def test_forged_extras_are_refused(changes):
    data = fitted()[0].to_bytes()
    MAPDPM.from_bytes(with_extras(data))
    with pytest.raises(container.ModelFileError, match="damaged"):
        MAPDPM.from_bytes(with_extras(data, **changes))


@pytest.mark.parametrize("text", [b"[" * 100_000, b'{"plain": {}, "arrays": [["a", "<i8", 1e22]]}', b"\xff", b"{}"])
def test_forged_json_is_refused(text):
    data = container.pack(container.unpack(fitted()[0].to_bytes())[0], {})
    extras = struct.pack("<I", len(text)) + text
    (old,) = struct.unpack_from("<I", data, 28)
    body = data[: -4 - old] + extras
    body = body[:28] + struct.pack("<IQ", len(extras), len(body) + 4) + body[40:]
    with pytest.raises(container.ModelFileError, match="its extras cannot be read"):
        MAPDPM.from_bytes(body + struct.pack("<I", zlib.crc32(body)))


@pytest.mark.skipif(os.name != "posix", reason="folders are synced on POSIX systems")
def test_the_folder_is_synced_after_the_file_has_its_name(tmp_path, monkeypatch):
    """A name is in the folder, which a power cut can lose though the file's bytes are safe."""
    seen, sync = [], os.fsync

    def noted(descriptor):
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        seen.append((kind, (tmp_path / "model").exists()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    disk.write_file(tmp_path / "model", b"bytes")
    assert seen == [("file", False), ("folder", True)]


@pytest.mark.skipif(os.name != "posix", reason="folders are synced on POSIX systems")
def test_a_folder_that_cannot_be_read_is_written_to(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(container.os, "open", refuse)
    disk.write_file(tmp_path / "model", b"bytes")
    assert (tmp_path / "model").read_bytes() == b"bytes"


def test_permissions_are_kept(tmp_path):
    model, _ = fitted()
    secret, plain = tmp_path / "secret.mdpm", tmp_path / "plain"
    secret.touch(mode=0o600)
    plain.touch()
    model.save(secret)
    model.save(tmp_path / "new.mdpm")
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert (tmp_path / "new.mdpm").stat().st_mode == plain.stat().st_mode
    (tmp_path / ("long" * 60)).touch()
    model.save(tmp_path / ("long" * 60))


def test_many_writers_of_one_file(tmp_path):
    model, _ = fitted()
    path = tmp_path / "model.mdpm"
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: model.save(path), range(60)))
    assert path.read_bytes() == model.to_bytes()
    assert [p.name for p in tmp_path.iterdir()] == ["model.mdpm"]


def test_an_interrupt_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fitted()[0].save(tmp_path / "model.mdpm")
    assert not list(tmp_path.iterdir())


def test_links_in_a_circle(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(ValueError, match="cannot write"):
        fitted()[0].save(tmp_path / "a")


def test_missing_file_is_the_systems_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        mapdpm.load(tmp_path / "nothing.mdpm")


def test_unknown_dtype():
    with pytest.raises(ValueError, match="dtype must be 'float64' or 'float32', got 'float16'"):
        fitted()[0].to_bytes("float16")


def device_model():
    """A model as a device writes it: what scoring needs, and no extras."""
    X = np.random.default_rng(2).normal(size=(60, 2)) + 8.0 * (np.arange(60) % 2)[:, None]
    model = MAPDPM().fit(X)
    return MAPDPM.from_bytes(container.pack(model._mixture, {})), model, X


def test_a_model_of_a_device_can_be_saved_again(tmp_path):
    device, model, X = device_model()
    assert not hasattr(device, "labels_")
    device.save(tmp_path / "again.mdpm")
    again = mapdpm.load(tmp_path / "again.mdpm")
    assert not hasattr(again, "labels_")
    assert np.array_equal(again.score_samples(X), model.score_samples(X))


def test_what_is_set_after_the_fit_is_kept_or_refused():
    _, model, X = device_model()
    model.set_params(likelihood=NormalKnownVariance(0.0, 9.0, 1.0), n_restarts=3)
    again = MAPDPM.from_bytes(model.to_bytes())
    assert again.get_params(deep=False) == model.get_params(deep=False)
    assert np.array_equal(again.score_samples(X), model.score_samples(X))
    wrong = {
        "n_restarts": 0,
        "backend": "gpu",
        "init": "kmeans",
        "random_state": -3,
        "time_limit": -1,
        "verbose": "yes",
    }
    wrong |= {"moves": "merge", "likelihood": 3, "max_clusters": 2.5}
    for name, value in wrong.items():
        _, model, _ = device_model()
        with pytest.raises(ValueError, match=name):
            model.set_params(**{name: value}).to_bytes()


@pytest.mark.parametrize("names", [["a"], ["a", "b", "c"], ["a", 2], "ab", {"a": 1, "b": 2}])
def test_wrong_names_of_features_are_refused(names):
    _, model, _ = device_model()
    extras = extras_of(model) | {"feature_names_in_": names}
    with pytest.raises(ValueError, match="damaged: its extras do not fit"):
        MAPDPM.from_bytes(container.pack(model._mixture, extras))
    extras["feature_names_in_"] = ["a", "b"]
    assert list(MAPDPM.from_bytes(container.pack(model._mixture, extras)).feature_names_in_) == ["a", "b"]


def test_an_empty_history_is_refused():
    _, model, _ = device_model()
    extras = extras_of(model) | {"history_": np.zeros(0)}
    with pytest.raises(ValueError, match="damaged: its extras do not fit"):
        MAPDPM.from_bytes(container.pack(model._mixture, extras))


PRIORS = {
    Categorical: Categorical(beta=1.0),
    DirichletMultinomial: DirichletMultinomial(beta=1.0),
    GammaPoisson: GammaPoisson(a0=1.0, b0=1.0),
    BetaBernoulli: BetaBernoulli(a0=1.0, b0=1.0),
}


def test_every_family_has_a_format():
    assert all(family.number for family in FAMILIES)
    assert len({family.name for family in FAMILIES}) == len({family.number for family in FAMILIES}) == len(FAMILIES)
    assert not GammaExponential.name


@pytest.mark.parametrize("family", PRIORS)
def test_families_without_moments_come_back(tmp_path, family):
    X = np.array([[0, 1], [0, 1], [1, 0], [1, 0], [1, 1]], dtype=float)
    X = X[:, 0] if family is Categorical else X
    model = MAPDPM(likelihood=PRIORS[family], backend="python").fit(X)
    model.save(tmp_path / "model.mdpm")
    back = mapdpm.load(tmp_path / "model.mdpm")
    assert back.to_bytes() == model.to_bytes()
    assert (back.likelihood, back.likelihood_) == (model.likelihood, model.likelihood_)
    # lgamma of numba, by which "auto" goes, and of Python differ in the last digits
    np.testing.assert_allclose(back.score_samples(X), model.score_samples(X), rtol=1e-13)
    np.testing.assert_array_equal(back.predict(X, novelty=True), model.predict(X, novelty=True))
    changed = container.unpack(model.to_bytes())[0]
    for wrong in (-1.0, 1e12):
        changed.state.rows[0, 1:3] = wrong
        with pytest.raises(ValueError, match=r"damaged: (a sum is|the counts of words)"):
            container.unpack(container.pack(changed, {}))


def test_a_family_without_a_name_can_be_kept_as_the_message_says(tmp_path):
    X = np.array([[0, 1], [0, 1], [1, 0], [1, 0], [1, 1]], dtype=float)
    model = MAPDPM(likelihood=GammaExponential(a0=1.0, b0=2.0), backend="python").fit(X)
    with pytest.raises(ValueError, match=r"GammaExponential has no name, .*; or pickle or joblib can"):
        model.save(tmp_path / "model.mdpm")
    assert list(tmp_path.iterdir()) == []
    joblib.dump(model, tmp_path / "model.joblib")
    for kept in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
        np.testing.assert_array_equal(kept.score_samples(X), model.score_samples(X))
        np.testing.assert_array_equal(kept.predict(X, novelty=True), model.predict(X, novelty=True))
        np.testing.assert_array_equal(kept.fit(X).labels_, model.labels_)


def test_a_likelihood_set_after_the_fit_is_refused_likewise():
    model, _ = fitted()
    model.likelihood = GammaExponential(a0=1.0, b0=1.0)
    with pytest.raises(ValueError, match="GammaExponential has no name"):
        model.to_bytes()


def full(psi0, X):
    return MAPDPM(likelihood=NormalInverseWishart(np.zeros(X.shape[1]), 0.1, X.shape[1] + 1.0, psi0)).fit(X)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("thin", [1.0, 1e-6, 1e-11])
def test_full_covariances_come_back_bit_for_bit(seed, thin):
    """Also where psi0 is nearly singular, and points lie in the plane that it nearly spans."""
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(4, 3))
    X = rng.normal(size=(30, 3)) @ mixing.T if seed % 2 else np.repeat(rng.normal(size=(2, 4)), 5, axis=0)
    model = full(mixing @ mixing.T + thin * np.eye(4), X)
    other = MAPDPM.from_bytes(model.to_bytes())
    np.testing.assert_array_equal(other.score_samples(X), model.score_samples(X))
    np.testing.assert_array_equal(other._mixture.statistics, model._mixture.statistics)


def test_forged_full_covariances_are_refused():
    X = np.random.default_rng(3).normal(size=(20, 2))
    mixture = full(np.eye(2), X)._mixture
    for entry, value in ((3, 0.9), (3, -2.0), (5, 0.0)):  # pivots of psi0 are 1
        statistics = mixture.statistics.copy()
        statistics[0, entry] = value
        forged = mixture_of(mixture.likelihood, mixture.prior, mixture.anchor, mixture.counts, statistics)
        with pytest.raises(ValueError, match="a factor does not fit the prior"):
            container.unpack(container.pack(forged, {}))
    data = bytearray(container.pack(mixture, {}))
    data[10] = container.MISSING
    data[-4:] = zlib.crc32(data[:-4]).to_bytes(4, "little")
    with pytest.raises(ValueError, match="field of flags is 1"):
        container.unpack(bytes(data))


def test_a_constant_among_columns_that_belong_together(tmp_path):
    X = np.column_stack([np.random.default_rng(0).normal(size=(40, 2)), np.ones(40)])
    model = MAPDPM(likelihood=NormalInverseWishart).fit(X)
    model.save(tmp_path / "model.mdpm")
    assert mapdpm.load(tmp_path / "model.mdpm").score(X) == model.score(X)
