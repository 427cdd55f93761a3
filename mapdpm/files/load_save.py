"""``load`` and ``save`` of every kind of model; the file says which kind it holds."""

from __future__ import annotations

import os
from typing import Any

from mapdpm.estimators.map_dpm import MAPDPM
from mapdpm.files import container
from mapdpm.files.errors import ModelFileError
from mapdpm.models.hdp import HDPMixture
from mapdpm.models.hdp_hmm import HDPHMM

_BATCH = {container.BATCH: MAPDPM, container.GROUPED: HDPMixture, container.STATES: HDPHMM}


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
        return _class_of(data).from_bytes(data)
    except ModelFileError as error:
        msg = f"{path}: {error}"
        raise ModelFileError(msg) from None


def _class_of(data: bytes) -> Any:
    """The class of the model in a file; of no model, that which refuses it."""
    kind = container.kind_of(data)
    if kind in _BATCH:
        return _BATCH[kind]
    if kind == container.FEATURES:
        from mapdpm.features.transformer import Transformer  # noqa: PLC0415  (few files hold one)

        return Transformer
    from mapdpm.stream.hdp import OnlineHDP  # noqa: PLC0415  (few files hold one)
    from mapdpm.stream.hdp_hmm import OnlineHDPHMM  # noqa: PLC0415
    from mapdpm.stream.online import OnlineMAPDPM  # noqa: PLC0415
    from mapdpm.stream.selector import BANK_KEY, OnlineAlphaSelector  # noqa: PLC0415

    if kind == container.STREAM and BANK_KEY in container.check_stream(data)[1]:
        return OnlineAlphaSelector
    streams = {
        container.STREAM: OnlineMAPDPM,
        container.STREAM_OF_INTEGERS: OnlineMAPDPM,
        container.STREAM_OF_GROUPS: OnlineHDP,
        container.STREAM_OF_STATES: OnlineHDPHMM,
    }
    return streams.get(kind, MAPDPM)


def save(model: MAPDPM | HDPMixture | HDPHMM, path: str | os.PathLike[str]) -> None:
    """``model.save(path)``."""
    model.save(path)
