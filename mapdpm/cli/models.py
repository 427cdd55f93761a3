"""The likelihoods of the command line, and models from files with checks of what each kind can do."""

from __future__ import annotations

import argparse
import codecs
import re
from pathlib import Path
from typing import Any

from mapdpm import MAPDPM, Categorical, HDPMixture, OnlineHDP, OnlineHDPHMM, OnlineMAPDPM, load
from mapdpm.cli import tables
from mapdpm.cli.beginning import beginning
from mapdpm.cli.books import EXCEL
from mapdpm.cli.columns import beside_groups, chosen, model_columns, with_others
from mapdpm.cli.forms import Form, Given, form_of, missing_of
from mapdpm.cli.kinds import of_model
from mapdpm.cli.line_protocol import is_line_protocol
from mapdpm.cli.table_rows import counted
from mapdpm.cli.tables import Table
from mapdpm.cli.text_rows import name_of
from mapdpm.cli.usage import UsageError, refuse_argument
from mapdpm.features import Transformer
from mapdpm.files.errors import ModelFileError
from mapdpm.names import AUTO, HDP_MOVES, MOVES

_JSON = ('{"', "[{", "[[", "{\n", "[\n")
_MARKUP = re.compile(r"<(!doctype|\?xml|html)", re.IGNORECASE)


def _hint(error: str) -> str:
    """Advice on a file that is no model."""
    if "it starts with b'PK" in error:
        return "; if it is a trace of samples, read it in Python with mapdpm.samplers.Trace.load"
    return "; the model comes first, then the data" if "not a mapdpm model" in error else ""


def _check_kind(model: Any, arguments: argparse.Namespace) -> None:
    """UsageError for an option that a stream does not support; ValueError where it cannot answer."""
    if isinstance(model, OnlineHDPHMM):
        msg = (
            f"{arguments.model} holds a stream of states in time, which are found point after point; "
            "go on with mapdpm stream --states"
        )
        raise ValueError(msg)
    if not isinstance(model, (OnlineMAPDPM, OnlineHDP)):
        return
    for option in ("novelty", "proba"):
        if getattr(arguments, option, False):
            msg = (
                f"argument --{option}: is for models of mapdpm fit, and {arguments.model} holds a stream; "
                "leave it out, or ask mapdpm score for densities"
            )
            raise UsageError(msg)


def loaded(path: Path) -> Any:
    """The model in a file; ValueError where that is none."""
    try:
        return load(path)
    except ModelFileError as error:
        msg = f"{error}{_hint(str(error))}"
        raise ValueError(msg) from None


def check_clusters(model: Any, path: Path) -> None:
    """ValueError where a file holds features, or a stream without clusters."""
    if isinstance(model, Transformer):
        msg = f"{path} holds features of a stream, {model}, and no clusters; the file of --state has both"
        raise ValueError(msg)
    if hasattr(model, "ids") and not model.n_clusters:
        msg = (
            f"{path} holds a stream that has no clusters yet, after {counted(model.n_seen, 'point')}; "
            "let mapdpm stream learn more"
        )
        raise ValueError(msg)


def model_and_table(arguments: argparse.Namespace) -> tuple[Any, Table]:
    """The model, and the columns of the data that it was fitted on."""
    model = loaded(arguments.model)
    _check_kind(model, arguments)
    check_clusters(model, arguments.model)
    names = getattr(model, "feature_names_in_", None)
    if arguments.columns is not None:
        choice = chosen(",".join(arguments.columns))
    else:
        choice = tables.every if names is None else model_columns(list(names), str(arguments.model))
    if arguments.groups is not None and not isinstance(model, (HDPMixture, OnlineHDP)):
        refuse_argument(f"--groups: {arguments.model} holds no model of fit --groups")
    choice = with_others(beside_groups(choice, arguments.groups), arguments.beside)
    gaps, kinds = getattr(model, "missing", None) == "skip", of_model(model)
    reader = None if kinds is None else lambda _, places: kinds if len(kinds) == len(places) else [None] * len(places)
    form = form_of_arguments(arguments)
    table = tables.read_csv(arguments.data, choice, form, gaps=gaps, kinds=reader, on_error=arguments.on_error)
    found, wanted = table.values.shape[1], _n_columns(model)
    if found != wanted:
        given = f"--columns has {counted(found, 'column')}"
        given = given if arguments.columns else f"{name_of(arguments.data)} has {counted(found, 'column')}"
        hint = "" if arguments.columns else "; choose them with --columns"
        msg = f"{given}, but {arguments.model} was fitted on {wanted}{hint}"
        raise ValueError(msg)
    return model, table._replace(columns=None if names is None else tuple(names))


def form_of_arguments(arguments: argparse.Namespace) -> Form:
    """The form of the data, as the options say it and else as it is found."""
    _check_table(arguments.data)
    form = form_of(arguments.data, Given.of(vars(arguments)), missing_of(arguments.na), arguments.sheet)
    if arguments.sheet is not None and form.book != EXCEL:
        refuse_argument(f"--sheet: is of Excel, and {arguments.data} is none; leave it out")
    for option in ("delimiter", "encoding"):
        if form.book is not None and getattr(arguments, option) is not None:
            refuse_argument(f"--{option}: is of text, and {arguments.data} is none; leave it out")
    return form


def _check_table(path: Path) -> None:
    """ValueError for a file that begins as something else than a table."""
    text = beginning(path).removeprefix(codecs.BOM_UTF8).lstrip().decode("latin-1")
    if text.startswith(_JSON) or is_line_protocol(text.partition("\n")[0]):
        what = "JSON" if text[0] in "{[" else "InfluxDB line protocol"
        msg = f"{name_of(path)} holds {what}, which mapdpm stream reads; this command takes tables"
        raise ValueError(msg)
    if _MARKUP.match(text):
        msg = f"{name_of(path)} is a web page or XML, not a table; save it as CSV"
        raise ValueError(msg)


def _n_columns(model: Any) -> int:
    """The number of columns that a model was fitted on; one has a number of a word, of as many features as words."""
    if hasattr(model, "feature_names_in_"):
        return len(model.feature_names_in_)
    return 1 if isinstance(getattr(model, "likelihood_", None), Categorical) else int(model.n_features_in_)


def model_of(arguments: argparse.Namespace, likelihood: Any, callback: Any) -> Any:
    """The model of ``mapdpm fit``: MAPDPM, or with ``--groups`` HDPMixture; UsageError for options of the other."""
    others = ("discount", "init", "merge-to", "missing") if arguments.groups is not None else ("gamma",)
    for option in others:
        if getattr(arguments, option.replace("-", "_")) not in {None, 0.0}:
            what = "leave it out with --groups" if arguments.groups is not None else "needs --groups"
            refuse_argument(f"--{option}: {what}")
    common = {
        "likelihood": likelihood,
        "covariance": arguments.covariance,
        "relevance": arguments.relevance,
        "max_clusters": arguments.max_clusters,
        "n_restarts": arguments.restarts,
        "max_sweeps": arguments.max_sweeps,
        "time_limit": arguments.time_limit,
        "backend": arguments.backend,
        "n_jobs": arguments.jobs,
        "random_state": arguments.seed,
        "callback": callback,
    }
    known = MOVES if arguments.groups is None else HDP_MOVES
    for name in arguments.moves or ():
        if name not in known:
            refuse_argument(f"--moves: {name!r} is not for this model, which has {','.join(known)}")
    if arguments.moves is not None:
        common["moves"] = arguments.moves
    if arguments.groups is not None:
        return HDPMixture(arguments.alpha, 1.0 if arguments.gamma is None else arguments.gamma, **common)
    own: dict[str, Any] = {"init": arguments.init or "sequential", "missing": arguments.missing or "error"}
    own["groups"] = AUTO if arguments.merge_to in {None, AUTO} else None
    return MAPDPM(arguments.alpha, discount=arguments.discount, **own, **common)


def check_convertible(model: MAPDPM | OnlineMAPDPM, arguments: argparse.Namespace) -> None:
    """UsageError where a stream in its warm-up would change its real type or capacity: it has no clusters yet."""
    if not isinstance(model, OnlineMAPDPM) or model.likelihood_ is not None:
        return
    if model.dtype != arguments.dtype or arguments.max_clusters not in {None, model.max_clusters}:
        msg = (
            f"{arguments.model} holds a stream in its warm-up, which can only be exported as it is; "
            f"say --dtype {model.dtype} and leave out --max-clusters, or let mapdpm stream learn more"
        )
        raise UsageError(msg)
