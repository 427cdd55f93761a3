"""Columns of tables: what `columns` says of arrays, lists and DataFrames, and what a user may state."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mapdpm import MAPDPM, columns
from mapdpm.data.copies import without_copies
from mapdpm.kinds import counts
from mapdpm.validation import NotNumbersError

N = 300


def frame(seed=0):
    rng = np.random.default_rng(seed)
    state = rng.integers(0, 2, N)
    temperature = rng.normal(20.0 + 8.0 * state, 1.0)
    return {
        "temperature": temperature.round(1),
        "fahrenheit": (1.8 * temperature.round(1) + 32.0).round(2),
        "pressure": rng.normal(size=N),
        "rain": np.where(rng.random(N) < 0.6, 0.0, rng.gamma(2.0, 3.0, N)),
        "events": rng.poisson(2.0 + 9.0 * state).astype(float),
        "relay": (rng.random(N) < 0.2).astype(float),
        "door": rng.random(N) < 0.2,
        "mode": np.where(state == 0, "heat", "off"),
        "code": np.full(N, 3.7),
        "nothing": np.full(N, np.nan),
        "row": np.arange(1.0, N + 1.0),
        "label": state.astype(float) * 2.0 + 1.0 + (rng.random(N) < 0.3),
    }


KINDS = {
    "temperature": "rounded",
    "fahrenheit": "rounded",
    "pressure": "continuous",
    "rain": "spiked",
    "events": "count",
    "relay": "flag",
    "door": "flag",
    "mode": "category",
    "code": "constant",
    "nothing": "constant",
    "row": "rounded",
    "label": "rounded",
}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_kinds_of_a_frame(make):
    for seed in range(3):
        found = columns(make(frame(seed)))
        assert {each.name: each.kind for each in found} == KINDS
    by_name = {each.name: each for each in found}
    assert by_name["temperature"].step == 0.1
    assert by_name["fahrenheit"].step == pytest.approx(0.18)
    assert by_name["rain"].spikes == (0.0,)
    assert by_name["code"].spikes == (3.7,)
    assert by_name["nothing"].n_distinct == 0
    assert by_name["nothing"].share_missing == 1.0


def test_notes_say_what_is_suspicious():
    notes = {each.name: each.note for each in columns(pd.DataFrame(frame())) if each.note}
    assert notes == {
        "fahrenheit": "is a copy of column 'temperature', up to units and rounding",
        "row": "is all distinct and rising by 1 a row: is it a row number or a time?",
        "label": "is named 'label' and has 4 values: is it a class?",
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        columns(pd.DataFrame(frame())).warn()
    assert [str(each.message) for each in caught] == [f"column {name!r} {note}" for name, note in notes.items()]
    shuffled = np.random.default_rng(0).permutation(N)[:, None] + 1.0
    assert "once each" in columns(shuffled)[0].note
    far = np.where(np.random.default_rng(0).random(N) < 0.1, -999.0, frame()["pressure"])
    assert columns(far[:, None])[0].note == "has -999 far from all other values: does it stand for a missing one?"


def test_an_array_a_list_and_missing_values():
    own = {name: values for name, values in frame().items() if name != "mode"}
    X = np.stack([np.asarray(values, dtype=float) for values in own.values()], axis=1)
    expected = [KINDS[name] for name in own]
    assert [each.kind for each in columns(X)] == expected
    assert [each.kind for each in columns(X.tolist())] == expected
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    found = columns(X)
    assert [each.kind for each in found] == expected
    assert all(0.03 < each.share_missing < 0.2 for each in found if each.name != 8)
    assert [each.name for each in found] == list(range(11))
    assert columns([["a", 1.5], ["b", 2.0], ["a", None]])[0].kind == "category"


@pytest.mark.parametrize("unit", [1e-6, 1.0])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_units_and_offsets(unit, offset):
    for seed, n in ((0, 100), (1, 2000)):
        z = np.random.default_rng(seed).normal(size=n)
        X = np.stack([(z.round(1) + offset) * unit, (z + offset) * unit], axis=1)
        found = columns(X)
        assert [each.kind for each in found] == ["rounded", "continuous"]
        assert found[0].step == pytest.approx(0.1 * unit)


def test_six_rows():
    X = [[1, 0.5, 1.23456], [2, 0.5, 2.3], [3, 1.0, 0.11111], [4, 2.5, 8.7], [5, 1.0, 3.14159], [6, 0.0, 2.71828]]
    assert [each.kind for each in columns(X)] == ["rounded", "rounded", "continuous"]
    assert not any(each.spikes or each.note for each in columns(X))


def test_rows_that_are_repeated_are_looked_at_once():
    rng = np.random.default_rng(0)
    X = np.stack([rng.normal(size=200), rng.normal(size=200).round(1), np.maximum(rng.normal(size=200), 0.0)], axis=1)
    one, three = columns(X), columns(np.repeat(X, 3, axis=0))
    assert one == three
    coarse = np.stack([rng.integers(0, 5, 600), rng.integers(0, 5, 600)], axis=1).astype(float)
    assert without_copies(coarse) is None


def test_counts_by_evidence():
    rng = np.random.default_rng(0)
    made = {
        "count": [rng.poisson(4.0, 500), rng.poisson(rng.choice([2.0, 20.0], 500))],
        "rounded": [np.round(rng.normal(20.0, 3.0, 500)), np.round(rng.gamma(8.0, 5.0, 500)), rng.integers(1, 11, 500)],
    }
    for kind, own in made.items():
        assert [columns(np.asarray(x, dtype=float)[:, None])[0].kind for x in own] == [kind] * len(own)


def test_kinds_that_are_stated():
    X = pd.DataFrame(frame())
    stated = {
        "temperature": "rounded:0.5",
        "pressure": "circular:360",
        "rain": "continuous",
        "relay": "category",
        "label": "category",
        "row": "constant",
        "mode": "constant",
        4: "number",
    }
    found = {each.name: each for each in columns(X, kinds=stated)}
    assert (found["temperature"].kind, found["temperature"].step) == ("rounded", 0.5)
    assert (found["pressure"].kind, found["pressure"].step) == ("circular", 360.0)
    assert (found["rain"].kind, found["rain"].spikes) == ("continuous", ())
    assert found["events"].kind == "rounded"
    assert [found[name].kind for name in ("relay", "label", "row", "mode")] == ["category", "category"] + [
        "constant"
    ] * 2
    assert not found["row"].note
    assert not found["label"].note
    spiked = columns(X, kinds={"rain": "spiked:0,100"})[3]
    assert (spiked.kind, spiked.spikes) == ("spiked", (0.0, 100.0))
    assert columns(X, kinds={"events": "count"})[4].kind == "count"


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"presure": "rounded"}, "there is no column 'presure'; did you mean 'pressure'"),
        ({"rain": "spikes:0"}, "column 'rain': 'spikes' is no kind; did you mean 'spiked'"),
        ({"rain": "spiked"}, "'spiked' needs its values, as in 'spiked:0'"),
        ({"rain": "spiked:x"}, "there must be numbers after 'spiked'"),
        ({"rain": "spiked:1,2,3"}, "takes one or two values"),
        ({"pressure": "circular"}, "'circular' needs its period"),
        ({"pressure": "circular:-1"}, "one number > 0"),
        ({"pressure": "rounded"}, "is on no grid"),
        ({"pressure": "flag"}, "a flag has two"),
        ({"pressure": "count"}, "is no count"),
        ({"pressure": "continuous:1"}, "has nothing after it"),
        ({"mode": "rounded"}, "holds text"),
        ({"pressure": 3}, "must be a kind"),
        (["flag"], "must be a dict"),
        ({"rain": "flag", 3: "spiked:0"}, "twice"),
        ({99: "flag"}, "there is no column 99"),
    ],
)
def test_what_does_not_fit_is_refused(stated, message):
    with pytest.raises(ValueError, match=message):
        columns(pd.DataFrame(frame()), kinds=stated)


def test_what_is_no_table_is_refused():
    with pytest.raises(ValueError, match="2-D"):
        columns(np.zeros(5))
    with pytest.raises(ValueError, match="sample"):
        columns(np.zeros((0, 2)))
    with pytest.raises(ValueError, match="infinity"):
        columns([[1.0], [np.inf]])
    with pytest.raises(NotNumbersError):
        columns([["a"], [1.5]])


def test_counts_without_a_margin_are_noticed(monkeypatch):
    monkeypatch.setattr(counts, "MARGIN", -1e9)
    monkeypatch.setattr(counts, "MARGIN_A_POINT", -1e9)
    with pytest.raises(AssertionError):
        test_counts_by_evidence()


def test_names_that_come_twice():
    """Columns of one name are read by their places, as the array is, and beside a category as under other names."""
    table = pd.DataFrame({name: frame()[name] for name in ("temperature", "pressure", "mode")})
    twice = table.set_axis(["a", "a", "mode"], axis=1)
    assert [column.name for column in columns(twice)] == ["a", "a (2)", "mode"]
    assert [column.kind for column in columns(twice)] == [column.kind for column in columns(table)]
    model, other = MAPDPM().fit(twice), MAPDPM().fit(table)
    assert model.log_joint_ == other.log_joint_
    assert (model.predict(twice) == other.labels_).all()
    assert [column.name for column in columns(twice.rename(columns={"mode": "column"}))] == ["a", "a (2)", "column"]
    numbers = twice.iloc[:, :2]
    assert MAPDPM().fit(numbers).log_joint_ == MAPDPM().fit(numbers.to_numpy()).log_joint_
    assert [column.name for column in columns(pd.DataFrame([[1.0, 2.0, 3.0]] * 9, columns=["a (2)", "a", "a"]))] == [
        "a (2)",
        "a",
        "a (3)",
    ]
