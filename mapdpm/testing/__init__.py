"""What someone who adds a likelihood, a prior, a sampler or a backend runs against it.

``laws`` holds what must be true of every family and prior, ``exact`` the transition matrix of an unchanged sampler on
all partitions, ``backends`` the agreement of backends, ``data`` generators. Needs scipy (``pip install
'mapdpm[test]'``).
"""

import importlib
from types import ModuleType

__all__ = ["backends", "data", "exact", "laws"]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return importlib.import_module(f"mapdpm.testing.{name}")
    msg = f"module 'mapdpm.testing' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted(__all__)
