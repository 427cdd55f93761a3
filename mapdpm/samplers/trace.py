"""The draws of chains."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mapdpm import diagnostics, point_estimates
from mapdpm.deprecated import argument
from mapdpm.files.disk import write_file
from mapdpm.files.extras import smallest_integers
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.samplers import trace_files
from mapdpm.samplers.chain import Array
from mapdpm.samplers.ends import End
from mapdpm.samplers.runs import Best, Draws, stacked
from mapdpm.samplers.trace_files import FORMAT, UnreadableTraceError
from mapdpm.validation import FEWEST_DRAWS, in_order_of_appearance

__all__ = ["FORMAT", "End", "Trace", "UnreadableTraceError"]

_ALWAYS = ("log_joint", "n_clusters", "largest_share")  # in a summary; other numbers if they differ


class Trace(NamedTuple):
    """Draws of ``sample``: C chains of T draws of partitions of N points.

    Examples
    --------
    >>> import numpy as np
    >>> from mapdpm.samplers import CollapsedGibbs, sample
    >>> X = np.r_[np.zeros(20), np.full(20, 9.0)][:, None] + np.linspace(-1, 1, 40)[:, None]
    >>> trace = sample(X, CollapsedGibbs(1.0), draws=50, burn_in=10, chains=2, random_state=0)
    >>> trace.n_clusters.shape, len(np.unique(trace.binder_estimate()))
    ((2, 50), 2)
    """

    partitions: Labels | None
    """Shape (C, T, N): labels 0..K-1 in order of first appearance, in the smallest integers that hold them. None if
    ``keep`` did not name them."""
    values: dict[str, Array]
    """Numbers of each draw, shape (C, T), by name: those of the properties below, and what else the sampler keeps."""
    extra: dict[str, Array]
    """Arrays of each draw, shape (C, T, ...), by name: what the chains of the sampler carry beside the partition. An
    array that is longer in other draws is filled up by NaN, by -1, or by 0 if its integers are never negative."""
    dims: dict[str, tuple[str, ...]]
    """The names of the axes of each array in ``extra``, after chain and draw."""
    best: Labels
    """Shape (N,): of all partitions seen, burn-in included, the one of the highest ``best_log_joint``."""
    best_log_joint: float
    """log p(x, z). If alpha or a discount is drawn, the log density of log alpha, or of the logit, is added."""
    best_variables: dict[str, Any]
    """The numbers and arrays that belong to ``best``, by name."""
    thin: int
    """The number of steps from one draw to the next."""
    sampler: str
    """The sampler and its prior, as ``repr`` shows them."""
    ends: tuple[End, ...]
    """The end of each chain, for ``sample(resume=)``."""

    @classmethod
    def of(cls, chains: list[tuple[Draws, Best, End]], thin: int, sampler: str) -> Trace:
        """The trace of all draws that the chains kept."""
        draws, bests, ends = zip(*chains, strict=True)
        best = max(bests, key=lambda each: each.log_joint)
        kept = [each.partitions for each in draws]
        return cls(
            partitions=None if kept[0] is None else smallest_integers(np.stack(kept)),
            values={name: np.stack([each.values[name] for each in draws]) for name in draws[0].values},
            extra={name: _of_chains([each.extra[name] for each in draws]) for name in draws[0].extra},
            dims=draws[0].dims,
            best=in_order_of_appearance(best.labels),
            best_log_joint=best.log_joint,
            best_variables=best.variables,
            thin=thin,
            sampler=sampler,
            ends=ends,
        )

    def __repr__(self) -> str:
        """One short line."""
        chains, draws = self.log_joint.shape
        K = f"{self.n_clusters.min()} to {self.n_clusters.max()} clusters"
        more = f"; {', '.join(self.extra)}" if self.extra else ""
        without = "" if self.partitions is not None else ", partitions not kept"
        drawn_by = self.sampler.partition("(")[0]
        return f"<Trace of {chains} x {draws} draws by {drawn_by}: {len(self.best)} points, {K}{without}{more}>"

    @property
    def log_joint(self) -> Matrix:
        """Shape (C, T): log p(x, z | alpha), nats."""
        return self.values["log_joint"]

    @property
    def n_clusters(self) -> Labels:
        """Shape (C, T)."""
        return self.values["n_clusters"]

    @property
    def largest_share(self) -> Matrix:
        """Shape (C, T): share of points in the largest cluster."""
        return self.values["largest_share"]

    @property
    def alpha(self) -> Array:
        """Shape (C, T); of a tree of groups (C, T, levels): one below the root, coarse to fine."""
        return self.values["alpha"] if "alpha" in self.values else self.extra["alpha"]

    @property
    def gamma(self) -> Matrix:
        """Shape (C, T): the concentration of the shares that all groups have in common. Only with groups."""
        return self.values["gamma"]

    @property
    def discount(self) -> Matrix:
        """Shape (C, T): 0 for a Dirichlet process and a finite mixture. Not with groups."""
        return self.values["discount"]

    @property
    def acceptance(self) -> Matrix:
        """Shape (C, T): share of proposals accepted in the steps of a draw; NaN for a sampler that proposes nothing."""
        return self.values["acceptance"]

    @property
    def best_alpha(self) -> Any:
        """alpha when ``best`` was seen; of a tree of groups one a level."""
        return self.best_variables["alpha"]

    @property
    def best_discount(self) -> float:
        """The discount when ``best`` was seen."""
        return float(self.best_variables["discount"])

    @property
    def keep(self) -> tuple[str, ...]:
        """The arrays kept of each draw, as ``sample(keep=)`` takes them."""
        return (*(("partitions",) if self.partitions is not None else ()), *self.extra)

    def sizes(self, chain: int, draw: int) -> Labels:
        """The sizes of the clusters of one draw, shape (K,)."""
        return np.bincount(self._kept()[chain, draw])

    def similarity(self) -> Matrix:
        """The share of draws in which two points are together, shape (N, N)."""
        return point_estimates.similarity(self._flat())

    def binder_estimate(self, *, n_random_starts: int = 4, random_state: Any = 0, n_restarts: Any = None) -> Labels:
        """The partition of least expected Binder loss that was found, shape (N,): ``point_estimates``."""
        n_starts = argument("n_random_starts", n_random_starts, "n_restarts", n_restarts, default=4)
        return point_estimates.binder_estimate(self._flat(), n_random_starts=n_starts, random_state=random_state)

    def vi_estimate(self, *, n_random_starts: int = 4, random_state: Any = 0, n_restarts: Any = None) -> Labels:
        """The partition of least expected variation of information that was found, shape (N,)."""
        n_starts = argument("n_random_starts", n_random_starts, "n_restarts", n_restarts, default=4)
        return point_estimates.vi_estimate(self._flat(), n_random_starts=n_starts, random_state=random_state)

    def n_clusters_posterior(self) -> Vector:
        """The share of draws with K = 0, 1, 2, ... clusters."""
        return point_estimates.n_clusters_posterior(self.n_clusters)

    def constants(self) -> dict[str, float]:
        """Parameters that are equal in all draws, such as an alpha without a prior, by name."""
        names = [name for name in self.values if name not in (*_ALWAYS, "acceptance")]
        return {name: float(self.values[name].flat[0]) for name in names if np.ptp(self.values[name]) == 0.0}

    def to_dict(self) -> dict[str, Any]:
        """Arrays of shape (chain, draw, ...), by name."""
        partitions = {} if self.partitions is None else {"partitions": self.partitions}
        return partitions | self.values | self.extra

    def to_arviz(self) -> Any:
        """For ArviZ: an InferenceData (0.x), or a DataTree (1.x).

        Group "posterior" has the parameters that are drawn, the number of clusters, the share of the largest, and
        ``extra``; "sample_stats" has the log joint ("lp"), acceptance rates and partitions; "constant_data" has
        ``constants()``.
        """
        from mapdpm.compat.arviz import converted  # noqa: PLC0415  (ArviZ is optional)

        return converted(self)

    def summary(self) -> dict[str, dict[str, float]]:
        """Mean, sd, effective sample size and R-hat of log joint, K, largest share, and of each number that is drawn.

        NaN for effective sizes and R-hats of chains of fewer than four draws, and of constants.
        """
        left_out = {"acceptance", *self.constants()}
        shown = {name: self.values[name] for name in (*_ALWAYS, *self.values) if name not in left_out}
        enough = self.log_joint.shape[1] >= FEWEST_DRAWS
        return {
            name: {
                "mean": float(np.mean(values)),
                "sd": float(np.std(values, ddof=1)) if np.size(values) > 1 else np.nan,
                "ess": diagnostics.effective_sample_size(values) if enough else np.nan,
                "r_hat": diagnostics.r_hat(values) if enough else np.nan,
            }
            for name, values in shown.items()
        }

    def followed_by(self, other: Trace) -> Trace:
        """The draws of this trace, then those of ``other``, in which its chains went on."""
        pair = (self.partitions, other.partitions)
        best = max(self, other, key=lambda trace: trace.best_log_joint)
        return other._replace(
            partitions=None if pair[0] is None or pair[1] is None else np.concatenate(pair, axis=1),  # type: ignore[arg-type]
            values={name: np.concatenate([self.values[name], other.values[name]], axis=1) for name in self.values},
            extra={name: _joined(self.extra[name], other.extra[name]) for name in self.extra},
            best=best.best,
            best_log_joint=best.best_log_joint,
            best_variables=best.best_variables,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to ``path``, whole or not at all: a .npz of numpy's without pickles."""
        write_file(path, trace_files.written(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, max_bytes: int | None = None) -> Trace:
        """The trace that ``save`` wrote, by this version or an earlier one.

        ``max_bytes`` limits the memory of its arrays. The default is 32 MB and six times the file, which is enough for
        every file that this version writes.

        Raises
        ------
        ValueError
            The file is no trace, is damaged or cut short, of a newer format, or takes more than ``max_bytes``.
        OSError
            It cannot be read.
        """
        return cls(**trace_files.read(Path(path).read_bytes(), str(path), max_bytes))

    def _flat(self) -> Labels:
        return self._kept().reshape(-1, len(self.best))

    def _kept(self) -> Labels:
        if self.partitions is None:
            msg = "this trace holds no partitions: sample(keep=('partitions',)) keeps them"
            raise ValueError(msg)
        return self.partitions


def _of_chains(chains: list[list[Array]]) -> Array:
    every = stacked([array for arrays in chains for array in arrays])
    return every.reshape(len(chains), -1, *every.shape[1:])


def _joined(first: Array, second: Array) -> Array:
    """Draws of two traces, chain by chain, the shorter axes of either filled up."""
    draws = [[*one, *two] for one, two in zip(first, second, strict=True)]
    return _of_chains(draws)
