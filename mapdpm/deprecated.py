"""Old names of public things. They work for one version more, and warn (docs/support.md).

Whoever ends them empties the table, and removes the calls of ``argument``.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

RENAMED = {
    "mapdpm.features": {"Chain": "Pipeline"},
    "mapdpm.samplers": {"DependentDP": "DependentDPGibbs"},
}
"""For each package: its old names, and the names now."""


def said(old: str, now: str) -> str:
    """The warning of something that is called ``now``."""
    return f"{old} is now called {now}; the old name works for one version more"


def warn(text: str, stacklevel: int = 2) -> None:
    """Warn users that what they wrote will end; ``stacklevel`` counts from the caller, which is 1."""
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel + 1)


def old_names(package: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package whose old names are in ``RENAMED``."""

    def attribute(name: str) -> Any:
        if name not in RENAMED[package]:
            msg = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(msg)
        now = RENAMED[package][name]
        warn(said(f"{package}.{name}", now))
        return getattr(importlib.import_module(package), now)

    return attribute


def argument(name: str, value: Any, old_name: str, old_value: Any, default: Any = None) -> Any:
    """The value of an argument, also where it came by its old name, whose default is None. Call it in the function."""
    if old_value is None:
        return value
    if value is not default:
        msg = f"give {name} and not its old name {old_name}, got both"
        raise ValueError(msg)
    warn(said(f"{old_name}=", f"{name}="), stacklevel=3)
    return old_value


def text_of_now(package: str, text: str) -> str:
    """``text`` that an older version wrote, such as the sampler of a trace, with the names of now."""
    for old, now in RENAMED[package].items():
        text = text.replace(f"{old}(", f"{now}(")
    return text
