"""Files and copies of HDPHMM."""

import copy
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest

import mapdpm
from mapdpm import HDPHMM, MAPDPM, HDPMixture
from mapdpm.files import container
from mapdpm.files.c_export import as_stream
from mapdpm.files.errors import ModelFileError
from mapdpm.partition_priors.hyperpriors import GammaPrior
from tests.models.hdp_hmm.fits import quickly
from tests.search.test_states import PRIOR


def all_is_kept(again, model, X, ids):
    for name, mine in vars(model).items():
        if name.startswith("_") or name in {"init", "callback"}:
            continue
        theirs = getattr(again, name)
        assert np.array_equal(mine, theirs) if isinstance(mine, np.ndarray) else mine == theirs, name
    for method in ("predict", "predict_proba", "filter_proba", "score"):
        np.testing.assert_array_equal(getattr(again, method)(X, ids), getattr(model, method)(X, ids))
    np.testing.assert_array_equal(again.sample_path(20, 5).points, model.sample_path(20, 5).points)
    np.testing.assert_array_equal(again.filter_one(X[0]), model.filter_one(X[0]))


@pytest.mark.parametrize("parameters", [{}, {"kappa": 0.0, "moves": (), "max_states": 9, "random_state": 3}])
def test_files_keep_everything(parameters, data, new, tmp_path):
    X, ids = (each[40:80] for each in data)
    prior = GammaPrior(2.0, 1.0)
    common = {"kappa": 3.0, "init": np.arange(len(X)) % 2, "alpha_prior": prior, "gamma_prior": prior}
    fitted = HDPHMM(1.5, 2.0, likelihood=PRIOR.for_data(X), **{**common, **parameters}).fit(X, ids)
    fitted.save(tmp_path / "a.mdpm")
    mapdpm.save(fitted, tmp_path / "b.mdpm")
    assert (tmp_path / "a.mdpm").read_bytes() == (tmp_path / "b.mdpm").read_bytes() == fitted.to_bytes()
    joblib.dump(fitted, tmp_path / "c.joblib")
    copies = [
        mapdpm.load(tmp_path / "a.mdpm"),
        HDPHMM.from_bytes(fitted.to_bytes()),
        joblib.load(tmp_path / "c.joblib"),
        pickle.loads(pickle.dumps(fitted)),
        copy.deepcopy(fitted),
        copy.copy(fitted),
    ]
    for again in copies:
        assert type(again) is HDPHMM
        all_is_kept(again, fitted, *new)
        assert again.to_bytes() == fitted.to_bytes()


def test_a_model_with_names_is_kept_and_an_unfitted_one(data):
    frame = pd.DataFrame(data[0], columns=["a", "b"])
    fitted = quickly(frame, likelihood=None)
    again = HDPHMM.from_bytes(fitted.to_bytes())
    assert again.feature_names_in_.tolist() == ["a", "b"]
    assert again.likelihood is None
    np.testing.assert_array_equal(again.predict_proba(frame), fitted.predict_proba(frame))
    assert pickle.loads(pickle.dumps(HDPHMM(kappa=2.0))).kappa == 2.0
    with pytest.raises(ValueError, match="not fitted"):
        HDPHMM().to_bytes()


def test_parameters_set_after_a_fit_wait_for_the_next(model, data):
    """What was fitted stays what it was, in a file, too."""
    changed = copy.copy(model).set_params(alpha=50.0, gamma=9.0, kappa=50.0)
    for again in (changed, HDPHMM.from_bytes(changed.to_bytes()), pickle.loads(pickle.dumps(changed))):
        assert (again.alpha, again.gamma, again.kappa) == (50.0, 9.0, 50.0)
        assert (again.alpha_, again.gamma_, again.kappa_) == (1.5, 2.0, 3.0)
        np.testing.assert_array_equal(again.transitions_, model.transitions_)
        np.testing.assert_array_equal(again.predict_proba(*data), model.predict_proba(*data))
    with pytest.raises(ValueError, match="kappa must be from 0"):
        copy.copy(model).set_params(kappa=-1.0).to_bytes()


def test_files_of_other_kinds_say_so(model, data):
    X = data[0]
    with pytest.raises(ModelFileError, match="a model of states in time, which HDPHMM reads"):
        MAPDPM.from_bytes(model.to_bytes())
    with pytest.raises(ModelFileError, match="a model of states in time, which HDPHMM reads"):
        HDPMixture.from_bytes(model.to_bytes())
    with pytest.raises(ModelFileError, match="a batch model, which MAPDPM reads"):
        HDPHMM.from_bytes(MAPDPM().fit(X).to_bytes())
    with pytest.raises(ModelFileError, match="a model of groups, which HDPMixture reads"):
        HDPHMM.from_bytes(HDPMixture().fit(X, np.zeros(len(X))).to_bytes())
    with pytest.raises(ValueError, match="a model of states in time has no C code yet"):
        as_stream(model)


def test_truncated_and_damaged_files_are_refused(model, tmp_path):
    data = model.to_bytes()
    path = tmp_path / "m.mdpm"
    for bad in (*(data[:n] for n in range(0, len(data), 61)), data[:-1], data[:300] + b"??" + data[302:], data + b"0"):
        path.write_bytes(bad)
        for read in (lambda: HDPHMM.from_bytes(path.read_bytes()), lambda: mapdpm.load(path)):
            with pytest.raises(ModelFileError):
                read()


def moved(model):
    """A table of which a count is in another column."""
    table = model._table.copy()
    table[0, :2] += [1, -1]
    return table.ravel()


def negative(model):
    """A table with a count below 0, whose sums over rows and columns are right."""
    table = model._table.copy()
    more = table[0, 0] + 1
    table[:2, :2] += [[-more, more], [more, -more]]
    return table.ravel()


def wrapped(model):
    """A table of huge counts, whose sums over rows and columns are right by overflow."""
    table = model._table.copy()
    table[:4, :4] += 2**62
    return table.ravel()


DAMAGES = {
    "a count in another column": (lambda m: {"table": moved(m)}, "table"),
    "a table that is too short": (lambda m: {"table": m._table.ravel()[1:]}, "table"),
    "a table of reals": (lambda m: {"table": m._table.ravel().astype(float)}, "table"),
    "a negative count": (lambda m: {"table": negative(m)}, "table"),
    "more after a state than there are points": (lambda m: {"table": np.roll(m._table, 1, axis=0).ravel()}, "table"),
    "counts whose sums wrap around": (lambda m: {"table": wrapped(m)}, "table"),
    "a table that is no array": (lambda m: {"table": [1, 2]}, ""),
    "shares that do not sum to one": (lambda m: {"shares_": m.shares_ * 1.001}, "shares_"),
    "a share of zero": (lambda m: {"shares_": np.append(0.0, m.shares_[1:] + m.shares_[0] / m.n_states_)}, "shares_"),
    "a share that is none": (lambda m: {"shares_": m.shares_ * np.nan}, "shares_"),
    "a share that is a NaN that signals": (
        lambda m: {"shares_": np.append(m.shares_[1:], np.frombuffer(bytes.fromhex("010000000000f07f")))},
        "shares_",
    ),
    "shares of fewer states": (lambda m: {"shares_": m.shares_[:-1] / m.shares_[:-1].sum()}, "shares_"),
    "a negative kappa": (lambda m: {"kappa": -1.0}, "kappa must be from 0"),
    "a kappa that is none": (lambda m: {"kappa": "x"}, "kappa must be a number"),
    "a negative kappa of the fit": (lambda m: {"kappa_": -1.0}, "kappa must be from 0"),
    "a kappa of the fit that is none": (lambda m: {"kappa_": None}, "kappa must be a number"),
    "an alpha of zero": (lambda m: {"alpha": 0.0}, "alpha must be > 0"),
    "alphas of levels": (lambda m: {"alpha": [1.0, 2.0]}, "alpha must be a number"),
    "a prior of no density": (lambda m: {"alpha_prior": [1.0, -1.0]}, "alpha_prior"),
    "no states": (lambda m: {"max_states": 0}, "max_states"),
    "an unknown move": (lambda m: {"moves": ["cell"]}, "moves must be names"),
    "other labels": (lambda m: {"labels_": np.zeros_like(m.labels_)}, "labels"),
    "a log joint that is not the last": (lambda m: {"log_joint_": 0.0}, "history"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_extras_are_refused(damage, model):
    change, words = DAMAGES[damage]
    _, extras = container.unpack(model.to_bytes(), container.STATES)
    assert HDPHMM.from_bytes(container.pack(model._mixture, extras, kind=container.STATES)).n_states_ > 1
    bad = container.pack(model._mixture, extras | change(model), kind=container.STATES)
    with pytest.raises(ModelFileError, match=f"damaged: its extras do not fit.*{words}"):
        HDPHMM.from_bytes(bad)


@pytest.mark.parametrize("name", ["table", "shares_", "kappa", "kappa_", "alpha", "max_states", "likelihood_"])
def test_extras_that_lack_something_are_refused(name, model):
    _, extras = container.unpack(model.to_bytes(), container.STATES)
    del extras[name]
    with pytest.raises(ModelFileError, match="damaged: its extras do not fit"):
        HDPHMM.from_bytes(container.pack(model._mixture, extras, kind=container.STATES))
