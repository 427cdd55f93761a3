"""What ``mapdpm fit`` says of the model that it has found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from mapdpm.cli import stderr
from mapdpm.cli.cluster_table import MOST_CLUSTERS, cluster_table, sizes_text
from mapdpm.cli.kinds import unusual
from mapdpm.cli.profiles import profile_of
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
    *,
    kind: str,
    found: Columns | None,
) -> str:
    """The facts of a fit, as lines of text and a table of clusters or, with ``kind`` jsonl, as an object."""
    n_rows, n_columns = shape
    facts = {
        "rows": n_rows,
        "columns": n_columns if names is None else list(names),
        **({} if found is None else _kinds(found)),
        **facts_of(model),
        "sweeps": model.n_sweeps_,
        "converged": model.converged_,
        "covariance": "full" if is_full(model.likelihood_) else "diagonal",
        "backend": model.backend_,
        "seconds": round(seconds, 3),
    }
    if kind == "jsonl":
        return json.dumps(facts)
    named = [str(place) for place in range(1, n_columns + 1)] if names is None else list(names)
    unusual_kinds = "" if found is None else unusual(found, named, n_rows)
    return f"{lines_of(facts, n_columns, unusual_kinds)}\n\n{cluster_table(profile_of(model, MOST_CLUSTERS))}"


def facts_of(model: Any) -> dict[str, Any]:
    """The findings of a fitted mixture or a learner, by the words of the summary."""
    is_stream = hasattr(model, "ids")
    sizes = model.weights if is_stream else model.cluster_sizes_
    merged = None if not hasattr(model, "groups_") or model.n_groups_ == model.n_clusters_ else model.groups_
    groups = getattr(model, "group_names_", getattr(model, "group_names", None))
    return {
        **({} if is_stream else _relevant(model, getattr(model, "feature_names_in_", None))),
        **({} if groups is None else {"groups": len(groups)}),
        "clusters": len(sizes),
        "sizes": sizes.tolist(),
        **({} if merged is None else {"merged": np.bincount(merged, weights=sizes).astype(int).tolist()}),
        "prior": {name: np.asarray(value).tolist() for name, value in parameters_of(model.likelihood_).items()},
        **({"log_joint": model.log_joint_} if hasattr(model, "log_joint_") else {}),
    }


def lines_of(facts: dict[str, Any], n_columns: int, kinds: str = "") -> str:
    """Facts as lines of text; ``kinds`` is what is unusual about columns."""
    names = facts.get("columns")
    shown = {name: value for name, value in facts.items() if name != "kinds"}
    texts = {
        "columns": f"{n_columns} ({_shortened(names)})" if isinstance(names, list) else str(n_columns),
        "kinds": kinds,
        "relevant": _relevant_line(facts.get("relevant", []), n_columns),
        "sizes": sizes_text(facts["sizes"]),
        "merged": sizes_text(facts.get("merged", [])),
        "prior": _prior_line(facts["prior"]),
    }
    if "merged" in facts:
        texts["clusters"] = f"{facts['clusters']} components in {len(facts['merged'])} groups"
    if "log_joint" in facts:
        texts["log_joint"] = f"{facts['log_joint']:.6f} nats"
    if "seconds" in facts:
        texts["seconds"] = f"{facts['seconds']:.3f}"
    if "converged" in facts:
        texts["converged"] = "yes" if facts["converged"] else "no"
    lines = []
    for name, value in shown.items():
        lines.append((name, texts.get(name, str(value))))
        if name == "columns" and kinds:
            lines.append(("kinds", kinds))
    return "\n".join(f"{name.replace('_', ' '):<10} {text}" for name, text in lines)


def _kinds(found: Columns) -> dict[str, Any]:
    """The kinds of columns that are not continuous, as ``--kinds`` takes them; nothing where all are."""
    kinds = {str(column.name): column.word() for column in found if column.said() or column.note}
    return {"kinds": kinds} if kinds else {}


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
