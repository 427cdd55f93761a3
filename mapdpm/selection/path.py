"""A path of fits to the same points: each starts from the result of the one before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from mapdpm.estimators.map_dpm import MAPDPM
from mapdpm.search.fit import WarmStart


def fit_path(models: Iterable[MAPDPM], points: Any) -> Iterator[MAPDPM]:
    """Fit each of ``models`` to ``points``, and yield it; ``search.fit.fit`` says how a fit starts warm."""
    warm: WarmStart | None = None
    for model in models:
        warm = model._fit_points(points, None, warm)  # noqa: SLF001  (warm starts are internal)
        yield model
