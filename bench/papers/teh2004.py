"""Teh2004: hierarchical Dirichlet processes of documents, sections and letters.

Run: python bench/papers/teh2004.py [--quick] [--only NAME ...] [--data FOLDER]. --data is the folder above text/ (the
environment variable MAPDPM_DATA may name it). Figure 6 needs tomotopy, Figure 10 hmmlearn (pip install tomotopy
hmmlearn). All run on one thread.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from exhibits import Claim, Exhibit, Setting, drawing, run
from teh_letters import figure10
from teh_perplexity import figure6
from teh_sections import NOT_HERE, figure8, table3, table4
from teh_topics import counts_of

from mapdpm.special import log_rising_of_arrays

PRINTED = ((1, 0, 0, 0, 0), (0, 1, 0, 0, 0), (0, 1, 1, 0, 0), (0, 2, 3, 1, 0), (0, 6, 11, 6, 1))


def table1(_: Setting) -> Exhibit:
    """Unsigned Stirling numbers of the first kind, solved from rising factorials at five points."""
    size, points = len(PRINTED), np.arange(1.0, 6.0)
    powers = points[:, None] ** np.arange(size)
    risings = np.exp([[log_rising_of_arrays(np.array([a]), np.array([n]))[0] for n in range(size)] for a in points])
    ours = np.linalg.solve(powers, risings).T
    claim = Claim(
        "s(n, m) for n and m up to 4.",
        "25 numbers",
        f"the largest difference is {np.abs(ours - PRINTED).max():.0e}",
        bool(np.abs(ours - PRINTED).max() < 1e-6),
        "equal to a millionth",
    )
    head = ("n", *(f"m = {m}" for m in range(size)))
    note = (
        "The rising factorial a (a + 1) ... (a + n - 1) is the sum of s(n, m) a^m (38). Ours are the coefficients "
        "that the library's rising factorials have at a = 1, ..., 5. It uses no such table: numbers of tables are "
        "drawn as sums of Bernoulli variables."
    )
    rows = [(str(n), *(f"{abs(value):.0f}" for value in row)) for n, row in enumerate(ours)]
    return Exhibit("Stirling numbers", (claim,), (head, *rows), note=note)


def table2(setting: Setting) -> Exhibit:
    """Sections of the BBC, as the table of the paper has those of NIPS."""
    counts, sections, _ = counts_of(setting.file("text/bbc_bow.npz"))
    rows = []
    for name in (*np.unique(sections), "all"):
        part = counts[np.flatnonzero((sections == name) | (name == "all"))]
        rows.append((name, f"{part.shape[0]:,}", f"{part.sum():,}", f"{len(np.unique(part.indices)):,}"))
    claim = Claim(
        "1,447 articles of 9 sections have 1,531,722 words, 5,570 of them distinct.", "these", "—", None, why=NOT_HERE
    )
    head = ("section", "documents", "words", "distinct words")
    note = "The data of Figure 8 and of Tables 3 and 4 is news of the BBC here, with five sections."
    return Exhibit("The data of sections", (claim,), (head, *rows), note=note)


MATHS = partial("docs/maths.md, section {}, has it in words.".format)
EXHIBITS = {
    "table-1": table1,
    "table-2": table2,
    "table-3": table3,
    "table-4": table4,
    "figure-1": drawing("A Chinese restaurant", MATHS(14)),
    "figure-2": drawing("Mixtures of one Dirichlet process, and a finite one", MATHS(14)),
    "figure-3": drawing("Mixtures of a hierarchical Dirichlet process", MATHS(15)),
    "figure-4": drawing("The Chinese restaurant franchise", MATHS(19)),
    "figure-5": drawing("Finite models of groups", MATHS(15)),
    "figure-6": figure6,
    "figure-7": drawing("Three models of sections", "Their definitions are those of Figure 8."),
    "figure-8": figure8,
    "figure-9": drawing("The infinite hidden Markov model", MATHS(21)),
    "figure-10": figure10,
}
QUICK = ("table-1", "figure-8")

if __name__ == "__main__":
    run("teh2004", EXHIBITS, QUICK, __doc__)
