"""``mapdpm stream`` reads the table of settings: each is an option, reaches the learner, and is kept by the state."""

from pathlib import Path

import pytest

import mapdpm
from command_line import learned, made, streamed, text_of
from mapdpm import OnlineHDPHMM, OnlineMAPDPM
from mapdpm.cli import checkpoint, options
from mapdpm.stream.settings import on_command_line
from tests.stream.test_settings import OTHERS

RUN = ["data.csv", "--state", "state.mdpm", "--output", "out.jsonl", "--quiet"]
EACH = [(learner, name) for learner in (OnlineMAPDPM, OnlineHDPHMM) for name in on_command_line(learner)]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A current folder with data.csv: 60 points."""
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text(text_of(made(60)))


@pytest.mark.parametrize(("learner", "name"), EACH)
def test_a_setting_is_an_option(learner, name, capsys):
    own, row = on_command_line(learner)[name]
    value = OTHERS[own][0]
    several = isinstance(value, tuple)  # one a column
    text = ",".join(map(str, value)) if several else value
    of_states = ["--states"] if learner is OnlineHDPHMM else []
    streamed(*RUN, *of_states, f"--{name.replace('_', '-')}", text, "--count", 30)
    model = mapdpm.load("state.mdpm")
    assert type(model) is learner
    assert getattr(model, own) == value != row.default
    kept = checkpoint.read(Path("state.mdpm")).settings
    assert kept[name] == (list(value) if several else value)
    assert checkpoint.parameters_of(model).items() <= kept.items()
    streamed(*RUN)  # goes on under the same
    streamed(*RUN, f"--{name.replace('_', '-')}", text)
    assert getattr(mapdpm.load("state.mdpm"), own) == value


@pytest.mark.parametrize(("name", "text"), [("relevance", "all"), ("resolution", "0.1")])
def test_a_setting_that_a_checkpoint_does_not_know_is_the_learners(name, text, capsys):
    """As in a file of an earlier version: another value is refused, not left out of account."""
    streamed(*RUN, "--count", 30)
    saved = checkpoint.read(Path("state.mdpm"))
    del saved.settings[name]
    checkpoint.write(Path("state.mdpm"), saved)
    streamed(*RUN, f"--{name}", text, code=2)
    assert f"--{name}: state.mdpm was begun with auto, got" in capsys.readouterr().err
    streamed(*RUN)


def test_the_help_has_the_defaults_of_the_table(capsys):
    with pytest.raises(SystemExit):
        options.parser().parse_args(["stream", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    for name, (_, row) in (on_command_line(OnlineHDPHMM) | on_command_line(OnlineMAPDPM)).items():
        metavar, text = row.option
        option = f"--{name.replace('_', '-')} {metavar or '{' + ','.join(row.kind.words) + '}'}"
        where = "" if name in on_command_line(OnlineMAPDPM) else "with --states: "
        assert f"{option} {where}{text} ({'never' if row.default is None else row.default})" in shown


def test_a_stream_without_options_is_that_of_python():
    streamed(*RUN)
    assert learned("state.mdpm") == OnlineMAPDPM().partial_fit(made(60))._learner.write()


@pytest.mark.parametrize(("first", "second"), [("auto", "normal-gamma"), ("normal-gamma", "auto"), ("", "auto")])
def test_auto_is_a_word_for_the_family_that_states_name(first, second):
    """Files are those of before the word."""
    say = {"": []} | {word: ["--likelihood", word] for word in ("auto", "normal-gamma")}
    streamed(*RUN, *say[first], "--count", 30)
    assert checkpoint.read(Path("state.mdpm")).settings["likelihood"] == "normal-gamma"
    assert mapdpm.load("state.mdpm").likelihood == "auto"
    streamed(*RUN, *say[second])
    assert mapdpm.load("state.mdpm").n_seen == 60


def test_auto_and_a_prior_do_not_go_together(capsys):
    prior = [part for each in ("m0=0", "c0=0.1", "a0=1", "b0=1") for part in ("--prior", each)]
    streamed(*RUN, *prior, "--likelihood", "auto", code=2)
    assert (
        "argument --likelihood: auto is for a prior that the warm-up sets, without --prior" in capsys.readouterr().err
    )
    streamed(*RUN, *prior, "--count", 30)
    streamed(*RUN, "--likelihood", "auto", code=2)
    assert "argument --likelihood: auto" in capsys.readouterr().err
