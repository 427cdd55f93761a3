"""The moves by name, as ``moves=`` takes them. A new move is a file here, a line below, and a word in names.py."""

from __future__ import annotations

from mapdpm.search.moves.merge import Merge
from mapdpm.search.moves.permutation import Permutation
from mapdpm.search.moves.regroup import Regroup
from mapdpm.search.moves.split import Split

MOVES = {move.name: move for move in (Merge, Split, Permutation, Regroup)}
