"""A likelihood of all columns, from the one that was fitted to some."""

from __future__ import annotations

from typing import Any

from mapdpm.protocol import Labels


def completed(whole: Any, part: Any, columns: Labels) -> Any:
    """``whole`` of all columns, with the values of ``part`` in some; other widths change as those of ``part`` did."""
    if hasattr(whole, "completed"):
        return whole.completed(part, columns)
    values: dict[str, Any] = {}
    for name in whole._fields:
        value, own = getattr(whole, name), getattr(part, name)
        if name in whole.axes:
            value = value * (own[0] / value[columns[0]]) if name in whole.widths else value.copy()
            value[columns] = own
            own = value
        values[name] = own
    return type(whole)(**values)
