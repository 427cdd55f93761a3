"""Whether a wheel works where there is no tree, no compiler and nothing else: on the oldest and on the newest Python.

Everything is installed from two folders, that of the release and one of requirements, without an index. On Python 3.11
these are the oldest numpy and cffi that the wheel says it runs with.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from release.commands import RELEASE, ROOT, pip, run, say, without_python

MINORS = range(11, 15)
OLDEST_SCIKIT_LEARN = ("scikit-learn==1.6.0", "pandas", "polars")
SMOKE = """
import json, pathlib, sys
import numpy as np, mapdpm
assert "site-packages" in mapdpm.__file__, mapdpm.__file__
assert (pathlib.Path(mapdpm.get_include()) / "mapdpm.h").is_file()
X = np.random.default_rng(1).normal(size=(300, 3)) + 8 * np.arange(300)[:, None] % 24
for dtype in (np.float64, np.float32):
    model = mapdpm.MAPDPM(alpha=0.5, backend="c").fit(X.astype(dtype))
    assert model.backend_ == "c"
    model.save("model.bin")
    again = mapdpm.load("model.bin")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.array_equal(again.score_samples(X), model.score_samples(X))
stream = mapdpm.OnlineMAPDPM(max_clusters=4, warmup=50)
stream.learn_many(X)
assert not {"numba", "scipy", "matplotlib", "sklearn"} & set(sys.modules)
print(json.dumps({
    "python": sys.version.split()[0], "numpy": np.__version__, "labels": model.labels_.tolist(),
    "stream": stream.to_bytes().hex(),
}))
"""


class Python(NamedTuple):
    """An interpreter of this machine."""

    version: tuple[int, ...]
    path: str


def pythons() -> tuple[Python, Python]:
    """Return the oldest and the newest usable Python of this machine; they may be one."""
    named = [shutil.which(f"python3.{minor}") for minor in MINORS]
    found = {sys.executable, *filter(None, named)}
    for minor in MINORS:
        found.update(glob.glob(os.path.expanduser(f"~/.pyenv/versions/3.{minor}.*/bin/python3.{minor}")))  # noqa: PTH111, PTH207
    question = (
        "import ensurepip, json, sys, sysconfig, venv\n"
        "assert not sysconfig.get_config_var('Py_GIL_DISABLED')\n"  # there is no stable ABI yet
        "print(json.dumps(sys.version_info[:3]))"
    )
    usable = []
    for path in sorted(found):
        asked = subprocess.run([path, "-Ic", question], capture_output=True, text=True, check=False)  # noqa: S603
        if asked.returncode == 0 and json.loads(asked.stdout)[1] in MINORS:
            usable.append(Python(tuple(json.loads(asked.stdout)), path))
    return min(usable), max(usable)


def use(python: Python, version: str, requirements: list[str], guests: tuple[str, ...] = ()) -> dict[str, Any]:
    """Install the release in a fresh environment, without a compiler, and use it there; in the end with ``guests``."""
    if python.version[:2] == (3, 11):
        requirements = [requirement.replace(">=", "==") for requirement in requirements]
    with tempfile.TemporaryDirectory() as folder:
        run(python.path, "-m", "venv", "env", cwd=folder)
        binaries = Path(folder, "env", "bin")
        bare = without_python() | {"CC": "/bin/false", "PATH": str(binaries)}
        run(
            *pip(binaries / "python", "download", "--only-binary=:all:", "-d", "requirements", *requirements),
            cwd=folder,
        )
        install = pip(binaries / "python", "install", "--no-index", "--only-binary=:all:", "--find-links=requirements")
        run(*install, f"--find-links={RELEASE}", f"mapdpm=={version}", *requirements, cwd=folder, env=bare)
        said = run(binaries / "python", "-Ic", SMOKE, cwd=folder, env=bare)
        demo = run(binaries / "mapdpm", "demo", cwd=folder, env=bare)
        if guests:
            check = ROOT / "tests" / "estimators" / "contract_check.py"
            run(*pip(binaries / "python", "install", "--only-binary=:all:", *guests))
            say(run(binaries / "python", "-I", check, cwd=folder, env=without_python()).strip())
    assert "cluster" in demo, demo
    answer: dict[str, Any] = json.loads(said)
    say(f"the wheel works on Python {answer['python']} with numpy {answer['numpy']}")
    return answer


def agree(*answers: dict[str, Any]) -> None:
    """Check that all Pythons and machines found the same labels and the same bits of a stream."""
    first, *others = answers
    for other in others:
        for key in ("labels", "stream"):
            assert other[key] == first[key], f"{key}: Python {other['python']} and Python {first['python']} differ"
