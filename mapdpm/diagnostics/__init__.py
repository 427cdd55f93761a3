"""Convergence diagnostics: autocorrelation, effective sample size, R-hat, Geweke's z, Raftery and Lewis.

The input is one number for each draw, such as the log joint, the number of clusters or the share of the largest one.
Labels cannot be used, because the names of clusters change from draw to draw. Needs numpy only.
"""

from mapdpm.diagnostics.autocorrelation import autocorrelation, autocorrelation_time
from mapdpm.diagnostics.convergence import effective_sample_size, geweke_z, r_hat
from mapdpm.diagnostics.run_length import RafteryLewis, raftery_lewis

__all__ = [
    "RafteryLewis",
    "autocorrelation",
    "autocorrelation_time",
    "effective_sample_size",
    "geweke_z",
    "r_hat",
    "raftery_lewis",
]


def __dir__() -> list[str]:
    return sorted(__all__)
