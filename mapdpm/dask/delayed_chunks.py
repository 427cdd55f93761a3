"""Delayed chunks, pairs of points and weights: from collections of Dask, or from files."""

from __future__ import annotations

import glob
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import dask
import numpy as np
from dask.optimization import cull

_FILES = (".npy", ".parquet")


class Recipe(NamedTuple):
    """How to make a chunk, as a graph of Dask that the task which needs the chunk runs itself.

    Else workers would make chunks ahead of the tasks that need them, and hold them all.
    """

    graph: dict[Any, Any]
    key: Any

    def made(self) -> Any:
        """The chunk."""
        return dask.get(self.graph, self.key)


def chunks_of(X: Any, sample_weight: Any = None) -> list[Any]:
    """``X`` in chunks, each with its weights (None without ``sample_weight``): as recipes, or delayed."""
    return _recipes(_delayed_pairs(X, sample_weight))


def _recipes(chunks: list[Any]) -> list[Any]:
    """``chunks`` as recipes; as they are if some are on workers already, or share tasks, which are then run once."""
    graphs = [cull(dict(chunk.dask), [chunk.key])[0] for chunk in chunks]
    if len(set().union(*graphs)) < sum(map(len, graphs)) or any(map(_is_on_a_worker, chunks)):
        return chunks
    return [Recipe(graph, chunk.key) for graph, chunk in zip(graphs, chunks, strict=True)]


def _is_on_a_worker(chunk: Any) -> bool:
    try:
        from distributed.client import futures_of  # noqa: PLC0415  (one of the two packages may do)
    except ImportError:
        return False
    return bool(futures_of(chunk))


def _delayed_pairs(X: Any, sample_weight: Any) -> list[Any]:
    points = delayed_of("X", X)
    sizes = X.chunks[0] if is_array(X) else [math.nan] * len(points)
    weights = [None] * len(points) if sample_weight is None else delayed_of("sample_weight", sample_weight)
    if len(weights) != len(points):
        msg = f"sample_weight has {len(weights)} chunks and X has {len(points)}; give both the same chunks"
        raise ValueError(msg)
    pairs = enumerate(zip(points, weights, sizes, strict=True))
    return [dask.delayed(_pair, pure=False)(chunk, own, number, n) for number, (chunk, own, n) in pairs]


def delayed_of(name: str, X: Any) -> list[Any]:
    """The chunks of ``X``: a dask array or dataframe, a list of delayed objects, or files that workers read."""
    if isinstance(X, (str, os.PathLike)):
        return [dask.delayed(_read_file, pure=False)(path) for path in _paths(name, os.fspath(X))]
    if is_array(X):
        if X.ndim > 1 and X.numblocks[1] > 1:  # a chunk has all features of its points
            X = X.rechunk({1: -1})
        return list(X.to_delayed(optimize_graph=False).ravel())  # which would leave out chunks that workers hold
    if hasattr(X, "to_delayed"):
        return list(X.to_delayed())
    if isinstance(X, Sequence) and len(X) and all(isinstance(each, (str, os.PathLike)) for each in X):
        return [chunk for each in X for chunk in delayed_of(name, each)]
    if isinstance(X, Sequence) and len(X) and all(dask.is_dask_collection(each) for each in X):
        return list(X)
    msg = (
        f"{name} must be a dask array or dataframe, a list of delayed chunks, or npy or parquet files, got "
        f"{type(X).__name__}; for points in memory use model.fit"
    )
    raise ValueError(msg)


def is_array(X: Any) -> bool:
    """Whether ``X`` is a dask array; does not import it."""
    return hasattr(X, "numblocks") and hasattr(X, "rechunk")


def _paths(name: str, path: str) -> list[str]:
    found = sorted(glob.glob(path))  # noqa: PTH207  (a pattern may be absolute)
    files = [each for each in found if Path(each).suffix in _FILES]
    if not files or len(files) < len(found):
        odd = next((each for each in found if each not in files), None)
        what = f"there is no file {path!r}" if odd is None else f"{odd!r} is neither npy nor parquet"
        msg = f"{name}: {what}; give npy or parquet files, or a pattern such as 'points_*.npy'"
        raise ValueError(msg)
    return files


def _pair(points: Any, weights: Any, number: int, n_rows: float) -> tuple[Any, Any]:
    """Points and weights; ValueError where they have not the rows that their array says, NaN where that is unknown."""
    if not math.isnan(n_rows) and len(points) != n_rows:
        msg = f"chunk {number} (counted from 0) has {len(points)} rows, and its dask array says {n_rows}"
        raise ValueError(msg)
    return points, weights


def _read_file(path: str) -> Any:
    if path.endswith(".npy"):
        return np.load(path, mmap_mode="r", allow_pickle=False)
    import pandas as pd  # noqa: PLC0415  (of parquet files; Dask's dataframes have it too)

    return pd.read_parquet(path)
