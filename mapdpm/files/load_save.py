"""``load`` and ``save`` of every kind of model; the file says which kind it holds."""

from __future__ import annotations

import os
from typing import Any

from mapdpm.estimators.map_dpm import MAPDPM
from mapdpm.files import container
from mapdpm.files.errors import ModelFileError
from mapdpm.models.hdp import HDPMixture
from mapdpm.models.hdp_hmm import HDPHMM


def load(path: str | os.PathLike[str]) -> Any:
    """The model that ``save`` wrote to ``path``, of whatever class: a batch model or a learner of streams.

    Raises
    ------
    ValueError
        The file is no model file, is truncated or damaged, or has a newer format.
    OSError
        It cannot be read.
    """
    data = container.read_file(path)
    try:
        if container.kind_of(data) in {container.STREAM, container.STREAM_OF_GROUPS, container.STREAM_OF_STATES}:
            return _stream_of(data)
        if container.kind_of(data) == container.GROUPED:
            return HDPMixture.from_bytes(data)
        if container.kind_of(data) == container.STATES:
            return HDPHMM.from_bytes(data)
        return MAPDPM.from_bytes(data)
    except ModelFileError as error:
        msg = f"{path}: {error}"
        raise ModelFileError(msg) from None


def _stream_of(data: bytes) -> Any:
    """The stream learner in a file, or the bank of learners where the file holds one."""
    from mapdpm.stream.hdp import OnlineHDP  # noqa: PLC0415  (few files hold one)
    from mapdpm.stream.hdp_hmm import OnlineHDPHMM  # noqa: PLC0415
    from mapdpm.stream.online import OnlineMAPDPM  # noqa: PLC0415
    from mapdpm.stream.selector import BANK_KEY, OnlineAlphaSelector  # noqa: PLC0415

    if container.kind_of(data) == container.STREAM_OF_STATES:
        return OnlineHDPHMM.from_bytes(data)
    if container.kind_of(data) == container.STREAM_OF_GROUPS:
        return OnlineHDP.from_bytes(data)
    banked = BANK_KEY in container.check_stream(data)[1]
    return (OnlineAlphaSelector if banked else OnlineMAPDPM).from_bytes(data)


def save(model: MAPDPM | HDPMixture | HDPHMM, path: str | os.PathLike[str]) -> None:
    """``model.save(path)``."""
    model.save(path)
