"""Settings of all tests: the folder of compiled code, and the number of examples of hypothesis."""

import os

from numba_cache import folder
from repository import ROOT

# Before numba, hypothesis or matplotlib is imported; processes that tests start inherit it.
os.environ.setdefault("NUMBA_CACHE_DIR", str(folder()))
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(ROOT / ".cache" / "hypothesis"))
os.environ.setdefault("MPLBACKEND", "Agg")

from hypothesis import HealthCheck, settings

# quick: the same examples in every run, so that a commit that passed passes again. slow: new ones each time, and more;
# what fails is printed as a blob to reproduce it, and kept. Compiling makes first examples slow: no deadlines.
_SHARED = {"deadline": None, "print_blob": True, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("quick", max_examples=50, derandomize=True, database=None, **_SHARED)
settings.register_profile("slow", max_examples=1000, **_SHARED)
settings.load_profile("quick")
