"""Running chains: from points to a ``Trace``."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from mapdpm import jit
from mapdpm.data import point_set, read_by
from mapdpm.rng import Rng, seeded
from mapdpm.samplers.chain import Adapted, Chain
from mapdpm.samplers.hybrid import Hybrid
from mapdpm.samplers.sampler import Info, Sampler
from mapdpm.samplers.starts import check_chain_start, start
from mapdpm.samplers.trace import End, Trace
from mapdpm.search.problem import Observed, observed
from mapdpm.validation import check_callable, check_count

_SAME = 1e-9  # of a log joint, of its size: sums in another order


class Progress(NamedTuple):
    """What a callback is told after each step."""

    chain: int
    step: int
    total: int
    log_joint: float
    n_clusters: int
    seconds: float

    def __str__(self) -> str:
        """One line for a log."""
        found = f"log joint {self.log_joint:.3f}, {self.n_clusters} clusters"
        return f"chain {self.chain}, step {self.step}/{self.total}: {found} ({self.seconds:.2f} s)"


class _Run(NamedTuple):
    """How the steps of a chain go."""

    sampler: Sampler
    burn_in: int
    thin: int
    draws: int
    tell: Callable[[Progress], object] | None


def sample(  # noqa: PLR0913  (the public signature; all but the points and the sampler by name)
    X: Any,
    sampler: Any,
    *,
    draws: int,
    burn_in: int = 0,
    thin: int = 1,
    chains: int = 1,
    init: Any = "sequential",
    random_state: Any = None,
    n_jobs: int | None = None,
    callback: Callable[[Progress], object] | None = None,
    resume: Any = None,
) -> Trace:
    """Draw partitions of ``X`` from the posterior of the model of ``sampler``.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_points, n_features)
        As for ``MAPDPM``; counts may be sparse where the likelihood takes them.
    sampler : Sampler
        Holds the model: likelihood, alpha or its prior, discount.
    draws : int >= 1
        To keep, of each chain.
    burn_in : int >= 0
        Steps before, that are not kept; samplers may tune themselves in them.
    thin : int >= 1
        Steps from one draw to the next.
    chains : int >= 1
        How many, independent of each other.
    init : {"sequential", "single", "singletons"}, or array of shape (n_points,)
        Where each starts: a draw of labels one after the other, one cluster, all apart, or labels.
    random_state : int, Generator or None
        The same integer draws the same (a hybrid that shares time excepted); None draws anew each time.
    n_jobs : int or None
        Threads over chains: compiled samplers run side by side, those in plain Python take turns; None is 1. Draws do
        not depend on it.
    callback : callable or None
        Called after each step with a ``Progress``; from threads where there are several.
    resume : Trace or None
        Chains go on where those of this trace ended, bit for bit as if they had never stopped; its draws come first.
        ``burn_in``, ``thin``, ``chains``, ``init`` and ``random_state`` are then those of the trace.

    Returns
    -------
    Trace
        ``partitions`` (chain, draw, point), ``log_joint``, ``n_clusters``, ``alpha``, ... and ``best``.

    Raises
    ------
    ValueError
        No draws, points that the likelihood does not take, a sampler without a kernel for draws (random projections),
        a trace of other points.

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
        msg = f"resume must be a Trace, such as Trace.load(path) reads, got {resume!r}"
        raise ValueError(msg)
    if not isinstance(sampler, Sampler):
        msg = f"sampler must be one of mapdpm.samplers, such as CollapsedGibbs(), got {sampler!r}"
        raise ValueError(msg)
    sampler.check_sampling()
    if not jit.available():
        msg = "samplers run in plain Python, some hundred times slower than compiled: pip install 'mapdpm[numba]'"
        warnings.warn(msg, RuntimeWarning, stacklevel=2)
    if isinstance(sampler, Hybrid) and not sampler.counts and not burn_in and resume is None:
        msg = "counts='time' finds out in a burn-in how often each part is to run: give burn_in, 10 or more"
        raise ValueError(msg)
    seen = observed(sampler.model.likelihood, read_by(sampler.model.likelihood, X))
    sampler.check_family(seen.likelihood)
    N = point_set(seen.data).n_points
    if resume is not None:
        burn_in, thin, chains = 0, resume.thin, len(resume.ends)
        ends = _checked(resume, sampler, seen)
    else:
        where = check_chain_start(init, N, getattr(sampler.model.prior, "n_components", None))
        seeds = seeded(random_state).generator.integers(2**63, size=chains).tolist()
    run = _Run(sampler, burn_in, thin, draws, callback)

    def one(number: int) -> tuple[dict[str, Any], End]:
        labels = np.zeros(N, dtype=np.int64)
        chain = Chain(seen.model, sampler.model.prior, seen.data, labels)
        if resume is None:
            rng = seeded(seeds[number])
            start(chain, where, rng)
        else:
            rng = ends[number].restored(chain)
        return _drawn(run, chain, rng, number)

    n_threads = 1 if n_jobs is None else check_count("n_jobs", n_jobs)
    if n_threads == 1:
        parts = list(map(one, range(chains)))
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            parts = list(pool.map(one, range(chains)))
    trace = Trace.of(parts, thin, sampler.describe())
    return trace if resume is None else resume.followed_by(trace)


def _drawn(run: _Run, chain: Chain, rng: Rng, number: int) -> tuple[dict[str, Any], End]:
    """All steps of one chain: what is kept, and where it ended."""
    begin, total = time.perf_counter(), run.burn_in + run.draws * run.thin
    best: dict[str, Any] = {"best_log_joint": -np.inf}
    visited: list[float] = []
    kept = _Kept(run.draws, chain)
    infos: list[Info] = []

    def step(at: int) -> None:
        nonlocal best
        infos.append(run.sampler.step(chain, rng))
        chain.trim()
        joint = chain.log_joint()
        worth = joint + run.sampler.log_hyperprior(chain.prior)
        if worth > best["best_log_joint"] or len(best) == 1:
            alpha, discount = chain.prior.alpha, getattr(chain.prior, "discount", 0.0)
            best = {"best": chain.state.labels.copy(), "best_log_joint": worth}
            best |= {"best_alpha": alpha, "best_discount": discount}
        visited.append(chain.n_clusters)
        if run.tell is not None:
            run.tell(Progress(number, at + 1, total, joint, chain.n_clusters, time.perf_counter() - begin))

    for at in range(run.burn_in):
        step(at)
    if chain.adapted is None:
        counts = run.sampler.counts_for(chain) if isinstance(run.sampler, Hybrid) else ()
        typical = float(np.mean(visited)) if visited else float(chain.n_clusters)
        chain.adapted = Adapted(typical, counts)
        chain.refresh()
    for draw in range(run.draws):
        infos.clear()
        for at in range(run.thin):
            step(run.burn_in + draw * run.thin + at)
        chain.refresh()
        kept.keep(draw, chain, infos)
    return kept.arrays | best, End.of(chain, rng)


class _Kept:
    """The arrays of one chain."""

    def __init__(self, draws: int, chain: Chain) -> None:
        self.arrays: dict[str, Any] = {
            "partitions": np.empty((draws, chain.n_points), dtype=np.min_scalar_type(-chain.n_points)),
            **{name: np.empty(draws) for name in ("log_joint", "alpha", "discount", "acceptance")},
        }

    def keep(self, draw: int, chain: Chain, infos: Iterable[Info]) -> None:
        proposed = sum(info.proposed for info in infos)
        accepted = sum(info.accepted for info in infos)
        self.arrays["partitions"][draw] = chain.state.labels
        self.arrays["log_joint"][draw] = chain.log_joint()
        self.arrays["alpha"][draw] = chain.prior.alpha
        self.arrays["discount"][draw] = getattr(chain.prior, "discount", 0.0)
        self.arrays["acceptance"][draw] = accepted / proposed if proposed else np.nan


def _checked(trace: Trace, sampler: Sampler, seen: Observed) -> tuple[End, ...]:
    """The ends of ``trace``; ValueError where it is of other points, or of another model."""
    if trace.sampler != sampler.describe():
        msg = f"the trace to resume was drawn by another sampler, or under another prior: {trace.sampler}"
        raise ValueError(msg)
    for number, end in enumerate(trace.ends):
        same = len(end.labels) == point_set(seen.data).n_points
        if same:
            chain = Chain(seen.model, sampler.model.prior, seen.data, end.labels)
            end.restored(chain)
            there = trace.log_joint[number, -1]
            same = abs(there - chain.log_joint()) <= _SAME * (1.0 + abs(there))
        if not same:
            msg = "the trace to resume is of other points or of another model; X and sampler must be what they were"
            raise ValueError(msg)
    return trace.ends
