"""Exclusive locks on files that a process goes on writing, by name and by contents; a killed process leaves them free.

A lock of the system ends with its holder, whatever kills it. It is on the contents (the inode), and these are replaced
when a file is written wholly or not at all. So two are held: one on a file beside the resolved path, which stays, and
one on each contents that had the name, the new ones from before they get it. Then no symbolic link, no hard link and no
moment between two writes lets a second process in.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

from mapdpm.files.errors import UnwritableError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_BEYOND = 1 << 30  # Windows locks bytes, which nobody can read then: one behind the end
_held: dict[Path, Lock] = {}


class BusyError(UnwritableError):
    """Another process goes on writing a file."""


class Lock:
    """The descriptors that hold one file."""

    def __init__(self, path: Path, name: Path) -> None:
        self.path, self.name = path, name
        self.beside = -1
        self.contents: dict[tuple[int, int], int] = {}
        """A descriptor for the contents that the path had first, and for those that it has."""

    def hold(self, descriptor: int) -> None:
        """Lock the contents of an open file, which is to have the path; BusyError where another process does."""
        key = _key(descriptor)
        if key in self.contents or sys.platform == "win32":
            return
        own = os.dup(descriptor)  # a lock belongs to what was opened once, and ends with its last descriptor
        try:
            _lock(own, self.name)
        except BaseException:
            os.close(own)
            raise
        self.contents[key] = own
        for old in list(self.contents)[1:-1]:
            os.close(self.contents.pop(old))

    def free(self) -> None:
        """Release all of it, and remove the file beside."""
        if self.beside >= 0:
            with contextlib.suppress(OSError):
                _name_of_lock(self.path).unlink()
            os.close(self.beside)
        for descriptor in self.contents.values():
            os.close(descriptor)


@contextlib.contextmanager
def locked(*paths: Path | None) -> Iterator[None]:
    """Hold these files, which need not exist, while the block runs; BusyError where another process holds one.

    A path that cannot be a file is left to who writes it. UserWarning where the file system knows no locks.
    """
    taken: list[Path] = []
    try:
        for name in paths:
            path = None if name is None else name.resolve()
            if name is None or path is None or path in _held or not _may_be_a_file(path):
                continue
            lock = _held[path] = Lock(path, name)
            taken.append(path)
            _take(lock)
        yield
    finally:
        for path in reversed(taken):
            _held.pop(path).free()


def hold(path: str | os.PathLike[str], descriptor: int) -> None:
    """Lock the contents that are about to be those of ``path``, if this process holds it."""
    lock = _held.get(Path(path).resolve()) if _held else None
    if lock is not None:
        lock.hold(descriptor)


def _take(lock: Lock) -> None:
    while lock.beside < 0:
        beside = _name_of_lock(lock.path)
        try:
            descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
        except OSError:  # the folder cannot be written; the contents may be
            break
        try:
            _lock(descriptor, lock.name)
            if not _is_at(descriptor, beside):  # its last holder has removed it since
                continue
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"{os.getpid()}\n".encode())
            lock.beside, descriptor = descriptor, -1
        finally:
            if descriptor >= 0:
                os.close(descriptor)
    with contextlib.suppress(FileNotFoundError, PermissionError):
        descriptor = os.open(lock.path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
        try:
            lock.hold(descriptor)
        finally:
            os.close(descriptor)


def _lock(descriptor: int, name: Path) -> None:
    try:
        if sys.platform == "win32":
            os.lseek(descriptor, _BEYOND, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            os.lseek(descriptor, 0, os.SEEK_SET)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        pid = _holder(descriptor, name)
        if pid == os.getpid():
            msg = f"{name} is the same file as another one of this command; name another"
        else:
            who = "another process" if pid is None else f"process {pid}"
            msg = f"{name} is in use by {who}, which goes on writing it; end that process, or name another file"
        raise BusyError(msg) from None
    except OSError as error:
        warnings.warn(f"{name} cannot be locked ({error.strerror}): no other process may use it", stacklevel=2)


def _holder(descriptor: int, name: Path) -> int | None:
    """The process that holds the lock of an open file, where the system says so, or the file beside."""
    found = os.fstat(descriptor)
    where = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}" if os.name == "posix" else ""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            words = line.split()
            if words[1] == "FLOCK" and words[5] == where and int(words[4]) > 0:
                return int(words[4])
    with contextlib.suppress(OSError, ValueError):
        return int(_name_of_lock(name.resolve()).read_text(encoding="ascii"))
    return None


def _name_of_lock(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


def _may_be_a_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return path.parent.is_dir()


def _key(descriptor: int) -> tuple[int, int]:
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        found = path.stat()
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == _key(descriptor)
