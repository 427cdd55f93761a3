"""Learn a smart watch's recording on a Cortex-M4F, and here: the same clusters, the same scores, to the last bit.

The chip is emulated by QEMU (Debian: gcc-arm-none-eabi, libnewlib-arm-none-eabi, qemu-system-arm). It runs the two
files of the C library and chip/watch.c, learns 8000 readings of three acceleration channels in float, and prints what
it makes of each. A line for every ten seconds: what the wearer was doing, and the commonest cluster, of Python and of
the chip.

    python examples/on_a_chip.py
"""

import csv
import re
import shlex
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from mapdpm import OnlineMAPDPM

HERE = Path(__file__).resolve().parent
CHANNELS = ("accel_x", "accel_y", "accel_z")
CLUSTERS, WARMUP, SECONDS, HERTZ = 8, 100, 10, 10
NOT_YET = 0x7FC00000  # the bits of NaN: during the warm-up there are no scores


def readings() -> tuple[np.ndarray, list[str]]:
    """The recording in float, and what was going on."""
    with (HERE / "data" / "smartwatch.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    X = np.array([[float(row[name]) for name in CHANNELS] for row in rows], dtype=np.float32)
    return X, [row["activity"] for row in rows]


def here(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Ids as they were given, the bits of scores, and the bytes of memory, by Python on this machine."""
    model = OnlineMAPDPM(CLUSTERS, warmup=WARMUP, n_features=X.shape[1], dtype="float32")
    ids, scores = [], np.empty(len(X), np.float32)
    for i, x in enumerate(X.tolist()):
        scores[i] = model.score_one(x)
        ids.append(model.learn_one(x))
    bits = np.where(np.isnan(scores), np.uint32(NOT_YET), scores.view(np.uint32))
    return np.array(ids), bits, model.nbytes


def on_the_chip(X: np.ndarray, nbytes: int) -> tuple[np.ndarray, np.ndarray, str]:
    """The same from the emulated chip, and what it says of itself."""
    sys.path.insert(0, str(HERE.parent / "c_kernels" / "firmware"))
    import firmware  # noqa: PLC0415  (of the C library's folder)
    from targets import M4F, cortex  # noqa: PLC0415

    chip = cortex("watch", M4F, "mps2-an386")._replace(program=str(HERE / "chip" / "watch.c"))
    missing = firmware.missing_tools(chip)
    if missing:
        sys.exit(f"there is no {', '.join(missing)}; apt-get install {chip.packages}")
    with tempfile.TemporaryDirectory() as folder:
        firmware.BUILD = Path(folder)
        rows = ",\n".join("{" + ", ".join(f"{float(value)!r}f" for value in x) + "}" for x in X)
        made = Path(folder) / chip.name
        made.mkdir()
        (made / "recording.h").write_text(
            f"#include <mapdpm.h>\nenum {{ N_READINGS = {len(X)}, N_FEATURES = {X.shape[1]}, WARMUP = {WARMUP} }};\n"
            f"enum {{ N_CLUSTERS = {CLUSTERS}, STATE_BYTES = {nbytes} }};\n"
            f"static const mapdpm_real readings[N_READINGS][N_FEATURES] = {{\n{rows}\n}};\n"
        )
        program = firmware.build(chip, firmware.PAIR / "mapdpm.c")
        firmware.run("cc", "-shared", "-fPIC", "-O2", "-o", f"{folder}/count.so", "count.c")
        plugin = firmware.counting(chip, program)
        printed = firmware.run(*shlex.split(chip.runner.format(program=program, plugin=plugin)))
        sizes = firmware.library_sizes(program.with_name("map"))
    pairs = re.findall(r"^(\d+) (\w{8})$", printed, re.MULTILINE)
    mean, most = re.findall(r"^learn instructions mean (\d+) most (\d+)", printed, re.MULTILINE)[0]
    (stack,) = re.findall(r"^learn mean \d+ most \d+ stack (\d+)", printed, re.MULTILINE)
    about = f"{sizes['text']} bytes of code, {nbytes} of memory, {stack} of stack; "
    about += f"{mean} instructions a reading on average, {most} at most"
    return (
        np.array([int(number) for number, _ in pairs]),
        np.array([int(bits, 16) for _, bits in pairs], np.uint32),
        about,
    )


def main() -> None:
    """Both, side by side."""
    X, activities = readings()
    ids, bits, nbytes = here(X)
    chip_ids, chip_bits, about = on_the_chip(X, nbytes)
    print(" seconds  activity     Python   chip   same readings")
    step = SECONDS * HERTZ
    for start in range(0, len(X), step):
        now = slice(start, start + step)
        (ours, _), (theirs, _) = (Counter(each[now].tolist()).most_common(1)[0] for each in (ids, chip_ids))
        same = int(np.sum((ids[now] == chip_ids[now]) & (bits[now] == chip_bits[now])))
        print(f"{start // HERTZ:8}  {activities[start]:12} {ours:6} {theirs:6} {same:8} of {len(ids[now])}")
    print(f"Cortex-M4F: {about}.")
    different = int(np.sum((ids != chip_ids) | (bits != chip_bits)))
    print(f"{len(X)} readings: {different} clusters or scores differ.")
    if different:
        sys.exit(1)


if __name__ == "__main__":
    main()
