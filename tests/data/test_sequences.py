"""Sequences: where they begin, neighbours in time, and labels that are refused."""

import numpy as np
import pandas as pd
import pytest

from mapdpm.data.sequences import read_sequences


def test_neighbours_in_time():
    found = read_sequences(["b", "b", "a", "c", "c", "c"], 6)
    assert found.begins.tolist() == [0, 2, 3, 6]
    assert found.names.tolist() == ["b", "a", "c"]
    assert found.previous.tolist() == [-1, 0, -1, -1, 3, 4]
    assert found.following.tolist() == [1, -1, -1, 4, 5, -1]


@pytest.mark.parametrize("n", [1, 4])
def test_none_is_one_sequence(n):
    found = read_sequences(None, n)
    assert found.begins.tolist() == [0, n]
    assert found.names.tolist() == [None]
    assert found.previous.tolist() == list(range(-1, n - 1))
    assert found.following.tolist() == [*range(1, n), -1]


@pytest.mark.parametrize(
    ("sequences", "words"),
    [
        ([0, 0, 1, 0], r"sequences\[3\] is 0 again, after another sequence"),
        (["a", "b", "b", "c", "b", "c"], r"sequences\[4\] is 'b' again"),
        ([0, 1, None], r"\[2\] is None"),
        (pd.Series([0.0, 1.0, np.nan]), r"\[2\] is nan"),
    ],
)
def test_labels_that_are_refused(sequences, words):
    with pytest.raises(ValueError, match=words):
        read_sequences(sequences, len(sequences))
