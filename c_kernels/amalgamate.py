"""Write the stream learner and model files as two files to copy, amalgamation/src/mapdpm.h and mapdpm.c.

`make amalgamation` runs this. A header is inserted once, where it is first included. Functions that files share among
themselves become static.
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
PAIR = HERE / "amalgamation" / "src"
LICENSE = HERE.parent / "LICENSE"
SOURCES = (
    "mapdpm.c",
    "snapshot.c",
    "stream.c",
    "queries.c",
    "clock.c",
    "clusters.c",
    "groups.c",
    "transitions.c",
    "blocks.c",
    "smoothing.c",
    "base.c",
    "choose.c",
    "surprise.c",
    "assess.c",
    "filter.c",
    "split_merge.c",
    "window.c",
    "warmup.c",
    "settle.c",
    "queue.c",
    "prior.c",
    "online.c",
    "gateway.c",
    "summary.c",
    "bank.c",
    "alarm.c",
    "selftest.c",
    "stream_checks.c",
    "stream_snapshot.c",
    "slots.c",
    "features.c",
    "features_steps.c",
    "features_blocks.c",
    "features_snapshot.c",
)
TOP = """/* SPDX-License-Identifier: BSD-3-Clause
 * {copyright}
 *
 * mapdpm {version}: {name}, one of two files, which c_kernels/amalgamate.py made of several; do not edit.
 */
"""
PROLOGUE = """#define MAPDPM_INTERNAL static
#include "mapdpm.h"

/* clang inlines at -Os as it does at -O2, which makes the library almost twice as large. At -Oz it does not. */
#if defined(__clang__) && defined(__OPTIMIZE_SIZE__)
#pragma clang attribute push(__attribute__((minsize)), apply_to = function)
#endif
"""
EPILOGUE = """
#if defined(__clang__) && defined(__OPTIMIZE_SIZE__)
#pragma clang attribute pop
#endif"""


def top(name: str) -> str:
    """Return the comment at the top of a file: licence, version, and where it comes from."""
    version = re.search(r'^#define MAPDPM_VERSION "(.*)"$', (HERE / "mapdpm.h").read_text(), re.MULTILINE)
    copyright_ = re.search(r"^Copyright .*$", LICENSE.read_text(), re.MULTILINE)
    if version is None or copyright_ is None:
        msg = "mapdpm.h must have MAPDPM_VERSION, and LICENSE a line that begins with Copyright"
        raise ValueError(msg)
    return TOP.format(copyright=copyright_[0], version=version[1], name=name)


def licence() -> str:
    """Return the text of LICENSE as a comment."""
    lines = (f" * {line}".rstrip() for line in LICENSE.read_text().splitlines())
    return "/*" + "\n".join(lines)[2:] + "\n */\n"


def amalgamated() -> str:
    """Return the text of mapdpm.c: all of SOURCES, and the headers that they include."""
    lines, taken = [top("mapdpm.c") + licence() + PROLOGUE], {"mapdpm.h"}

    def take(name: str) -> None:
        taken.add(name)
        lines.append(f"\n/* ==== {name} {'=' * (110 - len(name))} */\n")
        for line in (HERE / name).read_text().splitlines():
            include = re.fullmatch(r'#include "(.*)"', line)
            if include is None:
                lines.append(line)
            elif include[1] not in taken:
                take(include[1])

    for source in SOURCES:
        take(source)
    lines.append(EPILOGUE)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines) + "\n")


def main() -> int:
    """Write the two files; with --check, return 1 and name them if they are not current."""
    header = top("mapdpm.h") + (HERE / "mapdpm.h").read_text()
    texts = {PAIR / "mapdpm.h": header, PAIR / "mapdpm.c": amalgamated()}
    if sys.argv[1:] == ["--check"]:
        old = [path.name for path, text in texts.items() if not path.exists() or path.read_text() != text]
        if old:
            print(f"not current: {', '.join(old)} in {PAIR}; make -C c_kernels amalgamation", file=sys.stderr)
        return int(bool(old))
    PAIR.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
