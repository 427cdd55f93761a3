"""The shape of a series: its period, parts of windows, principal components, against numpy and by their laws."""

import numpy as np
import pytest

from mapdpm.features import PCA, Autoperiod, Lag, Series, Smooth, Window
from oracle import features as oracle

DTYPES = pytest.mark.parametrize("dtype", ["float64", "float32"])
NAN = np.nan


def waves(n, periods=(23.0,), noise=0.1, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.sin(2 * np.pi * np.arange(n) / period) for period in periods])
    X = X + noise * rng.normal(size=X.shape)
    X[rng.random(X.shape) < missing] = NAN
    return np.asarray(X, dtype=np.float32).astype(float)


@DTYPES
@pytest.mark.parametrize("n", [1, 2, 7, 50])
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_smooth_is_the_mean_of_the_last_points(dtype, n, missing):
    X = waves(60, (23.0, 5.0), missing=missing, noise=1.0)
    found = Smooth(n, dtype=dtype).transform_many(X)
    np.testing.assert_allclose(found, oracle.smooth(X, n), rtol=0, atol=1e-12 if dtype == "float64" else 1e-5)


def test_a_constant_is_smooth_as_it_is():
    assert (Smooth(5).transform_many(np.full((40, 1), 0.1)) == 0.1).all()


@pytest.mark.parametrize("period", [4, 7, 23, 50, 96])
@pytest.mark.parametrize("scale", [1e-40, 1.0, 1e40])
def test_the_period_is_found_in_noise_at_any_scale(period, scale):
    x = waves(400, (period,), noise=0.3, seed=period)
    windows = Autoperiod(256)
    assert windows.period_ is None
    windows.transform_many(x * scale)
    assert abs(windows.period_ - period) <= 0.05 * period  # long lags have fewer products, so their sums are smaller
    assert windows.period_ == oracle.period_of(x[:256])


@pytest.mark.parametrize("shape", ["steps", "constant", "missing", "noise", "two"])
def test_windows_have_the_values_of_the_oracle(shape):
    rng = np.random.default_rng(3)
    x = {
        "steps": np.round(waves(500, (31.0,), noise=0.4)),
        "constant": np.full((500, 1), 7.25),
        "missing": waves(500, (31.0, 31.0), missing=0.3),
        "noise": rng.normal(size=(500, 1)),
        "two": waves(500, (12.0, 60.0)),
    }[shape]
    found = Autoperiod(200, 5).transform_many(x)
    np.testing.assert_allclose(found, oracle.autoperiod(x, 200, 5), rtol=0, atol=1e-12)


def test_a_series_without_a_period_has_windows_of_an_eighth_of_its_warm_up():
    windows = Autoperiod(64, 4)
    row = windows.transform_many(np.arange(64.0)[:, None])[0]
    assert windows.period_ is None
    assert row.tolist() == [62.5, 60.5, 58.5, 56.5]


@DTYPES
@pytest.mark.parametrize(("D", "m", "n"), [(1, 1, 5), (4, 2, 9), (6, 6, 40), (12, 6, 144), (3, 3, 2)])
def test_components_are_those_of_a_singular_value_decomposition(dtype, D, m, n):
    rng = np.random.default_rng(D)
    X = rng.normal(size=(200, D)) @ rng.normal(size=(D, D)) + rng.normal(size=D)
    X[rng.random(200) < 0.1, 0] = NAN
    X = X.astype(np.float32).astype(float)
    found, expected = PCA(m, n, dtype=dtype).transform_many(X), oracle.pca(X, m, n)
    assert len(found) == len(expected)
    kept = min(m, n - 1, D)  # axes without any spread are arbitrary
    atol = 1e-9 if dtype == "float64" else 2e-3
    np.testing.assert_allclose(found[:, :kept], expected[:, :kept], rtol=0, atol=atol * np.nanmax(np.abs(X)))
    assert not np.isnan(found).any()
    seen = (expected[:, -1] > np.log(1e-6)) & (kept == m)
    np.testing.assert_allclose(found[seen, -1], expected[seen, -1], rtol=0, atol=1e-6 if dtype == "float64" else 0.05)


@pytest.mark.parametrize("scale", [2.0**-130, 1.0, 2.0**130])
def test_components_follow_the_units_and_the_residual_has_none(scale):
    X = waves(300, (23.0, 11.0, 7.0), noise=0.5)
    one, other = PCA(2, 100).transform_many(X), PCA(2, 100).transform_many(X * scale)
    np.testing.assert_array_equal(other[:, :2], one[:, :2] * scale)
    np.testing.assert_array_equal(other[:, 2], one[:, 2])


def test_axes_of_rows_without_spread_are_the_columns():
    rows = PCA(2, 4).transform_many([[3.0, 1.0, 2.0]] * 4 + [[3.0, 1.0, 2.5], [4.0, 0.0, 2.0]])
    assert rows[:, :2].tolist() == [[0.0, 0.0], [0.0, 0.0], [1.0, -1.0]]
    np.testing.assert_allclose(rows[:, 2], np.log([1e-9, 0.25, 1e-9]))


def test_a_rotation_of_the_columns_turns_nothing():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 5)) * [5.0, 3.0, 2.0, 1.0, 0.5]
    turned = X @ np.linalg.qr(rng.normal(size=(5, 5)))[0]
    one, other = PCA(3, 150).transform_many(X), PCA(3, 150).transform_many(turned)
    np.testing.assert_allclose(np.abs(other[:, :3]), np.abs(one[:, :3]), atol=1e-9)
    np.testing.assert_allclose(other[:, 3], one[:, 3], atol=1e-9)


@DTYPES
def test_a_series_is_the_chain_of_its_parts(dtype):
    x = waves(700, (40.0,), missing=0.02)
    series = Series(dtype=dtype)
    rows = series.transform_many(x)
    chain = Autoperiod(256, 12, dtype=dtype) | PCA(6, 144, dtype=dtype)
    np.testing.assert_array_equal(rows, chain.transform_many(x))
    np.testing.assert_array_equal(series.transform(x), rows)
    assert chain.waits
    assert series.period_ == chain.period_ == oracle.period_of(x[:256])
    assert series.get_feature_names_out(["x"]).tolist() == [*(f"component {k}" for k in range(1, 7)), "residual"]
    expected = oracle.series(x)
    assert len(rows) == len(expected)
    error = np.abs(rows - expected)[:, :2].max()
    assert error <= expected[:, 0].std() * (1e-6 if dtype == "float64" else 0.02)


def test_a_gap_has_no_result_and_needs_no_care():
    """A part of the window without any value has none; single missing values are left out of means."""
    x = waves(1500, (72.0,))
    x[600::20] = NAN
    x[900:950] = NAN
    series = Series()
    rows, points = series.transform_many(x, indices=True)
    assert not np.isnan(rows).any()
    assert round(series.period_ / 24) == 3  # points of a part
    missing = sorted(set(range(points[0], 1500)) - set(points.tolist()))
    assert missing == list(range(902, 949 + 11 * 3 + 1))


def test_frames_keep_their_index_only_where_each_row_has_a_result():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": waves(100)[:, 0]}, index=np.arange(100) + 7)
    assert Lag(1).set_output(transform="pandas").transform(frame).index[0] == 7
    assert len(Series(24, 3, 2).set_output(transform="pandas").transform(frame)) < 100


def test_a_union_waits_for_its_last_part_and_the_others_go_on():
    x = waves(60)
    both = Lag(1) + PCA(1, 10)
    rows, points = both.transform_many(x, indices=True)
    assert points.tolist() == list(range(9, 60))
    np.testing.assert_array_equal(rows[:, :2], Lag(1).transform_many(x)[9:])
    turned = PCA(1, 10) + Window(3) | Lag(1)
    assert turned.transform_many(x)[:, 2:5].tolist() == Window(3).transform_many(x)[9:].tolist()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Autoperiod(7), "n must be"),
        (lambda: Autoperiod(40, 21), r"parts must be at most n / 2 = 20, got 21"),
        (lambda: Autoperiod(40, 1), "parts must be"),
        (lambda: PCA(0), "m must be"),
        (lambda: PCA(257), "m must be at most 256, got 257"),
        (lambda: PCA(2, 1), "n must be"),
        (lambda: PCA(2, 2**20 + 1), "n must be at most 1048576"),
        (lambda: Series(23), "n must be"),
        (lambda: PCA(3).fit([[1.0, 2.0]]), "PCA needs 3 to 256 columns, but gets 2"),
        (lambda: (Lag(200) | PCA(3)).fit([[1.0, 2.0]]), "PCA needs 3 to 256 columns, but gets 402"),
        (lambda: Series(parts=4).fit([[1.0]]), "PCA needs 6 to 256 columns, but gets 4"),
    ],
)
def test_what_cannot_be_is_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()
