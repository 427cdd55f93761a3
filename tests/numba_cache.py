"""The place where numba keeps compiled code: a folder for each state of the sources that this code is made of.

numba does not notice that a function in another file has changed. ``python tests/numba_cache.py`` prints the folder:
the Makefile and conftest.py ask here. ``project/test_numba_cache.py`` checks that no source is left out.
"""

import hashlib
import re
from pathlib import Path

from repository import ROOT

PACKAGE = ROOT / "mapdpm"

# Verbs and the data that they read are compiled by whoever calls them; other files that numba reads name its seam.
FOLDERS = ("data", "likelihoods", "partition_priors")
FILES = ("jit.py", "protocol.py", "rng.py")
NAMES_THE_SEAM = re.compile(r"^from mapdpm\.jit import|\bjit\.compiled", re.MULTILINE)


def kernel_sources() -> list[Path]:
    """The files whose text decides what numba compiles, sorted."""
    return sorted(path for path in PACKAGE.rglob("*.py") if _is_kernel_source(path))


def _is_kernel_source(path: Path) -> bool:
    inside = path.relative_to(PACKAGE)
    if inside.parts[0] in FOLDERS or inside.as_posix() in FILES:
        return True
    return NAMES_THE_SEAM.search(path.read_text("utf-8")) is not None


def folder() -> Path:
    """The folder for the sources as they are now."""
    digest = hashlib.sha256()
    for path in kernel_sources():
        digest.update(f"{path.relative_to(PACKAGE).as_posix()}\n".encode())
        digest.update(path.read_bytes())
    return ROOT / ".cache" / "numba" / digest.hexdigest()[:16]


if __name__ == "__main__":
    print(folder())
