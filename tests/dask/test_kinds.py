"""Kinds of columns and shapes of clusters of chunks are those of the same points in memory."""

import itertools

import dask
import numpy as np
import pandas as pd
import pytest

import mapdpm.dask as on_dask
from mapdpm import MAPDPM
from mapdpm.search import fit_in_passes, passes

N = 900
RNG = np.random.default_rng(0)
Z = RNG.integers(0, 3, N)
POSITION = RNG.normal(6.0 * Z, 1.0)
IS_ON = RNG.random(N) < np.array([0.1, 0.9, 0.5])[Z]
NOISE = RNG.normal(size=N)
SLANTED = RNG.normal(0.0, 4.0, N)
TABLES = {
    "a flag": np.column_stack([POSITION, IS_ON, NOISE]),
    "a relay": np.column_stack([POSITION, np.where(IS_ON, 7.0, 3.0)]),
    "rain": np.column_stack([POSITION, np.maximum(RNG.normal(2.0 * Z - 1.0, 1.0), 0.0)]),
    "a clipped range": np.clip(np.column_stack([POSITION, RNG.normal(3.0 * Z, 1.0)]), 0.0, 9.0),
    "counts": np.column_stack([RNG.poisson(np.array([2, 20, 80])[Z]), NOISE]),
    "correlated": np.column_stack([POSITION + SLANTED, POSITION - SLANTED, NOISE]),
}
SOME = ("a flag", "rain", "correlated")


def chunks_of(X):
    return [dask.delayed(X[first:last]) for first, last in itertools.pairwise((0, 400, 400, N))]


def labels_of(model, X):
    return np.concatenate(dask.compute(*on_dask.labels(model, chunks_of(X))))


@pytest.mark.parametrize(
    "name", [each if each in SOME else pytest.param(each, marks=pytest.mark.complete) for each in TABLES]
)
def test_tables_have_the_fits_of_points_in_memory(name):
    X = TABLES[name]
    model, in_memory = on_dask.fit(MAPDPM(), chunks_of(X)), MAPDPM().fit(X)
    assert model.log_joint_ == pytest.approx(in_memory.log_joint_, rel=1e-9)
    assert labels_of(model, X).tolist() == in_memory.labels_.tolist()
    assert model.relevant_.tolist() == in_memory.relevant_.tolist()
    np.testing.assert_allclose(model.relevance_, in_memory.relevance_, rtol=1e-6)
    np.testing.assert_allclose(model.means_, in_memory.means_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.score_samples(X), in_memory.score_samples(X), atol=1e-9)
    assert type(model.likelihood_) is type(in_memory.likelihood_)


def test_names_kinds_and_shapes_are_the_users():
    frame = pd.DataFrame({"position": POSITION, "direction": np.mod(120.0 * Z + 15.0 * NOISE, 360.0), "other": SLANTED})
    parameters = {"kinds": {"direction": "circular:360", "other": "constant"}, "covariance": "diagonal"}
    model, in_memory = on_dask.fit(MAPDPM(**parameters), chunks_of(frame)), MAPDPM(**parameters).fit(frame)
    assert model.log_joint_ == pytest.approx(in_memory.log_joint_, rel=1e-9)
    assert labels_of(model, frame).tolist() == in_memory.labels_.tolist()
    assert model.relevant_.tolist() == [True, True, False]
    X = TABLES["correlated"]
    for covariance in ("full", "auto"):
        parameters = {"covariance": covariance, "relevance": "all"}
        model, in_memory = on_dask.fit(MAPDPM(**parameters), chunks_of(X)), MAPDPM(**parameters).fit(X)
        assert model.log_joint_ == pytest.approx(in_memory.log_joint_, rel=1e-9)


@pytest.mark.parametrize(("name", "column", "kind"), [("a flag", 1, "flag"), ("counts", 0, "count")])
def test_one_chunk_shows_that_a_column_is_no_more_than_a_number(monkeypatch, name, column, kind):
    """No such row is in the sample; a kind that the user states is refused there."""
    monkeypatch.setattr(fit_in_passes, "SAMPLE", 200)
    X = TABLES[name].astype(np.float64)
    fitted = on_dask.fit(MAPDPM(), chunks_of(X))
    X[np.argmax(passes.uniforms(np.arange(N), 0)), column] = 0.5
    model = on_dask.fit(MAPDPM(), chunks_of(X))
    assert type(fitted.likelihood_) is not type(model.likelihood_)
    assert np.isfinite(model.score_samples(X)).all()
    with pytest.raises(ValueError, match=f"column {column} has other values in other chunks than a {kind} may have"):
        on_dask.fit(MAPDPM(kinds={column: kind}), chunks_of(X))


def test_kinds_are_for_auto():
    with pytest.raises(ValueError, match="kinds is for likelihood='auto'"):
        on_dask.fit(MAPDPM(likelihood=None, kinds={0: "flag"}), chunks_of(TABLES["a flag"]))
