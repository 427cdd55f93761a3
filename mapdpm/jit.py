"""The only file that imports numba, which is loaded at the first compiled call.

``compiled(kernel)`` is the kernel run by numba. Inside, a verb called on a NamedTuple is resolved by its class:
``overload_method`` is registered once for each verb of ``protocol.py``, for all families to come (decision 22).
Small functions that kernels share carry ``@jitable`` and stay plain Python functions.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import inspect
import sys
import threading
import types
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar

from mapdpm.protocol import PROTOCOLS

P = ParamSpec("P")
R = TypeVar("R")

# forceinline: 2.3 times faster in a Gibbs sweep; error_model: division by zero gives inf, as in C and numpy.
_INLINE: dict[str, Any] = {"forceinline": True, "error_model": "numpy"}
_CALLED: dict[str, Any] = {"error_model": "numpy"}
_shared: list[tuple[Callable[..., Any], dict[str, Any]]] = []
_optional: list[Any] = []
_marked: set[Callable[..., Any]] = set()
_lock = threading.Lock()


def available() -> bool:
    """Whether numba can be imported; does not import it."""
    return importlib.util.find_spec("numba") is not None


def jitable(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a function as callable from kernels. The function itself does not change."""
    return _mark(function, _INLINE)


def jitable_once(function: Callable[P, R]) -> Callable[P, R]:
    """As ``jitable``, for a long function that many places call: it is compiled once, and not copied into each."""
    return _mark(function, _CALLED)


def _mark(function: Callable[P, R], options: dict[str, Any]) -> Callable[P, R]:
    _shared.append((function, options))
    _marked.add(function)
    return function


def is_marked(function: Callable[..., Any]) -> bool:
    """Whether kernels may call a function."""
    return function in _marked


def optional(default: Callable[P, R]) -> Callable[P, R]:
    """A verb that some families, or forms of data, have, called as a function: for the others it is ``default``."""
    verb = default.__name__

    @functools.wraps(default)
    def function(*args: P.args, **kwargs: P.kwargs) -> R:
        method = getattr(type(args[0]), verb, default)
        return method(*args, **kwargs)

    _optional.append(function)
    _marked.add(function)
    return function


def made_of(family: Any, values: tuple[Any, ...]) -> Any:
    """A tuple of the class of ``family``, of ``values`` that need no check; kernels may call it."""
    return tuple.__new__(type(family), values)


def fill(row: Any, values: Any) -> None:
    """``row[:] = values``, in kernels: numba compiles a loop in seconds less, as no error tells the shapes."""
    row[:] = values


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
    numba.extending.overload(fill, jit_options=_INLINE)(_bare(_fill_in_kernels))
    return numba


def _made_in_kernels(family: Any, values: Any) -> Any:  # noqa: ARG001  (numba passes their types)
    kind = family.instance_class
    return lambda family, values: kind(*values)  # noqa: ARG005


def _fill_in_kernels(row: Any, values: Any) -> Any:  # noqa: ARG001  (numba passes their types)
    def loop(row: Any, values: Any) -> None:
        for i in range(row.shape[0]):
            row[i] = values[i]

    return _bare(loop)


@functools.cache
def _bare(method: Any, suffix: str = "") -> Any:
    """A twin of ``method`` without annotations: numba demands equal annotations, and authors write different ones."""
    twin = types.FunctionType(method.__code__, method.__globals__, method.__name__, method.__defaults__)
    twin.__module__, twin.__qualname__ = method.__module__, method.__qualname__ + suffix
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
        kind = getattr(family, "instance_class", None)  # an array has none
        return _bare(getattr(kind, default.__name__, default))

    pick.__signature__ = inspect.signature(_bare(default))  # type: ignore[attr-defined]
    return pick


# ---- what is kept on disk --------------------------------------------------------------------------------------------


def sources(kernel: Callable[..., Any], classes: Iterable[type] = ()) -> set[str]:
    """The modules whose code may be compiled into ``kernel``, called with tuples of these classes."""
    found: set[str] = set()
    left = {__name__, kernel.__module__, *(name for each in classes for name in _modules_of(each))}
    while left:
        found |= left
        left = {name for module in left for name in _read_by(module)} - found
    return found


@functools.cache
def _read_by(module: str) -> frozenset[str]:
    """The modules of what kernels in ``module`` may call: what is imported whole, marked functions, verbs of tuples."""
    values = list(vars(sys.modules[module]).values())
    parts = {each.__name__ for each in values if inspect.ismodule(each) and each.__name__.startswith("mapdpm.")}
    marked = {each.__module__ for each in values if inspect.isfunction(each) and each in _marked}
    tuples = [each for each in values if inspect.isclass(each) and issubclass(each, tuple)]
    return frozenset(parts.union(marked, *map(_modules_of, tuples)))


def _modules_of(kind: type) -> Iterator[str]:
    """The modules of a class, of those that it inherits from, and of verbs that were made elsewhere."""
    for each in kind.__mro__:
        for name in (each.__module__, *(verb.__module__ for verb in vars(each).values() if inspect.isfunction(verb))):
            if name.startswith("mapdpm."):
                yield name


@functools.cache
def _text_and_constants(module: str) -> bytes:
    """The file of a module, and the numbers that it has from other files, which kernels take as constants."""
    names = vars(sys.modules[module])
    constants = {name: value for name, value in names.items() if _is_constant(value)}
    return Path(str(names["__file__"])).read_bytes() + repr(sorted(constants.items())).encode()


def _is_constant(value: Any) -> bool:
    return isinstance(value, (int, float)) or (isinstance(value, tuple) and all(map(_is_constant, value)))


def _kept(kernel: Callable[P, R], classes: frozenset[type]) -> Callable[P, R]:
    """A twin of ``kernel`` whose name says what it is compiled of: numba names the files of its cache so."""
    digest = hashlib.sha256()
    for module in sorted(sources(kernel, classes)):
        digest.update(f"{module}\n".encode() + _text_and_constants(module))
    return _bare(kernel, f"-{digest.hexdigest()[:16]}")


def _with_files_of_its_own(dispatcher: Any) -> Any:
    """A dispatcher that never writes over a file of another process: each signature gets a file with a name of chance.

    numba numbers the files of a kernel, and its index says which number a signature has. Two processes that compile two
    signatures at once take the same number; then one signature would run the code of the other. With these names one of
    them is compiled once more at most.
    """
    file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if file is not None:
        file._data_name = lambda _: f"{Path(file._index_name).stem}.{uuid.uuid4().hex[:16]}.nbc"  # noqa: SLF001
    return dispatcher


def _classes(args: tuple[Any, ...]) -> set[type]:
    """The classes of all tuples among ``args``, and within them."""
    tuples = [a for a in args if isinstance(a, tuple)]
    return set(map(type, tuples)).union(*map(_classes, tuples))


class compiled(Generic[P, R]):  # noqa: N801  (reads as the decorator it is)
    """A kernel, compiled at its first call for each combination of families.

    numba's cache on disk does not notice a change in another file than the kernel's own. So its entries are named after
    the text of all files that a kernel is made of. Nothing is kept of kernels and families from outside (decision 11).
    """

    def __init__(self, kernel: Callable[P, R]) -> None:
        self.kernel = kernel
        self._dispatchers: dict[frozenset[type], Callable[P, R]] = {}

    def _dispatcher(self, classes: frozenset[type]) -> Callable[P, R]:
        ours = all(each.__module__.startswith("mapdpm.") for each in (self.kernel, *classes))
        kernel = _kept(self.kernel, classes) if ours else self.kernel
        with _lock:
            compile_as = _seam().njit(cache=ours, nogil=True, error_model="numpy")
            return self._dispatchers.setdefault(classes, _with_files_of_its_own(compile_as(kernel)))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        classes = frozenset(_classes(args))
        dispatcher = self._dispatchers.get(classes) or self._dispatcher(classes)
        with _lock:  # restarts run in threads, and each may be the first
            _register_shared(_seam())
        return dispatcher(*args, **kwargs)


def compiled_if_possible(kernel: Callable[P, R]) -> Callable[P, R]:
    """``kernel``, compiled if numba is installed; otherwise the plain function, some hundred times slower."""
    return compiled(kernel) if available() else kernel
