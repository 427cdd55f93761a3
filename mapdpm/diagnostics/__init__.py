"""Convergence diagnostics: autocorrelation, effective sample size, R-hat, Geweke's z, Raftery and Lewis.

The input is one number for each draw, such as the log joint, the number of clusters or the share of the largest one.
Labels cannot be used, because the names of clusters change from draw to draw; ``association_variance`` compares runs by
who is together, and ``correspondence`` labels that mean the same at all times. Needs numpy only.
"""

from mapdpm.diagnostics.associations import association_variance, correspondence
from mapdpm.diagnostics.autocorrelation import autocorrelation, autocorrelation_time
from mapdpm.diagnostics.convergence import effective_sample_size, geweke_z, r_hat
from mapdpm.diagnostics.run_length import RafteryLewis, raftery_lewis

__all__ = [
    "RafteryLewis",
    "association_variance",
    "autocorrelation",
    "autocorrelation_time",
    "correspondence",
    "effective_sample_size",
    "geweke_z",
    "r_hat",
    "raftery_lewis",
]


def __dir__() -> list[str]:
    return sorted(__all__)
