"""All readers of bytes and texts from strangers: valid examples, a call that reads, and what the result must do.

A reader gives a result that can be used, or raises one of its documented errors in one sentence. Nothing else may come
out of it: no other exception, no warning, no crash. Those of models are in ``model_readers``.
"""

import argparse
import contextlib
import functools
import gzip
import io
import json
import warnings

import numpy as np

import mapdpm
import mutations
from mapdpm import OnlineMAPDPM, cli
from mapdpm.cli import columns, demo, fields, records, tables, values
from mapdpm.cli.refused import RefusedInputError
from model_readers import MODELS, Reader, points, table_of, written


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
    data = np.c_[np.arange(60.0), points()]
    written(b"t,height,width\n" + table_of(data), folder, "data.csv")
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
    written((folder / "data.csv").read_bytes(), folder, "other.csv")
    found = []
    for name in ("other.csv", "data.csv"):
        path = written(data, folder, "state.mdpm")
        argv = ("stream", folder / name, "--state", path, "--continue", "--count", 3, "--on-error", "skip")
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
    plain = table_of(points(12, 3))
    return [plain, b"a,b,c\n" + plain, b'\xef\xbb\xbf"a","b b",""\r\n1,"2",3\r\n\r\n', b"x\n1\n2\n"]


def zipped_examples(folder=None):
    """Those, and some of gzip."""
    return [*table_examples(), *(gzip.compress(text, 1, mtime=0) for text in table_examples()[1:3])]


def read_table(data, folder):
    """``read_csv``, with all choices of columns."""
    path = written(data, folder, "table.csv")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* left out")
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
    rows = np.c_[np.repeat([0, 1], 20), points(40, 6)]
    body = "".join(f"{int(row[0])},walk,{','.join(map(repr, row[1:].tolist()))}\n" for row in rows)
    return [f"recording,activity,{','.join(demo.CHANNELS)}\n{body}".encode()]


def use_recording(found):
    """Finite features, and as many activities."""
    assert np.all(np.isfinite(found.features))
    assert len(found.features) == len(found.activities) > 0


def read_lines(data, folder):
    """``mapdpm stream`` of a file."""
    return command("stream", written(data, folder, "lines.csv"), "--warmup", "2", "--on-error", "skip", "--quiet")


def use_lines(out):
    """A result a line."""
    for line in out.splitlines():
        assert json.loads(line)["id"] >= 0


MESSAGES = (
    *(b"1,2,3", b"[1, 2.5, null]", b'{"a": 1, "b": -2e3, "c": null}', b'"1",2,nan\r'),
    *(b'{"a": {"b": [1, true]}, "c": "2"}', b'[{"a": 1}, {"a": 2}]', b"air,room=a\\ b t=1.5,h=40i,on=t 17\n"),
)


def message_examples(folder=None):
    """CSV, arrays and objects of JSON, and line protocol."""
    return list(MESSAGES)


def read_message(data, folder=None):
    """The cells of the points of a message, and the points."""
    settings = dict.fromkeys(("delimiter", "decimal", "thousands", "encoding", "na", "input_format"))
    found = []
    for cells in records.RecordReader(settings, str).records(data.strip()):
        names = list(cells) if isinstance(cells, dict) else None
        beside = getattr(cells, "beside", ())
        whole = fields.Fields(names, len(cells), [at for at, each in enumerate(cells) if each not in beside], None)
        found.append((cells, whole.point(whole.row(cells, gaps=True), gaps=True)))
    return found


def use_message(found):
    """Numbers."""
    other = fields.Fields(["a", "b"], 2, [0, 1], [1])
    for cells, x in found:
        assert len(x) == len(cells) - len(getattr(cells, "beside", ()))
        with contextlib.suppress(RefusedInputError):
            row = other.row(cells, gaps=False)
            assert len(other.point(row, gaps=False)) == 2
            assert other.when(row) == row[1].strip()


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
        return columns.place_of(text, "--time", "data.csv", ["t", "a", "2"])
    return _TYPES.get(name, values.seed)(text)


def use_argument(found):
    """Nothing that numpy would not print."""
    assert repr(found)


READERS = MODELS | {
    "mapdpm stream --state": Reader(state_examples, read_state, use_state, (RefusedError,), mutations.mutated_model),
    "mapdpm stream": Reader(table_examples, read_lines, use_lines, (RefusedError,), mutations.mutated_table),
    "read_csv": Reader(zipped_examples, read_table, use_table, (ValueError,), mutations.mutated_table),
    "mapdpm demo": Reader(
        recording_examples,
        lambda data, folder: demo.read(written(data, folder, "watch.csv")),
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
