"""Write the stream learner and model files as two files to copy, amalgamation/src/mapdpm.h and mapdpm.c.

`make amalgamation` runs this, and so does all that reads the two files: setup.py, tests, firmware, the page. A header
is inserted once, where it is first included. Functions that files share among themselves become static.
"""

import os
import pathlib
import re

HERE = pathlib.Path(__file__).parent
PAIR = HERE / "amalgamation" / "src"
LICENSE = HERE.parent / "LICENSE"
ROOMS = (  # README.md says what each holds
    "arithmetic",
    "files",
    "families",
    "scores",
    "batch",
    "learner",
    "groups",
    "surprise",
    "stream",
    "gateway",
    "integers",
    "features",
)
SHARED = ("learner/mapdpm_policy.h", "mapdpm.c")  # by all real types
INTEGERS = (
    "integers/moments.c",
    "integers/score.c",
    "integers/changes.c",
    "integers/room.c",
    "integers/learner.c",
    "integers/insert.c",
    "integers/snapshot.c",
)
SOURCES = (
    "files/snapshot.c",
    "stream/stream.c",
    "stream/queries.c",
    "stream/clock.c",
    "stream/clusters.c",
    "groups/groups.c",
    "stream/grouped.c",
    "groups/transitions.c",
    "stream/blocks.c",
    "stream/smoothing.c",
    "groups/base.c",
    "gateway/another_base.c",
    "stream/choose.c",
    "surprise/surprise.c",
    "stream/assess.c",
    "stream/filter.c",
    "stream/split_merge.c",
    "stream/window.c",
    "stream/warmup.c",
    "stream/settle.c",
    "stream/queue.c",
    "stream/prior.c",
    "stream/relevance.c",
    "stream/relevance_search.c",
    "stream/grid.c",
    "stream/resolution.c",
    "stream/online.c",
    "gateway/gateway.c",
    "gateway/reduce.c",
    "gateway/summary.c",
    "stream/bank.c",
    "surprise/alarm.c",
    "learner/selftest.c",
    "stream/stream_checks.c",
    "stream/stream_snapshot.c",
    "files/slots.c",
    "features/features.c",
    "features/lag.c",
    "features/difference.c",
    "features/centre.c",
    "features/seasonal.c",
    "features/rms.c",
    "features/band_energy.c",
    "features/join.c",
    "features/stuck.c",
    "features/silence.c",
    "features/window.c",
    "features/spread.c",
    "features/smooth.c",
    "features/autoperiod.c",
    "features/pca.c",
    "features/clock.c",
    "features/features_kinds.c",
    "features/features_snapshot.c",
)
HEADERS = ("mapdpm.h", "mapdpm_codes.h", "mapdpm_int.h")  # which become one
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
    lines, taken = [top("mapdpm.c") + licence() + PROLOGUE], set(HEADERS)

    def take(name: str) -> None:
        taken.add(name)
        lines.append(f"\n/* ==== {name} {'=' * (110 - len(name))} */\n")
        for line in (HERE / name).read_text().splitlines():
            include = re.fullmatch(r'#include "(.*)"', line)
            if include is None:
                lines.append(line)
            elif include[1] not in taken:
                take(include[1])

    for source in SHARED:
        take(source)
    lines.append("#if MAPDPM_INTEGERS")
    for source in INTEGERS:
        take(source)
    lines.append("#else")
    for source in SOURCES:
        take(source)
    lines.append("#endif /* MAPDPM_INTEGERS */" + EPILOGUE)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines) + "\n")


def header() -> str:
    """Return the text of mapdpm.h, with the parts that it includes."""
    text = (HERE / HEADERS[0]).read_text()
    for part in HEADERS[1:]:
        text = text.replace(
            f'#include "{part}"\n', f"\n/* ==== {part} {'=' * (110 - len(part))} */\n\n{(HERE / part).read_text()}\n"
        )
    return re.sub(r"\n{3,}", "\n\n", top("mapdpm.h") + text)


def current() -> pathlib.Path:
    """Return the folder of the two files, which are written where they are not current."""
    texts = {"mapdpm.h": header(), "mapdpm.c": amalgamated()}
    for name, text in texts.items():
        path = PAIR / name
        if not path.exists() or path.read_text() != text:
            ours = path.with_name(f"{name}.{os.getpid()}")  # others may do the same at the same time, or read
            ours.write_text(text)
            ours.replace(path)
    return PAIR


if __name__ == "__main__":
    current()
