"""What chains have drawn."""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mapdpm import diagnostics, point_estimates
from mapdpm.files.container import smallest_integers, write_file
from mapdpm.protocol import Labels, Matrix, Vector
from mapdpm.rng import Rng
from mapdpm.samplers.chain import Adapted, Chain
from mapdpm.validation import FEWEST_DRAWS, check_count, check_number, in_order_of_appearance

FORMAT = 1
_BEST = ("best_log_joint", "best_alpha", "best_discount")
_DAMAGE = (  # what reading a zip with a byte changed can end in
    *(ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, EOFError),
    *(NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error),
)
_ARRAYS = ("partitions", "log_joint", "alpha", "discount", "acceptance", "best")


class End(NamedTuple):
    """Where a chain ended: all that its next step depends on."""

    labels: Labels
    alpha: float
    discount: float
    adapted: Adapted
    generator: dict[str, Any]

    @classmethod
    def of(cls, chain: Chain, rng: Rng) -> End:
        """The end of ``chain``, refreshed, whose next draws come from ``rng``."""
        state: Any = rng.generator.bit_generator.state
        adapted = chain.adapted or Adapted(float(chain.n_clusters))
        discount = getattr(chain.prior, "discount", 0.0)
        return cls(chain.state.labels.copy(), chain.prior.alpha, discount, adapted, state)

    def restored(self, chain: Chain) -> Rng:
        """Put ``chain`` where it was; the source of its next draws."""
        values = {"alpha": self.alpha, "discount": self.discount}
        chain.prior = chain.prior._replace(**{n: v for n, v in values.items() if n in chain.prior._fields})
        chain.adapted = self.adapted
        chain.become(self.labels.astype(np.int64))
        generator = np.random.default_rng()
        generator.bit_generator.state = self.generator
        return Rng(generator)


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

    partitions: Labels
    """Shape (C, T, N): labels 0..K-1 in order of first appearance, in the smallest integers that hold them."""
    log_joint: Matrix
    """Shape (C, T): log p(x, z | alpha), nats."""
    alpha: Matrix
    """Shape (C, T)."""
    discount: Matrix
    """Shape (C, T): 0 for a Dirichlet process and a finite mixture."""
    acceptance: Matrix
    """Shape (C, T): share of proposals that were accepted in the steps of a draw; NaN where nothing is proposed."""
    best: Labels
    """Shape (N,): of all partitions seen, burn-in included, the one of the highest ``best_log_joint``."""
    best_log_joint: float
    """log p(x, z), and where alpha or a discount is drawn also the log density of log alpha, or of its logit."""
    best_alpha: float
    """alpha when it was seen."""
    best_discount: float
    """The discount."""
    thin: int
    """Steps from one draw to the next."""
    sampler: str
    """What drew it, and under which prior."""
    ends: tuple[End, ...]
    """Where each chain ended, for ``sample(resume=)``."""

    @classmethod
    def of(cls, chains: list[tuple[dict[str, Any], End]], thin: int, sampler: str) -> Trace:
        """From what each chain kept."""
        parts, ends = zip(*chains, strict=True)
        stacked: dict[str, Any] = {name: np.stack([part[name] for part in parts]) for name in _ARRAYS[1:-1]}
        partitions = smallest_integers(np.stack([part["partitions"] for part in parts]))
        winner = max(parts, key=lambda part: part["best_log_joint"])
        best = {name: winner[name] for name in _BEST} | {"best": in_order_of_appearance(winner["best"])}
        return cls(partitions, **stacked, **best, thin=thin, sampler=sampler, ends=ends)

    @property
    def n_clusters(self) -> Labels:
        """Shape (C, T)."""
        return self.partitions.max(axis=2).astype(np.int64) + 1

    @property
    def largest_share(self) -> Matrix:
        """Shape (C, T): share of points in the largest cluster."""
        flat = self.partitions.reshape(-1, self.partitions.shape[2])
        shares = np.array([np.bincount(row).max() for row in flat]) / self.partitions.shape[2]
        return shares.reshape(self.partitions.shape[:2])

    def sizes(self, chain: int, draw: int) -> Labels:
        """Of the clusters of one draw, shape (K,)."""
        return np.bincount(self.partitions[chain, draw])

    def similarity(self) -> Matrix:
        """How often two points are together, shape (N, N)."""
        return point_estimates.similarity(self._flat())

    def binder_estimate(self, *, n_restarts: int = 4, random_state: Any = 0) -> Labels:
        """The partition of the least expected Binder loss that was found, shape (N,): ``point_estimates``."""
        return point_estimates.binder_estimate(self._flat(), n_restarts=n_restarts, random_state=random_state)

    def vi_estimate(self, *, n_restarts: int = 4, random_state: Any = 0) -> Labels:
        """The partition of the least expected variation of information that was found, shape (N,)."""
        return point_estimates.vi_estimate(self._flat(), n_restarts=n_restarts, random_state=random_state)

    def n_clusters_posterior(self) -> Vector:
        """Share of draws with K = 0, 1, 2, ... clusters."""
        return point_estimates.n_clusters_posterior(self.n_clusters)

    def to_dict(self) -> dict[str, Any]:
        """Arrays of shape (chain, draw, ...), by name."""
        names = ("partitions", "log_joint", "alpha", "discount", "acceptance")
        return {name: getattr(self, name) for name in names} | {
            "n_clusters": self.n_clusters,
            "largest_share": self.largest_share,
        }

    def to_arviz(self) -> Any:
        """For ArviZ: an InferenceData (0.x), or a DataTree (1.x)."""
        from mapdpm.compat.arviz import converted  # noqa: PLC0415  (a guest, imported when used)

        return converted(self)

    def summary(self) -> dict[str, dict[str, float]]:
        """Mean, sd, effective sample size and R-hat of log joint, K, largest share; of alpha and discount if drawn.

        NaN for sizes and R-hats of chains of fewer than four draws, and of what is constant.
        """
        shown = {"log_joint": self.log_joint, "n_clusters": self.n_clusters, "largest_share": self.largest_share}
        if np.ptp(self.alpha) > 0.0:
            shown["alpha"] = self.alpha
        if np.ptp(self.discount) > 0.0:
            shown["discount"] = self.discount
        enough = self.alpha.shape[1] >= FEWEST_DRAWS
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
        """The draws of this trace, and then those of ``other``, where its chains went on."""
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(self, name), getattr(other, name)], axis=1) for name in _ARRAYS[:-1]
        }
        best = max(self, other, key=lambda trace: trace.best_log_joint)
        return other._replace(**joined, **{name: getattr(best, name) for name in ("best", *_BEST)})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to ``path``, whole or not at all: a .npz of numpy's without pickles."""
        ends = [end._asdict() | {"labels": end.labels.tolist(), "adapted": list(end.adapted)} for end in self.ends]
        about = {name: getattr(self, name) for name in (*_BEST, "thin", "sampler")} | {"format": FORMAT, "ends": ends}
        room = io.BytesIO()
        text = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
        np.savez_compressed(room, about=text, **{name: getattr(self, name) for name in _ARRAYS})
        write_file(path, room.getvalue())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trace:
        """The trace that ``save`` wrote.

        Raises
        ------
        ValueError
            The file is none, is damaged or cut short, or of a newer format.
        OSError
            It cannot be read.
        """
        data = Path(path).read_bytes()
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as file:
                about = json.loads(file["about"].tobytes())
                arrays = {name: file[name] for name in _ARRAYS}
            if check_count("format", about["format"]) > FORMAT:
                msg = f"{path} is a trace of format {about['format']}, and this version reads up to {FORMAT}: upgrade"
                raise UnreadableTraceError(msg)
            ends = tuple(map(_end, about["ends"]))
            _check_shapes(arrays, ends)
            best: dict[str, Any] = {name: check_number(name, about[name]) for name in _BEST}
            return cls(**arrays, **best, thin=check_count("thin", about["thin"]), sampler=about["sampler"], ends=ends)
        except _DAMAGE as error:
            if isinstance(error, UnreadableTraceError):
                raise
            msg = f"{path} is no trace file, or was cut short ({len(data)} bytes): draw it anew, or take a whole copy"
            raise UnreadableTraceError(msg) from None

    def _flat(self) -> Labels:
        return self.partitions.reshape(-1, self.partitions.shape[2])


class UnreadableTraceError(ValueError):
    """A file that is no trace, or not all of one."""


def _check_shapes(arrays: dict[str, Any], ends: tuple[End, ...]) -> None:
    """ValueError where arrays do not belong together."""
    chains, draws, n_points = arrays["partitions"].shape
    same = all(arrays[name].shape == (chains, draws) for name in _ARRAYS[1:-1])
    of_points = all(end.labels.shape == (n_points,) for end in ends) and arrays["best"].shape == (n_points,)
    whole = same and of_points and len(ends) == chains and arrays["partitions"].dtype.kind == "i"
    named = [arrays["best"], *(end.labels for end in ends)]
    z = arrays["partitions"]
    if not (whole and all(map(_is_partition, named)) and z.min() >= 0 and z.max() < n_points):
        raise ValueError


def _is_partition(labels: Labels) -> bool:
    """Whether labels are 0..K-1 in order of first appearance: kernels trust them."""
    return labels.dtype.kind == "i" and np.array_equal(in_order_of_appearance(labels), labels)


def _end(values: dict[str, Any]) -> End:
    n_clusters, counts = values["adapted"]
    adapted = Adapted(check_number("clusters", n_clusters), tuple(check_count("counts", count) for count in counts))
    np.random.default_rng().bit_generator.state = values["generator"]  # or it says why not
    alpha, discount = (check_number(name, values[name]) for name in ("alpha", "discount"))
    return End(np.array(values["labels"]), alpha, discount, adapted, values["generator"])
