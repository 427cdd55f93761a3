"""The lock of a stream learner: threads take turns, and a call that was interrupted at any moment leaves it free."""

from __future__ import annotations

import functools
import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from mapdpm.stream.c_options import modules

_POLL_SECONDS = 1e-4
_all: weakref.WeakSet[Lock] = weakref.WeakSet()
Method = TypeVar("Method", bound=Callable[..., Any])


class Lock:
    """Two locks, of which ``exclusive`` holds both, and the fast path only the one in C (decision 55).

    Ctrl-C, or a signal handler that raises, can interrupt a call between two instructions of Python. It cannot
    interrupt between the moment when a ``with`` statement takes ``turn`` and its block, so ``turn`` is always released.
    ``busy`` can stay taken. Then the next holder of ``turn`` takes it over, so no learner stays locked.
    """

    def __init__(self) -> None:
        self._lib, ffi = modules("float64")
        self.busy = ffi.new("long *")  # 0: free; 1: a call of one point in C; 2: the holder of ``turn``
        self.turn: Any = threading.RLock()
        self._half_changed = False
        _all.add(self)

    def check(self) -> None:
        """RuntimeError where waiting would last for ever."""
        if self._is_ours():
            msg = (
                "this learner is in use by a call that a signal interrupted; let the handler set a flag, and use the "
                "learner after the call"
            )
            raise RuntimeError(msg)
        if self._half_changed:
            msg = (
                "another thread was using this learner when the process forked, and may have left its copy here half "
                "changed; start the child before the threads, or hand it to_bytes()"
            )
            raise RuntimeError(msg)

    def enter(self) -> None:
        """Take ``busy``; only with ``turn``."""
        while not self._lib.mapdpm_enter(self.busy):
            time.sleep(_POLL_SECONDS)

    def leave(self) -> None:
        """Release ``busy`` if it was taken; only with ``turn``."""
        self._lib.mapdpm_leave(self.busy)

    def forked(self) -> None:
        """Renew the lock in a forked process: the threads that held it do not exist there."""
        if self._is_ours():
            return
        taken = not self.turn.acquire(blocking=False)
        self._half_changed = taken or self.busy[0] == 1
        if not taken:
            self.turn.release()
        self.turn = threading.RLock()

    def _is_ours(self) -> bool:
        """Whether this thread has ``turn``; threading.Condition asks in the same way."""
        return bool(self.turn._is_owned())  # noqa: SLF001


def exclusive(method: Method) -> Method:
    """Let one thread at a time run this method of a learner. The method must not call another exclusive one of it."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        lock = self._lock
        lock.check()
        with lock.turn:
            try:
                lock.enter()
                return method(self, *args, **kwargs)
            finally:
                lock.leave()

    return call  # type: ignore[return-value]


def _forked() -> None:
    for lock in list(_all):
        lock.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
