"""The moves by name: what ``moves=`` may say. A new move is a file beside this one, and a line here."""

from __future__ import annotations

from mapdpm.search.moves.merge import Merge
from mapdpm.search.moves.permutation import Permutation
from mapdpm.search.moves.regroup import Regroup
from mapdpm.search.moves.split import Split

MOVES = {move.name: move for move in (Merge, Split, Permutation, Regroup)}
