"""The compiled modules ``mapdpm.backends._c32`` and ``_c64``: the same C sources for float and for double.

setup.py names the two builders at the end. What Python sees is what stands between the markers in the headers.
"""

from __future__ import annotations

import os
from pathlib import Path

from cffi import FFI

_ROOT = Path(__file__).resolve().parent
_KERNELS = "c_kernels"  # relative to the root, as setuptools wants its sources
_HEADERS = ("mapdpm.h", "mapdpm_batch.h")
_BEGIN, _END = "/* cdef: begin */", "/* cdef: end */"
# No contraction: the same bits from every compiler. Hidden: the two modules must not see each other's symbols.
# For Python alone: one point for one number, the id, or where it is negative the error.
_LEARN_ONE = "int64_t mapdpm_learn_one(mapdpm_stream *stream, const mapdpm_real *x);\n"
_LEARN_ONE_SOURCE = """
static int64_t mapdpm_learn_one(mapdpm_stream *stream, const mapdpm_real *x)
{
    uint32_t id;
    const int error = mapdpm_learn(stream, x, &id, NULL);

    return error ? error : (int64_t)id;
}
"""
_FLAGS = ["-std=c99", "-O3", "-ffp-contract=off", "-fvisibility=hidden", "-Wall", "-Wextra"]


def declarations(header: str) -> str:
    """What stands between the two markers of a header."""
    text = (_ROOT / _KERNELS / header).read_text(encoding="utf-8")
    if text.count(_BEGIN) != 1 or text.count(_END) != 1:
        msg = f"{_KERNELS}/{header} must have one '{_BEGIN}' and one '{_END}'"
        raise ValueError(msg)
    return text.partition(_BEGIN)[2].partition(_END)[0]


def _files(pattern: str) -> list[str]:
    return sorted(f"{_KERNELS}/{path.name}" for path in (_ROOT / _KERNELS).glob(pattern))


def builder(module: str, real: str) -> FFI:
    """The cffi builder of the extension ``module`` whose ``mapdpm_real`` is the C type ``real``."""
    ffi = FFI()
    ffi.cdef(f"typedef {real} mapdpm_real;\n" + "".join(map(declarations, _HEADERS)) + _LEARN_ONE)
    ffi.set_source(
        module,
        '#include "mapdpm_batch.h"' + _LEARN_ONE_SOURCE,
        sources=_files("*.c"),
        depends=_files("*.h"),
        include_dirs=[_KERNELS],
        define_macros=[("MAPDPM_REAL", real), ("MAPDPM_MISSING", None)],
        extra_compile_args=_FLAGS,
        libraries=["m"] if os.name == "posix" else [],
        py_limited_api=True,
    )
    return ffi


float32 = builder("mapdpm.backends._c32", "float")
float64 = builder("mapdpm.backends._c64", "double")
