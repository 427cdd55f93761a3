"""A panel for each column: what is drawn is what the points of each cluster have."""

import numpy as np
import pandas as pd
import pytest

from mapdpm import MAPDPM, plots

rng = np.random.default_rng(2)
Z = np.arange(80) % 2
FRAME = pd.DataFrame(
    {
        "temperature": rng.normal(size=80) + 9.0 * Z,
        "mode": np.where(rng.random(80) < 0.25, "cool", np.array(["heat", "off"])[Z]),
        "door": Z.astype(bool),
    }
)


@pytest.fixture(scope="module")
def model():
    return MAPDPM(backend="c", init=Z, moves=(), max_sweeps=0).fit(FRAME)


def widths_of(ax, row):
    return [bar.get_width() for bar in ax.patches if abs(bar.get_y() + 0.4 - row) < 1e-9]


def test_each_column_has_its_panel(model):
    numbers, mode, door = plots.columns(model, FRAME, labels=Z)
    assert [ax.get_xlabel() for ax in (numbers, mode, door)] == ["temperature", "mode", "door"]
    for row in (0, 1):
        line, dot = numbers.lines[2 * row : 2 * row + 2]
        own = FRAME.temperature[row == Z]
        assert line.get_xdata() == pytest.approx(np.quantile(own, [0.05, 0.95]))
        assert dot.get_xdata() == pytest.approx([np.median(own)])
        shares = FRAME["mode"][row == Z].value_counts(normalize=True).reindex(["cool", "heat", "off"], fill_value=0.0)
        assert widths_of(mode, row) == pytest.approx(shares.to_numpy())
        assert widths_of(door, row) == pytest.approx([1.0 - row, row])
    assert {text.get_text() for text in door.texts} == {"no", "yes"}


def test_arrays_many_columns_and_many_levels():
    X = np.column_stack([rng.normal(size=(40, 6)), np.full(40, np.nan)])
    model = MAPDPM(missing="skip", backend="c", init=np.zeros(40, int), moves=(), max_sweeps=0).fit(X)
    assert len(plots.columns(model, X, most=5)) == 5
    assert not list(plots.columns(model, X)[6].lines)  # nothing to draw
    names = FRAME.assign(mode=np.array([f"room {i}" for i in range(10)])[np.arange(80) % 10])
    many = MAPDPM(backend="c", init=Z, moves=(), max_sweeps=0).fit(names)
    bars = widths_of(plots.columns(many, names, labels=np.zeros(80, dtype=int))[1], 0)
    assert bars == pytest.approx([0.1] * 8 + [0.2])


def test_shares_are_those_of_the_values_that_are_there():
    gone = FRAME.astype({"mode": object, "door": object})
    gone.loc[::3, ["mode", "door"]] = None
    model = MAPDPM(missing="skip", backend="c", init=Z, moves=(), max_sweeps=0).fit(gone)
    _, mode, door = plots.columns(model, gone, labels=Z)
    for row in (0, 1):
        shares = gone["mode"][row == Z].value_counts(normalize=True).reindex(["cool", "heat", "off"], fill_value=0.0)
        assert widths_of(mode, row) == pytest.approx(shares.to_numpy())
        assert widths_of(door, row) == pytest.approx([1.0 - row, row])


def test_other_pictures_take_such_tables(model):
    ax = plots.clusters(model, FRAME)
    assert ax.get_xlabel().startswith("first principal direction")
    assert plots.sizes(model).patches
