"""Clusters and parameters in turn, each best given the other: alpha ("map"), the prior's too ("empirical-bayes").

Every turn raises log p(x, z, alpha), so they end; and they end in a mode near where they started.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mapdpm.data import point_set
from mapdpm.estimators.map_dpm import MAPDPM
from mapdpm.partition_priors.concentration_posterior import ConcentrationPosterior
from mapdpm.search.problem import Observed, observed
from mapdpm.selection import empirical_bayes
from mapdpm.selection.job import Job, named
from mapdpm.selection.path import fit_path
from mapdpm.selection.result import Selection
from mapdpm.selection.settings import Setting, parted

_MOST_ROUNDS = 100
_SAME = 1e-12  # of alpha: two ways to the same mode
_SAME_BY_SECTION = 1e-6  # of a parameter that a golden section found, to the root of rounding

Turn = Callable[[MAPDPM, Setting], Setting]


def modes_of_alpha(job: Job, X: Any, prior: Any) -> Selection:
    """From each setting as a start: alpha at the mode of p(alpha | N, K) under ``prior``, in turn with fits."""
    starts = [setting | {"alpha": setting.get("alpha", 1.0)} for setting in job.grid]
    return _best("map", job, X, prior, [(start, _mode_of_alpha(job, prior), _SAME) for start in starts])


def empirical_priors(job: Job, X: Any, prior: Any) -> Selection:
    """The same, with the parameters of the likelihood at their largest marginal likelihood."""
    seen = observed(job.common["likelihood"], job.points)
    runs = []
    for setting in job.grid:
        own, changes = parted(setting)
        start = empirical_bayes.start_of(changes, type(seen.likelihood))
        whole = own | {"alpha": own.get("alpha", 1.0)} | start
        runs.append((whole, _marginal_turn(job, prior, seen, start), _SAME_BY_SECTION))
    return _best("empirical-bayes", job, X, prior, runs)


def _mode_of_alpha(job: Job, prior: Any) -> Turn:
    def turn(model: MAPDPM, setting: Setting) -> Setting:
        posterior = ConcentrationPosterior(point_set(job.points).n_points, model.n_clusters_, prior)
        return setting | {"alpha": posterior.mode(start=model.alpha)}

    return turn


def _marginal_turn(job: Job, prior: Any, seen: Observed, start: Setting) -> Turn:
    mode = _mode_of_alpha(job, prior)

    def turn(model: MAPDPM, setting: Setting) -> Setting:
        sought = {name: setting[name] for name in start}
        return mode(model, setting) | empirical_bayes.largest_marginal(seen, model.labels_, start, sought)

    return turn


def _best(method: str, job: Job, X: Any, prior: Any, runs: list[tuple[Setting, Turn, float]]) -> Selection:
    found: list[tuple[Setting, float, MAPDPM]] = []
    for start, turn, same in runs:
        reached, model = _alternated(job, start, turn, same)
        score = (model.log_joint_ + prior.log_density(reached["alpha"])) / point_set(job.points).n_points
        found.append((reached, score, model))
        job.tell(reached, 0, score, model.n_clusters_)
    settings, scores, models = zip(*found, strict=True)
    chosen = int(np.argmax(scores))
    if method == "empirical-bayes":
        empirical_bayes.warn_of_edges(parted(runs[chosen][0])[1], parted(settings[chosen])[1])
    n_clusters = np.array([[float(model.n_clusters_)] for model in models])
    return Selection(method, list(settings), np.array(scores)[:, None], n_clusters, chosen, named(models[chosen], X))


def _alternated(job: Job, setting: Setting, turn: Turn, same: float) -> tuple[Setting, MAPDPM]:
    """Fits and turns, until a turn changes nothing; the last model, and the setting it was fitted with."""

    def models() -> Iterator[MAPDPM]:
        while True:
            yield job.model(setting, job.points)  # the setting of that time

    for _, model in zip(range(_MOST_ROUNDS), fit_path(models(), job.points), strict=False):
        fitted, setting = setting, turn(model, setting)
        if all(abs(setting[name] - value) <= same * abs(value) for name, value in fitted.items()):
            break
    else:
        msg = f"clusters and parameters still changed after {_MOST_ROUNDS} turns; the last are returned"
        warnings.warn(msg, UserWarning, stacklevel=5)
    return fitted, model
