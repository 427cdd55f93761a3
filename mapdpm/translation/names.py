"""The names of a family in C."""

from __future__ import annotations

import re
from typing import Any


def prefix_of(kind: type[Any]) -> str:
    """What names of the family begin with in C: GammaPoisson is gamma_poisson."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", kind.__name__)
    return words.lower().strip("_")


def symbol_of(kind: type[Any]) -> str:
    """The function of C that returns the verbs of a family."""
    return f"mapdpm_verbs_of_{prefix_of(kind)}"
