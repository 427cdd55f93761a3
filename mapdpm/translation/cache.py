"""Families of users in C: each is compiled once, into a folder of the user, and loaded from there."""

from __future__ import annotations

import functools
import hashlib
import os
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import warnings
import weakref
from pathlib import Path
from typing import Any, NamedTuple

from cffi import FFI

from mapdpm.translation.families import source_of
from mapdpm.translation.kinds import TranslationError
from mapdpm.translation.names import prefix_of, symbol_of

_FLAGS = ("-std=c99", "-O3", "-g0", "-ffp-contract=off", "-fPIC", "-shared")
_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_SECONDS = 120


class Loaded(NamedTuple):
    """The address of the verbs of a family, or 0 and why there are none."""

    address: int
    why: str = ""
    library: Any = None


class _CompilationError(Exception):
    """Why a translated family was not compiled."""


_lock = threading.Lock()
_known: weakref.WeakKeyDictionary[type[Any], Loaded] = weakref.WeakKeyDictionary()


def loaded(kind: type[Any]) -> Loaded:
    """The verbs of a family in C, compiled at most once; a RuntimeWarning where the compiler fails."""
    with _lock:
        if kind not in _known:
            _known[kind] = _load(kind)
        return _known[kind]


def folder() -> Path:
    """Where compiled families are kept: MAPDPM_CACHE_DIR, or a folder of the user's cache."""
    chosen = os.environ.get("MAPDPM_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "mapdpm"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mapdpm"


def _load(kind: type[Any]) -> Loaded:
    try:
        source = source_of(kind)
    except TranslationError as error:
        return Loaded(0, str(error))
    compiler = _compiler()
    if not compiler:
        return Loaded(0, "there is no C compiler; on Debian and Ubuntu: apt-get install gcc")
    try:
        path = _compiled(kind, source, compiler)
        ffi = FFI()
        ffi.cdef(f"const void *{symbol_of(kind)}(void);")
        library = ffi.dlopen(str(path))
        return Loaded(int(ffi.cast("uintptr_t", getattr(library, symbol_of(kind))())), library=library)
    except (_CompilationError, OSError, RuntimeError, subprocess.SubprocessError) as error:  # RuntimeError: no home
        why = f"{kind.__name__} was not compiled: {error}"
        warnings.warn(why, RuntimeWarning, stacklevel=4)
        return Loaded(0, why)


def _compiler() -> list[str]:
    """The words of the command, by its whole path; none where there is no compiler."""
    words = shlex.split(os.environ.get("CC", "")) or ["cc"]
    found = shutil.which(words[0])
    return [found, *words[1:]] if found else []


@functools.cache
def _version(compiler: str) -> bytes:
    done = subprocess.run([compiler, "--version"], capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603
    return done.stdout


def _compiled(kind: type[Any], source: str, compiler: list[str]) -> Path:
    """The library of a family, whose name says what it is made of; it is written wholly or not at all."""
    header = _kernels() / "mapdpm_verbs.h"
    digest = hashlib.sha256(_version(compiler[0]))
    for part in (source, header.read_text(encoding="utf-8"), *compiler, *_FLAGS):
        digest.update(part.encode() + b"\0")
    path = _own_folder() / f"{prefix_of(kind)}-{digest.hexdigest()[:32]}.so"
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
            file, library = Path(scratch, "family.c"), Path(scratch, "family.so")
            file.write_text(source, encoding="utf-8")
            command = [*compiler, *_FLAGS, f"-I{header.parent}", str(file), "-lm", "-o", str(library)]
            done = subprocess.run(  # noqa: S603  (the user's compiler, on what was written just now)
                command, capture_output=True, text=True, timeout=_SECONDS, check=False
            )
            if done.returncode or not library.exists():
                raise _CompilationError(_complaint(done.stderr) or f"{compiler[0]} failed")
            library.replace(path)
    return path


def _complaint(stderr: str) -> str:
    """The first line with an error, else the last line."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "")


def _own_folder() -> Path:
    """The folder, made if need be, into which nobody else can put code."""
    where = folder()
    where.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = where.stat()
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & _OTHERS):
        msg = f"others can write into {where}; set MAPDPM_CACHE_DIR to a folder of your own"
        raise _CompilationError(msg)
    return where


def _kernels() -> Path:
    """The folder of the headers."""
    from mapdpm import get_include  # noqa: PLC0415  (the package imports this file)

    return Path(get_include())
