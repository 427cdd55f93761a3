"""The relevance of columns in model files: the columns that the mixture reads, and the background of the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.files import container
from mapdpm.protocol import Labels
from mapdpm.search.background import Relevance
from mapdpm.state import Mixture

_COLUMNS, _OTHERS, _RELEVANT = "columns", "other_columns", "relevant_"
_GAINS, _CONSTANTS, _BACKGROUND = "relevance_", "constants", "background"
_SHARES, _MEANS, _VARIANCES = "shares_of_ones", "means_", "variances_"


def extras_of_relevance(relevance: Relevance | None) -> dict[str, Any]:
    """The extras of a model whose columns were searched."""
    if relevance is None:
        return {}
    extras: dict[str, Any] = {
        _COLUMNS: relevance.columns.tolist(),
        _OTHERS: relevance.others.tolist(),
        _RELEVANT: relevance.relevant.tolist(),
        _GAINS: relevance.gains,
        _CONSTANTS: relevance.constants,
    }
    if relevance.moments is not None:
        extras |= {
            name: each.ravel() for name, each in zip((_SHARES, _MEANS, _VARIANCES), relevance.moments, strict=True)
        }
    if relevance.background is not None:
        extras[_BACKGROUND] = np.frombuffer(container.pack(relevance.background, {}), dtype=np.int8)
    return extras


def restored_relevance(extras: dict[str, Any], mixture: Mixture) -> Relevance | None:
    """What ``extras_of_relevance`` wrote, checked against the mixture; ValueError where they do not fit."""
    if _COLUMNS not in extras:
        return None
    n_columns, n_clusters = len(extras[_GAINS]), len(mixture.counts)
    columns, others = (_places(extras[name], n_columns) for name in (_COLUMNS, _OTHERS))
    background = container.unpack(extras[_BACKGROUND].tobytes())[0] if _BACKGROUND in extras else None
    n_others = 0 if background is None else len(background.anchor)
    constants = extras[_CONSTANTS]
    fits = {
        "columns": len(columns) == len(mixture.anchor) and not np.isin(columns, others).any(),
        "other columns": len(others) == n_others and (background is None or len(background.counts) == 1),
        "constants": len(constants) == n_columns and not np.isfinite(constants[np.append(columns, others)]).any(),
        "moments": len(columns) == n_columns or {_SHARES, _MEANS, _VARIANCES} <= set(extras),
        "relevant": len(extras[_RELEVANT]) == n_columns and set(map(type, extras[_RELEVANT])) <= {bool},
        "gains": bool(np.all(np.isfinite(extras[_GAINS]))) and not np.isinf(constants).any(),
    }
    for name, fine in fits.items():
        if not fine:
            raise ValueError(name)
    moments: Any = tuple(
        extras[name].reshape(n_clusters, n_columns) for name in (_SHARES, _MEANS, _VARIANCES) if name in extras
    )
    relevant = np.array(extras[_RELEVANT], dtype=bool)
    return Relevance(columns, relevant, extras[_GAINS], others, background, constants, moments or None)


def _places(listed: Any, n_columns: int) -> Labels:
    places = np.array(listed, dtype=np.int64)
    if places.tolist() != sorted(set(listed)) or (len(places) and not 0 <= places[0] <= places[-1] < n_columns):
        msg = f"columns {listed!r:.40}"
        raise ValueError(msg)
    return places
