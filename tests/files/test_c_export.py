"""``mapdpm export``: what Python has learned goes on learning in C, and comes back."""

import shutil
import subprocess

import numpy as np
import pytest

import mapdpm
from mapdpm import MAPDPM, NormalGamma, OnlineMAPDPM
from mapdpm.cli import main
from mapdpm.files.c_export import as_stream, c_files
from tests.marks import complete_but

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_a_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler; apt-get install gcc")


def points(n=600, seed=1, missing=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) + 9.0 * rng.integers(0, 4, (n, 1))
    if missing:
        X[::7, 1] = np.nan
    return X


def goes_on(folder, X, *flags, name="model"):
    """Compile what was exported, let it learn X, and return its lines and the file that it leaves."""
    warnings = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Wconversion", "-Wno-sign-conversion", "-Werror"]
    subprocess.run([COMPILER, *warnings, *flags, "main.c", "mapdpm.c", "-o", "learn"], cwd=folder, check=True)
    lines = "".join(",".join(repr(float(v)) for v in x) + "\n" for x in X)
    done = subprocess.run(["./learn"], cwd=folder, input=lines, capture_output=True, text=True, check=True)
    rows = np.array([line.split() for line in done.stdout.splitlines()], dtype=float)
    return rows, (folder / f"{name}.mdpm").read_bytes()


@needs_a_compiler
@pytest.mark.parametrize("dtype", complete_but(["float32"], ["float32", "float64"]))
def test_a_fit_goes_on_in_c_with_the_same_bits(tmp_path, capsys, dtype):
    MAPDPM().fit(points()).save(tmp_path / "m.mdpm")
    command = ["export", str(tmp_path / "m.mdpm"), "--c", str(tmp_path / "out"), "--name", "watch", "--dtype", dtype]
    assert main(command) == 0
    assert "4 clusters" in capsys.readouterr().out
    real = "float" if dtype == "float32" else "double"
    X = points(seed=2).astype(dtype)
    rows, left = goes_on(tmp_path / "out", X, f"-DMAPDPM_REAL={real}", "-DMAPDPM_SURPRISE", name="watch")
    here = as_stream(mapdpm.load(tmp_path / "m.mdpm"), dtype=dtype)
    twin = OnlineMAPDPM.from_bytes(here.to_bytes())
    scores = np.array([twin.ready_learner().learn_scored(x.tolist())[1] for x in X])
    np.testing.assert_array_equal(rows[:, 0], here.learn_many(X))
    np.testing.assert_allclose(rows[:, 1], scores, rtol=1e-7)  # of nine printed digits
    assert left == here.to_bytes()
    assert mapdpm.load(tmp_path / "out" / "watch.mdpm").n_seen == 1200


def test_a_fit_as_a_stream_scores_alike():
    """Two models with the same density: the batch model, and the stream with its clusters and its prior."""
    X = points()
    model = MAPDPM(alpha=0.7).fit(X)
    stream = as_stream(model, dtype="float64", max_clusters=5)
    assert (stream.max_clusters, stream.n_clusters, stream.alpha) == (5, model.n_clusters_, 0.7)
    np.testing.assert_allclose(stream.score_samples(X), model.score_samples(X), atol=1e-8)
    order = np.argsort(-stream.weights)
    np.testing.assert_allclose(stream.weights[order], np.sort(model.cluster_sizes_)[::-1])
    np.testing.assert_allclose(
        stream.means[order], model.means_[np.lexsort((model.means_[:, 0], -model.cluster_sizes_))]
    )


def test_a_stream_is_exported_as_it_is():
    model = OnlineMAPDPM(6, dtype="float32", n_features=3).partial_fit(points())
    assert as_stream(model) is model
    header = c_files(model, "wrist")["wrist.h"].decode()
    numbers = header.partition("{")[2].partition("}")[0].split(",")
    assert bytes(int(number, 16) for number in numbers) == model.to_bytes()
    assert f"#define WRIST_STATE_BYTES {model.nbytes} " in header
    whole = OnlineMAPDPM(6, n_features=3).partial_fit(points())
    chip = as_stream(whole)
    assert (chip.dtype, chip.n_clusters, chip.n_seen) == ("float32", whole.n_clusters, 600)
    np.testing.assert_allclose(chip.score_samples(points()), whole.score_samples(points()), atol=1e-3)
    assert as_stream(whole, max_clusters=9).max_clusters == 9


@pytest.mark.complete
@needs_a_compiler
def test_missing_values_ask_for_their_switch(tmp_path):
    model = OnlineMAPDPM(6, dtype="float32", n_features=3, missing="skip").partial_fit(points(missing=True))
    for name, data in c_files(model).items():
        (tmp_path / name).write_bytes(data)
    with pytest.raises(subprocess.CalledProcessError):
        goes_on(tmp_path, points(5), "-DMAPDPM_REAL=float")
    X = points(50, missing=True).astype(np.float32)
    rows, left = goes_on(tmp_path, X, "-DMAPDPM_REAL=float", "-DMAPDPM_MISSING", "-DMAPDPM_SURPRISE")
    np.testing.assert_array_equal(rows[:, 0], model.learn_many(X))
    assert left == model.to_bytes()


def test_what_was_edited_is_kept(tmp_path, capsys):
    MAPDPM().fit(points()).save(tmp_path / "m.mdpm")
    command = ["export", str(tmp_path / "m.mdpm"), "--c", str(tmp_path / "out"), "--quiet"]
    assert main(command) == 0
    assert main(command) == 0
    assert capsys.readouterr() == ("", "")
    (tmp_path / "out" / "main.c").write_text("int main(void) { return 7; }\n")
    assert main(command[:-1]) == 0
    assert "is kept" in capsys.readouterr().err
    assert "return 7" in (tmp_path / "out" / "main.c").read_text()


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (["--name", "2nd"], 2, "identifier of C"),
        (["--name", "mapdpm"], 2, "identifier of C"),
        (["--name", "Mapdpm"], 2, "identifier of C"),  # its header's guard is that of mapdpm.h
        (["--max-clusters", "2"], 2, "at least 4, the clusters of the model, got 2"),
        (["--dtype", "half"], 2, "invalid choice"),
    ],
)
def test_what_is_refused(tmp_path, capsys, options, code, says):
    MAPDPM().fit(points()).save(tmp_path / "m.mdpm")
    assert main(["export", str(tmp_path / "m.mdpm"), "--c", str(tmp_path / "out"), *options]) == code
    assert says in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_no_model_no_files(tmp_path, capsys):
    (tmp_path / "m.mdpm").write_bytes(b"MDPM, or so it says")
    assert main(["export", str(tmp_path / "m.mdpm"), "--c", str(tmp_path / "out")]) == 1
    assert main(["export", str(tmp_path / "none.mdpm"), "--c", str(tmp_path / "out")]) == 1
    MAPDPM(discount=0.3).fit(points()).save(tmp_path / "d.mdpm")
    assert main(["export", str(tmp_path / "d.mdpm"), "--c", str(tmp_path / "out")]) == 2
    assert "discount=0.3" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_learner_that_has_seen_nothing_has_nothing_to_export():
    with pytest.raises(ValueError, match="seen nothing"):
        c_files(OnlineMAPDPM())
    assert len(c_files(OnlineMAPDPM(n_features=1, likelihood=NormalGamma([0.0], 1.0, 1.0, [1.0])))) == 4
