"""Normal data in time slices: the mean of a cluster is a Gaussian process over time (Porteous2006 section 5)."""

from __future__ import annotations

from math import log, log1p
from typing import Any, NamedTuple

import numpy as np

from mapdpm.likelihoods._drift import Drift
from mapdpm.likelihoods._parameters import check_range, described, fitted_to, parameters
from mapdpm.protocol import LARGEST, Matrix, Values, Vector

_LARGEST_NU, _LARGEST_POWER = 2e8, 2.0
_LEAST_FREEDOM = 0.1  # of the Student t
_NATS = 40.0  # below the mode: e^-40 of an integral
_FARTHEST, _MOST_NODES = 40.0, 20_000  # in log v: points e^20 deviations away


def _check(family: Any) -> None:
    D = len(family.m0)
    least = D - 1 + _LEAST_FREEDOM
    if family.nu0 != 0.0 and not least <= family.nu0 <= _LARGEST_NU:
        msg = (
            f"nu0 must be from the number of features less 0.9, {least:g}, to {_LARGEST_NU:.0e}, or 0 (psi0 is the "
            f"covariance), got {family.nu0}"
        )
        raise ValueError(msg)
    if not 0.0 < family.power <= _LARGEST_POWER:
        msg = f"power must be in (0, 2], got {family.power}: no larger one gives a covariance function"
        raise ValueError(msg)
    if family.rate < 0.0:
        msg = f"rate must be >= 0, got {family.rate}"
        raise ValueError(msg)


@parameters(
    vectors=("m0", "variance"), matrices=("psi0",), positive={"variance": LARGEST, "psi0": LARGEST}, check=_check
)
class DriftingNormal(NamedTuple):
    r"""Clusters over time slices: means are Gaussian processes, covariances are drawn anew for each slice.

    Feature d of the mean of a cluster in the slices at times t and t' has the covariance (Porteous2006 (12))

    Gamma(t, t') = variance_d (exp(-rate \|t - t'\|^power) + nugget [t = t']),

    and the covariance of the points in a slice is InverseWishart(nu0, psi0), independent of other slices.

    Parameters
    ----------
    m0 : float or array of shape (n_features,)
        Prior mean, in data units: m in (12).
    variance : float > 0 or array of shape (n_features,)
        Variance of means around it, in squared data units: a in (12).
    rate : float >= 0
        beta in (12), in units of time to the power -``power``. 0 is for one time, or with a nugget: means that only
        jump.
    power : float in (0, 2]
        delta in (12): 1 is the Ornstein-Uhlenbeck process, 2 a smooth path.
    nugget : float
        The share of ``variance`` by which a mean jumps in each slice: b / a - 1 in (12). The covariance of the given
        times must be positive definite, or ``fit`` and ``sample`` refuse; a negative nugget seldom is.
    nu0 : float >= n_features - 0.9, or 0
        Degrees of freedom of covariances; 0 makes ``psi0`` the covariance of all clusters, known.
    psi0 : float > 0, array of shape (n_features,), or symmetric positive definite (n_features, n_features)
        Scale matrix of covariances, in squared data units.

    Raises
    ------
    ValueError
        A parameter is out of its range, or the numbers of features differ.

    Notes
    -----
    Immutable and comparable. For ``DependentDP`` only: parameters are not integrated out. Formulas: docs/maths.md,
    section 24.

    Examples
    --------
    >>> prior = DriftingNormal(m0=0.0, variance=4.0, rate=0.1, psi0=0.1, nu0=4.0)
    >>> prior.covariance_of_means([0.0, 1.0]).round(3).tolist()
    [[1.0, 0.905], [0.905, 1.0]]
    """

    m0: Values
    variance: Values
    rate: float
    power: float = 1.0
    nugget: float = 0.0
    nu0: float = 0.0
    psi0: Values = 1.0

    @classmethod
    def empirical(cls, X: Any, times: Any) -> DriftingNormal:
        """m0 = mean, variance = variances, rate = 0.05 over the range of times, nu0 = D + 2, psi0 = variances / 10.

        A mean keeps a correlation of 0.95 from the first time to the last, as in Porteous2006 section 6.
        """
        _, mean, variance = described(X)
        width = float(np.ptp(np.asarray(times, dtype=np.float64)))
        return cls(mean, variance, 0.05 / width if width > 0.0 else 0.0, nu0=len(mean) + 2.0, psi0=variance / 10.0)

    def for_data(self, X: Matrix) -> DriftingNormal:
        """Self with one entry a feature in every parameter; ValueError where the data does not fit."""
        family: DriftingNormal = fitted_to(self, X)
        check_range(X, family.m0, np.sqrt(np.diag(family.psi0)))
        return family

    def covariance_of_means(self, times: Any) -> Matrix:
        """(T, T): the covariance of a mean at ``times``, in units of ``variance``."""
        at = np.asarray(times, dtype=np.float64)
        apart: Matrix = np.abs(at[:, None] - at)
        return np.exp(-self.rate * apart**self.power) + self.nugget * np.eye(len(at))

    def standardised(self, X: Matrix) -> Matrix:
        """Points less ``m0``, in units of sqrt(``variance``)."""
        return (X - self.m0) / np.sqrt(self.variance)

    def over(self, times: Vector) -> Drift:
        """The prior over slices at distinct ``times``, for standardised points; ValueError for no covariance."""
        gamma, units = self.covariance_of_means(times), np.sqrt(self.variance)
        psi = self.psi0 / np.outer(units, units)
        try:
            factor: Matrix = np.linalg.cholesky(gamma).astype(np.float64)
        except np.linalg.LinAlgError:
            least = float(np.linalg.eigvalsh(gamma)[0])
            msg = (
                f"the covariance of means over {len(times)} times is not positive definite, its least eigenvalue is "
                f"{least:.2g}: raise nugget above {self.nugget - least:.2g}, or lower power"
            )
            raise ValueError(msg) from None
        inverse = np.linalg.inv(factor)
        variances, axes = np.linalg.eigh(psi)
        D = len(psi)
        packed = np.linalg.cholesky(psi)[np.tril_indices(D)]
        return Drift(
            *(factor, inverse.T @ inverse, self.nu0, packed, axes, variances, *nodes(self.nu0, D)), self.m0, units
        )


def nodes(nu0: float, D: int) -> tuple[Vector, Vector]:
    """Nodes v and log probabilities: x - mu, Student t, is normal with covariance psi0 / v (docs/maths.md (92)).

    v ~ Gamma((nu0 - D + 1) / 2, rate 1 / 2), by the trapezoidal rule in log v: exact to rounding, also given x, for the
    step is a quarter of the narrowest width. Nodes reach far below the mode, where v is given a far point. A known
    covariance has one node, 1.
    """
    if nu0 == 0.0:
        return np.ones(1), np.zeros(1)
    shape = 0.5 * (nu0 - D + 1.0)
    step, top = 0.25 * min(1.0, (shape + 0.5 * D) ** -0.5), log(2.0 * shape)
    below = min(max(_NATS / shape, _FARTHEST), _MOST_NODES * step)
    at = np.arange(top - below, top + log1p(50.0 / shape) + 10.0 * shape**-0.5, step)
    log_density = shape * (at - top) - shape * np.expm1(at - top)
    kept = log_density > np.where(at < top, -np.inf, -_NATS)
    return np.exp(at[kept]), log_density[kept] - np.logaddexp.reduce(log_density[kept])
