"""The common part of all methods: the points, the grid, progress reports, and the fitted models of a grid."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from mapdpm.data import point_set
from mapdpm.data.frames import column_names
from mapdpm.estimators.map_dpm import MAPDPM
from mapdpm.kinds.likelihood import Plan
from mapdpm.likelihoods._restricted import has_columns, restricted, restricted_points
from mapdpm.likelihoods._shape import full_of, is_full
from mapdpm.likelihoods.mixed import Mixed
from mapdpm.names import COVARIANCE, MISSING, RELEVANCE
from mapdpm.search.fitted_prior import fitted_prior
from mapdpm.search.widths import family_to_fit
from mapdpm.selection.grid import Setting, changed_likelihood, restricted_setting, split_setting
from mapdpm.selection.path import fit_path


class Step(NamedTuple):
    """The progress report given to a callback after each fit: fits done, fits in all, and the result of the last."""

    done: int
    total: int
    setting: Setting
    fold: int
    score: float
    n_clusters: int

    def __str__(self) -> str:
        """One line for a log."""
        shown = ", ".join(
            f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in self.setting.items()
        )
        found = f"{self.score:.4f} nats per point, {self.n_clusters} clusters"
        return f"{self.done}/{self.total}: {shown}, fold {self.fold}: {found}"


class StepReporter:
    """Counts fits and reports each to the callback, if there is one."""

    def __init__(self, callback: Callable[[Step], object] | None, total: int) -> None:
        self._callback, self._counter = callback, itertools.count(1)
        self.total = total

    def __call__(self, setting: Setting, fold: int, score: float, n_clusters: int) -> None:
        """Report one more fit."""
        step = Step(next(self._counter), self.total, setting, fold, score, n_clusters)
        if self._callback is not None:
            self._callback(step)


class Job(NamedTuple):
    """The common arguments of all methods."""

    points: Any
    grid: list[Setting]
    common: dict[str, Any]
    random_state: Any
    report: StepReporter
    fitted: Any = None
    """The prior that was fitted, where one is to be."""
    whole: Job | None = None
    """The job of all columns, where this one has those that carry clusters."""
    covariance: str = COVARIANCE[1]
    """As ``FitSettings`` has it."""

    def of_relevant_columns(self) -> Job:
        """The same job on the columns that carry clusters, and with clusters of the better shape, where that is asked.

        One fit finds both for all settings. Densities of the other columns are the same for all of them. A setting that
        names a parameter of the prior means that of diagonal covariances.
        """
        wanted, family = self.common.get("relevance", RELEVANCE[0]), family_to_fit(self.common["likelihood"])
        shape = COVARIANCE[1] if any(split_setting(each)[1] for each in self.grid) else self.covariance
        job = self._replace(covariance=COVARIANCE[1])  # what is found here holds for all settings
        if not has_columns(self.points) or (family is None and wanted != RELEVANCE[2]):
            return job
        if wanted == RELEVANCE[1] and shape != COVARIANCE[0]:
            return job
        model = MAPDPM(random_state=self.random_state, **self.common)
        model._fit_points(self.points, plan=Plan(self.common["likelihood"], covariance=shape))  # noqa: SLF001
        if family is not None and is_full(model.likelihood_):
            family = full_of(family)
        found = model._relevance  # noqa: SLF001
        if found is None or found.is_all or not found.relevant.any():
            return job if family is None else job._replace(common=self.common | {"likelihood": family})
        likelihood = _by_itself(restricted(model.likelihood_ if family is None else family, found.columns))
        return job._replace(
            points=restricted_points(self.points, found.columns),
            grid=[restricted_setting(setting, found.columns, len(found.relevant)) for setting in self.grid],
            common=self.common | {"likelihood": likelihood, "relevance": RELEVANCE[1]},
            whole=self._replace(covariance=shape),
        )

    @property
    def settings(self) -> list[Setting]:
        """The grid as it was given."""
        return self.grid if self.whole is None else self.whole.grid

    def final(self, setting: Setting, X: Any, model: MAPDPM | None = None) -> MAPDPM:
        """The model of ``setting``, fitted to ``X``; ``model`` is that of all points, of the columns of this job."""
        if self.whole is None and model is not None:
            return with_feature_names(model, X)
        job = self.whole or self
        model = job.model(setting, job.points)
        if self.whole is not None and split_setting(setting)[1]:  # then the prior is given
            model.set_params(relevance=RELEVANCE[2])
        if job.covariance != COVARIANCE[0]:
            return model.fit(X)
        model._fit_points(job.points, plan=Plan(job.common["likelihood"], covariance=job.covariance))  # noqa: SLF001
        return with_feature_names(model, X)

    def with_prior(self, points: Any) -> Job:
        """The same job with the prior fitted to ``points``, where that is asked for: once for all settings."""
        family = family_to_fit(self.common["likelihood"])
        if family is None or all(split_setting(setting)[1] for setting in self.grid):
            return self
        settings = MAPDPM(random_state=self.random_state, **self.common)._settings(point_set(points).n_points)  # noqa: SLF001
        return self._replace(fitted=fitted_prior(family, points, None, settings).prior)

    @property
    def missing(self) -> str:
        """What NaN means: one of ``names.MISSING``."""
        return str(self.common.get("missing", MISSING[0]))

    @property
    def likelihood(self) -> Any:
        """The likelihood of settings that name none of its parameters."""
        return self.common["likelihood"] if self.fitted is None else self.fitted

    def model(self, setting: Setting, X: Any) -> MAPDPM:
        """The unfitted model of ``setting``, for the points ``X``."""
        own, of_likelihood = split_setting(setting)
        likelihood = self.likelihood
        if of_likelihood:
            likelihood = changed_likelihood(self.common["likelihood"], of_likelihood, X, self.missing)
        parameters = self.common | own | {"likelihood": likelihood}
        return MAPDPM(random_state=self.random_state, **parameters)

    def fits(self, points: Any, warm_start: bool) -> Iterator[tuple[int, MAPDPM]]:
        """The number of each setting and its model, fitted to ``points``, in order of rising alpha."""
        order = sorted(range(len(self.grid)), key=lambda number: self.grid[number].get("alpha", 1.0))
        order = sorted(order, key=lambda number: _likelihood_of(self.grid[number]))
        models = [self.model(self.grid[number], points) for number in order]
        if warm_start:
            yield from zip(order, fit_path(models, points), strict=True)
        else:
            for number, model in zip(order, models, strict=True):
                yield number, model.fit(points)


def _by_itself(likelihood: Any) -> Any:
    """``likelihood`` of a table that has its columns only, in their order."""
    if not isinstance(likelihood, Mixed):
        return likelihood
    places = sorted({place for block in likelihood.blocks for place in block.places})
    ranks = {place: rank for rank, place in enumerate(places)}
    blocks = (block._replace(places=tuple(ranks[place] for place in block.places)) for block in likelihood.blocks)
    return likelihood.of_blocks(tuple(blocks))


def _likelihood_of(setting: Setting) -> str:
    """A key that is equal for settings with the same prior."""
    return repr(sorted(split_setting(setting)[1].items()))


def with_feature_names(model: MAPDPM, X: Any) -> MAPDPM:
    """``model`` with the names of the columns of ``X``, which the search did not know."""
    model._remember(model.n_features_in_, column_names(X))  # noqa: SLF001
    return model
