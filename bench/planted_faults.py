"""Faults planted one at a time in a copy of the tree, and whether `make test` notices: a fault at least for each room.

    python bench/planted_faults.py [--tree FOLDER] [--room ROOM ...]

Prints a line of JSON for each fault, and how many were noticed; the exit code is 1 if one was not. Each fault is a
usual mistake: a sign, a term dropped, an index one off. It is found by its text, wherever the file is by now. Of the
tests that `make test` runs, those run that claim the room. In C they are unit tests, compiled here in one way.

To see that a change of tests loses nothing, run it on both trees: a copy takes its tests from its own tree.
"""

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
QUICK = "not slow and not complete"
PARTS = ("MISSING", "GROUPS", "STATES", "SURPRISE", "RELEVANCE", "RESOLUTION")
FLAGS = " ".join(("-std=c99 -O1 -DMAPDPM_NO_CLONES", *(f"-DMAPDPM_{part}" for part in PARTS)))
CC = ["cc", *FLAGS.split(), "-DMAPDPM_REAL=double"]
SECONDS = 900


class Fault(NamedTuple):
    """A text of the tree, what it becomes wherever it is, and the tests that claim to notice: places in tests/."""

    room: str
    old: str
    new: str
    tests: str


PYTHON = (
    Fault("backends", "anew) - before, before", "anew) + before, before", "backends/test_parts.py"),
    Fault("cli", '"\\n".join([",".join(map(_cell, names)), *(', '"\\n".join([*(', "cli/test_commands.py"),
    Fault("compat", "math.isnan(score) else -score", "math.isnan(score) else score", "compat/test_river.py"),
    Fault("dask", "sample = raw._replace(points=frame.shifted(raw.points))", "sample = raw", "dask/test_dask.py"),
    Fault("data", "np.subtract(self.array, anchor, out=", "np.add(self.array, anchor, out=", "estimators"),
    Fault("diagnostics", "int(first * n), int(last * n)", "int(last * n), int(first * n)", "diagnostics"),
    Fault("documents", "words / words.sum(axis=1, keepdims=True)", "words / words.sum()", "documents"),
    Fault("estimators", "return -float(nearest_centres(", "return float(nearest_centres(", "estimators/test_base.py"),
    Fault("features", "for k in range(1, self.n + 1) for name", "for k in range(self.n) for name", "features"),
    Fault("files", "if top < 2 ** (b - 1))", "if top < 2**b)", "files/test_container.py"),
    Fault("likelihoods", "(log(c / self.c0) + n * LOG_2PI))", "log(c / self.c0))", "likelihoods/test_likelihoods.py"),
    Fault(
        "likelihoods: a part twice",
        "self.head.log_marginal(row[:first]) + self.tail",
        "2.0 * self.head.log_marginal(row[:first]) + self.tail",
        "likelihoods/test_mixed.py",
    ),
    Fault(
        "likelihoods: a missing cell counted",
        "if some_there(data, i):\n        family.add",
        "if True:\n        family.add",
        "likelihoods/test_mixed.py",
    ),
    Fault(
        "likelihoods: a step in other units",
        ", resolution=self.resolution * np.abs(scale))",
        ")",
        "likelihoods/test_resolution.py",
    ),
    Fault(
        "merging",
        "for_others = np.minimum(self._taken[slot] - self._weights[slot]",
        "for_others = np.minimum(self._taken[slot]",
        "merging",
    ),
    Fault("models", "slots == self.n_clusters_, -1", "slots >= self.n_clusters_ - 1, -1", "models/test_hdp.py"),
    Fault("partition_priors", "return log(n - self.discount) if", "return log(n) if", "partition_priors"),
    Fault("plots", '{"where": np.repeat(z == state, 2)', '{"where": np.repeat(z != state, 2)', "plots"),
    Fault("point_estimates", "cls(n * np.log(np.maximum(n, 1.0)), float(N))", "cls(n, float(N))", "point_estimates"),
    Fault(
        "samplers", "(float(counts[k]), 1.0))", "(float(counts[k]) + 1.0, 1.0))", "samplers/test_sub_cluster_splits.py"
    ),
    Fault("search", "is_gain(after - before, before)", "is_gain(before - after, before)", "search"),
    Fault(
        "search: relevance without its price",
        "return lgamma(m + 1.0) + lgamma(n - m + 1.0) - lgamma(n + 1.0)",
        "return 0.0 * (lgamma(m + 1.0) + n)",
        "search/test_relevance.py",
    ),
    Fault(
        "search: full covariances that are worse",
        "return full > diagonal + ENOUGH",
        "return full < diagonal + ENOUGH",
        "search/test_shape.py",
    ),
    Fault("search: cells of one point", "half = len(order) // 2", "half = 1", "search/test_over_split.py"),
    Fault(
        "likelihoods: cells that squares forget",
        "pivot = even + odd + added[i]",
        "pivot = even + odd",
        "search/test_shape.py",
    ),
    Fault("likelihoods: evidence without a power", "0.5 * nu0 * D * math.log(f)", "0.0", "search/test_shape.py"),
    Fault("search: equal rows are copies", "_TIMES * by_chance + min(", "min(", "search/test_copies.py"),
    Fault("search: clusters of copies", "if found.has_copies and is_free", "if False", "search/test_copies.py"),
    Fault(
        "search: all columns are linked",
        "gains.max(axis=1) > ENOUGH",
        "gains.max(axis=1) > -np.inf",
        "search/test_shape.py",
    ),
    Fault(
        "search: weak columns stay",
        "key=self._worth_without",
        "key=lambda found: found is best",
        "search/test_relevance.py",
    ),
    Fault("dask: kinds of the sample", "if run.ends.fit(found, place) or", "if place >= 0 or", "dask/test_kinds.py"),
    Fault("selection", "Fold(np.setdiff1d(everything, part), part)", "Fold(part, part)", "selection"),
    Fault(
        "stream", "shift = saved.anchor - learner.anchor()", "shift = 0.0 * saved.anchor", "stream/test_from_model.py"
    ),
    Fault("translation", "within(right, binds + 1)", "within(right, binds)", "translation"),
    Fault(
        "groups of clusters", "return bool(between < _VALLEY * at_ends)", "return False", "estimators/test_groups.py"
    ),
    Fault("cut of a tree", "(np.diff(risen) >= _GAP)", "(np.diff(risen) >= 0.0)", "estimators/test_groups.py"),
    Fault(
        "overlap", "self.best[won], self._highest[won] = kept", "self._highest[won] = both[won]; both[won]", "merging"
    ),
    Fault(
        "outliers",
        "backend.left_out(model, state._replace(labels=own), gains)",
        "gains[:] = 0.0",
        "estimators/test_assess.py",
    ),
    Fault("ranks", "c - r * np.log1p(c)", "c - np.log1p(c)", "estimators/test_assess.py"),
    Fault(
        "rare values",
        "self.at(found.relevant | (have_far",
        "self.at(found.relevant & (have_far",
        "search/test_relevance.py",
    ),
    Fault("forms of files", "COMMA if commas and any(found) else POINT", "POINT", "cli/test_forms.py"),
)
C = (
    Fault("C: alarm", "if (alarm->run < alarm->debounce)", "if (alarm->run <= alarm->debounce)", "test_alarm"),
    Fault("C: cells", "lost += u - lost * u; /* 1 - the product of all 1 - u */", "lost += u;", "test_rows"),
    Fault("C: combined", "value = math_exp(1 + *mean);", "value = math_exp(*mean);", "test_alarm"),
    Fault("C: features", "(x - moving_shift(r, d)) - moving", "(x - moving_shift(r, d)) + moving", "test_features"),
    Fault("C: features, an axis", "j, j) > *entry", "j, j) < *entry", "test_features"),
    Fault("C: features, a period", "found = lag;", "found = lag + 1;", "test_features"),
    Fault("C: gateway", "((anchor_of(from)[d] - anchor_of(s)[d]) + place)", "(place)", "test_pool"),
    Fault("C: groups", "*n_groups_of(s) = row + 1;", "", "test_groups"),
    Fault("C: moves", "&f, statistics) + log_size_term(problem, statistics[0]);", "&f, statistics);", "test_moves"),
    Fault("C: score", "weight < limits[q] ? 0", "weight > limits[q] ? 0", "test_certain"),
    Fault("C: snapshot", "if (version > MAPDPM_FORMAT)", "if (version >= MAPDPM_FORMAT)", "test_snapshot"),
    Fault("C: states", "s->weights[capacity] -= s->weights[to];", "", "test_states"),
    Fault("C: stream", "return x >= least && x <= most; }", "return x >= least; }", "test_stream"),
    Fault("C: surprise", "{ steepness_of(s)[k] = steepness", "{ steepness_of(s)[k] += steepness", "test_settle"),
    Fault("C: sweep", "stay = alone ? 0 : slot + 1;", "stay = alone ? 0 : slot;", "test_sweep"),
)


def sources_of(fault: Fault, tree: Path, suffix: str) -> list[Path]:
    """The files that have the text of a fault."""
    below = tree / ("c_kernels" if suffix == ".c" else "mapdpm")
    paths = [path for path in below.rglob(f"*{suffix}") if "amalgamation" not in path.parts]
    return [path for path in paths if fault.old in path.read_text()] or sys.exit(
        f"{fault.room}: no file has {fault.old!r}"
    )


@contextlib.contextmanager
def planted(fault: Fault, paths: list[Path]) -> Iterator[None]:
    """A fault, for a while."""
    texts = {path: path.read_text() for path in paths}
    for path, text in texts.items():
        path.write_text(text.replace(fault.old, fault.new))
    yield
    for path, text in texts.items():
        path.write_text(text)


def noticed_in_python(fault: Fault, tree: Path) -> bool:
    """Whether a test fails; a test that cannot run has noticed nothing."""
    places = [tree / "tests" / place for place in fault.tests.split()]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", QUICK, *places]
    environment = os.environ | {"PYTHONPATH": str(tree), "NUMBA_CACHE_DIR": str(tree / ".cache" / "numba")}
    run = subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if run.returncode not in {0, 1}:
        sys.exit(f"{fault.room}: {run.stdout}{run.stderr}")
    return run.returncode == 1


class Library:
    """The C library of a tree, compiled once; a fault compiles its file anew."""

    def __init__(self, tree: Path) -> None:
        self.folder = tree / "c_kernels"
        self.build = tree / "build" / "planted"
        self.build.mkdir(parents=True)
        headers = {path.parent for path in self.folder.rglob("*.h") if "amalgamation" not in path.parts}
        self.include = [f"-I{each}" for each in sorted({self.folder, *headers})]
        skipped = {"tests", "fuzz", "checks", "firmware", "amalgamation", "build"}
        sources = [path for path in self.folder.rglob("*.c") if not skipped & set(path.relative_to(self.folder).parts)]
        self.objects = {path: self.compiled(path, f"{path.parent.name}-{path.stem}") for path in sources}

    def compiled(self, source: Path, name: str) -> Path:
        """The object of a source."""
        subprocess.run([*CC, *self.include, "-c", source, "-o", self.build / f"{name}.o"], check=True)
        return self.build / f"{name}.o"

    def fails(self, test: str, changed: list[Path]) -> bool:
        """Whether a test fails, with some sources as they are now."""
        objects = self.objects | {path: self.compiled(path, f"{path.stem}-changed") for path in changed}
        (source,) = (self.folder / "tests").rglob(f"{test}.c")
        program = self.build / test
        subprocess.run([*CC, *self.include, source, *objects.values(), "-lm", "-o", program], check=True)
        try:
            return subprocess.run([program], capture_output=True, timeout=SECONDS, check=False).returncode != 0
        except subprocess.TimeoutExpired:
            return True


def results(tree: Path, faults: list[Fault]) -> Iterator[tuple[Fault, bool]]:
    """Whether each fault is noticed in a copy of the tree."""
    library = Library(tree) if any(fault in C for fault in faults) else None
    for fault in faults:
        paths = sources_of(fault, tree, ".c" if fault in C else ".py")
        with planted(fault, paths):
            if library is None or fault not in C:
                yield fault, noticed_in_python(fault, tree)
            else:
                yield fault, any(library.fails(test, paths) for test in fault.tests.split())


def main() -> int:
    """Plant the faults; return 1 if one is not noticed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, default=ROOT, help="the checkout, with its compiled modules")
    parser.add_argument("--room", action="append", help="only this one; 'C' for all of C")
    arguments = parser.parse_args()
    rooms = arguments.room or []
    faults = [f for f in (*PYTHON, *C) if not rooms or f.room in rooms or ("C" in rooms and f in C)]
    missed = 0
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name) / "tree"
        shutil.copytree(arguments.tree, tree, ignore=shutil.ignore_patterns(".*", "build", "__pycache__"))
        for fault, found in results(tree, faults):
            print(
                json.dumps({"room": fault.room, "fault": f"{fault.old} -> {fault.new}", "noticed": found}), flush=True
            )
            missed += not found
    print(json.dumps({"faults": len(faults), "noticed": len(faults) - missed}))
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
