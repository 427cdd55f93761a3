"""The command line: what it prints and writes is what Python has; what is wrong is one line, and no traceback."""

import os
import struct
import subprocess
import sys
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest

import mapdpm
from mapdpm import backends, cli, tables
from mapdpm.search import restarts

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(0, 1, (30, 2)), rng.normal(20, 1, (20, 2))])


@pytest.fixture(scope="module")
def model_bytes(points):
    return mapdpm.MAPDPM().fit(points).to_bytes()


@pytest.fixture
def folder(tmp_path, points, model_bytes, monkeypatch):
    """A current folder with data.csv and model.mdpm."""
    monkeypatch.chdir(tmp_path)
    lines = ["height,width", *(",".join(map(repr, row)) for row in points.tolist())]
    Path("data.csv").write_text("\n".join(lines) + "\n")
    Path("model.mdpm").write_bytes(model_bytes)
    return tmp_path


def lines_of(capsys):
    return capsys.readouterr().out.splitlines()


def assert_refused(capsys, argv, code, *parts):
    """``argv`` fails with ``code`` and one line that has ``parts``, and changes no file."""
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    assert cli.main(argv) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("mapdpm: error: ")
    assert captured.err.count("\n") == 1
    assert captured.err.endswith("\n")
    for part in parts:
        assert part in captured.err
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


# ---- what works ------------------------------------------------------------------------------------------------------


def test_fit_prints_what_python_finds(folder, points, capsys):
    assert cli.main(["fit", "data.csv"]) == 0
    printed = dict(line.split(maxsplit=1) for line in lines_of(capsys))
    expected = mapdpm.MAPDPM().fit(points)
    assert printed["clusters"] == str(expected.n_clusters_)
    assert printed["sizes"] == " ".join(map(str, expected.cluster_sizes_))
    assert printed["log"] == f"joint  {expected.log_joint_:.6f} nats"
    assert (printed["sweeps"], printed["converged"]) == (str(expected.n_sweeps_), "yes")
    assert printed["backend"] == expected.backend_
    assert float(printed["seconds"]) >= 0


def test_fit_predict_score_equal_the_python_api(folder, points, capsys):
    assert cli.main(["fit", "data.csv", "--out", "new.mdpm", "--labels", "labels.csv"]) == 0
    lines_of(capsys)
    model = mapdpm.load("new.mdpm")
    expected = mapdpm.MAPDPM().fit(points)
    assert np.array_equal(model.labels_, expected.labels_)
    assert model.log_joint_ == expected.log_joint_
    assert Path("labels.csv").read_text().split() == ["label", *map(str, expected.labels_)]

    assert cli.main(["predict", "new.mdpm", "data.csv"]) == 0
    assert lines_of(capsys) == ["label", *map(str, expected.predict(points))]

    assert cli.main(["predict", "new.mdpm", "data.csv", "--proba"]) == 0
    header, *rows = lines_of(capsys)
    assert header.split(",") == [*(f"cluster_{k}" for k in range(expected.n_clusters_)), "new"]
    assert np.array_equal([list(map(float, row.split(","))) for row in rows], model.predict_proba(points))

    assert cli.main(["score", "new.mdpm", "data.csv"]) == 0
    header, *values = lines_of(capsys)
    assert header == "log_density"
    assert np.array_equal(np.array(values, dtype=float), model.score_samples(points))

    assert cli.main(["score", "new.mdpm", "data.csv", "--mean"]) == 0
    assert lines_of(capsys) == [repr(model.score(points))]


def test_novelty(folder, points, capsys):
    Path("far.csv").write_text("height,width\n1e9,-1e9\n0,0\n")
    assert cli.main(["predict", "model.mdpm", "far.csv", "--novelty"]) == 0
    X = [[1e9, -1e9], [0, 0]]
    assert lines_of(capsys) == ["label", *map(str, mapdpm.load("model.mdpm").predict(X, novelty=True))]


def test_every_option_reaches_the_model(folder, points):
    options = {"alpha": 2.5, "discount": 0.25, "max_clusters": 3, "n_restarts": 2, "max_sweeps": 7, "random_state": 5}
    names = {"n_restarts": "restarts", "random_state": "seed"}
    argv = ["fit", "data.csv", "--out", "new.mdpm", "--init", "single", "--backend", "python"]
    for name, value in options.items():
        argv += ["--" + names.get(name, name).replace("_", "-"), str(value)]
    assert cli.main([*argv, "--likelihood", "normal-known-variance"]) == 0
    model = mapdpm.load("new.mdpm")
    assert {name: getattr(model, name) for name in options} == options
    assert (model.init, model.backend) == ("single", "python")
    assert model.likelihood_ == mapdpm.NormalKnownVariance.empirical(points)


def test_choices_are_those_of_the_library():
    assert cli.BACKENDS == backends.NAMES
    assert cli.STARTS == restarts.STARTS


def test_data_without_a_header(folder, points, capsys):
    Path("bare.csv").write_text(Path("data.csv").read_text().split("\n", 1)[1])
    assert cli.main(["score", "model.mdpm", "bare.csv"]) == 0
    assert len(lines_of(capsys)) == 1 + len(points)


@pytest.mark.parametrize(
    ("text", "names", "values"),
    [
        ("1,2\n3,4", None, [[1, 2], [3, 4]]),
        ("\ufeffa,b\r\n1,2\r\n", ("a", "b"), [[1, 2]]),
        ('"a, really",b\n" 1 ","-2e3"\n\n\n', ("a, really", "b"), [[1, -2000]]),
        (",a\n0,5\n", ("", "a"), [[0, 5]]),
        ("x\n1\n2\n", ("x",), [[1], [2]]),
    ],
)
def test_tables_that_are_read(tmp_path, text, names, values):
    (tmp_path / "t.csv").write_bytes(text.encode())
    table = tables.read_csv(tmp_path / "t.csv")
    assert table.names == names
    assert table.values.tolist() == values
    assert table.values.dtype == np.float64


def test_help_and_version(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"mapdpm {mapdpm.__version__}\n"
    for command in ("fit", "predict", "score", "demo"):
        assert cli.main([command, "--help"]) == 0
        assert command in capsys.readouterr().out


def test_warnings_are_lines(capsys):
    with cli._warnings_as_lines():
        warnings.simplefilter("always")
        warnings.warn("slow", RuntimeWarning, stacklevel=1)
    assert capsys.readouterr().err == "mapdpm: warning: slow\n"


# ---- bad data: exit code 1 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["bad.csv is empty"]),
        ("\n\n", ["bad.csv is empty"]),
        ("height,width\n", ["header but no rows"]),
        ("height,width\n1,2\n3,nan\n", ["line 3, column 2 (width)", "not a finite number: 'nan'"]),
        ("height,width\n1,2\n-inf,4\n", ["line 3, column 1 (height)", "not a finite number: '-inf'"]),
        ("1,2\n1e999,4\n", ["line 2, column 1 is", "not a finite number: '1e999'"]),
        ("nan,2\n3,4\n", ["line 1, column 1 is", "not a finite number: 'nan'"]),
        ("height,width\n1,2\n3,four\n", ["line 3, column 2 (width)", "not a number: 'four'"]),
        ("1,2\n3,four\n", ["line 2, column 2 is not a number: 'four'"]),
        ("1,2\n3,1_000\n", ["line 2, column 2 is not a number: '1_000'"]),
        ('a,b\n"1",2\n"3\n3",4\n', ["line 3, column 1 (a) is not a number"]),
        ("height;width\n1;2\n", ["line 2, column 1 (height;width)", "separated by commas"]),
        ("height,width\n1,2\n3,\n", ["line 3, column 2 (width) is blank"]),
        ("1,\n3,4\n", ["line 1, column 2 is blank"]),
        ("height,width\n1,2\n3\n", ["line 3 has 1 columns, but the first row has 2"]),
        ("height,width\n1,2\n3,4,5\n", ["line 3 has 3 columns, but the first row has 2"]),
        ("height\n1\n\n3\n", ["line 3 is blank"]),
        (b"\xff\xfe1,2\n", ["not a text file in UTF-8"]),
        ("1,2\n" + "9" * 200_000 + ",2\n", ["line 2", "not CSV"]),
        ("1e200,2\n-1e200,4\n", ["contains 1e+200, beyond 1e+49"]),
    ],
)
def test_bad_data(folder, capsys, text, parts):
    Path("bad.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert_refused(capsys, ["fit", "bad.csv", "--out", "new.mdpm", "--labels", "labels.csv"], 1, *parts)
    if "must be between" not in parts:  # that is the prior's business
        assert_refused(capsys, ["predict", "model.mdpm", "bad.csv"], 1, *parts)
        assert_refused(capsys, ["score", "model.mdpm", "bad.csv"], 1, *parts)


@pytest.mark.parametrize(
    "argv",
    [
        ["fit", "gone.csv", "--out", "new.mdpm"],
        ["predict", "model.mdpm", "gone.csv"],
        ["predict", "gone.csv", "data.csv"],
        ["score", "model.mdpm", "gone.csv"],
        ["demo", "gone.csv"],
    ],
)
def test_missing_files(folder, capsys, argv):
    assert_refused(capsys, argv, 1, "gone.csv: No such file")


def test_a_folder_is_no_data(folder, capsys):
    assert_refused(capsys, ["fit", "."], 1, "directory")


def test_wrong_width(folder, capsys):
    Path("wide.csv").write_text("1,2,3\n")
    for command in ("predict", "score"):
        assert_refused(capsys, [command, "model.mdpm", "wide.csv"], 1, "wide.csv has 3 columns", "was fitted on 2")


def test_bad_model_files(folder, capsys, model_bytes):
    newer = bytearray(model_bytes[:-4])
    struct.pack_into("<H", newer, 4, 999)
    damaged = {
        "truncated": [model_bytes[:n] for n in (4, 30, 60, len(model_bytes) // 2, len(model_bytes) - 1)],
        "not a mapdpm model": [b"", b"PK\x03\x04 a zip file", Path("data.csv").read_bytes()],
        "newer": [bytes(newer) + struct.pack("<I", zlib.crc32(newer))],
        "": [flipped(model_bytes, bit) for bit in range(0, 8 * len(model_bytes), 101)],
    }
    for part, files in damaged.items():
        for data in files:
            Path("bad.mdpm").write_bytes(data)
            assert_refused(capsys, ["predict", "bad.mdpm", "data.csv"], 1, "bad.mdpm: ", part)
    assert_refused(capsys, ["score", "bad.mdpm", "data.csv", "--mean"], 1, "bad.mdpm: ")


def flipped(data, bit):
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@pytest.mark.parametrize(
    ("target", "part"), [("taken", "it is not a file"), ("gone/file", "there is no folder gone"), ("", "cannot write")]
)
@pytest.mark.parametrize("argv", [["fit", "data.csv", "--out"], ["fit", "data.csv", "--labels"], ["demo", "--picture"]])
def test_unwritable_outputs(folder, capsys, argv, target, part):
    Path("taken").mkdir()
    assert_refused(capsys, [*argv, target], 1, "cannot write", part)


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="no devices")
def test_devices_are_not_replaced(folder, capsys):
    assert_refused(capsys, ["fit", "data.csv", "--out", os.devnull], 1, "it is not a file")
    assert not Path(os.devnull).is_file()


# ---- bad usage: exit code 2 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--alpha", "0"], "argument --alpha: must be a number > 0, got 0"),
        (["--alpha", "-1"], "argument --alpha: must be a number > 0, got -1"),
        (["--alpha", "nan"], "argument --alpha: must be a number > 0, got nan"),
        (["--alpha", "inf"], "argument --alpha: must be a number > 0, got inf"),
        (["--alpha", "many"], "argument --alpha: must be a number > 0, got many"),
        (["--discount", "1"], "argument --discount: must be a number in [0, 1), got 1"),
        (["--max-clusters", "0"], "argument --max-clusters: must be an integer >= 1, got 0"),
        (["--max-clusters", "2.5"], "argument --max-clusters: must be an integer >= 1, got 2.5"),
        (["--restarts", "0"], "argument --restarts: must be an integer >= 1"),
        (["--max-sweeps", "x"], "argument --max-sweeps: must be an integer >= 1"),
        (["--seed", "-3"], "argument --seed: must be an integer >= 0"),
        (["--backend", "abacus"], "argument --backend: invalid choice: 'abacus'"),
        (["--init", "nowhere"], "argument --init: invalid choice"),
        (["--likelihood", "cauchy"], "argument --likelihood: invalid choice"),
        (["--colour"], "unrecognized arguments: --colour"),
        (["--alph", "2"], "unrecognized arguments: --alph"),
    ],
)
def test_bad_parameters(folder, capsys, options, part):
    assert_refused(capsys, ["fit", "data.csv", "--out", "new.mdpm", *options], 2, part)


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["cluster", "data.csv"],
        ["fit"],
        ["predict", "model.mdpm"],
        ["predict", "model.mdpm", "data.csv", "--novelty", "--proba"],
        ["demo", "--picture", "a.png", "--no-picture"],
    ],
)
def test_bad_usage(folder, capsys, argv):
    assert_refused(capsys, argv, 2, "--help")


# ---- as a process ----------------------------------------------------------------------------------------------------


def run(*argv, **options):
    # In the folder of the sources, which need not be installed.
    command = [sys.executable, "-m", "mapdpm", *map(str, argv)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False, **options)


def test_as_a_module(folder):
    good = run("fit", folder / "data.csv", "--labels", folder / "labels.csv")
    assert (good.returncode, good.stderr) == (0, "")
    assert good.stdout.startswith("clusters ")
    assert len((folder / "labels.csv").read_text().split()) == 51
    for argv, code in ((["fit", folder / "gone.csv"], 1), (["fit", folder / "data.csv", "--alpha", "nan"], 2)):
        bad = run(*argv)
        assert (bad.returncode, bad.stdout, bad.stderr.count("\n")) == (code, "", 1)
        assert bad.stderr.startswith("mapdpm: error: ")


def test_version_is_quick_for_what_it_does_not_load():
    code = "import sys, mapdpm.cli; mapdpm.cli.main(['--version']); print(*sys.modules)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=300)
    loaded = set(done.stdout.split())
    assert not loaded & {"numba", "scipy", "sklearn", "matplotlib", "mapdpm.estimators", "mapdpm.demo"}


def test_a_reader_that_has_seen_enough_is_no_error(folder):
    command = [sys.executable, "-m", "mapdpm", "score", folder / "model.mdpm", folder / "data.csv"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=300) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_behind_stdout(folder):
    command = [sys.executable, "-m", "mapdpm", "score", folder / "model.mdpm", folder / "data.csv"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, check=False, timeout=300)
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
    assert done.stderr.startswith(b"mapdpm: error: ")
