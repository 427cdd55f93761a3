"""What tests of clusters that drift share: priors, points, and samplers in plain Python."""

import numpy as np

from mapdpm.likelihoods.drifting_normal import DriftingNormal
from mapdpm.samplers import DependentDPGibbs
from mapdpm.testing import kernels

KNOWN = DriftingNormal(m0=0.3, variance=2.0, rate=1.0, nugget=0.1, psi0=2.5)
FULL = DriftingNormal(
    m0=[0.3, -1.0], variance=[2.0, 0.5], rate=0.4, power=1.5, nugget=0.1, nu0=4.0, psi0=[[0.5, 0.2], [0.2, 0.7]]
)
TIMES = np.array([0.0, 1.0, 2.5])


def drifting_points(n=60, T=3, seed=1):
    rng = np.random.default_rng(seed)
    times = rng.integers(0, T, n).astype(float)
    z = rng.integers(0, 2, n)
    return np.array([[0.0, 0.0], [3.0, 1.0]])[z] + 0.4 * times[:, None] + 0.4 * rng.normal(size=(n, 2)), times


def plain(*arguments, **options):
    """A sampler whose kernels are plain Python: compiling them takes longer than a few steps."""
    return kernels.uncompiled(DependentDPGibbs(*arguments, **options))
