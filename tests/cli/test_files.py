"""Every command with every kind of file: it does what can be done, or one sentence says why not; never a traceback."""

import functools
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mapdpm
from mapdpm import HDPHMM, MAPDPM, NormalGamma, OnlineAlphaSelector, OnlineMAPDPM, cli
from mapdpm.backends import _c32

LEARNED = 400
WARMUP = 200


@functools.cache
def made():
    """Points in two clusters, with one value missing at the end."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(LEARNED, 2)) + 9.0 * rng.integers(2, size=(LEARNED, 1))


def as_csv(X):
    return "height,width\n" + "".join(f"{h!r},{w!r}\n" for h, w in X.tolist())


def written_by_c(model):
    """The model as a device of float32 writes it."""
    lib, ffi = _c32.lib, _c32.ffi
    data = model.to_bytes("float32")
    shape, read, size = ffi.new("mapdpm_model *"), ffi.new("mapdpm_model *"), ffi.new("size_t *")
    assert lib.mapdpm_model_shape(data, len(data), shape) == 0
    n_bytes = lib.mapdpm_model_bytes(shape.family, shape.n_features, shape.n_clusters)
    memory, file = ffi.new("uint64_t[]", n_bytes // 8 + 1), ffi.new("unsigned char[]", len(data))
    assert lib.mapdpm_model_read(data, len(data), memory, n_bytes, read) == 0
    assert lib.mapdpm_model_write(read, file, len(data), size) == 0
    return bytes(ffi.buffer(file, size[0]))


def state_of_the_command_line(folder):
    (folder / "learned.csv").write_text(as_csv(made()))
    argv = ["stream", "learned.csv", "--state", "state.mdpm", "--output", "results.jsonl", "--quiet"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert cli.main(argv) == 0
    return (folder / "state.mdpm").read_bytes()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The bytes of a file of each kind; a folder and a missing file have none."""
    folder = tmp_path_factory.mktemp("made")
    X = made()
    fitted = MAPDPM(likelihood=NormalGamma(0.0, 0.01, 1.0, 1.0)).fit(X)
    learner = OnlineMAPDPM(8).partial_fit(X)
    assert fitted.n_clusters_ == learner.n_clusters == 2
    np.savez(folder / "trace.npz", partitions=np.zeros((1, 5, 9), int))
    return {
        "fit": fitted.to_bytes(),
        "fit, by C": written_by_c(fitted),
        "fit, discount": MAPDPM(discount=0.5).fit(X).to_bytes(),
        "states": HDPHMM(init=fitted.labels_, moves=(), likelihood=fitted.likelihood).fit(X).to_bytes(),
        "stream": learner.to_bytes(),
        "stream, by C": OnlineMAPDPM(8, dtype="float32").partial_fit(X).ready_learner().write(),
        "stream, command line": state_of_the_command_line(folder),
        "stream, gaps": OnlineMAPDPM(8, missing="skip").partial_fit(X).to_bytes(),
        "stream, warming": OnlineMAPDPM(8).partial_fit(X[: WARMUP - 1]).to_bytes(),
        "stream, new": OnlineMAPDPM(8, n_features=2).to_bytes(),
        "bank": OnlineAlphaSelector([0.1, 1.0, 10.0], 8).partial_fit(X).to_bytes(),
        "half a model": fitted.to_bytes()[:150],
        "half a stream": learner.to_bytes()[:300],
        "trace": (folder / "trace.npz").read_bytes(),
        "csv": as_csv(X[:40]).encode(),
        "csv of names": b"who,what\nAnn,Bob\n",
        "empty": b"",
        "random": np.random.default_rng(1).bytes(5000),
        "folder": None,
        "missing": None,
    }


FITS = {"fit", "fit, by C", "fit, discount"}
READY = {"stream", "stream, by C", "stream, command line", "stream, gaps", "bank"}
STREAMS = READY | {"stream, warming", "stream, new"}
STATES = {"states"}  # which score whole sequences, in Python
KINDS = [
    *sorted(FITS),
    *sorted(STATES),
    *sorted(STREAMS),
    "half a model",
    "half a stream",
    "trace",
    "csv",
    "csv of names",
]
KINDS += ["empty", "random", "folder", "missing"]

COMMANDS = {  # what FILE may be; where the call is at fault, and not the file
    "fit FILE": ({"csv", "csv of names"}, set()),
    "fit FILE --columns height": ({"csv"}, set()),
    "tune FILE --alphas 0.5,2 --folds 2": ({"csv"}, set()),
    "predict FILE data.csv": (FITS | READY | STATES, set()),
    "predict FILE data.csv --format jsonl": (FITS | READY | STATES, set()),
    "predict FILE data.csv --novelty": (FITS | STATES, STREAMS),
    "predict FILE data.csv --proba": (FITS | STATES, STREAMS),
    "score FILE data.csv": (FITS | READY, set()),
    "score FILE data.csv --mean": (FITS | READY, set()),
    "show FILE": (FITS | READY | STATES, set()),
    "show FILE --all --format json": (FITS | READY | STATES, set()),
    "show FILE --format csv": (FITS | READY | STATES, set()),
    "predict fit.mdpm FILE": ({"csv"}, set()),
    "predict stream.mdpm FILE": ({"csv"}, set()),
    "score fit.mdpm FILE": ({"csv"}, set()),
    "score stream.mdpm FILE": ({"csv"}, set()),
    "stream FILE": ({"csv", "empty"}, set()),
    "stream data.csv --state FILE --continue": (STREAMS - {"bank"} | {"missing"}, set()),
    "export FILE --c firmware": (FITS | READY, {"fit, discount", "states", "stream, warming", "stream, new"}),
    "export FILE --c firmware --dtype float64": (FITS | STREAMS, {"fit, discount", "states"}),
    "export FILE --c firmware --dtype float64 --max-clusters 9": (
        FITS | READY,
        {"fit, discount", "states", "stream, warming", "stream, new"},
    ),
    "demo FILE --no-picture": (set(), set()),
}


@pytest.fixture
def folder(tmp_path, files, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_bytes(files["csv"])
    Path("fit.mdpm").write_bytes(files["fit"])
    Path("stream.mdpm").write_bytes(files["stream"])
    return tmp_path


def put(files, kind):
    """A file of this kind; its name."""
    if files[kind] is not None:
        Path("given").write_bytes(files[kind])
    elif kind == "folder":
        Path("given").mkdir()
    return "given"


def contents():
    return {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_every_kind_of_file(folder, files, capsys, command, kind):
    works, misused = COMMANDS[command]
    argv = shlex.split(command.replace("FILE", put(files, kind)))
    before = contents()
    code = cli.main(argv)
    said = capsys.readouterr()
    if kind in works - misused:
        assert code == 0, said.err
        return
    assert code == (2 if kind in misused else 1)
    assert said.out == ""
    assert re.fullmatch(r"mapdpm: error: [^\n]{10,400}\n", said.err)
    assert "rror: " not in said.err[len("mapdpm: error: ") :]  # no name of an exception
    assert contents() == before


def test_the_table_is_whole(files):
    assert sorted(files) == sorted(KINDS)
    parser = cli.options.parser()
    (commands,) = (action.choices for action in parser._actions if action.choices)
    assert {command.split()[0] for command in COMMANDS} == set(commands)


# ---- what a stream's file is for -------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # it is asked by arrays here
@pytest.mark.parametrize("kind", sorted(READY))
def test_predict_and_score_are_those_of_the_learner(folder, files, capsys, kind):
    name, X = put(files, kind), made()[:40]
    model = mapdpm.load(name)
    assert cli.main(["predict", name, "data.csv"]) == 0
    assert capsys.readouterr().out.split() == ["label", *map(str, model.predict(X))]
    assert cli.main(["score", name, "data.csv", "--format", "jsonl"]) == 0
    scores = [json.loads(line)["log_density"] for line in capsys.readouterr().out.splitlines()]
    assert scores == model.score_samples(X).tolist()
    assert cli.main(["score", name, "data.csv", "--mean"]) == 0
    assert float(capsys.readouterr().out) == model.score(X)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_state_finds_its_columns_by_name(folder, files, capsys):
    Path("data.csv").write_text("other,width,height\n" + "".join(f"7,{w!r},{h!r}\n" for h, w in made()[:9].tolist()))
    name = put(files, "stream, command line")
    assert cli.main(["predict", name, "data.csv"]) == 0
    assert capsys.readouterr().out.split()[1:] == list(map(str, mapdpm.load(name).predict(made()[:9])))


def test_gaps_are_for_those_who_skip_them(folder, files, capsys):
    Path("data.csv").write_text("height,width\n0.5,\nna,9.5\n")
    name = put(files, "stream, gaps")
    assert cli.main(["score", name, "data.csv"]) == 0
    scores = [float(line) for line in capsys.readouterr().out.split()[1:]]
    assert scores == mapdpm.load(name).score_samples([[0.5, np.nan], [np.nan, 9.5]]).tolist()
    Path("data.csv").write_text("height,width\n,nan\n")
    assert cli.main(["score", name, "data.csv"]) == 1
    assert "no value at all" in capsys.readouterr().err
    for other in ("stream.mdpm", "fit.mdpm"):
        assert cli.main(["score", other, "data.csv"]) == 1
        assert "data.csv: line 2, column 1 (height) is blank" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ("predict given data.csv --proba", "argument --proba: is for models of mapdpm fit, and given holds a stream; "),
        ("fit given", "given is a model file, not a CSV file of points; mapdpm predict and score use models"),
        ("stream given", "given is a model file, not a CSV file of points; --state names the file of a stream"),
    ],
)
def test_a_refusal_says_which_command_to_use(folder, files, capsys, argv, says):
    put(files, "stream")
    assert cli.main(argv.split()) in {1, 2}
    assert capsys.readouterr().err.startswith(f"mapdpm: error: {says}")


@pytest.mark.parametrize(
    ("argv", "kind", "says"),
    [
        (
            "predict given data.csv",
            "stream, warming",
            "no clusters yet, after 199 points; let mapdpm stream learn more",
        ),
        ("score given data.csv", "stream, new", "no clusters yet, after 0 points"),
        ("score given data.csv", "trace", "Trace.load"),
        ("score given data.csv", "states", "holds states in time, which score whole sequences; use HDPHMM.score"),
        ("stream data.csv --state given", "fit", "it holds a model of mapdpm fit, for mapdpm predict and score"),
        ("stream data.csv --state given", "bank", "it holds a bank of alphas, of which one learner only would be kept"),
    ],
)
def test_a_refusal_says_what_the_file_holds(folder, files, capsys, argv, kind, says):
    put(files, kind)
    assert cli.main(argv.split()) == 1
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("argv", ["predict stream.mdpm data.csv", "stream data.csv", "export stream.mdpm --c firmware"])
def test_without_the_c_library_one_line_says_so(folder, argv):
    code = (
        "import sys; sys.modules |= dict.fromkeys(['mapdpm.backends._c32', 'mapdpm.backends._c64'])\n"
        "from mapdpm.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    words = [sys.executable, "-c", code, *argv.split()]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
    assert done.stderr.startswith("mapdpm: error: the C kernels are not in ")
