"""Fits of points that Dask holds, makes or reads, chunk by chunk, on one machine or on many (``mapdpm[dask]``).

``fit`` climbs in passes (docs/maths.md, section 25): workers run pure functions of a chunk and a few rows, and keep
nothing. So a chunk whose worker is lost is computed again, and the result has the same bits for any number of workers.
The estimators are those of ``mapdpm``: what ``fit`` returns needs no Dask.
"""

from __future__ import annotations

try:
    from mapdpm.dask.fitting import fit
    from mapdpm.dask.scoring import labels, predict, score_samples
except ModuleNotFoundError as missing:
    if missing.name != "dask":
        raise
    _MSG = "mapdpm.dask needs Dask, which is not installed; try: pip install 'mapdpm[dask]'"
    raise ModuleNotFoundError(_MSG, name="dask") from missing

__all__ = ["fit", "labels", "predict", "score_samples"]


def __dir__() -> list[str]:
    return sorted(__all__)
