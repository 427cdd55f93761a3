"""The words of the interface are those of the things that they name."""

import inspect

from mapdpm import HDPHMM, MAPDPM, HDPMixture, OnlineHDP, OnlineMAPDPM, backends, names
from mapdpm.search.moves.catalogue import MOVES
from mapdpm.stream.c_options import DTYPES
from mapdpm.stream.settings import ROWS


def test_moves_and_backends_are_those_that_exist():
    assert all(tuple(kinds) == known for known, kinds in MOVES.items())
    assert tuple(backends.BACKENDS) == names.BACKENDS
    assert MAPDPM().moves == names.MOVES[:2]
    assert HDPMixture().moves == names.HDP_MOVES
    assert HDPHMM().moves == names.HMM_MOVES
    assert MAPDPM().init == names.STARTS[0]


def test_streams_number_the_words_as_c_does():
    for name in ("when_full", "when_groups_full", "missing"):
        words = getattr(names, name.upper())
        assert [ROWS[name].kind.to_c(word) for word in words] == list(range(len(words)))
        assert [ROWS[name].kind.from_c(number, float) for number in range(len(words))] == list(words)
    assert OnlineHDP().when_groups_full == names.WHEN_GROUPS_FULL[0]
    assert {name: dtype.name for name, dtype in DTYPES.items()} == {name: name for name in names.DTYPES}
    model = OnlineMAPDPM()
    assert (model.when_full, model.missing, model.dtype) == (names.WHEN_FULL[0], names.MISSING[0], names.DTYPES[0])


def test_names_imports_nothing():
    assert "import" not in inspect.getsource(names).split('"""')[2]
