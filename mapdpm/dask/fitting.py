"""``fit``: the climb runs here, and passes run on workers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mapdpm.backends import resolve
from mapdpm.dask.columns import look_at
from mapdpm.dask.delayed_chunks import chunks_of
from mapdpm.dask.relevance import fit_of_sample, whole_fit
from mapdpm.dask.runner import Client, OnDask, Read
from mapdpm.estimators.dp_means import DPMeans, warn_of_scale
from mapdpm.estimators.map_dpm import MAPDPM
from mapdpm.likelihoods import NormalGamma
from mapdpm.likelihoods._skipping import has_verb, in_kernels, named
from mapdpm.likelihoods._squared_distance import SquaredDistance
from mapdpm.likelihoods.mixed import Mixed
from mapdpm.partition_priors import ClusterPenalty
from mapdpm.protocol import SMALLEST, Vector
from mapdpm.search import chunks, passes
from mapdpm.search.ascent import FitProgress, unheard
from mapdpm.search.chunks import Frame, frame_of
from mapdpm.search.dp_means import Limits, dp_means
from mapdpm.search.fit import Fitted
from mapdpm.search.fit_in_passes import climbed, has_passes, in_order, sample_of
from mapdpm.search.fit_means import SHARE, FittedMeans, within_range
from mapdpm.search.observed import anchor_for, anchor_of, check_likelihood
from mapdpm.search.settings import SearchSettings, check_search, reporter
from mapdpm.search.shape import shaped_prior
from mapdpm.search.widths import family_to_fit
from mapdpm.state import mixture_of


def fit(model: Any, X: Any, client: Any = None, *, sample_weight: Any = None) -> Any:
    """Fit ``model``, a ``MAPDPM`` or ``DPMeans``, to points that Dask holds, makes or reads.

    Parameters
    ----------
    model : MAPDPM or DPMeans
        The estimator; its parameters mean what they mean in ``model.fit``. ``moves`` are merges and splits, or one of
        them; ``init`` is the name of a start, which a sample of 65,536 points has; ``n_restarts`` are starts on that
        sample; ``max_sweeps`` counts passes. ``DPMeans`` finds ``lam`` for ``n_clusters`` in as many passes.
    X : dask array or dataframe, list of delayed chunks, or files
        The points, (n_points, n_features) in all; chunks of unknown length and empty ones may be among them. Files are
        npy or parquet: a path, a pattern such as ``"points_*.npy"``, or a list. Workers read them in each pass.
        Keep chunks on the workers with ``X.persist()`` if they fit.
    client : distributed.Client, optional
        Who computes. Without it the current client, or Dask's scheduler in this process.
    sample_weight : as X, optional
        One weight a point, in the same chunks; points of weight 0 are ignored.

    Returns
    -------
    MAPDPM or DPMeans
        ``model``, fitted, without ``labels_`` (``mapdpm.dask.labels`` gives them, chunk by chunk); it needs no Dask.

    Raises
    ------
    ValueError
        A parameter, or a chunk, is invalid; the message says which, and where in it.
    RuntimeError
        A worker died several times over one chunk, no worker is left for a minute, or the client was closed.

    Notes
    -----
    A sample shows the kinds of columns, the shape of clusters and, where ``relevance`` asks for it, which columns carry
    them; passes read these only, and ``relevance_`` is that of the sample. A flag or a count of the sample that another
    chunk contradicts is a number; one that ``kinds`` states is a ValueError. Constants, the density of the other
    columns, and the means and variances there are those of all points.

    Some ten passes, O(N K D) each; this process holds clusters, a sample and some 32,768 points. Sums are joined in the
    order of chunks, so the result has the same bits for any number of workers and threads, and after losses. Other
    chunks of the same points change the last digits of sums, and so labels only where two clusters tie.

    Examples
    --------
    >>> import dask.array as da, numpy as np
    >>> from mapdpm import MAPDPM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 2)) + 20.0 * rng.integers(0, 3, (3000, 1))
    >>> model = fit(MAPDPM(), da.from_array(X, chunks=(1000, 2)))
    >>> model.n_clusters_
    3
    """
    if not isinstance(model, (MAPDPM, DPMeans)):
        msg = f"model must be a MAPDPM or a DPMeans, got {type(model).__name__}"
        raise ValueError(msg)
    search = check_search(model)
    if not has_passes(search.moves):
        msg = f"moves must be 'merge' or 'split' or both where the points are in chunks, got {model.moves!r}"
        raise ValueError(msg)
    delayed = chunks_of(X, sample_weight)
    if isinstance(model, DPMeans):
        return _fit_means(model, search, OnDask(Client(client), delayed, Read(None, 0.0)))
    return _fit_mixture(model, search, Client(client), delayed, sample_weight is not None)


def _check_for_chunks(model: MAPDPM, weighted: bool) -> None:
    """ValueError for parameters that need all points in memory, and for a likelihood that passes cannot read."""
    msg, likelihood = "", model.likelihood
    if model.missing == "skip":
        msg = "missing='skip' is for points in memory: use model.fit, or impute missing values"
    elif not isinstance(model.init, str):
        msg = "init must be the name of a start where the points are in chunks, got labels"
    elif model.groups is not None:
        msg = "groups= needs points in memory: leave it out, and use merge_tree('overlap', X=some of the points)"
    elif isinstance(likelihood, Mixed) and not likelihood.is_bound:
        msg = "the levels of categories must be known before: give likelihood=Mixed(...).bound_to(rows with all levels)"
    if msg:
        raise ValueError(msg)
    family = family_to_fit(likelihood)
    if family is None and likelihood is not None:
        check_likelihood(likelihood, weighted)
    if not has_verb(NormalGamma if likelihood is None else family or likelihood, "tangent"):
        msg = f"{named(likelihood)} has no verb `tangent`, which passes over chunks need"
        raise ValueError(msg)


def _fit_mixture(model: MAPDPM, search: SearchSettings, client: Client, delayed: list[Any], weighted: bool) -> MAPDPM:
    _check_for_chunks(model, weighted)
    settings = model._settings(0, search)  # noqa: SLF001  (of one package)
    family = family_to_fit(settings.likelihood)
    looked = look_at(model, client, delayed, Read(family or settings.likelihood, settings.prior.discount))
    prior = settings.prior.of_sample(len(looked.sample.numbers) / looked.run.n_points)
    of_sample = settings._replace(prior=prior, **looked.plan._asdict())
    first = fit_of_sample(model.relevance, of_sample, looked.run, looked.sample)
    used = looked
    if first is not None:
        used = used.as_found(first)
        if not first.relevance.relevant.any():
            settings = settings._replace(max_clusters=1, init="single")
    plan, run, raw = used
    likelihood: Any = plan.likelihood
    if family is not None:
        of_sample = settings._replace(prior=prior, **plan._asdict())
        likelihood = shaped_prior(of_sample, raw.points, raw.weights)[1].prior
    likelihood = likelihood.for_data(raw.points)
    reader = in_kernels(likelihood, model.missing)
    backend = resolve(search.backend, reader)
    frame = frame_of(reader, settings.prior, anchor_for(likelihood, raw.points), backend.name)
    sample = raw._replace(points=frame.shifted(raw.points))
    found = climbed(run, frame, sample, str(settings.init), settings.max_clusters, search)
    clusters = run(frame, passes.plain, in_order(found)).sums[0]  # ties go by this order in `labels`, too
    mixture = mixture_of(frame.likelihood, settings.prior, frame.anchor, *clusters)
    fitted = Fitted(likelihood, mixture, None, found.history, found.n_passes, found.converged, backend.name, warm=None)
    model._take(fitted if first is None else whole_fit(fitted, first, looked), run.names)  # noqa: SLF001
    return model


def _fit_means(model: DPMeans, search: SearchSettings, run: OnDask) -> DPMeans:
    assert run.moments is not None  # noqa: S101  (arrays have them)
    lam, cap = model._cluster_cost(run.n_points)  # noqa: SLF001  (of one package)
    # The tolerance of a move is a number, and distances have a unit: in that of all points' spread they are near 1.
    variance = float(run.moments[1 + run.n_features :].sum() / run.moments[0])
    scale = 2.0 ** -round(0.5 * math.log2(variance)) if variance > SMALLEST else 1.0
    warn_of_scale(run.moments[1 + run.n_features :], run.names)
    run.scale(scale)
    heard = reporter(search)
    if heard is not unheard:
        search = search._replace(verbose=0, callback=lambda seen: heard(_in_units(seen, scale)))
    lam = None if lam is None else lam * scale * scale
    sample = sample_of(run, Frame(None, None, np.zeros(run.n_features), "python"))
    anchor = anchor_of(sample.points).astype(np.float64)
    sample = sample._replace(points=sample.points - anchor)
    if lam is None and cap is not None:
        lam = _farthest_first(run, anchor, cap, resolve(search.backend, SquaredDistance(1.0)).name)  # type: ignore[arg-type]
    elif lam is None:
        lam = SHARE * float(run.moments[1 + run.n_features :].sum())
    lam = within_range(lam)
    family: Any = SquaredDistance(np.full(run.n_features, lam))
    backend = resolve(search.backend, family)
    frame = Frame(family, ClusterPenalty(lam), anchor, backend.name)
    limits = Limits(search.max_sweeps, search.deadline.expired)
    share = len(sample.numbers) / run.n_points
    start = dp_means(sample.points, sample.weights, lam * share, cap, limits).labels
    found = climbed(run, frame, sample, start, cap, search)
    centres = (found.clusters.statistics[:, 1 : 1 + run.n_features] + anchor) / scale
    objectives = np.minimum.accumulate(-np.array(found.history)) / (scale * scale)
    lam /= scale * scale
    fitted = FittedMeans(
        None, centres, found.clusters.counts, lam, objectives, found.n_passes, found.converged, backend.name
    )
    model._take(fitted, run.names)  # noqa: SLF001
    return model


def _in_units(progress: FitProgress, scale: float) -> FitProgress:
    return progress._replace(log_joint=progress.log_joint / (scale * scale))


def _farthest_first(run: OnDask, anchor: Vector, n_clusters: int, backend: str) -> float:
    """``search.dp_means.farthest_first`` of chunks: a pass for each cluster."""
    frame = Frame(SquaredDistance(np.ones(len(anchor))), ClusterPenalty(1.0), anchor, backend)
    assert run.moments is not None  # noqa: S101  (arrays have them)
    chosen = [run.moments[1 : 1 + len(anchor)] - anchor]
    while True:
        parameters = np.array([np.concatenate([[0.0], centre, np.ones(len(anchor))]) for centre in chosen])
        labelling = chunks.Labelling(np.zeros(len(chosen)), parameters, chunks.NOBODY)
        points = run(frame, passes.farthest, labelling).picked.points
        squares = ((points[:, None] - np.array(chosen)) ** 2).sum(axis=2).min(axis=1)
        if len(chosen) == n_clusters:
            return float(squares.max())
        chosen.append(points[int(np.argmax(squares))])
