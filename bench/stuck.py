"""How many readings of a held value alarm, a column and a day; and how often columns without a fault alarm.

Run: python bench/stuck.py [--seeds 20]. The columns are those of tests/features/test_lengths.py: thirty days with a
reading a minute. A fault holds the value of the reading before it from that day on.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from machine import about
from tables import print_table

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from tests.features.test_lengths import LEVEL, MINUTES, alarms, columns  # noqa: E402

DAYS = (2, 7, 20)


def needed(column: np.ndarray, day: int) -> str:
    """The readings of a held value until the alarm; the fault of a sensor of the sun begins at noon."""
    begin = day * MINUTES + MINUTES // 2
    held = column.copy()
    held[begin:] = held[begin]
    found = alarms(held)
    found = found[found >= begin]
    return f"{found[0] - begin + 1:,}" if len(found) else "-"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20, help="draws of the columns without a fault")
    arguments = parser.parse_args()
    false = dict.fromkeys(columns(), 0)
    for seed in range(arguments.seeds):
        for name, column in columns(seed).items():
            false[name] += len(alarms(column))
    rows = [[name, *(needed(x, day) for day in DAYS), str(false[name])] for name, x in columns().items()]
    head = ["column", *(f"day {day}" for day in DAYS), f"alarms in {arguments.seeds} x 30 days without a fault"]
    print_table(f"readings of a held value until a surprise of {LEVEL:g}; {about()}", head, rows)


if __name__ == "__main__":
    main()
