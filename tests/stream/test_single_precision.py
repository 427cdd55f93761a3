"""A learner of float64 in float32: the same but for rounding, also in what follows, and every integer as it was."""

import numpy as np
import pandas as pd
import pytest

import mapdpm
from mapdpm import NormalGamma, NormalKnownVariance, OnlineMAPDPM
from mapdpm.files.c_export import as_stream
from mapdpm.stream import single_precision
from mapdpm.stream.single_precision import in_single_precision


def points(n=3000, seed=0, scale=1.0, offset=0.0, missing=False):
    rng = np.random.default_rng(seed)
    X = offset + scale * (rng.normal(size=(n, 2)) + 9.0 * rng.integers(0, 3, (n, 1)))
    if missing:
        X[::7, 1] = np.nan
    return X


CASES = {
    "plain": ({}, {}),
    "forgetting": ({"half_life": 700.0}, {}),
    "a window": ({"window": 200, "warmup": 100}, {}),
    "no surprise": ({"surprise": False}, {}),
    "few slots": ({"max_clusters": 2}, {}),
    "missing values": ({"missing": "skip"}, {"missing": True}),
    "small": ({}, {"scale": 3e-7}),
    "large": ({}, {"scale": 4e9}),
    "far from 0": ({}, {"offset": 1e6}),
    "a given prior": ({"likelihood": NormalGamma([0.1, 0.2], 0.013, 1.7, [0.9, 3.3])}, {}),
    "a given variance": ({"likelihood": NormalKnownVariance([0.1, 0.2], 90.0, 1.3)}, {}),
}


@pytest.mark.parametrize("name", CASES)
def test_only_reals_are_rounded(name):
    settings, form = CASES[name]
    model = OnlineMAPDPM(**{"max_clusters": 8, "n_features": 2} | settings).partial_fit(points(**form))
    chip = in_single_precision(model)
    assert chip.dtype == "float32"
    assert (chip.n_seen, chip.n_events, chip.events) == (model.n_seen, model.n_events, model.events)
    assert chip.ids.tolist() == model.ids.tolist()
    ours, theirs = (each.get_params(deep=False) for each in (model, chip))
    same = ("max_clusters", "warmup", "window", "missing", "surprise", "when_full", "alpha", "half_life")
    assert {name: theirs[name] for name in same if name in theirs} == pytest.approx(
        {name: ours[name] for name in same if name in ours}
    )
    spread = np.sqrt(model.variances)
    np.testing.assert_allclose(chip.weights, model.weights, rtol=1e-6)
    np.testing.assert_array_less(np.abs(chip.means - model.means), 1e-5 * spread + 1e-6 * np.abs(model.means))
    np.testing.assert_allclose(np.sqrt(chip.variances), spread, rtol=1e-4)
    new = points(400, 5, **form)
    new = new[~np.isnan(new).all(axis=1)]
    rough = 1e-3 if form.get("offset") is None else 0.2  # float32 has no more digits of the points
    np.testing.assert_allclose(chip.score_samples(new), model.score_samples(new), atol=rough)
    if settings.get("surprise", True):
        ours, theirs = model.assess_many(new).surprise, chip.assess_many(new).surprise
        np.testing.assert_allclose(np.log(theirs), np.log(ours), atol=30 * rough)
    assert np.mean(chip.learn_many(new) == model.learn_many(new)) > 0.98  # it goes on alike


def test_counts_of_surprise_stay():
    """A learner whose points have had far tails knows them: pooled, it would begin anew."""
    rng = np.random.default_rng(0)
    X = rng.standard_t(2.0, size=(20000, 1))
    model = OnlineMAPDPM(4, likelihood=NormalGamma(0.0, 0.1, 30.0, 30.0)).partial_fit(X)
    far = [[6.0]]
    with pytest.warns(UserWarning, match="ids begin at 0"):
        pooled = as_stream(model, max_clusters=5)
    ours, chip, pool = (float(each.assess_many(far).surprise[0]) for each in (model, as_stream(model), pooled))
    assert chip == pytest.approx(ours, rel=1e-3)
    assert abs(np.log(pool / ours)) > 0.5


def test_sums_of_clusters_keep_what_rounding_leaves():
    """High and low parts together have 14 digits, as those have that a chip sums."""
    model = OnlineMAPDPM(4, half_life=300.0, warmup=50).partial_fit(points())
    data = model.ready_learner().write()
    shape = single_precision._shape_of(data)
    begin = single_precision.HEADER_BYTES + single_precision._options_bytes(8, surprise=True)
    for name, kind, n in shape.parts("<f8"):
        values = np.frombuffer(data, kind, n, begin)
        begin += values.nbytes
        if name == "slots":
            moments = values.reshape(shape.slots, shape.statistics)
            made = single_precision._slots(values, shape, np.zeros(2)).astype(np.float64)
    assert np.any(moments[:, :5] != made[:, :5])
    np.testing.assert_allclose(made[:, :5] + made[:, 5:10], moments[:, :5], rtol=1e-13)


def test_names_stay_and_the_file_is_one_of_a_chip(tmp_path):
    model = OnlineMAPDPM(8).partial_fit(pd.DataFrame(points(), columns=["a", "b"]))
    chip = as_stream(model)
    chip.save(tmp_path / "chip.mdpm")
    again = mapdpm.load(tmp_path / "chip.mdpm")
    assert again.feature_names_in_.tolist() == ["a", "b"]
    assert again.ids.tolist() == model.ids.tolist()


def test_what_does_not_fit_float32_is_pooled_or_refused():
    model = OnlineMAPDPM(8, likelihood=NormalKnownVariance(0.0, 1e60, 1e50), n_features=1)
    model.learn_many([[1e25], [3e26]])
    assert in_single_precision(model) is None


def test_in_its_warm_up():
    model = OnlineMAPDPM(8, warmup=100).partial_fit(points(60))
    chip = in_single_precision(model)
    assert (chip.n_seen, chip.n_clusters) == (60, 0)
    chip.learn_many(points(60, 1))
    model.learn_many(points(60, 1))
    assert chip.n_clusters == model.n_clusters
