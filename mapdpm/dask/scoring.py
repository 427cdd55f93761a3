"""Labels, predictions and densities of points that Dask holds, makes or reads: delayed, chunk by chunk."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import dask
import numpy as np

from mapdpm.dask.delayed_chunks import delayed_of, is_array
from mapdpm.dask.runner import n_rows
from mapdpm.estimators.map_dpm import MAPDPM
from mapdpm.merging.tree import group_of
from mapdpm.search.chunks import Chunk, Frame, Sums, labelling_of
from mapdpm.search.passes import labelled


def labels(model: Any, X: Any) -> Any:
    """The clusters, or their groups, of the points that ``model`` was fitted to, chunk by chunk, not yet computed.

    At a mode every point is in the slot of the best tangent, so labels follow from clusters and points (maths (96));
    ``predict`` differs for points that are much of their own cluster. For ``DPMeans`` it is the nearest centre. (With a
    large alpha clusters of a few points may be held out of passes; their points get the label of the best tangent too.)

    Returns a dask array of int64 for an array, a dask series for a dataframe, else a list of delayed arrays.

    Examples
    --------
    >>> import dask.array as da, numpy as np
    >>> from mapdpm import MAPDPM, NormalGamma
    >>> from mapdpm.dask import fit
    >>> X = da.from_array(np.array([[0.0], [0.1], [50.0], [50.2]]), chunks=(2, 1))
    >>> model = fit(MAPDPM(likelihood=NormalGamma(0.0, 0.01, 1.0, 0.1)), X)
    >>> labels(model, X).compute().tolist()
    [0, 0, 1, 1]
    """
    return _chunks(_labels if isinstance(model, MAPDPM) else type(model).predict, model, X, np.int64)


def predict(model: Any, X: Any) -> Any:
    """``model.predict`` of each chunk, not yet computed; in the form that ``labels`` returns."""
    return _chunks(type(model).predict, model, X, np.int64)


def score_samples(model: Any, X: Any) -> Any:
    """``model.score_samples`` of each chunk, not yet computed: log predictive densities in nats."""
    return _chunks(type(model).score_samples, model, X, np.float64)


def _labels(model: MAPDPM, X: Any) -> Any:
    mixture = model._mixture_of_fit  # noqa: SLF001  (of one package)
    frame = Frame(mixture.likelihood, mixture.prior, mixture.anchor, model.backend_)
    labelling = labelling_of(frame, Sums(mixture.counts, mixture.statistics))
    parts = Chunk(model._clustered(model._points(X)), None, 0).parts()  # noqa: SLF001
    return group_of(model.groups_, np.concatenate([labelled(frame, part, labelling).labels for part in parts]))


def _chunks(function: Callable[[Any, Any], Any], model: Any, X: Any, dtype: Any) -> Any:
    model._check_fitted()  # noqa: SLF001  (of one package)
    sent = copy.copy(model)  # without what need not travel, or cannot
    sent.callback = sent.random_state = None
    sent._set_labels(None)  # noqa: SLF001  (of one package)
    vars(sent).pop("_components", None)
    apply = partial(_of_chunk, function, sent, dtype)
    if is_array(X):
        if X.ndim != 2:  # noqa: PLR2004
            msg = f"X must be a 2-D array (points x features), got {X.ndim}-D"
            raise ValueError(msg)
        X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        return X.map_blocks(apply, dtype=dtype, drop_axis=1, meta=np.empty(0, dtype=dtype))
    if hasattr(X, "map_partitions"):
        return X.map_partitions(partial(_series, apply), meta=(None, dtype))
    return [dask.delayed(apply)(block) for block in delayed_of("X", X)]


def _of_chunk(function: Callable[[Any, Any], Any], model: Any, dtype: Any, X: Any) -> Any:
    return function(model, X) if n_rows(X) else np.empty(0, dtype=dtype)


def _series(apply: Callable[[Any], Any], frame: Any) -> Any:
    import pandas as pd  # noqa: PLC0415  (of dataframes)

    return pd.Series(apply(frame), index=frame.index)
