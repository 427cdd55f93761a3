"""A trained model as C source: a header with the model, an example that continues to learn, and the library."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any, TypeAlias

import mapdpm
from mapdpm.files.c_program import EXAMPLE, HEADER, REALS, SWITCHES
from mapdpm.models.hdp import HDPMixture
from mapdpm.models.hdp_hmm import HDPHMM
from mapdpm.names import INT16
from mapdpm.stream.hdp import OnlineHDP
from mapdpm.stream.hdp_hmm import OnlineHDPHMM
from mapdpm.stream.online import OnlineMAPDPM
from mapdpm.stream.single_precision import in_single_precision

Exportable: TypeAlias = OnlineMAPDPM | OnlineHDPHMM

_A_LINE = 16


def as_stream(model: Any, *, max_clusters: int | None = None, dtype: str = "float32") -> Exportable:
    """A stream learner with the clusters of ``model``: a fitted MAPDPM, an OnlineMAPDPM or an OnlineHDPHMM.

    From a batch model it takes the statistics of the clusters, the prior and alpha, with ``max_clusters`` slots (None:
    twice the number of clusters). A stream learner of this ``dtype`` and capacity is returned as it is. One of float64
    becomes one of float32 with the same ids, events and counts of surprise; any other is converted by
    ``OnlineMAPDPM.merged``, with a UserWarning, for it loses these; one of states cannot be, nor one from int16 or to
    it. ValueError there, and where there are more clusters than slots, or the model has a discount, which streams do
    not support.

    Examples
    --------
    >>> import numpy as np
    >>> from mapdpm import MAPDPM
    >>> X = np.random.default_rng(0).normal(size=(400, 2)) + 12.0 * (np.arange(400)[:, None] % 3)
    >>> as_stream(MAPDPM().fit(X)).n_clusters
    3
    """
    if isinstance(model, OnlineMAPDPM):
        kept = max_clusters in {None, model.max_clusters}
        if kept and model.dtype == dtype:
            return model
        if INT16 in {model.dtype, dtype}:
            msg = (
                f"a learner of {model.dtype} with {model.max_clusters} slots cannot become one of {dtype} with "
                f"{max_clusters or model.max_clusters}: export one of int16 as it is, or make it of a fitted MAPDPM"
            )
            raise ValueError(msg)
        if kept and dtype == "float32" and (found := in_single_precision(model)) is not None:
            return found
        msg = (
            f"the stream has {model.max_clusters} slots of {model.dtype}: in {max_clusters or model.max_clusters} of "
            f"{dtype} its clusters are the same, but ids begin at 0, and events and the counts of surprise anew"
        )
        warnings.warn(msg, stacklevel=2)
        return OnlineMAPDPM.merged([model], max_clusters=max_clusters, dtype=dtype)
    if isinstance(model, OnlineHDPHMM):
        if model.dtype != dtype or max_clusters not in {None, model.max_states}:
            msg = (
                f"a stream of states can only be exported as it is: dtype {model.dtype!r}, "
                f"{model.max_states} slots; got dtype {dtype!r}, max_clusters {max_clusters}"
            )
            raise ValueError(msg)
        return model
    _check_exportable(model)
    slots = 2 * getattr(model, "n_clusters_", 0) or None if max_clusters is None else max_clusters
    return OnlineMAPDPM.from_model(model, max_clusters=slots, dtype=dtype)


def _check_exportable(model: Any) -> None:
    """ValueError for a model that no stream learner can go on with."""
    if isinstance(model, (HDPMixture, HDPHMM, OnlineHDP)):
        what = "states in time" if isinstance(model, HDPHMM) else "groups"
        msg = f"a model of {what} has no C code yet; MAPDPM, OnlineMAPDPM and OnlineHDPHMM have"
        raise ValueError(msg)


def _columns_of(model: Exportable) -> str:
    """The names of the columns, for a comment: without what ends one, or a line."""
    names = getattr(model, "feature_names_in_", ())
    shown = ", ".join(map(str, names)).replace("*/", "* /")
    return f" of {''.join(c if c.isprintable() else '?' for c in shown)}" if len(names) else ""


def c_files(model: Exportable, name: str = "model") -> dict[str, bytes]:
    """The files of a C program by name: NAME.h, main.c, mapdpm.h and mapdpm.c.

    ValueError where ``name`` is no C identifier, or the learner has seen nothing.
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or name.lower() == "mapdpm":
        msg = f"the name must be an identifier of C other than mapdpm, in upper or lower case, got {name!r}"
        raise ValueError(msg)
    learner = model.ready_learner()
    file = learner.write()
    real = REALS[model.dtype]
    switches = {"MAPDPM_REAL": f" {real.c_type}"}
    conditions = [
        f"typedef char {name}_needs_MAPDPM_REAL_{real.c_type}[sizeof(mapdpm_real) == {real.n_bytes} ? 1 : -1];"
    ]
    slots = model.max_clusters if isinstance(model, OnlineMAPDPM) else model.max_states
    for needed, flag, what in (
        (isinstance(model, OnlineHDPHMM), "MAPDPM_STATES", "has states in time"),
        (learner.settings()["surprise"], "MAPDPM_SURPRISE", "assesses points"),
        (model.missing == "skip", "MAPDPM_MISSING", "has missing values"),
        (learner.stream.relevance, "MAPDPM_RELEVANCE", "finds the features that carry clusters"),
        (learner.stream.resolution, "MAPDPM_RESOLUTION", "knows the steps of its features"),
    ):
        if needed:
            switches[flag] = ""
            conditions.append(f'#ifndef {flag}\n#error "{name}.h {what}: compile with -D{flag}"\n#endif')
    flags = " ".join(f"-D{switch}{value.replace(' ', '=')}" for switch, value in switches.items())
    words = {"name": name, "macro": name.upper(), "flags": flags}
    rows = [", ".join(f"0x{byte:02x}" for byte in file[i : i + _A_LINE]) for i in range(0, len(file), _A_LINE)]
    header = HEADER.format(
        version=mapdpm.__version__,
        about=f"{model.n_clusters} clusters of {model.n_seen} points{_columns_of(model)}",
        conditions="\n".join(conditions),
        features=learner.n_features,
        clusters=slots,
        used=model.n_clusters,
        state_bytes=model.nbytes,
        file_bytes=len(file),
        data=",\n".join(f"    {row}" for row in rows),
        **words,
    )
    pair = Path(mapdpm.get_include()) / "amalgamation" / "src"
    texts = {f"{name}.h": header, "main.c": EXAMPLE.format(**words, **real._asdict())}
    library = {each: (pair / each).read_bytes() for each in ("mapdpm.h", "mapdpm.c")}
    defined = "\n".join(f"#ifndef {each}\n#define {each}{value}\n#endif" for each, value in switches.items())
    library["mapdpm.h"] = SWITCHES.format(name=name, switches=defined).encode() + library["mapdpm.h"]
    return {each: text.encode() for each, text in texts.items()} | library
