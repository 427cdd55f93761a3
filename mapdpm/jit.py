"""The only file that imports numba, which is loaded at the first compiled call.

``compiled(kernel)`` is the kernel run by numba. Inside, a verb called on a NamedTuple is resolved by its class:
``overload_method`` is registered once for each verb of ``protocol.py``, for all families to come (decision 22).
Small functions that kernels share carry ``@jitable`` and stay plain Python functions.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import threading
import types
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

from mapdpm.protocol import PROTOCOLS

P = ParamSpec("P")
R = TypeVar("R")

# forceinline: 2.3 times faster in a Gibbs sweep; error_model: division by zero gives inf, as in C and numpy.
_INLINE: dict[str, Any] = {"forceinline": True, "error_model": "numpy"}
_CALLED: dict[str, Any] = {"error_model": "numpy"}
_shared: list[tuple[Callable[..., Any], dict[str, Any]]] = []
_optional: list[Any] = []
_lock = threading.Lock()


def available() -> bool:
    """Whether numba can be imported; does not import it."""
    return importlib.util.find_spec("numba") is not None


def jitable(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a function as callable from kernels. The function itself does not change."""
    _shared.append((function, _INLINE))
    return function


def jitable_once(function: Callable[P, R]) -> Callable[P, R]:
    """As ``jitable``, for a long function that many places call: it is compiled once, and not copied into each."""
    _shared.append((function, _CALLED))
    return function


def optional(default: Callable[P, R]) -> Callable[P, R]:
    """A verb that some families have, called as a function: for the other families it is ``default``."""
    verb = default.__name__

    @functools.wraps(default)
    def function(*args: P.args, **kwargs: P.kwargs) -> R:
        method = getattr(type(args[0]), verb, default)
        return method(*args, **kwargs)

    _optional.append(function)
    return function


def made_of(family: Any, values: tuple[Any, ...]) -> Any:
    """A tuple of the class of ``family``, of ``values`` that need no check; kernels may call it."""
    return tuple.__new__(type(family), values)


@functools.cache
def _seam() -> Any:
    import numba  # noqa: PLC0415  (loading it costs a second: only who compiles pays)
    from numba.extending import overload_method  # noqa: PLC0415

    def register(verb: str, signature: inspect.Signature) -> None:
        def pick(self: Any, *_: Any) -> Any:
            method = getattr(self.instance_class, verb, None)
            return None if method is None else _bare(method)

        pick.__signature__ = signature  # type: ignore[attr-defined]
        overload_method(numba.types.BaseNamedTuple, verb, jit_options=_INLINE)(pick)

    for protocol in PROTOCOLS:
        for verb, member in vars(protocol).items():
            if inspect.isfunction(member) and not verb.startswith("_"):
                register(verb, inspect.signature(_bare(member)))
    numba.extending.overload(made_of, jit_options=_INLINE)(_bare(_made_in_kernels))
    return numba


def _made_in_kernels(family: Any, values: Any) -> Any:  # noqa: ARG001  (numba passes their types)
    kind = family.instance_class
    return lambda family, values: kind(*values)  # noqa: ARG005


@functools.cache
def _bare(method: Any) -> Any:
    """A twin of ``method`` without annotations: numba demands equal annotations, and authors write different ones."""
    twin = types.FunctionType(method.__code__, method.__globals__, method.__name__, method.__defaults__)
    twin.__module__, twin.__qualname__ = method.__module__, method.__qualname__
    return twin


def _register_shared(numba: Any) -> None:
    while _shared:
        function, options = _shared.pop()
        numba.extending.register_jitable(**options)(function)
    while _optional:
        function = _optional.pop()
        default = function.__wrapped__
        numba.extending.overload(function, jit_options=_INLINE, strict=False)(_picked_from(default))


def _picked_from(default: Any) -> Any:
    def pick(family: Any, *_: Any) -> Any:
        return _bare(getattr(family.instance_class, default.__name__, default))

    pick.__signature__ = inspect.signature(_bare(default))  # type: ignore[attr-defined]
    return pick


def _is_ours(args: tuple[Any, ...]) -> bool:
    """Whether all tuples among ``args``, and within them, are of classes of this package."""
    return all(type(a).__module__.startswith("mapdpm.") and _is_ours(a) for a in args if isinstance(a, tuple))


class compiled(Generic[P, R]):  # noqa: N801  (reads as the decorator it is)
    """A kernel, compiled at its first call for each combination of families.

    Compiled code is cached on disk for families of this package only: numba's cache does not notice a change in
    another file, and a family from outside changes while it is being written (decision 11).
    """

    def __init__(self, kernel: Callable[P, R]) -> None:
        self.kernel = kernel

    @functools.cached_property
    def _dispatchers(self) -> dict[bool, Callable[P, R]]:
        njit = _seam().njit
        return {kept: njit(cache=kept, nogil=True, error_model="numpy")(self.kernel) for kept in (True, False)}

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        with _lock:  # restarts run in threads, and each may be the first
            dispatchers = self._dispatchers
            _register_shared(_seam())
        return dispatchers[_is_ours(args)](*args, **kwargs)


def compiled_if_possible(kernel: Callable[P, R]) -> Callable[P, R]:
    """``kernel``, compiled if numba is installed; otherwise the plain function, some hundred times slower."""
    return compiled(kernel) if available() else kernel
