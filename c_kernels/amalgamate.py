"""Write the stream learner and model files as two files to copy, amalgamation/src/mapdpm.h and mapdpm.c.

`make amalgamation` runs this. A header is inserted once, where it is first included. Functions that files share among
themselves become static.
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
PAIR = HERE / "amalgamation" / "src"
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
    "stream_checks.c",
    "stream_snapshot.c",
    "slots.c",
    "features.c",
    "features_steps.c",
    "features_blocks.c",
    "features_snapshot.c",
)
PROLOGUE = """/* mapdpm: the stream learner and model files.
 *
 * Made of several files by c_kernels/amalgamate.py; do not edit.
 */
#define MAPDPM_INTERNAL static
#include "mapdpm.h"
"""


def amalgamated() -> str:
    """Return the text of mapdpm.c: all of SOURCES, and the headers that they include."""
    lines, taken = [PROLOGUE], {"mapdpm.h"}

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
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines) + "\n")


def main() -> int:
    """Write the two files; with --check, return 1 and name them if they are not current."""
    texts = {PAIR / "mapdpm.h": (HERE / "mapdpm.h").read_text(), PAIR / "mapdpm.c": amalgamated()}
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
