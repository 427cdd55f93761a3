"""Messages of readers, for files that are not what they seem."""

import zlib

import pytest

from mapdpm import NormalGamma, OnlineHDP, OnlineMAPDPM
from mapdpm.features import RMS, Transformer
from mapdpm.files.errors import ModelFileError

PRIOR = NormalGamma(0.0, 1.0, 1.0, 1.0)
STREAM = OnlineMAPDPM(2, likelihood=PRIOR).partial_fit([[0.0], [1.0]])


def test_what_the_c_library_names_by_a_word_is_said_in_words():
    """Each number of a file in turn is none, and the check sum is right again."""
    groups = OnlineHDP(2, 2, likelihood=PRIOR, with_base=True).partial_fit([[0.0]], groups=["a"])
    features = RMS(3)
    features.fit([[0.0], [1.0]])
    for read, data in (
        (OnlineMAPDPM.from_bytes, STREAM.to_bytes()),
        (OnlineHDP.from_bytes, groups.to_bytes()),
        (lambda data: OnlineMAPDPM.merged([data]), STREAM.summary()),
        (groups.set_base, STREAM.summary()),
        (Transformer.from_bytes, features.to_bytes()),
    ):
        said = set(refusals(read, data))
        assert said
        assert not any(words.count("damaged") > 1 for words in said), said
        assert all(len(words.rpartition(": ")[2].split()) > 2 for words in said), said


def refusals(read, data):
    """The messages of ``read`` for files of which four bytes are all ones."""
    for at in range(36, len(data) - 4, 4):
        forged = bytearray(data)
        forged[at : at + 4] = b"\xff\xff\xff\xff"
        forged[-4:] = zlib.crc32(forged[:-4]).to_bytes(4, "little")
        try:
            read(bytes(forged))
        except ValueError as problem:
            yield str(problem)


def test_a_message_that_is_too_short():
    with pytest.raises(ModelFileError, match=r"damaged: its CRC|truncated"):
        OnlineMAPDPM.merged([STREAM.summary()[:-8]])
