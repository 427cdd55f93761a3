"""The table of settings: whoever reads it has every row, with its default, and refuses what the check refuses."""

import argparse
import inspect
import pickle
import re
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

from mapdpm import MAPDPM, NormalKnownVariance, OnlineAlphaSelector, OnlineHDP, OnlineHDPHMM, OnlineMAPDPM, load
from mapdpm.cli import stream_options
from mapdpm.stream import kinds
from mapdpm.stream.settings import ROWS, ClusterSettings, on_command_line, setting, settings_of, values_of
from repository import ROOT

LEARNERS = (OnlineMAPDPM, OnlineHDP, OnlineHDPHMM, OnlineAlphaSelector)
PRIOR = NormalKnownVariance(0.0, 100.0, 1.0)
# Of each setting another value than the default; and one that its check refuses.
OTHERS = {
    "alphas": ([0.5, 2.0], [0.0]),
    "max_clusters": (7, 0),
    "max_states": (7, 0),
    "max_groups": (5, 0),
    "window": (3, -1),
    "alpha": (0.7, 0.0),
    "gamma": (2.5, -1.0),
    "kappa": (3.0, -1.0),
    "lag": (5, 1025),
    "likelihood": (PRIOR, NormalKnownVariance),
    "n_features": (2, 0),
    "half_life": (70.0, 0.0),
    "warmup": (30, 1),
    "when_full": ("evict", "panic"),
    "when_groups_full": ("replace", "panic"),
    "missing": ("skip", "panic"),
    "dtype": ("float32", "float16"),
    "relevance": ("all", "search"),
    "resolution": ((0.1, 0.5), -1.0),
    "surprise": (False, 1),
    "rare": (0.1, 1.0),
    "log_alpha": (-80.0, "low"),
    "with_base": (True, 1),
    "score_half_life": (50.0, 0.5),
    "margin": (1.0, -1.0),
}
EACH = [(learner, name) for learner in LEARNERS for name in settings_of(learner)]


def shown(value):
    """A value in a form that ``==`` compares, and that a file keeps."""
    return repr(np.asarray(value).tolist() if isinstance(value, list | np.ndarray) else value)


def test_every_row_has_examples():
    assert set(OTHERS) == set(ROWS)


@pytest.mark.parametrize("learner", LEARNERS)
def test_constructors_show_the_table(learner):
    parameters = inspect.signature(learner).parameters
    assert {name: each.default for name, each in parameters.items()} == {
        name: row.default for name, row in settings_of(learner).items()
    }
    by_place = [name for name, each in parameters.items() if each.kind is each.POSITIONAL_OR_KEYWORD]
    assert set(by_place) <= {"alphas", "max_clusters", "max_groups", "max_states"}
    assert list(parameters)[: len(by_place)] == by_place
    assert learner().get_params(deep=False) == values_of(learner()) == {n: p.default for n, p in parameters.items()}
    for name, row in settings_of(learner).items():
        assert f"    {name} : {row.kind.text}\n        {row.meaning[:20]}" in learner.__doc__


@pytest.mark.parametrize(("learner", "name"), EACH)
def test_a_setting_is_kept_by_files_and_pickles(learner, name, tmp_path):
    value, wrong = OTHERS[name]
    with pytest.raises(ValueError, match=r"stream knows" if name == "likelihood" else f"{name} must be"):
        learner(**{name: wrong})
    model = learner(**{"n_features": 2, name: value})
    model.save(tmp_path / "model.mdpm")
    for back in (load(tmp_path / "model.mdpm"), pickle.loads(pickle.dumps(model)), learner(**model.get_params(False))):
        kept = getattr(back, name)
        if name == "likelihood":
            kept = back.likelihood_._replace(**{field: each[:1] for field, each in back.likelihood_._asdict().items()})
        assert shown(kept) == shown(value)
        assert back.to_bytes() == model.to_bytes()


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_c_library_is_given_every_setting_that_it_has(learner):
    """Another value makes another file: none is lost on the way to C and back."""
    plain = learner(n_features=2).to_bytes()
    for name in settings_of(learner):
        if name not in {"n_features", "alphas"}:
            assert learner(**{"n_features": 2, name: OTHERS[name][0]}).to_bytes() != plain, name


def test_every_setting_of_the_c_library_is_in_the_table():
    from mapdpm.stream.c_options import modules

    _, ffi = modules("float64")
    fields = {name for name, _ in ffi.typeof("mapdpm_options").fields}
    assert fields - {row.c for row in ROWS.values()} == {
        "family",
        "parameters",
        "queue",
        "resolution",
        "steps",
    }  # the likelihood; a chip's own; steps


@pytest.mark.parametrize("name", sorted(settings_of(OnlineMAPDPM)))
def test_a_fit_goes_on_under_every_setting_that_it_does_not_say(name):
    model = MAPDPM(likelihood=PRIOR).fit(np.zeros((9, 2)))
    value = OTHERS[name][0]
    if name in {"alpha", "likelihood", "n_features", "missing"}:
        with pytest.raises(TypeError, match=f"multiple values for keyword argument '{name}'"):
            OnlineMAPDPM.from_model(model, **{name: value})
    else:
        assert getattr(OnlineMAPDPM.from_model(model, **{name: value}), name) == value


@pytest.mark.parametrize("adapter", ["OnlineMAPDPMClusterer", "OnlineMAPDPMAnomaly"])
def test_adapters_of_river_have_every_setting(adapter):
    river = pytest.importorskip("mapdpm.compat.river", exc_type=ImportError)
    kind = getattr(river, adapter)
    rows = settings_of(OnlineMAPDPM)
    assert list(settings_of(kind)) == list(rows)
    assert {name: each.default for name, each in inspect.signature(kind).parameters.items()} == {
        name: "skip" if name == "missing" else row.default for name, row in rows.items()
    }
    for name in rows:
        value = "error" if name == "missing" else OTHERS[name][0]
        made = kind(**{name: value})
        assert made._get_params()[name] is value
        assert getattr(made.clone().model, name) == value


def test_a_new_row_is_all_that_a_new_setting_needs(monkeypatch, tmp_path):
    """A field of C that is not in the table, from one line to a file and an option."""

    @dataclass(kw_only=True, eq=False, repr=False)
    class More(ClusterSettings):
        queue: int = setting(0, kinds.count(0), "Points that wait.", option=("N", "points that wait"))

    class Learner(More, OnlineMAPDPM):
        """A learner.

        Parameters
        ----------
        {settings}
        """

    monkeypatch.setitem(ROWS, "queue", settings_of(Learner)["queue"])
    assert "queue : int >= 0\n        Points that wait." in Learner.__doc__
    assert inspect.signature(Learner).parameters["queue"].default == 0
    with pytest.raises(ValueError, match="queue must be"):
        Learner(queue=-1)
    model = Learner(queue=9, n_features=1)
    in_c = model.ready_learner().settings()  # a file would not do: its reader empties the queue
    assert Learner._of_settings(in_c).get_params(False)["queue"] == 9
    assert Learner.from_bytes(model.to_bytes()).n_features == 1
    assert Learner.from_model(MAPDPM(likelihood=PRIOR).fit(np.zeros((9, 1))), queue=0).n_clusters == 1
    parser = argparse.ArgumentParser()
    stream_options._setting_options(parser, on_command_line(Learner), "")
    assert parser.parse_args(["--queue", "9"]).queue == 9


# ---- the word --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", LEARNERS)
def test_none_is_still_a_word_for_auto(learner):
    X = np.random.default_rng(0).normal(size=(60, 2))
    groups = {"groups": np.zeros(60)} if learner is OnlineHDP else {}
    with pytest.warns(FutureWarning, match="likelihood=None of a stream means likelihood='auto'") as caught:
        old = learner(likelihood=None, warmup=40)
    assert [each.filename for each in caught] == [__file__]
    old.learn_many(X, **groups)
    new = learner(likelihood="auto", warmup=40)
    new.learn_many(X, **groups)
    assert new.likelihood == learner().likelihood == "auto"
    assert old.to_bytes() == new.to_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        back = learner.from_bytes(old.to_bytes())
    assert back.likelihood == "auto"
    with pytest.raises(ValueError, match=re.escape("got 'fitted'")):
        learner(likelihood="fitted")


# ---- the page --------------------------------------------------------------------------------------------------------


def reference():
    """The table of docs/reference.md, from the table of settings."""
    yield "| setting | default | values | of | in C | option |"
    yield "|---|---|---|---|---|---|"
    rows = {(name, row.kind.text): row for learner in LEARNERS for name, row in settings_of(learner).items()}
    for (name, values), row in sorted(rows.items()):
        owners = [each for each in LEARNERS if name in (of := settings_of(each)) and of[name].kind.text == values]
        option = next(
            (option for each in owners for option, (own, _) in on_command_line(each).items() if own == name), ""
        )
        cells = (
            f"`{name}`",
            f'`"{row.default}"`' if isinstance(row.default, str) else f"`{row.default}`",
            values,
            "all" if len(owners) == len(LEARNERS) else ", ".join(f"`{owner.__name__}`" for owner in owners),
            f"`{row.c}`" if row.c else "",
            f"`--{option.replace('_', '-')}`" if option else "",
        )
        yield f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")


def test_the_reference_has_the_table():
    """Where it fails, the page wants the lines of ``reference()``."""
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8").splitlines()
    wanted = list(reference())
    begin = page.index(wanted[0])
    assert page[begin : begin + len(wanted) + 1] == [*wanted, ""]
