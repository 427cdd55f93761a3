"""What all tests share: where numba keeps compiled code, and how hard hypothesis looks."""

import hashlib
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def _sources_hash() -> str:
    """As the Makefile has it: numba does not notice that a function in another file has changed."""
    files = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "mapdpm").rglob("*.py"))
    return hashlib.sha256(b"".join((ROOT / name).read_bytes() for name in files)).hexdigest()[:16]


# Before numba, hypothesis or matplotlib is imported; processes that tests start inherit it.
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".cache" / "numba" / _sources_hash()))
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(ROOT / ".cache" / "hypothesis"))
os.environ.setdefault("MPLBACKEND", "Agg")

from hypothesis import HealthCheck, settings  # noqa: E402

# quick: the same examples in every run, so that a commit that passed passes again. slow: new ones each time, and more;
# what fails is printed as a blob to reproduce it, and kept. Compiling makes first examples slow: no deadlines.
_SHARED = {"deadline": None, "print_blob": True, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("quick", max_examples=50, derandomize=True, database=None, **_SHARED)
settings.register_profile("slow", max_examples=1000, **_SHARED)
settings.load_profile("quick")
