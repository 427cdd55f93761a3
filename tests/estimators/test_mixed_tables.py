"""Tables as people have them: DataFrames with text, categories, flags and gaps; what is found, kept and refused."""

import math
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from mapdpm import (
    HDPHMM,
    MAPDPM,
    BetaBernoulli,
    Categorical,
    GammaPoisson,
    HDPMixture,
    Mixed,
    NormalGamma,
    NormalInverseWishart,
    select_alpha,
)
from mapdpm.search import fit as fitting
from tests.oracle import mixed as oracle

N = 60
Z = np.arange(N) % 2
rng = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "mode": np.array(["heat", "off"])[Z],
        "temperature": rng.normal(size=N) + 8.0 * Z,
        "door": Z.astype(bool),
        "events": rng.poisson(3 + 20 * Z).astype(np.float64),
    }
)
PARTS = Mixed({"temperature": NormalGamma, "mode": Categorical, "events": GammaPoisson, "door": BetaBernoulli})


def fitted(X=FRAME, likelihood=PARTS, **parameters):
    return MAPDPM(likelihood=likelihood, **parameters).fit(X)


def labels_are(model):
    assert np.array_equal(model.labels_, Z)


@pytest.mark.parametrize(
    "frame",
    [
        FRAME,
        FRAME.astype({"mode": "category"}),
        FRAME.astype({"mode": "string", "door": "boolean"}),
        pl.from_pandas(FRAME),
        pl.from_pandas(FRAME).with_columns(pl.col("mode").cast(pl.Categorical)),
    ],
    ids=["object", "category", "string", "polars", "polars category"],
)
def test_auto_reads_types(frame):
    model = fitted(frame, "auto")
    assert set(model.likelihood_.parts) == {"mode", ("temperature",), ("events",), ("door",)}
    labels_are(model)
    assert model.likelihood_.parts["mode"].beta.shape == (3,)  # two levels, and new ones
    assert np.array_equal(model.predict(frame), Z)


def test_numbers_alone_are_normal():
    numbers = FRAME[["temperature"]].assign(level=rng.normal(size=N))
    assert isinstance(fitted(numbers, "auto").likelihood_, NormalGamma)
    objects = fitted(numbers.astype(object), "auto")
    assert objects.likelihood_ == fitted(numbers, "auto").likelihood_


def test_the_class_of_categories_is_for_each_column():
    answers = FRAME[["mode", "door"]]
    model = fitted(answers, Categorical)
    assert model.likelihood_.parts.keys() == {"mode", "door"}
    assert set(model.likelihood_.kinds()) == {Categorical}
    labels_are(model)


def test_the_joint_is_a_sum_over_the_parts():
    model = fitted()
    table = model.likelihood_.read_table(FRAME, missing=False)
    expected = oracle.log_joint(table.array, model.labels_, model.likelihood_, 1.0)
    assert model.log_joint_ == pytest.approx(expected, rel=1e-9)


def test_the_order_of_parts_and_columns_changes_nothing():
    other = fitted(FRAME[["door", "events", "mode", "temperature"]])
    turned = fitted(likelihood=Mixed(dict(reversed(PARTS.parts.items()))))
    for each in (other, turned):
        assert each.log_joint_ == pytest.approx(fitted().log_joint_, rel=1e-9)
    means = fitted().means_
    assert np.isnan(means[:, [0, 2, 3]]).all()  # in the order of the columns of the user
    assert means[:, 1] == pytest.approx([FRAME.temperature[k == Z].mean() for k in (0, 1)])


def test_units_and_offsets():
    far = FRAME.assign(temperature=FRAME.temperature * 1e-6 + 1e3)
    labels_are(fitted(far))
    assert fitted(far).log_joint_ == pytest.approx(fitted().log_joint_ + N * math.log(1e6), rel=1e-3)


def test_gaps_of_any_kind_are_left_out():
    gaps = FRAME.astype({"door": "boolean"})
    gaps.loc[3, "temperature"], gaps.loc[4, "mode"], gaps.loc[5, "door"], gaps.loc[6, "events"] = (
        np.nan,
        None,
        pd.NA,
        None,
    )
    model = fitted(gaps, missing="skip")
    table = model.likelihood_.read_table(gaps, missing=True)
    assert np.isnan(table.array).sum() == 4
    assert model.log_joint_ == pytest.approx(
        oracle.log_joint(table.array, model.labels_, model.likelihood_, 1.0), rel=1e-9
    )
    labels_are(model)
    for row, column in ((3, "temperature"), (4, "mode"), (5, "door")):
        with pytest.raises(ValueError, match=rf"column '?{column}.* row {row}|row {row}.*{column}"):
            fitted(gaps[[column]].assign(x=1.0), "auto")


def test_a_block_of_full_covariance_is_there_or_not():
    pair = FRAME.assign(other=FRAME.temperature + rng.normal(size=N))
    likelihood = Mixed(
        {("temperature", "other"): NormalInverseWishart, "mode": Categorical, ("door", "events"): GammaPoisson}
    )
    labels_are(fitted(pair, likelihood))
    pair.loc[3, ["temperature", "other"]] = np.nan
    labels_are(fitted(pair, likelihood, missing="skip"))
    pair.loc[4, "other"] = np.nan
    with pytest.raises(ValueError, match=r"row 4 has some values of .* which NormalInverseWishart cannot leave out"):
        fitted(pair, likelihood, missing="skip")


def test_a_new_level_has_the_probability_of_one():
    model = fitted()
    rows = pd.concat([FRAME, FRAME.iloc[:1].assign(mode="dry")])
    table = model.likelihood_.read_table(rows, missing=False).array
    assert table[-1, 1] == 2.0  # after those of two levels
    joints = [oracle.log_joint(table, [*model.labels_, k], model.likelihood_, 1.0) for k in range(3)]
    expected = np.logaddexp.reduce(joints) - model.log_joint_
    assert model.score_samples(rows.iloc[-1:])[0] == pytest.approx(expected, abs=1e-6)
    far = rows.iloc[-1:].assign(temperature=300.0, events=900.0)
    assert model.predict(far, novelty=True).tolist() == [-1]


def test_weights_are_repetition():
    w = np.arange(N) % 3
    model = fitted(init=Z, moves=(), max_sweeps=0).likelihood_
    once = MAPDPM(likelihood=model, init=Z, moves=(), max_sweeps=0).fit(FRAME, sample_weight=w)
    copies = FRAME.loc[np.repeat(np.arange(N), w)]
    again = MAPDPM(likelihood=model, init=np.repeat(Z, w), moves=(), max_sweeps=0).fit(copies)
    assert once.log_joint_ == pytest.approx(again.log_joint_, rel=1e-9)


def test_passes_are_sweeps(monkeypatch):
    sweeps = fitted(likelihood=fitted().likelihood_)
    monkeypatch.setattr(fitting, "MANY", 1)
    passes = fitted(likelihood=fitted().likelihood_)
    labels_are(passes)
    assert passes.log_joint_ == pytest.approx(sweeps.log_joint_, rel=1e-9)


@pytest.mark.parametrize("kind", [MAPDPM, HDPMixture, HDPHMM])
def test_files_have_names_levels_and_order(kind, tmp_path):
    turned = Mixed(dict(reversed(PARTS.parts.items())))
    model = kind(likelihood=turned).fit(FRAME, np.zeros(N, dtype=int))
    for back in (kind.from_bytes(model.to_bytes()), pickle.loads(pickle.dumps(model))):
        assert back.likelihood_ == model.likelihood_
        assert back.likelihood == turned
        assert np.array_equal(back.predict(FRAME), model.predict(FRAME))
        assert np.array_equal(back.means_, model.means_, equal_nan=True)
        assert back.feature_names_in_.tolist() == list(FRAME)
    data = bytearray(model.to_bytes())
    data[len(data) // 2] ^= 1
    with pytest.raises(ValueError, match="damaged"):
        kind.from_bytes(bytes(data))


def test_scikit_learn_and_the_choice_of_alpha():
    assert clone(MAPDPM(likelihood=PARTS)).likelihood == PARTS
    assert {"likelihood__mode", "likelihood__temperature"} <= set(MAPDPM(likelihood=PARTS).get_params())
    changed = MAPDPM(likelihood=PARTS).set_params(likelihood__events=NormalGamma)
    assert changed.likelihood.parts["events"] is NormalGamma
    assert PARTS.parts["events"] is GammaPoisson
    found = select_alpha(FRAME, [0.5, 1.0], likelihood=PARTS, folds=2)
    assert found.model.n_clusters_ == 2


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({}, "parts must be a dict"),
        ({"a": int}, "the parts of Mixed are families of columns"),
        ({"a": NormalGamma, ("b", "a"): NormalGamma}, "column 'a' is in two parts"),
        ({("a", "b"): Categorical}, "Categorical is for one column"),
        ({1.5: NormalGamma}, "a key of Mixed must be the name of a column"),
        ({(): NormalGamma}, "a key of Mixed must have a column"),
    ],
)
def test_what_is_no_product_is_refused(parts, says):
    with pytest.raises(ValueError, match=says):
        Mixed(parts)


@pytest.mark.parametrize(
    ("frame", "likelihood", "says"),
    [
        (FRAME, Mixed({"heat": NormalGamma}), "X has no column 'heat'; it has 'mode', 'temperature'"),
        (FRAME, Mixed({"mode": Categorical}), "column 'temperature' of X is in no part"),
        (FRAME.assign(events=0.5), PARTS, "events: X must hold counts"),
        (FRAME.assign(temperature="20,5"), "auto", "numbers written as text, such as '20,5'"),
        (FRAME.assign(temperature=[*FRAME.temperature[1:], "unavailable"]), "auto", "'unavailable' among them"),
        (FRAME.assign(when=pd.Timestamp("2026-01-01")), "auto", "column 'when': X must hold numbers only"),
        (FRAME.assign(mode=None), "auto", "column 'mode' has no value at all"),
        (FRAME.iloc[:0], "auto", "0 sample"),
        (FRAME, Mixed(PARTS.parts | {"mode": Categorical([1.0, 1.0])}), "mode has 2 levels, and beta 2 entries"),
    ],
)
def test_what_does_not_fit_is_said(frame, likelihood, says):
    with pytest.raises(ValueError, match=says):
        fitted(frame, likelihood)


def test_names_are_no_categories():
    with pytest.warns(UserWarning, match="column 'id' has 60 different values in 60 rows, like names"):
        fitted(FRAME.assign(id=[f"row {i}" for i in range(N)]), "auto")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(FRAME, "auto")
