"""Running chains: from points to a ``Trace``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from mapdpm import jit
from mapdpm.data import point_set
from mapdpm.deprecated import text_of_now
from mapdpm.rng import seeded
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.chain_data import ChainData, Given
from mapdpm.samplers.ends import End
from mapdpm.samplers.hybrid import Hybrid
from mapdpm.samplers.runs import Best, Draws, Plan, Progress, run_chain
from mapdpm.samplers.sampler import Sampler
from mapdpm.samplers.starts import check_chain_start
from mapdpm.samplers.trace import Trace
from mapdpm.threads import Threads
from mapdpm.validation import check_callable, check_count, refuse_value

_SAME = 1e-9  # relative tolerance of a log joint that is summed in another order


def sample(  # noqa: PLR0913  (the public signature; all but the points and the sampler by name)
    X: Any,
    sampler: Any,
    *,
    draws: int,
    burn_in: int = 0,
    thin: int = 1,
    chains: int = 1,
    init: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    callback: Callable[[Progress], object] | None = None,
    resume: Any = None,
    groups: Any = None,
    sequences: Any = None,
    times: Any = None,
    keep: tuple[str, ...] = ("partitions",),
) -> Trace:
    """Draw partitions of ``X`` from the posterior of the model of ``sampler``.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_points, n_features)
        As for ``MAPDPM``; counts may be sparse if the likelihood takes sparse counts.
    sampler : Sampler
        Holds the model: likelihood, alpha or its prior, discount.
    draws : int >= 1
        The number of draws to keep from each chain.
    burn_in : int >= 0
        The number of steps before the first draw. Samplers may tune themselves in them.
    thin : int >= 1
        The number of steps from one draw to the next.
    chains : int >= 1
        The number of independent chains.
    init : {"sequential", "random", "single", "singletons"} or array of shape (n_points,), optional
        The start of each chain: labels drawn one after the other; labels drawn uniformly, of as many clusters as the
        cube root of the number of points; one cluster; every point alone; or these labels. None is "random" for words
        in groups or sequences (``Categorical``), else "sequential".
    random_state : int, Generator or None
        Equal integers give equal draws, except with a hybrid that shares time. None draws anew each time.
    n_jobs : int or None
        The number of threads, each of which runs a chain; None is 1. Compiled samplers run in parallel, those in plain
        Python take turns. Draws do not depend on it.
    callback : callable or None
        Called after each step with a ``Progress``, in the thread that called ``sample``.
    resume : Trace or None
        Chains go on where those of this trace ended, bit for bit as if they had never stopped; its draws come first.
        ``burn_in``, ``thin``, ``chains``, ``init``, ``random_state`` and ``keep`` are then those of the trace.
    groups : array-like of shape (n_points,) or (n_points, levels), optional
        The group of each point, for samplers that model groups; the others refuse it. An array or a DataFrame with a
        column for each level, coarse to fine, is a tree: a group is named by its whole path.
    sequences, times : array-like of shape (n_points,), optional
        The sequence or time of each point, for samplers that model them.
    keep : tuple of str
        Which arrays to keep of each draw: "partitions", and the names of further arrays that the sampler's chains
        carry. ``()`` saves memory: numbers of each draw are kept always, partitions of a million points take a
        megabyte or more a draw.

    Returns
    -------
    Trace
        ``partitions`` (chain, draw, point), ``log_joint``, ``n_clusters``, ``alpha``, ... and ``best``.

    Raises
    ------
    ValueError
        No draws, points that the likelihood does not take, a sampler whose steps leave no posterior invariant (random
        projections), a trace of other points, or ``groups``, ``sequences``, ``times`` or ``keep`` that the sampler
        does not know.

    Examples
    --------
    >>> import numpy as np
    >>> from mapdpm.samplers import CollapsedGibbs
    >>> X = np.r_[np.zeros(20), np.full(20, 9.0)][:, None] + np.linspace(-1, 1, 40)[:, None]
    >>> trace = sample(X, CollapsedGibbs(1.0), draws=50, burn_in=10, random_state=0)
    >>> trace.partitions.shape
    (1, 50, 40)
    """
    draws, burn_in = check_count("draws", draws), check_count("burn_in", burn_in, 0)
    thin, chains = check_count("thin", thin), check_count("chains", chains)
    check_callable("callback", callback)
    if resume is not None and not isinstance(resume, Trace):
        refuse_value("resume must be a Trace, such as Trace.load(path) reads", resume)
    if not isinstance(sampler, Sampler):
        refuse_value("sampler must be one of mapdpm.samplers, such as CollapsedGibbs()", sampler)
    sampler.check_sampling()
    if not jit.available():
        msg = "samplers run in plain Python, some hundred times slower than compiled: pip install 'mapdpm[numba]'"
        warnings.warn(msg, RuntimeWarning, stacklevel=2)
    if isinstance(sampler, Hybrid) and not sampler.counts and not burn_in and resume is None:
        msg = "counts='time' finds out in a burn-in how often each part is to run: give burn_in, 10 or more"
        raise ValueError(msg)
    seen = sampler.observe(X)
    n_points = point_set(seen.data).n_points
    given = sampler.check_given(Given(groups, sequences, times), n_points)
    data = ChainData(seen.shifted, seen.data, given)
    if resume is not None:
        burn_in, thin, chains, keep = 0, resume.thin, len(resume.ends), resume.keep
        _check_resume(resume, sampler, data)
        init, seeds = "single", [0] * chains
    else:
        init = sampler.usual_start(data.likelihood) if init is None else init
        init = check_chain_start(init, n_points, getattr(sampler.target.prior, "n_components", None))
        _check_keep(keep, sampler, data)
        seeds = seeded(random_state).generator.integers(2**63, size=chains).tolist()
    # Never in the caller's thread: an exception of a signal handler, as Ctrl-C, while numba reads a Generator crashes.
    threads = Threads(n_jobs, apart=True)  # decision 73
    plan = Plan(sampler, burn_in, thin, draws, tuple(keep), callback, threads)

    def one(number: int) -> tuple[Draws, Best, End]:
        rng = seeded(seeds[number])
        chain = sampler.chain(data, init, rng)
        if resume is not None:
            rng = resume.ends[number].restored(chain)
        return run_chain(plan, chain, rng, number)

    with threads:
        parts = threads.each(one, range(chains))
    trace = Trace.of(parts, thin, sampler.describe())
    return trace if resume is None else resume.followed_by(trace)


def _check_keep(keep: Any, sampler: Sampler, data: ChainData) -> None:
    """ValueError for ``keep`` that is no tuple of names, or names what chains of ``sampler`` do not carry."""
    if not isinstance(keep, (tuple, list)) or not all(isinstance(name, str) for name in keep):
        refuse_value("keep must be a tuple of names, such as ('partitions',) or ()", keep)
    if not set(keep) <= {"partitions"}:
        sampler.chain(data, "single", seeded(0)).keep(tuple(keep))


def _check_resume(trace: Trace, sampler: Sampler, data: ChainData) -> None:
    """ValueError for a trace of another sampler, of other points or of another model, or one that is damaged."""
    if text_of_now("mapdpm.samplers", trace.sampler) != sampler.describe():
        msg = f"the trace to resume was drawn by another sampler, or under another prior: {trace.sampler}"
        raise ValueError(msg)
    n_points = point_set(data.data).n_points
    for number, end in enumerate(trace.ends):
        was, tolerance = trace.log_joint[number, -1], _SAME * (1.0 + abs(trace.log_joint[number, -1]))
        same = len(end.labels) == n_points and abs(was - _restored(end, sampler, data).log_joint()) <= tolerance
        if not same:
            msg = "the trace to resume is of other points or of another model; X and sampler must be what they were"
            raise ValueError(msg)


def _restored(end: End, sampler: Sampler, data: ChainData) -> Chain:
    chain = sampler.chain(data, "single", seeded(0))
    try:
        end.restored(chain)
    except (ValueError, TypeError, KeyError, IndexError) as error:
        msg = f"the trace to resume is damaged: {error}; draw it anew"
        raise ValueError(msg) from None
    return chain
