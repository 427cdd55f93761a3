"""Files that are written wholly or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path

from mapdpm.files import locks
from mapdpm.files.errors import UnwritableError


def write_file(path: str | os.PathLike[str], data: bytes, *, private: bool = False) -> None:
    """Write ``data`` to ``path``, wholly or not at all: a temporary file in that folder is synced, then renamed.

    Then the folder is synced: after a power cut it names the new file or the old one. A symbolic link is followed. A
    folder or a device of that name is not replaced. A ``private`` file is for its owner only.
    """
    temporary = None
    try:
        target = Path(path).resolve()
        if target.is_symlink() or (target.exists() and not target.is_file()):
            raise OSError(errno.EINVAL, "it is not a file")  # noqa: TRY301  (one sentence for all of them)
        temporary = target.with_name(f".mdpm-{secrets.token_hex(8)}")
        with temporary.open("xb") as file:
            if private:
                temporary.chmod(stat.S_IRUSR | stat.S_IWUSR)
            elif target.exists():  # before there is anything to read: the old file may be private
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            locks.hold(target, file.fileno())
        temporary.replace(target)
        _sync_folder(target.parent)
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle, which newer Pythons leave unresolved
        msg = f"cannot write {path}: {getattr(error, 'strerror', None) or error}"
        raise UnwritableError(msg) from None
    finally:  # an interrupt leaves nothing behind either
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Sync the names in a folder, where the system can: the file is there in any case."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):  # a folder that may not be read, or a file system that cannot sync one
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
