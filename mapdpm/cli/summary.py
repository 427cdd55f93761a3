"""What ``mapdpm fit`` says of the model that it has found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from mapdpm.cli import stderr
from mapdpm.cli.kinds import unusual
from mapdpm.kinds.columns import Columns
from mapdpm.likelihoods._as_given import parameters_of
from mapdpm.likelihoods._shape import is_full

_MOST_NAMES = 6
_MOST_NUMBERS = 3


def summary(
    model: Any,
    shape: tuple[int, int],
    names: Sequence[str] | None,
    seconds: float,
    kind: str,
    merged: list[int] | None,
    found: Columns | None,
) -> str:
    """The facts of a fit, as lines of text or, with ``kind`` jsonl, as an object."""
    n_rows, columns = shape
    named = [str(place) for place in range(1, columns + 1)] if names is None else list(names)
    prior = {name: np.asarray(value).tolist() for name, value in parameters_of(model.likelihood_).items()}
    facts = {
        "rows": n_rows,
        "columns": columns if names is None else list(names),
        **({} if found is None else _kinds(found)),
        **_relevant(model, names),
        **({"groups": len(model.group_names_)} if hasattr(model, "group_names_") else {}),
        "clusters": model.n_clusters_,
        "sizes": model.cluster_sizes_.tolist(),
        **({} if merged is None else {"merged": merged}),
        "prior": prior,
        "log_joint": model.log_joint_,
        "sweeps": model.n_sweeps_,
        "converged": model.converged_,
        "covariance": "full" if is_full(model.likelihood_) else "diagonal",
        "backend": model.backend_,
        "seconds": round(seconds, 3),
    }
    if kind == "jsonl":
        return json.dumps(facts)
    shown = facts | {
        "columns": str(columns) if names is None else f"{columns} ({_shortened(names)})",
        **_kinds_line(found, named, n_rows),
        **({} if merged is None else {"clusters": f"{model.n_clusters_} components in {len(merged)} groups"}),
        **({"relevant": _relevant_line(facts["relevant"], columns)} if "relevant" in facts else {}),
        "prior": _prior_line(prior),
        "log_joint": f"{model.log_joint_:.6f} nats",
        "converged": "yes" if model.converged_ else "no",
        "seconds": f"{seconds:.3f}",
    }
    texts = {name: " ".join(map(str, each)) if isinstance(each, list) else each for name, each in shown.items()}
    return "\n".join(f"{name.replace('_', ' '):<10} {text}" for name, text in texts.items())


def _kinds(found: Columns) -> dict[str, Any]:
    """The kinds of columns that are not continuous, as ``--kinds`` takes them; nothing where all are."""
    kinds = {str(column.name): column.word() for column in found if column.said() or column.note}
    return {"kinds": kinds} if kinds else {}


def _kinds_line(found: Columns | None, names: list[str], n_rows: int) -> dict[str, str]:
    line = "" if found is None else unusual(found, names, n_rows)
    return {"kinds": line} if line else {}


def _relevant(model: Any, names: Sequence[str] | None) -> dict[str, Any]:
    """The columns that carry clusters, by name or by position from 1; nothing where all do."""
    columns = np.arange(1, len(model.relevant_) + 1) if names is None else np.array(names, dtype=object)
    return {} if model.relevant_.all() else {"relevant": columns[model.relevant_].tolist()}


def _relevant_line(relevant: list[Any], n_columns: int) -> str:
    names = f" ({_shortened([str(each) for each in relevant])})" if relevant else ""
    return f"{len(relevant)} of {n_columns}{names}"


def _prior_line(prior: dict[str, Any]) -> str:
    """The parameters of the prior, six digits each; a few of a vector."""

    def text(value: Any) -> str:
        if not isinstance(value, list):
            return f"{value:.6g}"
        entries = np.ravel(value).tolist()
        return " ".join([f"{each:.6g}" for each in entries[:_MOST_NUMBERS]] + ["..."] * (len(entries) > _MOST_NUMBERS))

    return ", ".join(f"{name} {text(value)}" for name, value in prior.items())


def _shortened(names: Sequence[str]) -> str:
    """All names if they are few, else the first ones and the last."""
    few = [*names[:_MOST_NAMES], "...", names[-1]] if len(names) > _MOST_NAMES + 1 else names
    return stderr.printable(", ".join(few))
