"""Sorting by small integers, in order: which entries have each."""

from __future__ import annotations

import numpy as np

from mapdpm.jit import jitable
from mapdpm.protocol import Labels


@jitable
def by_slot(slots: Labels, n_slots: int) -> tuple[Labels, Labels]:
    """The positions of entries that are 0, then of those that are 1, ..., and where each begins; O(n + n_slots).

    Negative entries are left out. Those of slot k are ``members[begins[k] : begins[k + 1]]``, in order.
    """
    begins = np.zeros(n_slots + 2, dtype=np.int64)
    for p in range(slots.shape[0]):
        if slots[p] >= 0:
            begins[slots[p] + 2] += 1
    for k in range(n_slots):
        begins[k + 2] += begins[k + 1]
    members = np.empty(begins[n_slots + 1], dtype=np.int64)
    for p in range(slots.shape[0]):
        if slots[p] >= 0:
            members[begins[slots[p] + 1]] = p
            begins[slots[p] + 1] += 1
    return members, begins[: n_slots + 1]
