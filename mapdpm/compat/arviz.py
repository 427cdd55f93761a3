"""Traces for ArviZ, of either generation."""

from __future__ import annotations

from typing import Any

_SAMPLE_STATS = {"log_joint": "lp", "acceptance": "acceptance_rate"}  # by ArviZ's names


def converted(trace: Any) -> Any:
    """``trace`` as ArviZ has it: an InferenceData (0.x) or a DataTree (1.x)."""
    try:
        import arviz  # noqa: PLC0415  (a guest, imported when used)
    except ImportError:
        msg = "to_arviz() needs ArviZ, which is not installed; try: pip install 'mapdpm[arviz]'"
        raise ImportError(msg) from None
    arrays = trace.to_dict()
    groups: dict[str, Any] = {
        "posterior": {name: array for name, array in arrays.items() if name not in _SAMPLE_STATS},
        "sample_stats": {theirs: arrays[ours] for ours, theirs in _SAMPLE_STATS.items()},
    }
    if int(arviz.__version__.split(".")[0]) >= 1:
        return arviz.from_dict(groups)
    return arviz.from_dict(**groups)
