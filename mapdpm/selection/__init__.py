"""Choice of alpha and other hyper-parameters: by held-out points, the log joint, a posterior, or stream scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mapdpm.data import point_set, read_by
from mapdpm.kinds.likelihood import read_columns
from mapdpm.likelihoods import NormalGamma
from mapdpm.names import AUTO, COVARIANCE, METHODS, MISSING
from mapdpm.partition_priors.hyperpriors import InverseGammaPrior, check_prior
from mapdpm.rng import seeded
from mapdpm.search.widths import family_to_fit
from mapdpm.selection.alternation import empirical_priors, modes_of_alpha
from mapdpm.selection.folds import Fold, folds_of
from mapdpm.selection.grid import changed_likelihood, default_alphas, settings_of, split_setting
from mapdpm.selection.job import Job, Step, StepReporter
from mapdpm.selection.result import Selection, simplest
from mapdpm.stream.online import OnlineMAPDPM
from mapdpm.threads import Threads
from mapdpm.validation import check_callable, check_choice, check_count

__all__ = ["Selection", "Step", "select_alpha"]

_ALTERNATING = {"map": modes_of_alpha, "empirical-bayes": empirical_priors}
_BATCH_PARAMETERS = frozenset(("alpha", "discount", "max_clusters"))
_STREAM_PARAMETERS = frozenset(("alpha", "half_life", "max_clusters"))
_STREAM_CLUSTERS = 64


def select_alpha(  # noqa: PLR0913  (the public signature; everything but the grid by name)
    X: Any,
    alphas: Any = None,
    *,
    method: str = "cv",
    likelihood: Any = "auto",
    folds: Any = 5,
    groups: Any = None,
    blocked: bool = False,
    warm_start: bool = True,
    one_standard_error: bool = False,
    prior: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    callback: Callable[[Step], object] | None = None,
    **parameters: Any,
) -> Selection:
    r"""Choose the concentration alpha, or a setting of several hyper-parameters, for the points of ``X``.

    The three methods of Raykov2014 A.3, one that also sets the prior, and one for streams:

    - ``"cv"``: the largest mean log predictive density (17) of held-out points, fold by fold (the paper says the
      smallest likelihood; it is the largest);
    - ``"nll"``: the largest log joint log p(x, z | alpha) at convergence, the paper's choice for its Table 2. It is
      cheap, and overfits where there are few points;
    - ``"map"``: alpha at a mode of log p(x, z, alpha). Fits alternate with the mode of p(alpha | N, K) (25), (26), from
      each of ``alphas`` as a start; the best joint wins;
    - ``"empirical-bayes"``: like "map", but each update also sets the parameters of the likelihood, at the largest
      marginal likelihood sum_k log p(x_{c_k}) for fixed clusters. The data is used twice, for the prior and under it,
      and the result depends on the start. It finds a prior that fits; it is no evidence for that prior;
    - ``"prequential"``: one pass of a stream learner in the order of the rows, and the largest mean log predictive
      density of points before they are learned.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_points, n_features)
        The data, in a form that ``likelihood`` reads.
    alphas : sequence of float > 0 or of dict, optional
        The grid; None is ten values from 0.1 to 30 (for "map" and "empirical-bayes" the starts 0.1, 1 and 10). A dict
        has parameters to try together: "alpha", "discount", "max_clusters" ("half_life" for "prequential"), those of
        the likelihood ("c0"), and multiples of them ("b0_scale": 0.1 is a tenth of b0). For "empirical-bayes" those of
        the likelihood are starts; each is searched within a factor of 10,000. If a dict names none, "c0_scale" and
        "b0_scale" are searched (in other families, their counterparts).
    method : {"cv", "nll", "map", "empirical-bayes", "prequential"}
    likelihood : "auto", Likelihood, a family, or None
        As in ``MAPDPM``. A prior that is fitted, or the empirical one of None, is computed anew in each fold; with
        ``warm_start`` once for all alphas. A setting that names parameters of the likelihood changes the empirical one.
        Where ``relevance`` asks for it, one fit finds the columns that carry clusters, and all settings are compared
        on these; the densities of the others are equal. Then ``model`` is a fit of the setting to all of ``X``.
    folds : int, splitter of scikit-learn, or iterable of (train, test)
        The folds of "cv". For "prequential", the number of blocks of time, each with its own score.
    groups : array-like of shape (n_points,), optional
        Points of the same group are held out together.
    blocked : bool
        True: consecutive rows are held out together, for data in order of time. False: rows are dealt at random.
    warm_start : bool
        True: the search at each alpha starts from the result at the next smaller one, at a fraction of the cost. False:
        each is fitted from its own start, as in ``GridSearchCV``.
    one_standard_error : bool
        For "cv": choose the setting with the fewest clusters among those within one standard error of the best.
    prior : GammaPrior or InverseGammaPrior, optional
        Prior of alpha, for "map" and "empirical-bayes"; None is the inverse-Gamma of (25).
    random_state : int, Generator or None
        Source of randomness for folds and searches; None always gives the same.
    n_jobs : int or None
        Number of threads over folds; None is 1. Results do not depend on it.
    callback : callable or None
        Called after each fit with a ``Step``.
    **parameters
        Other parameters of ``MAPDPM``, or of ``OnlineMAPDPM`` for "prequential" (where ``max_clusters`` defaults to
        64), such as ``missing="skip"``.

    Returns
    -------
    Selection
        ``alpha``, ``alphas``, ``scores`` of shape (n_alphas, n_folds), ``mean_scores``, ``standard_errors``, ``model``.

    Raises
    ------
    ValueError
        There are fewer points than folds, the grid has fewer than two values or one that is not > 0, a fold has no
        points to fit on, or the learners refuse a parameter.

    Notes
    -----
    With ``warm_start``, "cv" over ten alphas costs two to four cold fits for each fold (``bench/choosing_alpha.py``).
    Differences between scores near the best are below their standard errors, and partly due to local modes: they mean
    little.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.concatenate([np.linspace(0.0, 1.0, 20), np.linspace(9.0, 10.0, 20)])[:, None]
    >>> found = select_alpha(X, [0.1, 1.0, 10.0], method="nll")
    >>> found.alpha, found.model.n_clusters_
    (0.1, 2)
    """
    check_choice("method", method, METHODS)
    check_callable("callback", callback)
    if prior is not None:
        check_prior("prior", prior)
    shape = COVARIANCE[1]
    if method != METHODS[-1]:
        likelihood, *_, shape = read_columns(
            likelihood, X, parameters.pop("kinds", None), parameters.pop("covariance", COVARIANCE[0])
        )
    points = read_by(family_to_fit(likelihood) or likelihood, X, parameters.get("missing", MISSING[0]))
    names = _STREAM_PARAMETERS if method == METHODS[-1] else _BATCH_PARAMETERS
    alternating = method in _ALTERNATING
    grid = settings_of(default_alphas(method) if alphas is None else alphas, names, 1 if alternating else 2)
    if isinstance(random_state, (np.random.Generator, np.random.RandomState)):
        # One draw now, for fits in threads would draw in any order.
        random_state = int(seeded(random_state).generator.integers(2**63))
    common = {"likelihood": likelihood, **parameters}
    job = Job(points, grid, common, random_state, StepReporter(callback, len(grid)), covariance=shape)
    if method == METHODS[-1]:
        return _prequential(_with_warmup(job), check_count("folds", folds))
    job = job.of_relevant_columns()
    if method == "cv":
        dealt = folds_of(point_set(points).n_points, folds, groups=groups, blocked=blocked, random_state=random_state)
        return _cross_validated(job, X, dealt, warm_start, one_standard_error, n_jobs)
    if method == "nll":
        return _by_joint(job.with_prior(job.points) if warm_start else job, X, warm_start)
    return _ALTERNATING[method](job, X, InverseGammaPrior() if prior is None else prior)


def _cross_validated(
    job: Job, X: Any, folds: list[Fold], warm_start: bool, one_standard_error: bool, n_jobs: int | None
) -> Selection:
    scores, n_clusters = np.empty((2, len(job.grid), len(folds)))
    job.report.total *= len(folds)

    threads = Threads(n_jobs)

    # Only the alphas of one fold start from each other: the clusters of another fold know the points held out here.
    def run(fold: int) -> None:
        train, test = (point_set(job.points).rows(numbers) for numbers in folds[fold])
        for number, model in (job.with_prior(train) if warm_start else job).fits(train, warm_start):
            scores[number, fold] = model.score(test)
            n_clusters[number, fold] = model.n_clusters_
            threads.check()
            threads.call(job.report, job.grid[number], fold, scores[number, fold], model.n_clusters_)

    with threads:
        threads.each(run, range(len(folds)))
    rule = one_standard_error and len(folds) > 1
    chosen = simplest(scores, n_clusters) if rule else int(np.argmax(scores.mean(axis=1)))
    model = job.final(job.settings[chosen], X)
    return Selection("cv", job.settings, scores, n_clusters, chosen, model)


def _by_joint(job: Job, X: Any, warm_start: bool) -> Selection:
    scores, n_clusters = np.empty((2, len(job.grid), 1))
    best = None
    for number, model in job.fits(job.points, warm_start):
        scores[number], n_clusters[number] = model.log_joint_ / point_set(job.points).n_points, model.n_clusters_
        job.report(job.grid[number], 0, scores[number, 0], model.n_clusters_)
        if best is None or model.log_joint_ > best.log_joint_:
            best = model
    chosen = int(np.argmax(scores))
    return Selection("nll", job.settings, scores, n_clusters, chosen, job.final(job.settings[chosen], X, best))


def _with_warmup(job: Job) -> Job:
    """The same job for streams: the prior of normal data is that of the warm-up, where it is to be fitted."""
    family = family_to_fit(job.common["likelihood"])
    if family not in {None, NormalGamma}:
        msg = f"a stream fits the prior of normal data only; give one of {family.__name__}, as {family.__name__}(...)"
        raise ValueError(msg)
    return job if family is None else job._replace(common=job.common | {"likelihood": AUTO})


def _prequential(job: Job, blocks: int) -> Selection:
    n_points = point_set(job.points).n_points
    if blocks > n_points:
        msg = f"folds must be at most the number of points, got {blocks} blocks of {n_points} points"
        raise ValueError(msg)
    scores, n_clusters = np.empty((2, len(job.grid), blocks))
    models = []
    for number, setting in enumerate(job.grid):
        own, of_likelihood = split_setting(setting)
        parameters = {"max_clusters": _STREAM_CLUSTERS} | job.common | own
        parameters["likelihood"] = changed_likelihood(parameters["likelihood"], of_likelihood, job.points, job.missing)
        model = OnlineMAPDPM(**parameters)
        for block, part in enumerate(np.array_split(job.points, blocks)):
            densities = model.learn_many_scored(part)[1]
            known = densities[~np.isnan(densities)]  # NaN during a warm-up
            scores[number, block] = known.mean() if len(known) else np.nan
            n_clusters[number, block] = model.n_clusters
        models.append(model)
        job.report(setting, 0, float(scores[number].mean()), model.n_clusters)
    if np.any(np.isnan(scores)):
        msg = f"a block of points lies in the warm-up, which has no scores; give fewer folds than {blocks}, or a prior"
        raise ValueError(msg)
    chosen = int(np.argmax(scores.mean(axis=1)))
    return Selection("prequential", job.grid, scores, n_clusters, chosen, models[chosen])


def __dir__() -> list[str]:
    return sorted(__all__)
