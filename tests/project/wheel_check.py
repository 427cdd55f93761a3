"""Whether the wheel works where there is no tree, no compiler and nothing else.

``wheel_check.py newest`` (``make test``) builds the sdist, and the wheel from it, looks inside, and uses the wheel in a
fresh environment of the newest Python of this machine. ``wheel_check.py oldest`` (``make test-all``) uses the same
wheel on the oldest Python, on 3.10 with the oldest numpy and cffi that it says it runs with, and compares.
"""

import argparse
import email
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "build" / "dist"
FOUND = DIST / "newest.json"  # what the newest Python found, for the oldest
MINORS = range(10, 15)
OLDEST_SCIKIT_LEARN = ("scikit-learn==1.6.0", "pandas", "polars")
SHIPPED = (
    "mapdpm/py.typed",
    "mapdpm/backends/_c32.abi3.so",
    "mapdpm/backends/_c64.abi3.so",
    "mapdpm/c_kernels/amalgamation/src/mapdpm.c",
    "mapdpm/c_kernels/amalgamation/src/mapdpm.h",
    "mapdpm/c_kernels/amalgamation/src/mapdpm.hpp",
    "mapdpm/c_kernels/mapdpm.h",
    "mapdpm/c_kernels/mapdpm_batch.h",
    "mapdpm/example_data/README.md",
    "mapdpm/example_data/smartwatch.csv",
)
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
assert not {"numba", "scipy", "matplotlib", "sklearn"} & set(sys.modules)
print(json.dumps({"python": sys.version.split()[0], "numpy": np.__version__, "labels": model.labels_.tolist()}))
"""


class Python(NamedTuple):
    version: tuple[int, ...]
    path: str


def run(*command: object, **options: object) -> str:
    """Run a command and return its output; if it fails, print its output and end."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"wheel check: failed: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def pip(python: str | Path, *arguments: object) -> tuple[object, ...]:
    return (python, "-m", "pip", "--disable-pip-version-check", "-qq", *arguments)


def why_no_index() -> str:
    """Return why nothing can be had from a package index; empty where it can."""
    with tempfile.TemporaryDirectory() as folder:
        ask = ("download", "--no-deps", "--no-cache-dir", "--retries=1", "--timeout=20", "-d", folder, "pycparser")
        probe = subprocess.run(pip(sys.executable, *ask), capture_output=True, text=True, check=False)
    lines = probe.stderr.strip().splitlines() or ["pip said nothing"]
    return lines[-1] if probe.returncode else ""


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
        asked = subprocess.run([path, "-Ic", question], capture_output=True, text=True, check=False)
        if asked.returncode == 0 and json.loads(asked.stdout)[1] in MINORS:
            usable.append(Python(tuple(json.loads(asked.stdout)), path))
    return min(usable), max(usable)


def build() -> Path:
    """Build the sdist from the tree and the wheel from the sdist; what the sdist lacks fails here."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)
    (wheel,) = DIST.glob("*.whl")
    return wheel


def look_inside(wheel: Path) -> list[str]:
    """Check the name and the contents of the wheel; return its requirements."""
    assert re.match(r"mapdpm-[\w.]+-cp310-abi3-", wheel.name), wheel.name
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (archive.read(name) for name in names if name.endswith(".dist-info/METADATA"))
    modules = [path.relative_to(ROOT).as_posix() for path in (ROOT / "mapdpm").rglob("*.py")]
    kernels = [f"mapdpm/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "c_kernels").glob("*.[ch]")]
    missing = {*SHIPPED, *modules, *kernels} - set(names)
    assert not missing, f"not in the wheel: {sorted(missing)}"
    foreign = [name for name in names if not re.match(r"mapdpm(-[\w.]+\.dist-info)?/", name)]
    assert not foreign, f"should not be in the wheel: {foreign}"
    requirements = email.message_from_bytes(metadata).get_all("Requires-Dist") or []
    return [requirement for requirement in requirements if "extra ==" not in requirement]


def use(python: Python, wheel: Path, requirements: list[str], guests: tuple[str, ...] = ()) -> dict:
    """Install the wheel in a fresh environment, without a compiler, and use it there; in the end with ``guests``."""
    oldest = [r.replace(">=", "==") for r in requirements] if python.version[:2] == (3, 10) else []
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    with tempfile.TemporaryDirectory() as folder:
        run(python.path, "-m", "venv", "env", cwd=folder)
        binaries = Path(folder, "env", "bin")
        install = pip(binaries / "python", "install", "--only-binary=:all:", wheel, *oldest)
        run(*install, env={**os.environ, "CC": "/bin/false"})
        said = run(binaries / "python", "-Ic", SMOKE, cwd=folder, env=clean)
        demo = run(binaries / "mapdpm", "demo", cwd=folder, env=clean)
        if guests:
            run(*pip(binaries / "python", "install", "--only-binary=:all:", *guests), env=os.environ)
            print(
                run(
                    binaries / "python",
                    "-I",
                    ROOT / "tests" / "estimators" / "contract_check.py",
                    cwd=folder,
                    env=clean,
                ).strip()
            )
    assert "cluster" in demo, demo
    return json.loads(said)


def check_newest(python: Python) -> None:
    """Build the wheel, look inside, use it."""
    wheel = build()
    answer = use(python, wheel, look_inside(wheel))
    FOUND.write_text(json.dumps(answer), encoding="utf-8")
    print(f"wheel check: {wheel.name} works on Python {answer['python']} with numpy {answer['numpy']}")


def check_oldest(python: Python) -> None:
    """Use the wheel that is built already, with the oldest scikit-learn too; the labels must be the same."""
    (wheel,) = DIST.glob("*.whl")
    answer = use(python, wheel, look_inside(wheel), OLDEST_SCIKIT_LEARN)
    newest = json.loads(FOUND.read_text(encoding="utf-8"))
    assert answer["labels"] == newest["labels"], f"labels differ between Python {answer['python']} and the newest"
    print(f"wheel check: {wheel.name} works on Python {answer['python']} with numpy {answer['numpy']} as on the newest")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", choices=("newest", "oldest"))
    which = parser.parse_args().python
    reason = why_no_index()
    if reason:
        print(f"wheel check: SKIPPED, there is no package index: {reason}")
        return
    oldest, newest = pythons()
    if which == "newest":
        check_newest(newest)
        return
    if not FOUND.exists():  # there was no package index then
        check_newest(newest)
    check_oldest(oldest)


if __name__ == "__main__":
    main()
