"""One point at the price of one C call, and the lock that threads and C share."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mapdpm.stream.c_learner import Learner
from mapdpm.stream.c_options import modules

_MOMENT = 1e-4  # seconds


class Lock:
    """Within ``with`` no other thread uses the learner. C can take this lock too; it costs a tenth of Python's."""

    def __init__(self, dtype: str) -> None:
        self._lib, ffi = modules(dtype)
        self.busy = ffi.new("long *")

    def __enter__(self) -> None:
        while not self._lib.mapdpm_enter(self.busy):
            time.sleep(_MOMENT)

    def __exit__(self, *_: object) -> None:
        self._lib.mapdpm_leave(self.busy)


class FastPath:
    """Learns or predicts one point, at little more than the price of the C function, which takes the lock itself.

    The id is -1 where the learner's own methods must wait for the lock or say what is wrong; nothing has changed then.
    Without a learner it is always -1.
    """

    def __init__(self, learner: Learner | None, lock: Lock) -> None:
        self.width: int = -1
        self.learn: Callable[..., Any] = _no_learner
        self.predict: Callable[..., Any] = _no_learner
        self.unasked: Any = None
        self.score: Callable[[], Any] = list
        if learner is None:
            return
        one, ffi = learner.lib.mapdpm_one, learner.ffi
        self.width = learner.n_features
        self.learn = partial(one, learner.stream, lock.busy, 1)
        self.predict = partial(one, learner.stream, lock.busy, 0)
        self.unasked = ffi.NULL
        self.score = partial(ffi.new, ffi.typeof("mapdpm_real *"))

    def __call__(self, ask: Any, x: Any, score: Any) -> int:
        """``ask`` is ``learn`` or ``predict``, ``score`` is ``unasked`` or where it goes."""
        if type(x) is not list and isinstance(x, np.ndarray):
            x = x.tolist()
        try:
            return ask(x, score) if len(x) == self.width else -1
        except (TypeError, OverflowError):
            return -1


def _no_learner(*_: object) -> int:
    return -1
