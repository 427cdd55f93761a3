"""``mapdpm export``: what Python has learned goes on learning in C, and comes back."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mapdpm
from mapdpm import MAPDPM, NormalGamma, NormalKnownVariance, OnlineAlphaSelector, OnlineHDPHMM, OnlineMAPDPM
from mapdpm.cli import main, options
from mapdpm.files.c_export import as_stream, c_files
from repository import ROOT
from tests.marks import complete_but, slow_but

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_a_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler; apt-get install gcc")


def points(n=600, seed=1, missing=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) + 9.0 * rng.integers(0, 4, (n, 1))
    if missing:
        X[::7, 1] = np.nan
    return X


def ran(folder, text, *arguments):
    return subprocess.run(["./learn", *arguments], cwd=folder, input=text, capture_output=True, text=True, check=False)


def goes_on(folder, X, *, name="model", level="-O2"):
    """Compile what was exported, let it learn X, and return its lines and the file that it leaves."""
    warnings = ["-std=c99", level, "-Wall", "-Wextra", "-Wconversion", "-Wno-sign-conversion", "-Werror"]
    subprocess.run([COMPILER, *warnings, "main.c", "mapdpm.c", "-o", "learn"], cwd=folder, check=True)
    lines = "".join(",".join(repr(float(v)) for v in x) + "\n" for x in X)
    done = subprocess.run(
        ["./learn", f"{name}.mdpm"], cwd=folder, input=lines, capture_output=True, text=True, check=True
    )
    rows = np.array([line.split() for line in done.stdout.splitlines()], dtype=float)
    return rows, (folder / f"{name}.mdpm").read_bytes()


@needs_a_compiler
@pytest.mark.parametrize(
    ("dtype", "level"),
    complete_but(
        [("float32", "-O0"), ("int16", "-O0")],
        [("float32", "-O0"), ("float32", "-O2"), ("float64", "-O2"), ("int16", "-O0")],
        several=True,
    ),
)
def test_a_fit_goes_on_in_c_with_the_same_bits(tmp_path, capsys, dtype, level):
    first, X = (points(seed=seed) if dtype != "int16" else np.rint(300 * points(seed=seed)) for seed in (1, 2))
    MAPDPM().fit(first).save(tmp_path / "m.mdpm")
    command = ["export", str(tmp_path / "m.mdpm"), "--c", str(tmp_path / "out"), "--name", "watch", "--dtype", dtype]
    assert main(command) == 0
    assert "4 clusters" in capsys.readouterr().out
    X = X.astype(dtype)
    rows, left = goes_on(tmp_path / "out", X, name="watch", level=level)
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
    assert chip.ids.tolist() == whole.ids.tolist()
    with pytest.warns(UserWarning, match="ids begin at 0, and events and the counts of surprise anew"):
        assert as_stream(whole, max_clusters=9).max_clusters == 9


@pytest.mark.complete
@needs_a_compiler
def test_missing_values_come_with_their_switch(tmp_path):
    model = OnlineMAPDPM(6, dtype="float32", n_features=3, missing="skip").partial_fit(points(missing=True))
    for name, data in c_files(model).items():
        (tmp_path / name).write_bytes(data)
    X = points(50, missing=True).astype(np.float32)
    rows, left = goes_on(tmp_path, X)
    np.testing.assert_array_equal(rows[:, 0], model.learn_many(X))
    assert left == model.to_bytes()


def test_switches_that_others_give_stay_and_are_checked(tmp_path):
    files = c_files(OnlineMAPDPM(6, dtype="float32", n_features=3).partial_fit(points()))
    library = Path(mapdpm.get_include()) / "amalgamation" / "src"
    assert files["mapdpm.c"] == (library / "mapdpm.c").read_bytes()
    head, rest = files["mapdpm.h"].split((library / "mapdpm.h").read_bytes())
    assert rest == b""
    assert b"#ifndef MAPDPM_REAL\n#define MAPDPM_REAL float\n#endif\n" in head
    assert b"#define MAPDPM_SURPRISE\n" in head
    assert b'#error "model.h assesses points: compile with -DMAPDPM_SURPRISE"' in files["model.h"]


def commands_of_help():
    """The commands that ``mapdpm export --help`` prints, in order."""
    return options._EXPORT_EXAMPLES.splitlines()


MODELS = {
    "fit": lambda: MAPDPM().fit(points()),
    "fit, gaps": lambda: MAPDPM(missing="skip").fit(points(missing=True)),
    "fit, known variance": lambda: MAPDPM(likelihood=NormalKnownVariance(0.0, 90.0, 1.0)).fit(points()),
    "stream": lambda: OnlineMAPDPM(8).partial_fit(points()),
    "stream of float32": lambda: OnlineMAPDPM(8, dtype="float32").partial_fit(points()),
    "stream, gaps": lambda: OnlineMAPDPM(8, missing="skip").partial_fit(points(missing=True)),
    "stream, no surprise": lambda: OnlineMAPDPM(8, surprise=False, half_life=99.0).partial_fit(points()),
    "states": lambda: OnlineHDPHMM(8, dtype="float32").partial_fit(points()),
    "bank": lambda: OnlineAlphaSelector([0.1, 1.0], 8).partial_fit(points()),
}


@pytest.mark.complete
@needs_a_compiler
@pytest.mark.parametrize("kind", slow_but(["fit, gaps", "stream", "bank", "states"], MODELS))
def test_the_commands_of_help_compile_and_run(tmp_path, kind):
    model = MODELS[kind]()
    model.save(tmp_path / "model.mdpm")
    lines = ["a,b,c", *(",".join(f"{v:.3f}" for v in x) for x in points(50, 3).tolist()), " 1 ; 2.5\t,3"]
    (tmp_path / "data.csv").write_text("\r\n".join([*lines, ""]))
    path = f"PYTHONPATH={ROOT}:$PYTHONPATH "
    n_written = 0
    for line in commands_of_help():
        if "wristband" in line and kind == "states":
            continue  # which keeps its slots
        before = {each: each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()}
        command = line.replace("mapdpm export", f"{path}{sys.executable} -m mapdpm export", 1)
        done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        changed = [each for each, data in before.items() if each.read_bytes() != data and each.suffix == ".mdpm"]
        assert changed == []  # no model is ever written over
        if "learn" in line:
            assert len(done.stdout.splitlines()) == 51
            n_written += (tmp_path / "learned.mdpm").exists()
    assert n_written == 1  # where a file is named
    assert mapdpm.load(tmp_path / "learned.mdpm").n_seen >= 51


@pytest.mark.complete
@needs_a_compiler
def test_a_program_says_which_line_is_none(tmp_path):
    for name, data in c_files(OnlineMAPDPM(4, dtype="float32").partial_fit(points(300))).items():
        (tmp_path / name).write_bytes(data)
    goes_on(tmp_path, points(3))
    (tmp_path / "model.mdpm").unlink()
    for wrong in ("1,2", "1,2,3,4", "1,2,x", "1,2,3x", "2026-11-01,2,3"):
        text = f"a,b,c\n1,2,3\n{wrong}\n4,5,6\n"
        done = subprocess.run(
            ["./learn", "new.mdpm"], cwd=tmp_path, input=text, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (1, "line 3 is no point of 3 numbers\n")
        assert done.stdout.count("\n") == 1
        assert not (tmp_path / "new.mdpm").exists()
    done = ran(tmp_path, "1,,3\n")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("line 1: mapdpm: ")
    assert sorted(each.suffix for each in tmp_path.iterdir() if each.suffix == ".mdpm") == []


def test_what_was_converted_is_said(tmp_path, capsys):
    OnlineMAPDPM(8).partial_fit(points()).save(tmp_path / "s.mdpm")
    export = ["export", str(tmp_path / "s.mdpm"), "--c", str(tmp_path / "out")]
    assert main(export) == 0
    told = capsys.readouterr()
    assert "from float64 to float32: --dtype float64 keeps all digits" in told.out
    assert told.err == ""
    assert main([*export, "--dtype", "float64"]) == 0
    assert "from float64" not in capsys.readouterr().out
    assert main([*export, "--max-clusters", "20"]) == 0
    assert "ids begin at 0" in capsys.readouterr().err


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
