"""Features: every transformer against the slow oracle, and the laws that all of them obey."""

import copy
import itertools
import math
import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mapdpm
from mapdpm import features
from mapdpm.features import (
    RMS,
    BandEnergy,
    Centre,
    Clock,
    CrestFactor,
    Difference,
    Lag,
    Pipeline,
    Seasonal,
    Spread,
    Transformer,
    Union,
    Window,
)
from mapdpm.features.transformer import KINDS
from mapdpm.files import container
from mapdpm.files.errors import ModelFileError
from mapdpm.validation import NotFittedError
from oracle import features as oracle
from tests.marks import a_share, complete_but

EPS = {"float64": 2.0**-52, "float32": 2.0**-23}
NAN = math.nan
HOUR = 3600.0
DTYPES = pytest.mark.parametrize("dtype", complete_but(["float32"], ["float64", "float32"]))


def signal(n, D=2, seed=0, missing=0.0, offset=0.0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, D)) * 256) / 256 + offset  # float32 holds them exactly
    X[rng.random((n, D)) < missing] = NAN
    return X


def times(n, step=2.7 * HOUR, start=1.7e9):
    return start + step * np.arange(n)


def all_kinds(dtype="float64"):
    """One of each class that there is, and compositions."""
    texts = (
        *(kind.example for kind in KINDS.values()),
        *(f"Lag(1) | {kind.example} | Difference()" for kind in KINDS.values()),
        "Seasonal('week', 3.0, -7.5)",
        "Lag(3) + Difference(2)",
        "(RMS(4) + CrestFactor(4, centred=False) | Centre(5)) | Difference(2) + Lag(3)",
        "RMS(4) + (Difference(2) | CrestFactor(4)) + (Centre(5) | RMS(4))",
        "BandEnergy(8, [(0, 2), (2, 4)], 8.0) | RMS(4)",
    )
    return [features.parse(text, dtype) for text in texts]


# ---- the oracle ------------------------------------------------------------------------------------------------------


@DTYPES
@pytest.mark.parametrize("n", [1, 2, 7])
def test_lag_and_difference_have_the_values_of_the_oracle(dtype, n):
    X = signal(40, missing=0.1)
    np.testing.assert_array_equal(Lag(n, dtype=dtype).transform_many(X), oracle.lag(X, n))
    np.testing.assert_array_equal(Difference(n, dtype=dtype).transform_many(X), oracle.difference(X, n))


@DTYPES
@pytest.mark.parametrize(("n", "every"), [(1, 1), (5, 2), (7, 3), (8, 8)])
def test_windows_have_the_values_of_the_oracle(dtype, n, every):
    X = signal(40, missing=0.1)
    found = Window(n, every, dtype=dtype)
    np.testing.assert_array_equal(found.transform_many(X), oracle.window(X, n, every))
    assert len(found.get_feature_names_out()) == 2 * len(range(0, n, every))


@DTYPES
@pytest.mark.parametrize("by", ["hour", "week"])
@pytest.mark.parametrize(("half_life", "offset"), [(None, 0.0), (2.5, 5.75)])
def test_spread_is_the_point_over_the_root_mean_square_of_its_bin_before(dtype, by, half_life, offset):
    X, t = signal(400, missing=0.1), times(400)
    found = Spread(by, half_life, offset, dtype=dtype).transform_many(X, t)
    # A running mean of n squares is off by n eps of the largest of them; a root halves that.
    np.testing.assert_allclose(found, oracle.spread(X, t, by, half_life, offset), rtol=400 * EPS[dtype] * 8)


def test_the_same_deviation_is_small_by_day_and_large_at_night():
    rng, t = np.random.default_rng(0), HOUR * np.arange(24 * 60)
    day = np.arange(24 * 60) % 24 >= 12
    X = np.where(day, 1.0, 0.1)[:, None] * rng.normal(size=(24 * 60, 1))
    X[-1], X[-14] = 2.0, 2.0  # 23:00 and 10:00
    found = (Seasonal("hour") | Spread("hour")).transform_many(X, t)[:, 0]
    assert abs(found[-1]) < 3.0
    assert found[-14] > 10.0


def test_a_window_takes_no_more_than_its_points():
    with pytest.raises(ValueError, match="step must be at most n=3, got 4"):
        Window(3, 4)


@DTYPES
@pytest.mark.parametrize(("window", "missing"), [(1, 0.0), (2, 0.0), (5, 0.3), (64, 0.1), (500, 0.0)])
def test_centre_is_the_point_less_the_mean_of_the_points_before(dtype, window, missing):
    X = signal(300, missing=missing, offset=1000.0)
    found, wanted = Centre(window, dtype=dtype).transform_many(X), oracle.centre(X, window)
    # Two turns of the ring round at most 4 window sums of values below 8 from the shift, which is a point.
    np.testing.assert_allclose(found, wanted, rtol=0, atol=4 * window * EPS[dtype] * 8)
    assert not np.any(found[0][~np.isnan(X[0])])


def test_centre_is_exact_after_each_turn_whatever_came_before():
    window, X = 8, signal(8, D=1)
    wild = np.concatenate([[[1e15], [-3.0], [7e14]], np.full((5, 1), 0.1)])
    found = Centre(window).transform_many(np.concatenate([wild, X, X]))
    assert np.array_equal(found[16:], Centre(window).transform_many(np.concatenate([X, X]))[8:])


@DTYPES
@pytest.mark.parametrize("value", [0.1, -7.3, 1e9, 1e-30])
def test_constant_streams_have_no_residual(dtype, value):
    X = np.full((100, 1), value)
    for each in (Centre(7, dtype=dtype), Seasonal("hour", dtype=dtype), Seasonal("week", 2.0, dtype=dtype)):
        assert not np.any(each.transform_many(X, times(100)))
    assert not np.any(RMS(9, dtype=dtype).transform_many(X))
    assert not np.any(CrestFactor(9, dtype=dtype).transform_many(X))
    assert not np.any(BandEnergy(9, [(0, 0.5)], 1.0, dtype=dtype).transform_many(X))


@DTYPES
@pytest.mark.parametrize("by", ["hour", "day", "week"])
@pytest.mark.parametrize(("half_life", "offset"), [(None, 0.0), (2.5, 5.75), (None, -24.0)])
def test_seasonal_is_the_point_less_the_mean_of_its_bin_before(dtype, by, half_life, offset):
    X, t = signal(400, missing=0.1), times(400)
    found = Seasonal(by, half_life, offset, dtype=dtype).transform_many(X, t)
    wanted = oracle.seasonal(X, t, by, half_life, offset)
    # A running mean of n values below 8 is off by n eps of them, at most.
    np.testing.assert_allclose(found, wanted, rtol=0, atol=400 * EPS[dtype] * 8)


@DTYPES
@pytest.mark.parametrize("by", ["day", "week"])
@pytest.mark.parametrize("offset", [0.0, 5.75, -24.0])
def test_a_clock_is_the_angle_of_the_time(dtype, by, offset):
    t = np.r_[times(400, step=0.37 * HOUR), times(400, step=-71.3 * HOUR, start=1e6), 3600.0 * np.arange(-169, 170)]
    found = Clock(by, offset, dtype=dtype).transform_many(np.full((len(t), 3), NAN), t)
    np.testing.assert_allclose(found, oracle.clock(None, t, by, offset), rtol=0, atol=3e-7)
    assert np.abs(found).max() <= 1.0
    assert Clock("week").transform_one([0.0], 1_704_067_200.0) == [1.0, 0.0]  # a Monday


def test_hours_and_days_are_those_of_the_calendar():
    monday, sunday = 1_704_067_200.0, 1_704_067_200.0 - 24 * HOUR  # 2024-01-01 00:00 UTC
    by_day = Seasonal("day")
    assert by_day.transform_one([4.0], sunday + 3 * HOUR) == [0.0]
    assert by_day.transform_one([6.0], monday) == [2.0]  # not yet visited: less the mean of all points
    assert by_day.transform_one([9.0], monday + 7 * 24 * HOUR + 23.99 * HOUR) == [3.0]
    assert Seasonal("day").transform_many([[1.0], [5.0]], [-1.0, -7 * 24 * HOUR - 1.0]).tolist() == [[0.0], [4.0]]
    before = Seasonal("hour")  # before 1970
    before.transform_many([[1.0], [8.0]], [-HOUR, -2 * HOUR])
    assert before.transform_one([2.0], -1.0) == [1.0]


@DTYPES
@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize(("window", "offset"), [(1, 0.0), (2, 9.0), (16, 0.0), (256, 1000.0)])
def test_blocks_have_the_rms_and_the_crest_factor_of_the_oracle(dtype, centred, window, offset):
    X = signal(600, missing=0.1, offset=offset)
    for kind, slow in ((RMS, oracle.rms), (CrestFactor, oracle.crest_factor)):
        found, wanted = kind(window, centred=centred, dtype=dtype).transform_many(X), slow(X, window, centred)
        assert found.shape == (600 // window, 2)
        # The mean is off by window eps (offset + 4), which adds to deviations of 1.
        tolerance = 4 * window * EPS[dtype] * (offset + 4)
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


@DTYPES
@pytest.mark.parametrize("window", [2, 3, 8, 31, 256])
def test_band_energy_has_the_spectrum_of_the_oracle(dtype, window):
    X = signal(3 * window, offset=10.0)
    half = window // 2 + 1
    edges = sorted({1, half // 3 + 1, half // 2 + 1, half})
    bands = [((a - 0.5) / window, min((b - 0.5) / window, 0.5)) for a, b in itertools.pairwise(edges)]
    each = BandEnergy(window, bands or [(0, 0.5)], 1.0, dtype=dtype)
    found, wanted = each.transform_many(X), oracle.band_energy(X, window, each.bins())
    # The recurrence adds `window` terms: the error of an amplitude is window eps of the root mean square, a few times.
    assert np.max(np.abs(found - wanted)) < 8 * window * EPS[dtype] * np.mean((X - 10.0) ** 2)


@DTYPES
@pytest.mark.parametrize("window", [2, 7, 64, 4096])
def test_bands_that_cover_all_add_up_to_the_mean_square(dtype, window):
    """Parseval. Each of window / 2 bins is off by as much as above, in either direction."""
    X = signal(window, offset=100.0)
    bands = [(0, 500)] if window < 10 else [(0, 50), (50, 100.25), (100.25, 500)]
    energy = BandEnergy(window, bands, 1000.0, dtype=dtype)
    total = energy.transform_many(X).reshape(-1, 2).sum(axis=0)
    np.testing.assert_allclose(
        total, RMS(window).transform_many(X)[0] ** 2, rtol=8 * math.sqrt(window) * EPS[dtype] * 8
    )


@pytest.mark.parametrize("k", [1, 3, 128, 511, 512])
def test_a_sine_has_all_its_energy_in_its_bin(k):
    x = 3.0 * np.cos(2 * np.pi * k * np.arange(1024) / 1024)
    for dtype, tolerance in (("float64", 1e-10), ("float32", 1e-3)):
        here = BandEnergy(1024, [(k - 0.5, min(k + 0.5, 512.0))], 1024.0, dtype=dtype)
        assert here.transform_many(x[:, None])[0, 0] == pytest.approx(9.0 if k == 512 else 4.5, rel=tolerance)


def test_bins_are_those_of_the_decimals_that_users_write():
    assert BandEnergy(10, [(0.1, 0.3), (0.3, 0.5)], 1.0).bins() == [(1, 3), (3, 6)]
    assert BandEnergy(9, [(0, 4.5)], 9.0).bins() == [(1, 5)]


def test_a_missing_sample_leaves_amplitudes_and_takes_the_spectrum():
    X = [[1.0], [NAN], [3.0], [2.0]]
    assert RMS(4).transform_many(X)[0, 0] == pytest.approx(math.sqrt(2 / 3))
    assert CrestFactor(4).transform_many(X)[0, 0] == pytest.approx(math.sqrt(3 / 2))
    assert np.isnan(BandEnergy(4, [(0, 2)], 4.0).transform_many(X)).all()
    assert np.isnan((RMS(2) + CrestFactor(2)).transform_many([[NAN], [NAN]])).all()
    assert BandEnergy(2, [(0, 1)], 2.0).transform_many([[NAN], [1.0], [1.0], [3.0]])[1].tolist() == [1.0]


# ---- laws ------------------------------------------------------------------------------------------------------------


@DTYPES
@a_share(0.2)
@given(cuts=st.lists(st.integers(1, 79), max_size=4), seed=st.integers(0, 9))
def test_pieces_and_single_points_and_files_give_the_bits_of_one_call(dtype, cuts, seed):
    X, t = signal(80, seed=seed, missing=0.1), times(80)
    for each in all_kinds(dtype):
        whole, places = each.transform_many(X, t, indices=True)
        again, found, numbers = copy.copy(each).reset(), [], []
        ends = [0, *sorted(set(cuts)), 80]
        for first, end in itertools.pairwise(ends):
            again = Transformer.from_bytes(again.to_bytes()) if first else again
            rows, at = again.transform_many(X[first:end], t[first:end], indices=True)
            found.append(rows)
            numbers += (at + first).tolist()
        np.testing.assert_array_equal(np.concatenate(found), whole)
        assert numbers == places.tolist()
        assert each.waits or numbers == list(range(each.every - 1, 80, each.every))
        one = pickle.loads(pickle.dumps(each)).reset()
        singly = [one.transform_one(x, when) for x, when in zip(X.tolist(), t.tolist(), strict=True)]
        came = np.array([row for row in singly if row is not None]).reshape(whole.shape)
        np.testing.assert_array_equal(came, whole)
        assert [i for i, row in enumerate(singly) if row is not None] == numbers
        assert one.to_bytes() == each.to_bytes() == again.to_bytes()
        each.reset()


def test_a_pipeline_is_the_composition_and_a_union_the_concatenation():
    X, t = signal(90, missing=0.05), times(90)
    a, b, c = Centre(4), Lag(2), RMS(3)
    np.testing.assert_array_equal((a | b).transform_many(X), b.transform_many(a.transform_many(X)))
    a, b = Centre(4), Seasonal("hour", 4.0)
    parts = np.hstack([a.transform_many(X), b.transform_many(X, t)])
    np.testing.assert_array_equal((Centre(4) + Seasonal("hour", 4.0)).transform_many(X, t), parts)
    rows, places = c.transform_many(X, indices=True)
    pipeline = RMS(3) | Seasonal("day")
    np.testing.assert_array_equal(pipeline.transform_many(X, t), Seasonal("day").transform_many(rows, t[places]))


@DTYPES
def test_results_are_cut_at_the_limit(dtype):
    most = 2.0**50 if dtype == "float32" else 2.0**480
    squares = BandEnergy(2, [(0, 1)], 2.0, dtype=dtype) | BandEnergy(2, [(0, 1)], 2.0, dtype=dtype)
    for _ in range(4):
        row = squares.transform_one([most])
        row = squares.transform_one([-most]) or row
    assert row == [0.0]
    twice = Difference(dtype=dtype)
    twice.transform_one([most])
    assert twice.transform_one([-most]) == [-most]


# ---- parameters, names, texts ----------------------------------------------------------------------------------------


def test_the_repr_of_every_transformer_is_its_text():
    for each in [*all_kinds(), *all_kinds("float32"), Lag(np.int64(2)), BandEnergy(8, np.array([[0, 1.0]]), 2.0)]:
        again = features.parse(repr(each))
        assert repr(again) == repr(each)
        assert type(again) is type(each)
        assert again.c_steps() == each.c_steps()
        assert again.dtype == each.dtype
    assert repr(features.parse("Lag(2) | (Lag(1) | Lag(3))")) == "Lag(n=2) | Lag(n=1) | Lag(n=3)"
    assert repr(features.parse("Lag(2)", "float32")) == "Lag(n=2, dtype='float32')"
    assert isinstance(features.parse("Lag(1) + Lag(2) | Lag(3)"), Pipeline)
    assert isinstance(features.parse("Lag(1) + (Lag(2) | Lag(3))"), Union)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "features must be a text"),
        ("Lag(2", "cannot be read at character 4"),
        ("Lag", "write its arguments"),
        ("Lags(2)", "there are no features 'Lags'; known are Lag, Difference"),
        ("Lag(2) - Lag(1)", "calls joined by"),
        ("Lag(x)", "must be numbers and texts"),
        ("Lag(__import__('os').getpid())", "must be numbers and texts"),
        ("Lag(**{'n': 2})", "must be written out"),
        ("Lag(n=2, m=3)", "unexpected keyword argument 'm'"),
        ("Lag()", "missing 1 required positional argument"),
        ("Lag(0)", "Lag: n must be an integer >= 1"),
        ("RMS(4) + Lag(2)", "results at the same points"),
        ("Lag(2) | " * 1200 + "Lag(2)", "10806 characters"),
        ("(" * 400 + "Lag(2)" + ")" * 400, "features"),
    ],
)
def test_a_wrong_text_is_refused(text, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        features.parse(text)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Lag(65536), "n must be at most 65535"),
        (lambda: Centre(True), "window must be an integer >= 1"),
        (lambda: Seasonal("month"), "by must be one of 'hour', 'day', 'week'"),
        (lambda: Seasonal("hour", 0.0), "half_life must be > 0, in visits"),
        (lambda: Seasonal("hour", utc_offset=0.01), "whole minutes"),
        (lambda: Seasonal("hour", utc_offset=25), "-24 to 24"),
        (lambda: RMS(2**20 + 1), "window must be at most 1048576"),
        (lambda: RMS(4, centred=2), "centred must be True or False"),
        (lambda: RMS(4, dtype="float16"), "dtype must be one of"),
        (lambda: BandEnergy(1, [(0, 1)], 2.0), "window must be an integer >= 2"),
        (lambda: BandEnergy(8, [(0, 5)], 8.0), "0 <= low < high <= rate / 2 = 4 Hz"),
        (lambda: BandEnergy(8, [(2, 2)], 8.0), "0 <= low < high"),
        (lambda: BandEnergy(8, [(0.1, 0.9)], 8.0), "no bin lies in the band"),
        (lambda: BandEnergy(8, (0, 4), 8.0), "bands must be pairs"),
        (lambda: BandEnergy(8, [], 8.0), "bands must be 1 to 32 pairs"),
        (lambda: BandEnergy(8, [(0, 4)], 0), "rate must be > 0, in Hz"),
        (lambda: Lag(1) + Lag(1, dtype="float32"), "the same dtype"),
        (lambda: Pipeline([]), "at least one"),
        (lambda: Union([Lag]), "sequence of transformers"),
        (lambda: RMS(4) + RMS(8), "RMS(window=4) gives one in 4"),
    ],
)
def test_wrong_parameters_are_refused(make, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        make()
    with pytest.raises(TypeError):
        Lag(2) | 3


def test_wrong_points_change_nothing():
    pipeline = Lag(1) | Seasonal("hour")
    pipeline.transform_many(signal(5), times(5))
    before = pipeline.to_bytes()
    for x, t, says in (
        ([1.0], 0.0, "x has 1 features, but Pipeline expects 2"),
        ([1.0, math.inf], 0.0, "x contains infinity at feature 1"),
        ([1e200, 1.0], 0.0, "x has 1e+200 at feature 0, beyond"),
        ([1.0, 2.0], None, "t is needed"),
        ([1.0, 2.0], 1e13, "beyond any clock"),
        ([1.0, 2.0], NAN, "t must be a finite number"),
        (["a", 2.0], 0.0, "sequence of 2 numbers"),
        ({"a": 1.0}, 0.0, "mapdpm.compat.river takes dicts"),
    ):
        with pytest.raises(ValueError, match=re.escape(says)):
            pipeline.transform_one(x, t)
    for X, t, says in (
        ([[1.0, 2.0], [1.0, math.inf]], [0.0, 1.0], "X contains infinity at row 1, column 1"),
        ([[1.0, 2.0]], None, "t is needed"),
        ([[1.0, 2.0], [3.0, 4.0]], [0.0, 1e13], "the time of X, row 1"),
        ([[1.0, 2.0]], [0.0, 1.0], "t must have one entry a point"),
        ([[1.0]], [0.0], "X has 1 features"),
    ):
        with pytest.raises(ValueError, match=re.escape(says)):
            pipeline.transform_many(X, t)
    assert pipeline.to_bytes() == before
    small = Lag(1, dtype="float32")
    with pytest.raises(ValueError, match=r"beyond 1\.13e\+15, the largest value of float32"):
        small.transform_many([[1.0], [1e16]])
    with pytest.raises(NotFittedError, match="has seen nothing"):
        small.to_bytes()
    with pytest.raises(AttributeError):
        _ = small.n_features_in_
    with pytest.raises(ValueError, match="too many or too long"):
        Lag(65535).transform_one([1.0, 2.0])


def test_names_say_what_a_column_is():
    names = ["a", "b"]
    assert Lag(1).get_feature_names_out(names).tolist() == ["a", "b", "a lag 1", "b lag 1"]
    assert (Difference(2) | Centre(3)).get_feature_names_out(names).tolist() == [
        "a difference 2 centred",
        "b difference 2 centred",
    ]
    assert (RMS(4) + BandEnergy(4, [(0, 1.5), (1.5, 2)], 4)).get_feature_names_out(["a"]).tolist() == [
        "a rms",
        "a 0-1.5 Hz",
        "a 1.5-2 Hz",
    ]
    each = Seasonal("week") + CrestFactor(1)
    each.transform_one([1.0], 0.0)
    assert each.get_feature_names_out().tolist() == ["x0 seasonal week", "x0 crest factor"]
    assert (each.n_features_in_, each.n_features_out, each.nbytes > 2 * 168 * 8) == (1, 2, True)
    with pytest.raises(ValueError, match="input_features should have length"):
        each.get_feature_names_out(names)
    with pytest.raises(NotFittedError):
        Lag(1).get_feature_names_out()


# ---- files -----------------------------------------------------------------------------------------------------------


def test_files_are_read_by_load_and_damaged_ones_refused(tmp_path):
    pipeline = Lag(2) | Centre(3)
    pipeline.transform_many(signal(7))
    pipeline.save(tmp_path / "features.mdpm")
    again = mapdpm.load(tmp_path / "features.mdpm")
    assert (type(again), repr(again), again.to_bytes()) == (Pipeline, repr(pipeline), pipeline.to_bytes())
    data = pipeline.to_bytes()
    other = container.with_extras(data, {"features": "Lag(2) | Centre(4)"})
    for wrong, says in (
        (data[:-1], "truncated"),
        (data[:50] + b"x" + data[51:], "CRC"),
        (other, "its steps are not those of"),
        (container.with_extras(data, {"features": "Lag(0)"}), "n must be an integer"),
        (mapdpm.OnlineMAPDPM(n_features=1).to_bytes(), "a stream learner"),
    ):
        with pytest.raises(ModelFileError, match=says):
            Lag.from_bytes(wrong)
    with pytest.raises(ModelFileError, match="holds the state of features"):
        mapdpm.OnlineMAPDPM.from_bytes(data)
    with pytest.raises(ModelFileError, match="holds the state of features"):
        mapdpm.MAPDPM.from_bytes(data)


def test_the_file_of_a_chip_needs_its_parameters():
    each = BandEnergy(8, [(1, 3)], 8.0, dtype="float32")
    each.transform_many(signal(5))
    with pytest.raises(ModelFileError, match="written by a chip"):
        BandEnergy.from_bytes(each._pipeline.write())
    again = BandEnergy.from_bytes(each._pipeline.write(), like=BandEnergy(8, [(1, 3)], 8.0, dtype="float32"))
    assert again.to_bytes() == each.to_bytes()
    with pytest.raises(ModelFileError, match="its steps are not those"):
        BandEnergy.from_bytes(each._pipeline.write(), like=BandEnergy(8, [(1, 4)], 8.0, dtype="float32"))
