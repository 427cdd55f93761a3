"""Settings of all tests: the folder of compiled code, and the number of examples of hypothesis."""

import functools
import importlib.util
import os
from pathlib import Path

from numba_cache import folder
from repository import ROOT

# Before numba, hypothesis or matplotlib is imported; processes that tests start inherit it.
os.environ.setdefault("NUMBA_CACHE_DIR", str(folder()))
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(ROOT / ".cache" / "hypothesis"))
os.environ.setdefault("MPLBACKEND", "Agg")

from hypothesis import HealthCheck, settings
from pytest import DoctestItem  # noqa: PT013  (a class)


def one_writer_at_a_time():
    """Let one process at a time add to numba's cache.

    Two that add a kernel at once may both take the next free file; then one signature finds the code of the other, and
    runs it: a crash of a worker, now and then, where nothing was compiled before.
    """
    import fcntl  # not on Windows

    from numba.core.caching import IndexDataCacheFile

    save = IndexDataCacheFile.save

    @functools.wraps(save)
    def saved(self, key, data):
        with Path(os.environ["NUMBA_CACHE_DIR"], "writer.lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            save(self, key, data)

    IndexDataCacheFile.save = saved


if importlib.util.find_spec("numba") and importlib.util.find_spec("fcntl"):
    one_writer_at_a_time()

# quick: the same examples in every run, so that a commit that passed passes again. slow: new ones each time, and more;
# what fails is printed as a blob to reproduce it, and kept. Compiling makes first examples slow: no deadlines.
_SHARED = {"deadline": None, "print_blob": True, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("quick", max_examples=50, derandomize=True, database=None, **_SHARED)
settings.register_profile("slow", max_examples=1000, **_SHARED)
settings.load_profile("quick")

# Examples of docstrings that compile kernels for ten seconds to a minute, in the order in which they are run. The last
# one is run after all others.
COMPILED_FOR_LONG = (
    "mapdpm/samplers/chinese_restaurant_franchise.py",
    "mapdpm/samplers/finite_symmetric_dirichlet.py",
    "mapdpm/samplers/group_shares.py",
    "mapdpm/samplers/hdp_hmm_beam.py",
    "mapdpm/samplers/launched_split_merge.py",
    "mapdpm/samplers/random_split_merge.py",
    "mapdpm/samplers/stick_breaking_gibbs.py",
    "mapdpm/samplers/sub_cluster_splits.py",
    "mapdpm/models/dependent_dp.py",
    "mapdpm/samplers/dependent_dp_gibbs.py",
)


def pytest_collection_modifyitems(items):
    """Leave examples that compile for long to `make test-all`; the last of them comes last, and finds kernels there."""
    paths = {item: item.path.relative_to(ROOT).as_posix() for item in items if isinstance(item, DoctestItem)}
    for item, path in paths.items():
        if path in COMPILED_FOR_LONG:
            item.add_marker("complete")
    items.sort(key=lambda item: paths.get(item) == COMPILED_FOR_LONG[-1])
