"""Old names of public things work, and warn in the user's own line."""

import importlib
import warnings

import pytest

from mapdpm import deprecated


@pytest.mark.parametrize(
    ("package", "old", "now"),
    [(package, old, now) for package, names in deprecated.RENAMED.items() for old, now in names.items()],
)
def test_old_names_are_the_things_of_now(package, old, now):
    module = importlib.import_module(package)
    text = f"{package}.{old} is now called {now}; the old name works for one version more"
    with pytest.warns(DeprecationWarning, match=text) as seen:
        exec(f"from {package} import {old} as it", found := {})  # noqa: S102  (as a user's line)
    assert found["it"] is getattr(module, now)
    assert {each.filename for each in seen} == {"<string>"}  # of a package, an import asks twice
    with pytest.warns(DeprecationWarning, match=text) as seen:
        assert getattr(module, old) is found["it"]
    assert [each.filename for each in seen] == [__file__]
    assert old not in dir(module)
    assert now in dir(module)


@pytest.mark.parametrize("package", deprecated.RENAMED)
def test_unknown_names_are_no_attributes(package):
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        importlib.import_module(package).nothing  # noqa: B018


def test_arguments_by_their_old_names():
    def user(now=None, old=None):
        return deprecated.argument("now", now, "old", old)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert user(3) == 3
        assert user() is None
    with pytest.warns(DeprecationWarning, match="old= is now called now=; ") as seen:
        assert user(old=4) == 4
    assert [each.filename for each in seen] == [__file__]
    with pytest.raises(ValueError, match="give now and not its old name old, got both"):
        user(3, old=4)


def test_samplers_in_old_traces_are_those_of_now():
    assert deprecated.text_of_now("mapdpm.samplers", "DependentDP(alpha=1.0)") == "DependentDPGibbs(alpha=1.0)"
    assert deprecated.text_of_now("mapdpm.samplers", "DependentDPGibbs(a=1)") == "DependentDPGibbs(a=1)"
