"""The command line: ``mapdpm fit | predict | score | demo``.

Exit code 0, 1 for data (what was read, or could not be read or written), 2 for usage. An error is one line on stderr,
never a traceback. Files are written whole or not at all.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np

import mapdpm
from mapdpm import tables
from mapdpm.protocol import Matrix

LIKELIHOODS = ("normal-gamma", "normal-known-variance")
STARTS = ("sequential", "random-order", "single")
BACKENDS = ("auto", "c", "numba", "python")
_PICTURE = "mapdpm_demo.png"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line ``argv`` (``sys.argv`` if None) and return its exit code."""
    try:
        arguments = _parser().parse_args(argv)
    except SystemExit as stop:  # argparse has said what there is to say
        return int(stop.code or 0)
    try:
        with _warnings_as_lines(), np.errstate(all="ignore"):
            arguments.run(arguments)
    except BrokenPipeError:  # whoever reads has seen enough
        _drop_stdout()
    except (ValueError, OSError, ImportError, OverflowError, MemoryError) as error:
        _drop_stdout()
        print(f"mapdpm: error: {_one_line(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"mapdpm: error: {message} (see {self.prog} --help)\n")


def _parser() -> argparse.ArgumentParser:
    text = "Clustering when nobody knows the number of clusters."
    parser = _Parser(prog="mapdpm", description=text, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"mapdpm {mapdpm.__version__}")
    commands = parser.add_subparsers(metavar="command", required=True)

    def command(name: str, run: Callable[[argparse.Namespace], None], text: str) -> argparse.ArgumentParser:
        description = text[0].upper() + text[1:] + "."
        # Abbreviated options would change their meaning when options are added.
        added = commands.add_parser(name, help=text, description=description, allow_abbrev=False)
        added.set_defaults(run=run)
        return added

    fit = command("fit", _fit, "cluster the rows of a CSV file of numbers")
    fit.add_argument("data", type=Path, help="CSV file, one point a row; a header is recognised")
    fit.add_argument("--out", type=Path, metavar="MODEL", help="write the model, for predict and score")
    fit.add_argument("--labels", type=Path, metavar="CSV", help="write the cluster of each point")
    fit.add_argument("--alpha", type=_positive, default=1.0, help="concentration, > 0 (%(default)s)")
    fit.add_argument("--discount", type=_discount, default=0.0, help="Pitman-Yor discount in [0, 1) (%(default)s)")
    fit.add_argument("--likelihood", choices=LIKELIHOODS, default=LIKELIHOODS[0], help="family, prior from the data")
    fit.add_argument("--max-clusters", type=_count, metavar="K", help="a hard cap (none)")
    fit.add_argument("--init", choices=STARTS, default="sequential", help="how to start (%(default)s)")
    fit.add_argument("--restarts", type=_count, default=1, metavar="R", help="runs; the best is kept (%(default)s)")
    fit.add_argument("--max-sweeps", type=_count, default=100, metavar="S", help="most sweeps of a run (%(default)s)")
    fit.add_argument("--backend", choices=BACKENDS, default="auto", help="who computes (%(default)s)")
    fit.add_argument("--seed", type=_seed, help="seed of random orders (none)")

    predict = command("predict", _predict, "print the cluster of each row of a CSV file")
    how = predict.add_mutually_exclusive_group()
    how.add_argument("--novelty", action="store_true", help="-1 where a new cluster would win")
    how.add_argument("--proba", action="store_true", help="probabilities of the K clusters, and of a new one")
    score = command("score", _score, "print the log predictive density of each row of a CSV file, in nats")
    score.add_argument("--mean", action="store_true", help="print their mean only")
    for reader in (predict, score):
        reader.add_argument("model", type=Path, help="model file that fit --out wrote")
        reader.add_argument("data", type=Path, help="CSV file with the columns of the fitted one")

    demo = command("demo", _demo, "cluster a smart watch's recording into activities")
    demo.add_argument("data", type=Path, nargs="?", help="the recording (the one that comes with mapdpm)")
    pictures = demo.add_mutually_exclusive_group()
    pictures.add_argument("--picture", type=Path, metavar="PNG", help=f"where to draw it ({_PICTURE})")
    pictures.add_argument("--no-picture", action="store_true", help="draw nothing")
    return parser


def _fit(arguments: argparse.Namespace) -> None:
    _check_targets(arguments.out, arguments.labels)
    X = tables.read_csv(arguments.data).values
    model = mapdpm.MAPDPM(
        arguments.alpha,
        likelihood=None if arguments.likelihood == LIKELIHOODS[0] else mapdpm.NormalKnownVariance.empirical(X),
        discount=arguments.discount,
        max_clusters=arguments.max_clusters,
        init=arguments.init,
        n_restarts=arguments.restarts,
        max_sweeps=arguments.max_sweeps,
        backend=arguments.backend,
        random_state=arguments.seed,
    )
    started = time.perf_counter()
    model.fit(X)
    seconds = time.perf_counter() - started
    if arguments.out is not None:
        model.save(arguments.out)
    if arguments.labels is not None:
        _write(arguments.labels, _column("label", model.labels_.tolist()).encode())
    facts = {
        "clusters": model.n_clusters_,
        "sizes": " ".join(map(str, model.cluster_sizes_.tolist())),
        "log joint": f"{model.log_joint_:.6f} nats",
        "sweeps": model.n_sweeps_,
        "converged": "yes" if model.converged_ else "no",
        "backend": model.backend_,
        "seconds": f"{seconds:.3f}",
    }
    _print("\n".join(f"{name:<10} {value}" for name, value in facts.items()) + "\n")


def _predict(arguments: argparse.Namespace) -> None:
    model, X = _loaded(arguments.model), tables.read_csv(arguments.data).values
    _check_width(arguments, model, X)
    if arguments.proba:
        header = ",".join([*(f"cluster_{k}" for k in range(model.n_clusters_)), "new"])
        _print(_column(header, (",".join(map(repr, row)) for row in model.predict_proba(X).tolist())))
    else:
        _print(_column("label", model.predict(X, novelty=arguments.novelty).tolist()))


def _score(arguments: argparse.Namespace) -> None:
    model, X = _loaded(arguments.model), tables.read_csv(arguments.data).values
    _check_width(arguments, model, X)
    _print(f"{model.score(X)!r}\n" if arguments.mean else _column("log_density", model.score_samples(X).tolist()))


def _demo(arguments: argparse.Namespace) -> None:
    from mapdpm import demo, plots  # noqa: PLC0415  (for this command alone)

    target = arguments.picture or Path(_PICTURE)
    if not arguments.no_picture:
        _check_targets(target)
    found = demo.run(arguments.data)
    _print(demo.report(found) + "\n")
    if arguments.no_picture:
        return
    try:
        _write(target, demo.picture(found))
        _print(f"picture: {target}\n")
    except plots.MissingMatplotlibError as error:
        if arguments.picture is not None:
            raise
        _print(f"no picture: {error}\n")


def _positive(text: str) -> float:
    return _checked(float, text, lambda value: 0.0 < value < math.inf, "a number > 0")


def _discount(text: str) -> float:
    return _checked(float, text, lambda value: 0.0 <= value < 1.0, "a number in [0, 1)")


def _count(text: str) -> int:
    return int(_checked(int, text, lambda value: 1 <= value < 2**63, "an integer >= 1"))


def _seed(text: str) -> int:
    return int(_checked(int, text, lambda value: value >= 0, "an integer >= 0"))


def _checked(kind: Callable[[str], float], text: str, fine: Callable[[float], bool], wanted: str) -> float:
    try:
        value = kind(text)
    except ValueError:
        value = math.nan
    if not fine(value):
        msg = f"must be {wanted}, got {text}"
        raise argparse.ArgumentTypeError(msg)
    return value


def _loaded(path: Path) -> mapdpm.MAPDPM:
    try:
        return mapdpm.load(path)
    except ValueError as error:
        msg = f"{path}: {error}"
        raise ValueError(msg) from None


def _check_width(arguments: argparse.Namespace, model: mapdpm.MAPDPM, X: Matrix) -> None:
    if X.shape[1] != model.n_features_in_:
        msg = f"{arguments.data} has {X.shape[1]} columns, but {arguments.model} was fitted on {model.n_features_in_}"
        raise ValueError(msg)


def _check_targets(*paths: Path | None) -> None:
    """OSError for a path that cannot become a file: said before the work, not after it."""
    for path in paths:
        if path is None:
            continue
        if not path.parent.is_dir():
            msg = f"cannot write {path}: there is no folder {path.parent}"
            raise OSError(msg)
        if path.exists() and not path.is_file():
            msg = f"cannot write {path}: it is not a file"
            raise OSError(msg)


def _write(path: Path, data: bytes) -> None:
    from mapdpm.snapshot import write_file  # noqa: PLC0415  (costs what --version need not pay)

    write_file(path, data)


def _column(header: str, values: Iterable[object]) -> str:
    return "\n".join([header, *map(str, values)]) + "\n"


def _print(text: str) -> None:
    print(text, end="", flush=True)


def _drop_stdout() -> None:
    """What could not be written shall not be tried again at exit, with a traceback."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # not a real file, or closed
        try:
            sys.stdout.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())


@contextlib.contextmanager
def _warnings_as_lines() -> Iterator[None]:
    def show(message: Warning | str, *_: object, **__: object) -> None:
        print(f"mapdpm: warning: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
