"""Fits that alternate with updates of parameters: of alpha ("map"), or of the prior too ("empirical-bayes").

Each step raises log p(x, z, alpha), so the alternation ends, in a mode near its start.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mapdpm.data import point_set
from mapdpm.estimators.map_dpm import MAPDPM
from mapdpm.likelihoods._skipping import empirical_prior
from mapdpm.partition_priors.concentration_posterior import ConcentrationPosterior, NoInteriorModeError
from mapdpm.search.observed import Observed, observed
from mapdpm.search.widths import family_to_fit
from mapdpm.selection import empirical_bayes
from mapdpm.selection.grid import Setting, split_setting
from mapdpm.selection.job import Job
from mapdpm.selection.path import fit_path
from mapdpm.selection.result import Selection

_MOST_ROUNDS = 100
_SAME = 1e-12  # relative, of alpha: the tolerance of its mode
_SAME_BY_SEARCH = 1e-6  # relative, of a parameter from a search: its tolerance is the root of rounding

Update = Callable[[MAPDPM, Setting], Setting]


def modes_of_alpha(job: Job, X: Any, prior: Any) -> Selection:
    """Alternate fits with the mode of p(alpha | N, K) under ``prior``, from each setting as a start."""
    job = job.with_prior(job.points)
    starts = [setting | {"alpha": setting.get("alpha", 1.0)} for setting in job.grid]
    return _best("map", job, X, prior, [(start, _mode_of_alpha(job, prior), _SAME) for start in starts])


def empirical_priors(job: Job, X: Any, prior: Any) -> Selection:
    """As ``modes_of_alpha``; each update also sets the likelihood's parameters at their largest marginal likelihood."""
    family = family_to_fit(job.common["likelihood"])
    start = job.common["likelihood"] if family is None else empirical_prior(family, job.points, missing=job.missing)
    observed_data = observed(start, job.points, missing=job.missing)
    runs = []
    for setting in job.grid:
        own, changes = split_setting(setting)
        start = empirical_bayes.start_of(changes, type(observed_data.likelihood))
        whole = own | {"alpha": own.get("alpha", 1.0)} | start
        runs.append((whole, _marginal_update(job, prior, observed_data, start), _SAME_BY_SEARCH))
    return _best("empirical-bayes", job, X, prior, runs)


def _mode_of_alpha(job: Job, prior: Any) -> Update:
    def update(model: MAPDPM, setting: Setting) -> Setting:
        n_points = point_set(job.points).n_points
        posterior = ConcentrationPosterior(n_points, model.n_clusters_, prior, model.discount)
        return setting | {"alpha": posterior.mode(start=model.alpha)}

    return update


def _marginal_update(job: Job, prior: Any, observed_data: Observed, start: Setting) -> Update:
    mode = _mode_of_alpha(job, prior)

    def update(model: MAPDPM, setting: Setting) -> Setting:
        current = {name: setting[name] for name in start}
        return mode(model, setting) | empirical_bayes.largest_marginal(observed_data, model.labels_, start, current)

    return update


def _best(method: str, job: Job, X: Any, prior: Any, runs: list[tuple[Setting, Update, float]]) -> Selection:
    found: list[tuple[Setting, float, MAPDPM]] = []
    ended: list[int] = []
    for number, (start, update, same) in enumerate(runs):
        try:
            reached, model = _alternated(job, start, update, same)
        except NoInteriorModeError as error:
            lost = error
            continue
        ended.append(number)
        score = (model.log_joint_ + prior.log_density(reached["alpha"])) / point_set(job.points).n_points
        found.append((reached, score, model))
        job.report(reached, 0, score, model.n_clusters_)
    if not found:
        raise lost
    if len(found) < len(runs):
        msg = f"{len(runs) - len(found)} of {len(runs)} starts came to clusters without a mode of alpha ({lost})"
        warnings.warn(msg, UserWarning, stacklevel=4)
    settings, scores, models = zip(*found, strict=True)
    chosen = int(np.argmax(scores))
    if method == "empirical-bayes":
        empirical_bayes.warn_of_edges(split_setting(runs[ended[chosen]][0])[1], split_setting(settings[chosen])[1])
    n_clusters = np.array([[float(model.n_clusters_)] for model in models])
    model = job.final(settings[chosen], X, models[chosen])
    return Selection(method, list(settings), np.array(scores)[:, None], n_clusters, chosen, model)


def _alternated(job: Job, setting: Setting, update: Update, same: float) -> tuple[Setting, MAPDPM]:
    """Alternate fits and updates until an update changes nothing; return the last model and its setting."""

    def models() -> Iterator[MAPDPM]:
        while True:
            yield job.model(setting, job.points)  # the setting at that time

    for _, model in zip(range(_MOST_ROUNDS), fit_path(models(), job.points), strict=False):
        fitted, setting = setting, update(model, setting)
        if all(abs(setting[name] - value) <= same * abs(value) for name, value in fitted.items()):
            break
    else:
        msg = f"clusters and parameters still changed after {_MOST_ROUNDS} turns; the last are returned"
        warnings.warn(msg, UserWarning, stacklevel=5)
    return fitted, model
