"""Threads that end soon when one of them fails, or when the user presses Ctrl-C, by queues alone (decision 87)."""

from __future__ import annotations

import _thread
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Self, TypeVar

from mapdpm.validation import check_jobs

T = TypeVar("T")

_SECONDS = 0.1  # between two looks of a thread whose call is not answered: must it end?


def interruptible(function: Callable[..., T], *arguments: Any) -> T:
    """``function(*arguments)``, which works on memory of its own, in a thread; Ctrl-C does not wait for its end."""
    ended: SimpleQueue[Callable[[], T]] = SimpleQueue()
    _thread.start_new_thread(lambda: ended.put(_outcome(function, arguments)), ())
    return ended.get()()


class Threads:
    """Threads that run functions for the caller, and may ask its thread to call something for them.

    So callbacks of users run where ``matplotlib``, say, wants to be called, and one at a time. An exception here, as a
    KeyboardInterrupt, or in a thread makes ``check`` raise in all threads, and leaves the ``with`` when they have
    ended. One job (``n_jobs`` None or 1) is run by the caller's thread, unless it must run ``apart`` from it.

    Ctrl-C may come between any two steps of the caller. The locks of ``threading`` and ``concurrent.futures`` are
    Python code, which it can leave half done, and threads would wait for ever. Queues and ``_thread`` are C.
    """

    def __init__(self, n_jobs: int | None, *, apart: bool = False) -> None:
        n_threads = check_jobs(n_jobs)
        self._n_threads = n_threads if n_threads > 1 or apart else 0
        self._n_started = 0
        self._stopped = False
        self._begun: list[None] = []  # an entry of each thread
        self._ended: SimpleQueue[None] = SimpleQueue()
        self._jobs: SimpleQueue[Callable[[], object] | None] = SimpleQueue()  # for the threads; None ends one
        self._news: SimpleQueue[Callable[[], object]] = SimpleQueue()  # for the caller

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._stopped = True
        for _ in range(self._n_started):
            self._jobs.put(None)
        for _ in range(len(self._begun)):
            self._ended.get()

    def each(self, function: Callable[..., T], *arguments: Iterable[Any]) -> list[T]:
        """``list(map(function, *arguments))``; the first exception in any thread is raised at once."""
        if not self._n_threads:
            return list(map(function, *arguments))
        values: dict[int, T] = {}

        def run(number: int, job: tuple[Any, ...]) -> None:
            if not self._stopped:
                outcome = _outcome(function, job)
                self._news.put(lambda: values.__setitem__(number, outcome()))

        jobs = list(zip(*arguments, strict=True))
        while self._n_started < min(self._n_threads, len(jobs)):
            self._n_started += 1
            _thread.start_new_thread(_work, (weakref.ref(self), self._jobs, self._begun, self._ended))
        for number, job in enumerate(jobs):
            self._jobs.put(partial(copy_context().run, run, number, job))
        while len(values) < len(jobs):
            self._news.get()()
        return [values[number] for number in range(len(jobs))]

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """``function(*arguments)``, called by the caller's thread while this one waits."""
        if not self._n_threads:
            return function(*arguments)
        answer: SimpleQueue[T] = SimpleQueue()
        self._news.put(lambda: answer.put(function(*arguments)))
        while True:
            self.check()
            try:
                return answer.get(timeout=_SECONDS)
            except Empty:
                continue

    def check(self) -> None:
        """CancelledError where the threads must end; to be called at every step."""
        if self._stopped:
            raise CancelledError


def _outcome(function: Callable[..., T], arguments: tuple[Any, ...]) -> Callable[[], T]:
    """A function that returns what ``function(*arguments)`` has returned, or raises what that has raised."""
    try:
        value = function(*arguments)
    except BaseException as error:  # noqa: BLE001  (the caller raises it)
        return partial(_fail, error)
    return lambda: value


def _fail(error: BaseException) -> Any:
    raise error


def _work(owner: weakref.ref[Threads], jobs: SimpleQueue[Any], begun: list[None], ended: SimpleQueue[None]) -> None:
    """The life of a thread; it ends without its owner, too, for Ctrl-C may come when that is about to say so."""
    begun.append(None)
    while owner() is not None:
        with suppress(Empty):
            if (job := jobs.get(timeout=_SECONDS)) is None:
                break
            job()
            del job  # it knows the owner
    ended.put(None)
