"""Conversion of traces for ArviZ, version 0 and from version 1 on."""

from __future__ import annotations

from typing import Any

_SAMPLE_STATS = {"log_joint": "lp", "acceptance": "acceptance_rate", "partitions": "partitions"}  # ArviZ's names


def converted(trace: Any) -> Any:
    """``trace`` as an InferenceData (0.x) or a DataTree (1.x).

    Plots and summaries of ArviZ take every variable of the group "posterior". So it holds parameters that are drawn,
    numbers of clusters and what the sampler keeps beside the partition. Labels of a partition have no mean: partitions
    are in "sample_stats". Parameters that never change are in "constant_data".
    """
    try:
        import arviz  # noqa: PLC0415  (an extra, imported when used)
    except ImportError:
        msg = "to_arviz() needs ArviZ, which is not installed; try: pip install 'mapdpm[arviz]'"
        raise ImportError(msg) from None
    arrays, constants = trace.to_dict(), trace.constants()
    elsewhere = {*_SAMPLE_STATS, *constants}
    groups: dict[str, Any] = {
        "posterior": {name: array for name, array in arrays.items() if name not in elsewhere},
        "sample_stats": {theirs: arrays[ours] for ours, theirs in _SAMPLE_STATS.items() if ours in arrays},
        "constant_data": constants,
    }
    dims = {name: list(names) for name, names in trace.dims.items()} | {"partitions": ["point"]}
    if int(arviz.__version__.split(".")[0]) >= 1:
        return arviz.from_dict(groups, dims=dims)
    return arviz.from_dict(**groups, dims=dims)
