"""``OnlineMAPDPM(dtype="int16")``: the learner of C in whole numbers behind the public class."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from mapdpm import MAPDPM, NormalGamma, NormalKnownVariance, OnlineMAPDPM, load
from mapdpm.files.c_export import as_stream
from mapdpm.files.errors import ModelFileError
from mapdpm.integers.clusters import Prior
from mapdpm.integers.learner import Learner
from mapdpm.integers.slots import Options
from mapdpm.stream import StreamFullError

UNIT = 300
PRIOR = NormalGamma([10.0, -5.0], 0.05, 1.0, [UNIT**2, 2.0 * UNIT**2])


def points(seed=0, n=1500):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) + rng.choice([0.0, 7.0, 15.0], size=(n, 1))
    return np.rint(UNIT * X)


def learner(**more):
    return OnlineMAPDPM(**{"dtype": "int16", "likelihood": PRIOR, "max_clusters": 8} | more)


def test_it_has_the_bits_of_the_definition():
    X, model = points(), learner(half_life=500, alpha=0.5)
    prior = Prior(round(0.05 * 65536), 512, (512 * UNIT**2, 1024 * UNIT**2))
    defined = Learner(Options(prior, [10, -5], 32768, max_clusters=8, half_life=500))
    found = [defined.learn(x) for x in X.astype(int).tolist()]
    ids, scores = model.learn_many_scored(X)
    assert ids.tolist() == [number for number, _ in found]
    assert (scores * 65536).tolist() == [score for _, score in found]
    assert model.score_one(X[0]) * 65536 == defined.predict(X[0].astype(int).tolist())[1]
    assert model.predict(X[:9]).tolist() == [defined.predict(x)[0] for x in X[:9].astype(int).tolist()]


def test_one_point_at_a_time_is_the_same():
    X, one, many, scored = points(n=300), learner(), learner(), learner()
    ids, scores = many.learn_many_scored(X)
    assert [one.learn_one(x) for x in X] == ids.tolist()
    assert [scored.learn_scored(x.tolist()) for x in X] == list(zip(ids.tolist(), scores.tolist(), strict=True))
    assert one.to_bytes() == many.to_bytes() == scored.to_bytes()
    assert [many.predict_one(x) for x in X[:20]] == many.predict(X[:20]).tolist()
    assert [many.score_one(x) for x in X[:20]] == many.score_samples(X[:20]).tolist()


def test_it_says_what_it_has_learned():
    X = points()
    model, of_reals = learner().partial_fit(X), OnlineMAPDPM(8, likelihood=PRIOR, surprise=False).partial_fit(X)
    assert model.ids.tolist() == of_reals.ids.tolist()
    assert model.weights.sum() == model.n_seen == len(X)
    np.testing.assert_allclose(model.means, of_reals.means, atol=0.5)
    np.testing.assert_allclose(model.variances, of_reals.variances, rtol=1e-3)
    assert [event.kind for event in model.events] == [event.kind for event in of_reals.events]
    assert model.nbytes < of_reals.nbytes
    assert model.likelihood_.b0.tolist() == PRIOR.b0.tolist()
    assert model.relevant_.all()
    assert model.merge_tree().n_clusters == model.n_clusters


def test_files_copies_and_pickles(tmp_path):
    X = points()
    model = learner(half_life=700, when_full="merge", max_clusters=3).fit(X)
    model.save(tmp_path / "learner.mdpm")
    loaded = load(tmp_path / "learner.mdpm")
    for each in (
        loaded,
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
        OnlineMAPDPM.from_bytes(model.to_bytes()),
    ):
        assert each.get_params()["dtype"] == "int16"
        assert each.half_life == 700
        assert each.when_full == "merge"
        assert each.to_bytes() == model.to_bytes()
    assert loaded.learn_many(X[:50]).tolist() == model.learn_many(X[:50]).tolist()
    data = bytearray(model.to_bytes())
    data[-9] ^= 1
    with pytest.raises(ModelFileError, match="CRC"):
        OnlineMAPDPM.from_bytes(bytes(data))


def test_a_file_has_the_names_of_columns():
    frame = pd.DataFrame(points(), columns=["left", "right"])
    model = learner(likelihood=NormalGamma(0.0, 0.05, 1.0, UNIT**2)).partial_fit(frame)
    read = OnlineMAPDPM.from_bytes(model.to_bytes())
    assert read.feature_names_in_.tolist() == ["left", "right"]
    assert read.predict(frame).tolist() == model.predict(frame).tolist()
    assert read.to_bytes() == model.to_bytes()


def test_ids_are_followed_through_merges():
    rng = np.random.default_rng(5)
    model = learner(likelihood=NormalGamma(0.0, 0.05, 1.0, 100.0), n_features=1)
    gone = []
    for x in np.rint(rng.normal(size=(3000, 1)) * 300):
        model.learn_one(x)
        last = model.events[-1]
        gone += [last.id] * (last.kind == "merged" and last.when == model.n_seen)
        if gone and last.when == model.n_seen:
            assert model.resolve(gone[-1]) in model.ids
    assert len(gone) > 3
    with pytest.raises(KeyError, match="no cluster has the id 4000"):
        model.resolve(4000)


def of_fit(fit, **more):
    return OnlineMAPDPM.from_model(fit, dtype="int16", **more)


def test_it_goes_on_where_a_fit_has_ended():
    fit, X = MAPDPM().fit(points()), points(1, 3000)
    model, of_reals = of_fit(fit), OnlineMAPDPM.from_model(fit, surprise=False)
    assert model.ids.tolist() == [0, 1, 2]
    assert model.weights.tolist() == fit.cluster_sizes_.tolist()
    assert model.n_seen == of_reals.n_seen == 1500
    np.testing.assert_allclose(model.means, fit.means_, atol=2**-13)
    members = [points()[fit.labels_ == k] for k in range(3)]
    np.testing.assert_allclose(model.variances, [each.var(axis=0) for each in members], rtol=1e-8)
    assert np.median(np.abs(model.score_samples(X) - of_reals.score_samples(X))) < 0.01
    assert model.predict(X).tolist() == fit.predict(X).tolist()
    assert model.learn_many(X).tolist() == of_reals.learn_many(X).tolist()


def test_a_fit_that_weighs_more_than_the_learner_holds():
    X = points()
    labels = MAPDPM(likelihood=PRIOR).fit_predict(X)
    as_found = MAPDPM(likelihood=PRIOR, init=labels, moves=(), max_sweeps=0)
    fit = as_found.fit(X, sample_weight=np.full(len(X), 9000))
    for half_life, most in ((None, 2**22), (2**20, 2**21)):
        heavy = of_fit(fit, half_life=half_life)
        assert most / 2 < heavy.weights.sum() <= most
        np.testing.assert_allclose(heavy.weights / heavy.weights.sum(), np.bincount(labels) / 1500, rtol=1e-6)
        assert heavy.learn_many(X).tolist() == labels.tolist()
        assert OnlineMAPDPM.from_bytes(heavy.to_bytes()).n_clusters == 3
    with pytest.raises(ValueError, match="counts in 256ths"):
        of_fit(as_found.fit(X, sample_weight=np.full(len(X), 1e-6)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.learn_one([0.5, 1]), r"x has 0.5 at feature 0, and dtype='int16' takes whole numbers"),
        (lambda m: m.learn_many([[1, 2], [3, 40000]]), r"X, row 1 \(counted from 0\), has 40000.0 at feature 1"),
        (lambda m: m.predict_one([1, -32769]), "has -32769.0 at feature 1"),
        (lambda m: m.learn_one([1, 2], t=3.0), "has no times"),
        (lambda m: m.learn_many([[1, 2]], t=[3.0]), "has no times"),
        (lambda m: m.learn_one([1, float("nan")]), "finite"),
        (lambda m: m.learn_one([1]), "1 features"),
        (lambda m: m.assess_one([1, 2]), "assesses no points"),
        (lambda m: m.assess_many([[1, 2]]), "assesses no points"),
        (lambda m: m.summary(), "writes no summary"),
        (lambda m: OnlineMAPDPM.merged([m]), "are not merged"),
        (as_stream, "cannot become one of float32 with 8: export one of int16 as it is"),
        (lambda m: as_stream(m, dtype="int16", max_clusters=9), "cannot become one of int16 with 9"),
        (lambda _: as_stream(OnlineMAPDPM(8), dtype="int16"), "of float64 with 8 slots cannot become one of int16"),
        (lambda _: of_fit(MAPDPM().fit(points() / 10)), r"of values with the steps \[0.1 0.1\]"),
        (lambda _: of_fit(MAPDPM().fit(9 * points() - 3000)), "lies at .*, and dtype='int16' takes values"),
        (lambda _: of_fit(MAPDPM(missing="skip").fit(points())), "has no missing values"),
        (lambda _: of_fit(MAPDPM(covariance="full").fit(points())), "a model of NormalInverseWishart cannot go on"),
        (lambda _: OnlineMAPDPM(dtype="int16", n_features=2), "needs a likelihood that is a NormalGamma, got auto"),
        (lambda _: learner(likelihood=NormalKnownVariance([0.0, 0.0], 9.0, 1.0)), "is a NormalGamma, got NormalKnown"),
        (lambda _: learner(missing="skip"), "has no missing values"),
        (lambda _: learner(window=9), "has no window"),
        (lambda _: learner(resolution=0.1), "has no resolution but that of whole numbers"),
        (lambda _: learner(half_life=2.5), "a half_life of 2 to 1048576 points, a whole number, got 2.5"),
        (lambda _: learner(half_life=1e8), "a half_life of 2 to 1048576"),
        (lambda _: learner(alpha=1e-6), "takes alpha from 1.53e-05"),
        (lambda _: learner(max_clusters=255), "1 to 254 clusters"),
        (lambda _: learner(likelihood=NormalGamma([0.0, 40000.0], 0.05, 1.0, 9.0)), "takes m0 from -32768 to 32767"),
        (lambda _: learner(likelihood=NormalGamma([0.0, 0.0], 0.05, 1.0, 1e15)), "takes b0 up to"),
        (lambda _: learner(likelihood=NormalGamma([0.0, 0.0], 999.0, 1.0, 9.0)), "takes c0 from"),
    ],
)
def test_what_it_does_not_know_is_refused(call, message):
    model = learner().partial_fit(points(n=50))
    before = model.to_bytes()
    with pytest.raises(ValueError, match=message):
        call(model)
    assert model.to_bytes() == before


def test_no_cluster_is_narrower_than_a_whole_number():
    model = learner(likelihood=NormalGamma([0.0, 0.0], 0.05, 3.0, [1e-9, 50.0]))
    np.testing.assert_allclose(model.likelihood_.b0, [0.25, 50.0], atol=1 / 512)
    model.partial_fit([[5, 1], [5, 2], [5, 3]] * 40)
    assert model.n_clusters == 1


def test_a_full_learner():
    model = learner(when_full="error", max_clusters=1).partial_fit([[0, 0]] * 9)
    with pytest.raises(StreamFullError, match="all 1 clusters are taken"):
        model.learn_one([30000, 30000])
    assert model.n_seen == 9
