"""The agreement of backends. It alone proves nothing, so tests also compare the python backend with oracles."""

from __future__ import annotations

import numpy as np

from mapdpm.estimators.map_dpm import MAPDPM
from mapdpm.testing.data import Case


def agree(case: Case, first: str, second: str, moves: tuple[str, ...] = ("merge", "split")) -> None:
    """AssertionError unless two backends give the same labels, sweeps, log joint and densities on ``case``.

    Labels must be equal, because differences between backends are smaller than the tolerance of a move. The log joint
    is a sum of rounded terms, and the last digits of rows depend on the order of operations: the tolerance, 1e-9 of a
    nat and of the size, is ten thousand roundings.
    """
    parameters = case._asdict()
    X, weights = parameters.pop("X"), parameters.pop("weights")
    models = [MAPDPM(backend=name, moves=moves, **parameters).fit(X, sample_weight=weights) for name in (first, second)]
    one, two = models
    np.testing.assert_array_equal(one.labels_, two.labels_, f"labels of {first} and {second}")
    assert (one.n_sweeps_, one.converged_) == (two.n_sweeps_, two.converged_), f"sweeps of {first} and {second}"
    for novelty in (False, True):
        np.testing.assert_array_equal(one.predict(case.X, novelty), two.predict(case.X, novelty))
    np.testing.assert_allclose(one.log_joint_, two.log_joint_, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(one.score_samples(case.X), two.score_samples(case.X), rtol=1e-9, atol=1e-9)
