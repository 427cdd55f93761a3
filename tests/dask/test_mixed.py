"""Columns of several kinds in chunks."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import mapdpm.dask as on_dask
from mapdpm import MAPDPM, BetaBernoulli, Categorical, Mixed, NormalGamma

Z = np.arange(600) % 3
FRAME = pd.DataFrame(
    {
        "temperature": 8.0 * Z + np.random.default_rng(0).normal(size=600),
        "mode": np.array(["a", "b", "c"])[Z],
        "door": Z > 0,
    }
)
PARTS = Mixed({"temperature": NormalGamma, "mode": Categorical, "door": BetaBernoulli})


def test_chunks_are_one_table():
    X = dd.from_pandas(FRAME, npartitions=3)
    model = on_dask.fit(MAPDPM(likelihood=PARTS.bound_to(FRAME)), X)
    whole = MAPDPM(likelihood=model.likelihood_).fit(FRAME)
    assert model.log_joint_ == pytest.approx(whole.log_joint_, rel=1e-9)
    assert np.array_equal(np.asarray(on_dask.predict(model, X).compute()), whole.labels_[: len(FRAME)])


def test_levels_must_be_known_before():
    with pytest.raises(ValueError, match=r"give likelihood=Mixed\(...\).bound_to\(rows with all levels\)"):
        on_dask.fit(MAPDPM(likelihood=PARTS), dd.from_pandas(FRAME, npartitions=3))
