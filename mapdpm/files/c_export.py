"""A trained model as C source: a header with the model, an example that continues to learn, and the library."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, TypeAlias

import mapdpm
from mapdpm.models.hdp import HDPMixture
from mapdpm.models.hdp_hmm import HDPHMM
from mapdpm.stream.hdp import OnlineHDP
from mapdpm.stream.hdp_hmm import OnlineHDPHMM
from mapdpm.stream.online import OnlineMAPDPM

Exportable: TypeAlias = OnlineMAPDPM | OnlineHDPHMM

_A_LINE = 16
_HEADER = """\
/* A model of mapdpm {version}: {about}.
 *
 * A snapshot (docs/format.md): mapdpm_snapshot_read makes a learner of it, which goes on where it was saved.
 */
#ifndef {macro}_H
#define {macro}_H

#include "mapdpm.h"

{conditions}
#define {macro}_FEATURES {features}
#define {macro}_CLUSTERS {clusters} /* at most; {used} now */
#define {macro}_STATE_BYTES {state_bytes} /* of memory for the learner, aligned for uint64_t */
#define {macro}_FILE_BYTES {file_bytes} /* of a snapshot */

static const unsigned char {name}_file[{macro}_FILE_BYTES] = {{
{data}
}};

#endif
"""
_EXAMPLE = """\
/* Goes on learning where {name}.h was saved: a point a line of standard input, its cluster and log density a line of
 * standard output; at the end the learner goes to {name}.mdpm, which Python opens: mapdpm.load("{name}.mdpm").
 *
 * cc -std=c99 -O2 {flags} main.c mapdpm.c -o learn
 */
#include "{name}.h"
#include "mapdpm.h"

#include <stdio.h>

static uint64_t memory[({macro}_STATE_BYTES + 7) / 8];
static unsigned char file[{macro}_FILE_BYTES];

/* On a chip: wait for the sensor instead. */
static int next_point(mapdpm_real *x)
{{
    size_t d;
    double value;

    for (d = 0; d < {macro}_FEATURES; d++) {{
        if (scanf("%lf%*[,; \\t]", &value) < 1)
            return 0;
        x[d] = (mapdpm_real)value;
    }}
    return 1;
}}

int main(void)
{{
    mapdpm_stream *const learner = (mapdpm_stream *)(void *)memory;
    mapdpm_real x[{macro}_FEATURES], score;
    uint32_t id;
    size_t n = 0;
    FILE *out;
    int error = mapdpm_snapshot_read(learner, sizeof memory, {name}_file, sizeof {name}_file);

    while (error == MAPDPM_OK && next_point(x)) {{
        error = mapdpm_learn(learner, x, &id, &score);
        if (error == MAPDPM_OK)
            printf("%lu %.9g\\n", (unsigned long)id, (double)score);
    }}
    if (error == MAPDPM_OK)
        error = mapdpm_snapshot_write(learner, file, sizeof file, &n);
    if (error != MAPDPM_OK) {{
        fprintf(stderr, "mapdpm: %s\\n", mapdpm_error_name(error));
        return 1;
    }}
    out = fopen("{name}.mdpm", "wb");
    if (out == NULL)
        return 1;
    n -= fwrite(file, 1, n, out);
    return fclose(out) != 0 || n != 0;
}}
"""


def as_stream(model: Any, *, max_clusters: int | None = None, dtype: str = "float32") -> Exportable:
    """A stream learner with the clusters of ``model``: a fitted MAPDPM, an OnlineMAPDPM or an OnlineHDPHMM.

    From a batch model it takes the statistics of the clusters, the prior and alpha, with ``max_clusters`` slots (None:
    twice the number of clusters). A stream learner of this ``dtype`` and capacity is returned as it is; any other is
    converted by ``OnlineMAPDPM.merged``; one of states cannot be. ValueError where there are more clusters than slots,
    or the model has a discount, which streams do not support.

    Examples
    --------
    >>> import numpy as np
    >>> from mapdpm import MAPDPM
    >>> X = np.random.default_rng(0).normal(size=(400, 2)) + 12.0 * (np.arange(400)[:, None] % 3)
    >>> as_stream(MAPDPM().fit(X)).n_clusters
    3
    """
    if isinstance(model, OnlineMAPDPM):
        if model.dtype == dtype and max_clusters in {None, model.max_clusters}:
            return model
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


def c_files(model: Exportable, name: str = "model") -> dict[str, bytes]:
    """The files of a C program by name: NAME.h, main.c, mapdpm.h and mapdpm.c.

    ValueError where ``name`` is no C identifier, or the learner has seen nothing.
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or name.lower() == "mapdpm":
        msg = f"the name must be an identifier of C other than mapdpm, in upper or lower case, got {name!r}"
        raise ValueError(msg)
    learner = model.ready_learner()
    file = learner.write()
    real = "float" if model.dtype == "float32" else "double"
    words = {"name": name, "macro": name.upper(), "flags": f"-DMAPDPM_REAL={real}"}
    conditions = [
        f"typedef char {name}_needs_MAPDPM_REAL_{real}[sizeof(mapdpm_real) == {4 if real == 'float' else 8} ? 1 : -1];"
    ]
    slots = model.max_clusters if isinstance(model, OnlineMAPDPM) else model.max_states
    for needed, flag, what in (
        (isinstance(model, OnlineHDPHMM), "MAPDPM_STATES", "has states in time"),
        (learner.settings()["surprise"], "MAPDPM_SURPRISE", "assesses points"),
        (model.missing == "skip", "MAPDPM_MISSING", "has missing values"),
    ):
        if needed:
            words["flags"] += f" -D{flag}"
            conditions.append(f'#ifndef {flag}\n#error "{name}.h {what}: compile with -D{flag}"\n#endif')
    rows = [", ".join(f"0x{byte:02x}" for byte in file[i : i + _A_LINE]) for i in range(0, len(file), _A_LINE)]
    header = _HEADER.format(
        version=mapdpm.__version__,
        about=f"{model.n_clusters} clusters of {model.n_seen} points",
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
    texts = {f"{name}.h": header, "main.c": _EXAMPLE.format(**words)}
    library = {each: (pair / each).read_bytes() for each in ("mapdpm.h", "mapdpm.c")}
    return {each: text.encode() for each, text in texts.items()} | library
