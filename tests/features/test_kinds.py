"""Kinds of transformers: C's table, C's enumeration and the classes of Python agree, and a new class is found."""

import re
from dataclasses import KW_ONLY

import numpy as np
import pytest

import mapdpm
from compiling import KERNELS, amalgamate
from mapdpm import features
from mapdpm.cli.stream_features import StreamFeatures
from mapdpm.features.c_pipeline import JOIN, CPipeline, Step
from mapdpm.features.feature import Feature, feature
from mapdpm.features.transformer import KINDS
from mapdpm.stream.c_options import modules
from oracle import features as oracle

STEPS = {name: kind for name, kind in KINDS.items() if issubclass(kind, Feature)}
"""The classes that are one step; the others are ready chains."""
X = np.random.default_rng(0).normal(size=(40, 2))


def test_the_table_the_enumeration_and_the_classes_agree():
    lib, _ = modules("float32")
    numbers = {name: getattr(lib, name) for name in dir(lib) if name.startswith("MAPDPM_STEP_")}
    assert sorted(numbers.values()) == list(range(1, len(numbers) + 1))
    assert sorted([kind.kind for kind in STEPS.values()] + [JOIN]) == sorted(numbers.values())
    table = (KERNELS / "features" / "features_kinds.c").read_text("utf-8")
    listed = dict(re.findall(r"\[(MAPDPM_STEP_\w+)\] = &(features_\w+)", table))
    assert {*listed} == {*numbers}
    files = {path: path.read_text("utf-8") for path in sorted((KERNELS / "features").glob("*.c"))}
    assert {f"features/{path.name}" for path in files} <= {*amalgamate.SOURCES}
    defined = re.findall(r"^MAPDPM_INTERNAL.* (features_\w+) =", "\n".join(files.values()), re.MULTILINE)
    assert sorted(defined) == sorted(listed.values())
    naming = {path.name for path, text in files.items() if "MAPDPM_STEP_" in text}
    assert naming == {
        "features_kinds.c",
        "features.c",
    }  # features.c: the period of AUTOPERIOD, which a program asks for


def test_each_class_has_an_example_an_oracle_and_a_public_name():
    for name, kind in KINDS.items():
        each = features.parse(kind.example)
        assert type(each) is kind
        if name in STEPS:
            assert {step.kind for step in each.c_steps()} - {JOIN} == {kind.kind}
        assert hasattr(oracle, re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
        assert getattr(features, name) is kind


@pytest.mark.parametrize("kind", [0, 1 + max(JOIN, *(each.kind for each in STEPS.values())), 2**32 - 1])
def test_a_number_that_c_does_not_know_is_refused(kind):
    with pytest.raises(ValueError, match="for one pipeline"):
        CPipeline.new("float32", [Step(kind, 0, n=2)], 1)


@pytest.fixture
def jump():
    """A class outside of the package, with a step that C has."""

    @feature
    class Jump(Feature):
        n: int = 1
        _: KW_ONLY
        dtype: str = "float64"

        kind, label = features.Difference.kind, "jump {n}"

    yield Jump
    del KINDS["Jump"]


def test_a_class_in_another_file_is_found(jump, tmp_path):
    each = features.parse("Jump(2) | Centre(3)")
    rows = each.transform_many(X)
    np.testing.assert_array_equal(rows, features.parse("Difference(2) | Centre(3)").transform_many(X))
    each.save(tmp_path / "jump.mdpm")
    assert mapdpm.load(tmp_path / "jump.mdpm").transform_one([1.0, 2.0]) == each.transform_one([1.0, 2.0])
    run = StreamFeatures.of({"features": "Jump()", "dtype": "float32", "time": None}, None, None)
    assert type(run.transformer) is jump
    assert run.begin(1, ["a"]) == (1, ["a jump 1"])
    with pytest.raises(ValueError, match="known are Lag, Difference, Jump, Centre"):
        features.parse("Jumps()")


@pytest.mark.usefixtures("jump")
def test_a_class_in_another_file_works_in_river():
    pytest.importorskip("river", reason="river is not installed; try: pip install 'mapdpm[river]'")
    from mapdpm.compat.river import Features

    adapter = Features("Jump(2)")
    adapter.learn_one({"a": 1.0})
    assert adapter.transform_one({"a": 3.0}) == {"a jump 2": 2.0}


def test_a_name_that_is_taken_is_refused():
    with pytest.raises(ValueError, match=r"there are features Lag in mapdpm\.features\.points"):

        @feature
        class Lag(Feature):
            n: int
            dtype: str = "float64"

    assert KINDS["Lag"] is features.Lag
