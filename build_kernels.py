"""The compiled modules ``mapdpm.backends._c32`` and ``_c64``: the same C sources for float and for double.

``_c16`` is the learner in whole numbers. Some sources are the verbs of the likelihoods, which mapdpm/translation writes
in C into build/families. setup.py names the builders at the end. Python sees the declarations between the markers in
the headers. Whatever is built has the two files of c_kernels/amalgamate.py, too.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from cffi import FFI

_ROOT = Path(__file__).resolve().parent
_KERNELS = "c_kernels"  # relative to the root, as setuptools requires of sources
_HEADERS = ("mapdpm_codes.h", "mapdpm.h", "mapdpm_verbs.h", "mapdpm_batch.h")
_HEADERS_OF_INTEGERS = ("mapdpm_codes.h", "mapdpm_int.h")
_INTEGERS = f"{_KERNELS}/integers/"
_FAMILIES = "build/families"
_BEGIN, _END = "/* cdef: begin */", "/* cdef: end */"


def _loaded(name: str, path: Path) -> Any:
    """Load a module from its file."""
    spec: Any = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _written_families() -> tuple[list[str], str]:
    """Write the verbs of each family in C. Returns the files, and the declarations of their functions."""
    sys.path.insert(0, str(_ROOT))  # the tree, not an installed mapdpm
    try:
        families: Any = importlib.import_module("mapdpm.likelihoods").FAMILIES
        translation: Any = importlib.import_module("mapdpm.translation.families")
    finally:
        sys.path.remove(str(_ROOT))
    files, declared = [], []
    for family in families:
        file = f"{_FAMILIES}/{translation.prefix_of(family)}.c"
        path, text = _ROOT / file, translation.source_of(family)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:  # setuptools compares times
            path.write_text(text, encoding="utf-8")
        files.append(file)
        declared.append(f"const mapdpm_verbs *{translation.symbol_of(family)}(void);\n")
    return files, "".join(declared)


_amalgamate = _loaded("amalgamate", _ROOT / _KERNELS / "amalgamate.py")
_amalgamate.current()
ROOMS: tuple[str, ...] = _amalgamate.ROOMS
_WRITTEN, _OF_FAMILIES = _written_families()
# For Python alone: the calls of threads take turns, for other threads run while cffi is in C. ``busy`` is 0 when free,
# 1 in mapdpm_one, and 2 between mapdpm_enter and mapdpm_leave. Only the holder of a lock of Python calls these two:
# mapdpm_enter takes over a 2, which an interrupted call has left, and mapdpm_leave releases nothing but a 2.
# mapdpm_one learns or predicts one point and returns its id. It returns -1 after an error, or if ``busy`` is taken;
# then the caller waits for its turn and calls the function itself, which says why. mapdpm_one_of sets the group first.
# mapdpm_one_assessed does the same for an assessment.
_FOR_PYTHON = """
int mapdpm_enter(long *busy);
void mapdpm_leave(long *busy);
int64_t mapdpm_one(mapdpm_stream *stream, long *busy, int learns, const mapdpm_real *x, mapdpm_real *score);
int64_t mapdpm_one_of(mapdpm_stream *stream, long *busy, int learns, uint32_t group, const mapdpm_real *x,
                      mapdpm_real *score);
int64_t mapdpm_one_assessed(mapdpm_stream *stream, long *busy, int learns, const mapdpm_real *x,
                            mapdpm_assessment *assessment);
"""
_FOR_PYTHON_SOURCE = """
#ifdef _MSC_VER
#include <intrin.h>
static long mapdpm_exchange(long *busy, long from, long to) { return _InterlockedCompareExchange(busy, to, from); }
#else
static long mapdpm_exchange(long *busy, long from, long to)
{
    (void)__atomic_compare_exchange_n(busy, &from, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return from;
}
#endif

static int mapdpm_enter(long *busy) { return mapdpm_exchange(busy, 0, 2) != 1; }
static void mapdpm_leave(long *busy) { (void)mapdpm_exchange(busy, 2, 0); }

static int64_t mapdpm_one(mapdpm_stream *stream, long *busy, int learns, const mapdpm_real *x, mapdpm_real *score)
{
    uint32_t id;
    int error;

    if (mapdpm_exchange(busy, 0, 1) != 0)
        return -1;
    error = learns ? mapdpm_learn(stream, x, &id, score) : mapdpm_predict(stream, x, &id, score);
    (void)mapdpm_exchange(busy, 1, 0);
    return error ? -1 : (int64_t)id;
}

static int64_t mapdpm_one_of(mapdpm_stream *stream, long *busy, int learns, uint32_t group, const mapdpm_real *x,
                             mapdpm_real *score)
{
    uint32_t id;
    int error;

    if (mapdpm_exchange(busy, 0, 1) != 0)
        return -1;
    error = mapdpm_set_group(stream, group);
    if (!error)
        error = learns ? mapdpm_learn(stream, x, &id, score) : mapdpm_predict(stream, x, &id, score);
    (void)mapdpm_exchange(busy, 1, 0);
    return error ? -1 : (int64_t)id;
}

static int64_t mapdpm_one_assessed(mapdpm_stream *stream, long *busy, int learns, const mapdpm_real *x,
                                   mapdpm_assessment *assessment)
{
    int error;

    if (mapdpm_exchange(busy, 0, 1) != 0)
        return -1;
    error = (learns ? mapdpm_learn_assessed : mapdpm_assess)(stream, x, NULL, assessment);
    (void)mapdpm_exchange(busy, 1, 0);
    return error ? -1 : (int64_t)assessment->id;
}
"""
# No contraction gives the same bits from every compiler. Hidden symbols keep the two modules apart. What Python adds
# for debuggers (-g) would take a sixth of the time.
_FLAGS = ["-std=c99", "-O3", "-g0", "-ffp-contract=off", "-fvisibility=hidden", "-Wall", "-Wextra"]


def declarations(header: str) -> str:
    """Return the declarations between the two markers of a header."""
    text = (_ROOT / _KERNELS / header).read_text(encoding="utf-8")
    if text.count(_BEGIN) != 1 or text.count(_END) != 1:
        msg = f"{_KERNELS}/{header} must have one '{_BEGIN}' and one '{_END}'"
        raise ValueError(msg)
    return text.partition(_BEGIN)[2].partition(_END)[0]


def _files(ending: str) -> list[str]:
    """Return the files of the library: those of its folder, and of its rooms, the folders that hold sources only."""
    folder = _ROOT / _KERNELS
    found = (path for pattern in ("*", *(f"{room}/*" for room in ROOMS)) for path in folder.glob(pattern + ending))
    return sorted(path.relative_to(_ROOT).as_posix() for path in found)


def _sources_of_reals() -> list[str]:
    """The sources that compute in float or double."""
    return [path for path in _files(".c") if not path.startswith(_INTEGERS)]


def builder(module: str, real: str) -> FFI:
    """Return the cffi builder of the extension ``module`` whose ``mapdpm_real`` is the C type ``real``."""
    ffi = FFI()
    ffi.cdef(f"typedef {real} mapdpm_real;\n" + "".join(map(declarations, _HEADERS)) + _OF_FAMILIES + _FOR_PYTHON)
    ffi.set_source(
        module,
        f'#include "mapdpm_batch.h"\n{_OF_FAMILIES}{_FOR_PYTHON_SOURCE}',
        sources=[*_sources_of_reals(), *_WRITTEN],
        depends=_files(".h"),
        include_dirs=[_KERNELS],
        define_macros=[
            ("MAPDPM_REAL", real),
            ("MAPDPM_MISSING", None),
            ("MAPDPM_GROUPS", None),
            ("MAPDPM_STATES", None),
            ("MAPDPM_SURPRISE", None),
            ("MAPDPM_RELEVANCE", None),
            ("MAPDPM_RESOLUTION", None),
        ],
        extra_compile_args=_FLAGS,
        libraries=["m"] if os.name == "posix" else [],
        py_limited_api=True,
    )
    return ffi


def builder_of_integers(module: str) -> FFI:
    """Return the cffi builder of the learner in whole numbers."""
    ffi = FFI()
    ffi.cdef("".join(map(declarations, _HEADERS_OF_INTEGERS)))
    ffi.set_source(
        module,
        '#include "mapdpm.h"\n',
        sources=[f"{_KERNELS}/mapdpm.c", *(path for path in _files(".c") if path.startswith(_INTEGERS))],
        depends=_files(".h"),
        include_dirs=[_KERNELS],
        define_macros=[("MAPDPM_REAL", "int")],
        extra_compile_args=_FLAGS,
        py_limited_api=True,
    )
    return ffi


def _sources_with_clones(compiling: list[str], sources: list[str]) -> list[str]:
    """The sources that have a function for each level of processors: those that read the header which names them."""
    rules = subprocess.run([*compiling, "-MM", *sources], check=True, capture_output=True, text=True)  # noqa: S603
    read = [rule.split() for rule in rules.stdout.replace("\\\n", " ").splitlines()]
    ours = {words[1] for words in read if any(word.endswith("/mapdpm_score_table.h") for word in words)}
    return [path for path in sources if path in ours or Path(path).parent.name == Path(_FAMILIES).name]


def load_clone(clone: str, folder: Path, common: Path | None = None) -> tuple[Any, Any]:
    """The library for float64 as a processor of that level runs it, and its ffi: one of ``CLONES``, compiled by gcc.

    For tests and measurements; the processor must have that level. The objects that no clone changes are made once in
    the folder ``common``, and not optimised: all clones share them.
    """
    library, objects = folder / "_c64.abi3.so", common or folder
    glue = str(objects / "_c64.c")
    chosen = "-DMAPDPM_NO_CLONES" if clone == "default" else f'-DMAPDPM_ONE_CLONE="{clone}"'
    parts = ("REAL=double", "MISSING", "GROUPS", "STATES", "SURPRISE", "RELEVANCE", "RESOLUTION")
    switches = [f"-DMAPDPM_{name}" for name in parts]
    folders = [f"-I{sysconfig.get_path('include')}", f"-I{_ROOT / _KERNELS}"]
    compiling = [shutil.which("gcc") or "gcc", *_FLAGS, *switches, *folders, "-fPIC"]
    sources = [str(_ROOT / path) for path in (*_sources_of_reals(), *_WRITTEN)]
    changed = _sources_with_clones(compiling, sources)
    if not list(objects.glob("*.o")):
        float64.emit_c_code(glue)
        level = ["-O0"] if common else []
        for i, path in enumerate([glue, *sorted({*sources} - {*changed})]):  # rooms may have files of the same name
            words = [*compiling, *level, "-c", path, "-o", str(objects / f"{i}.o")]
            subprocess.run(words, check=True, capture_output=True)  # noqa: S603
    made = [str(path) for path in sorted(objects.glob("*.o"))]
    command = [*compiling, chosen, "-shared", *changed, *made, "-lm", "-o", str(library)]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603  (its own sources)
    module = _loaded("mapdpm.backends._c64", library)
    return module.lib, module.ffi


# The clones of MAPDPM_CLONES in mapdpm_verbs.h, and what /proc/cpuinfo must list for each.
CLONES = {
    "default": set(),
    "arch=x86-64-v2": {"sse4_2", "popcnt"},
    "arch=x86-64-v3": {"avx2", "fma", "bmi2"},
    "arch=x86-64-v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
}

float32 = builder("mapdpm.backends._c32", "float")
float64 = builder("mapdpm.backends._c64", "double")
int16 = builder_of_integers("mapdpm.backends._c16")
