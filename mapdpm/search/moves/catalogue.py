"""The moves by name, as ``moves=`` takes them. A new move is a file here, a word in names.py, and an entry below."""

from __future__ import annotations

from typing import Any

from mapdpm import names
from mapdpm.search.moves import groups, sequences, shared
from mapdpm.search.moves.merge_split import Merge, Split
from mapdpm.search.moves.neighbours import Regroup
from mapdpm.search.moves.permutation import Permutation

_KINDS: dict[tuple[str, ...], tuple[Any, ...]] = {
    names.MOVES: (Merge, Split, Permutation, Regroup),
    names.HDP_MOVES: (shared.Merge, groups.Cell, groups.Split, shared.Delete),
    names.HMM_MOVES: (shared.Merge, sequences.Path, sequences.Split, shared.Delete),
}
MOVES: dict[tuple[str, ...], dict[str, Any]] = {
    known: {kind.name: kind for kind in kinds} for known, kinds in _KINDS.items()
}
"""The classes of the moves of each kind of problem: points each on its own, points of groups, sequences."""
