"""The columns that carry clusters, of points in chunks: found in a sample, and what the others have in all chunks."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.backends import resolve
from mapdpm.dask.columns import Looked
from mapdpm.dask.runner import OnDask
from mapdpm.likelihoods._completed import completed
from mapdpm.likelihoods._parameters import steps_of
from mapdpm.likelihoods._restricted import has_columns, restricted_points
from mapdpm.likelihoods._rounded import with_resolution
from mapdpm.likelihoods._skipping import in_kernels
from mapdpm.names import MISSING, RELEVANCE
from mapdpm.protocol import Labels
from mapdpm.search import passes
from mapdpm.search.background import Relevance, log_prior_of, moments_of
from mapdpm.search.chunks import (
    Chunk,
    Frame,
    Labelling,
    Passed,
    Picked,
    Sums,
    frame_of,
    labelling_of,
    state_of,
    sums_of,
)
from mapdpm.search.fit import FitSettings, Fitted
from mapdpm.search.observed import anchor_for
from mapdpm.search.relevance import fit_relevant
from mapdpm.search.widths import family_to_fit
from mapdpm.state import Mixture, mixture_of


def fit_of_sample(wanted: str, settings: FitSettings, run: OnDask, sample: Picked) -> Fitted | None:
    """A fit to a sample, that finds the columns that carry clusters; None where ``wanted`` asks for all of them.

    ``wanted`` is the parameter ``relevance``. Columns of one value are those of all chunks.
    """
    is_open = family_to_fit(settings.likelihood) is not None
    if wanted == RELEVANCE[1] or (wanted == RELEVANCE[0] and not is_open) or not has_columns(sample.points):
        return None
    search = settings.search._replace(verbose=0, callback=None)
    assert run.ends is not None  # noqa: S101  (points have columns)
    settings, constants = settings._replace(search=search), run.ends.constants()
    found = fit_relevant(settings, sample.points, sample.weights, constants=constants)
    return None if found.relevance is None else found


def whole_fit(fitted: Fitted, of_sample: Fitted, looked: Looked) -> Fitted:
    """``fitted`` to the columns of ``of_sample``, with what it says of all columns.

    Gains are those of the sample. The background, and means and variances, are those of all points: two passes.
    """
    relevance: Relevance = of_sample.relevance
    (family, *_), run, sample = looked
    history = [each + log_prior_of(family, relevance) for each in fitted.history]
    if relevance.is_all:
        return fitted._replace(relevance=relevance, history=history)
    likelihood: Any = completed(of_sample.likelihood, fitted.likelihood, relevance.columns)
    relevance = _with_moments(relevance, likelihood, fitted, run, sample)
    if relevance.background is not None:
        of_others = run.of_columns(relevance.others, is_table=True)
        of_fit = _rounded(relevance.background.likelihood, likelihood, relevance.others)
        background, evidence = _of_all_points(relevance.background, of_fit, of_others)
        relevance = relevance._replace(background=background)
        history = [each + evidence for each in history]
    return fitted._replace(likelihood=likelihood, relevance=relevance, history=history)


def _with_moments(relevance: Relevance, likelihood: Any, fitted: Fitted, run: OnDask, sample: Picked) -> Relevance:
    """``relevance`` with the means and variances of the clusters in all columns; NaN where the family has none."""
    own, prior, anchor, _ = fitted.mixture
    moments = np.full((3, len(fitted.mixture.counts), len(relevance.relevant)), np.nan)
    if hasattr(likelihood, "moments"):
        reader = in_kernels(likelihood, MISSING[0])
        of_all = frame_of(reader, prior, anchor_for(likelihood, sample.points), resolve("auto", reader).name)
        frame = Frame(_rounded(own, likelihood, relevance.columns), prior, anchor, fitted.backend)
        labelling = labelling_of(frame, Sums(fitted.mixture.counts, fitted.mixture.statistics))
        sums = run(of_all, _by_labels, frame, labelling, relevance.columns).sums[0]
        mixture = mixture_of(of_all.likelihood, prior, of_all.anchor, *sums)
        moments[:] = moments_of(mixture, steps_of(likelihood))
    return relevance._replace(moments=(moments[0], moments[1], moments[2]))


def _by_labels(of_all: Frame, chunk: Chunk, frame: Frame, labelling: Labelling, columns: Labels) -> Passed:
    """The sums of all columns, by the labels that ``columns`` give."""
    own = chunk._replace(points=restricted_points(chunk.points, columns))
    labels = passes.labelled(frame, own, labelling).labels
    return Passed((sums_of(of_all, of_all.shifted(chunk.points), chunk.weights, labels, len(labelling.constants)),))


def _rounded(own: Any, likelihood: Any, columns: Labels) -> Any:
    """``own``, of a mixture that reads ``columns``, for the points of the fit: with the steps of ``likelihood``."""
    steps = steps_of(likelihood)
    return own if steps is None else with_resolution(own, steps[columns])


def _of_all_points(background: Mixture, likelihood: Any, run: OnDask) -> tuple[Mixture, float]:
    """The one cluster of ``background``, with all points in place of those of a sample; and its evidence.

    ``likelihood`` is that for the points of the fit.
    """
    _, prior, anchor, _ = background
    frame = Frame(likelihood, prior, anchor, resolve("auto", likelihood).name)
    labelling = labelling_of(frame, Sums(background.counts, background.statistics))
    sums = run(frame, passes.plain, labelling).sums[0]
    evidence = float(frame.backend.log_marginals(likelihood, state_of(frame, sums, n_free=1))[0])
    return mixture_of(likelihood, prior, anchor, *sums), evidence
