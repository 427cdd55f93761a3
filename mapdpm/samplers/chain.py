"""A chain: the model that it samples under, the partition that it has reached, and what it carries beside that."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapdpm import objective
from mapdpm import state as states
from mapdpm.backends.generic import log_marginals
from mapdpm.jit import compiled_if_possible
from mapdpm.partition_priors import check_drawn
from mapdpm.protocol import Labels, Likelihood, Model, Vector
from mapdpm.state import ClusterState
from mapdpm.validation import check_number, in_order_of_appearance

Array = NDArray[Any]

CLUSTER, POINT = "cluster", "point"
"""Names of axes: one entry a slot, and one entry a point. A sampler may have axes of its own."""

RESERVED = (
    *("labels", "alpha", "discount", "gamma"),
    *("partitions", "log_joint", "n_clusters", "largest_share", "acceptance"),
)
"""Names of what is saved, or kept, of every chain."""

_FIRST_CAPACITY = 16
_SPARSE = 4  # slots for each cluster in use, above which free ones are dropped: reserve() doubles them


class Adapted(NamedTuple):
    """The results of a burn-in: typical number of clusters, and how often each part of a hybrid runs in a step."""

    n_clusters: float
    counts: tuple[int, ...] = ()


class Auxiliary(NamedTuple):
    """The layout of an array that a chain carries beside the labels."""

    dims: tuple[str, ...]
    """The name of each axis: "cluster" (slots), "point", or a name of the sampler's own."""
    blank: float
    """The entry of a free slot."""
    kept: bool
    """Whether each draw of a trace holds it."""


class Chain:
    """A partition of the points of ``data``, and the model: a step of a sampler reads both and edits the partition.

    A step changes ``state``, and ``prior`` where alpha or a discount is drawn; ``likelihood`` and ``data`` stay.
    ``adapted`` is None during a burn-in, when samplers may tune themselves; afterwards they must not.

    ``aux`` holds arrays that the next step depends on and the labels do not determine: sub-labels, weights, tables.
    ``carry`` adds one. They follow their clusters when slots are renamed, are saved and resumed, and reach the trace.
    """

    state: ClusterState

    __slots__ = ("adapted", "aux", "data", "layout", "likelihood", "prior", "seconds", "state")

    _statistics = staticmethod(compiled_if_possible(states.statistics))
    _log_marginals = staticmethod(compiled_if_possible(log_marginals))

    def __init__(
        self,
        likelihood: Likelihood,
        prior: Any,  # with its parameters: those that are drawn are replaced
        data: Any,
        labels: Labels,
        adapted: Adapted | None = None,
    ) -> None:
        self.likelihood, self.prior, self.data, self.adapted = likelihood, prior, data, adapted
        self.seconds: Vector = np.zeros(0)
        self.aux: dict[str, Array] = {}
        self.layout: dict[str, Auxiliary] = {}
        self.state = self._state_of(labels)

    @property
    def model(self) -> Model:
        """The argument that kernels of ``backends`` take."""
        return Model(self.likelihood, self.prior, self.data)

    @property
    def n_points(self) -> int:
        """The number of points."""
        return len(self.state.labels)

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return self.state.n_clusters

    @property
    def sizes(self) -> Vector:
        """The number of points in each cluster."""
        return self.state.counts[self.state.counts > 0].astype(np.float64)

    # ---- the partition -------------------------------------------------------------------------------------------

    def become(self, labels: Labels) -> None:
        """Take over another partition, 0 to K - 1 in any order; rows are made anew, slots of ``aux`` blank. O(N D)."""
        self.take(self._state_of(labels))

    def take(self, state: ClusterState) -> None:
        """Take over another state of the same points; slots of ``aux`` are blank."""
        before = self.state.capacity
        self.state = state
        self.slots_moved(np.full(before, -1))

    def clear(self) -> None:
        """Take all points out of the partition. They must be put back before anything else."""
        self.take(states.empty(self.likelihood, self.n_points, min(_FIRST_CAPACITY, self.n_points + 1)))

    def reserve(self, n_free: int = 1) -> ClusterState:
        """The state, with at least so many free slots. N + 1 slots are always enough."""
        before, needed = self.state.capacity, min(self.n_clusters + n_free, self.n_points + 1)
        if before < needed:
            capacity = min(max(2 * before, needed), self.n_points + 1)
            self.state = states.resized(self.likelihood, self.state, capacity)
            self.slots_moved(np.arange(before))
        return self.state

    def trim(self) -> None:
        """Drop slots if a start of many clusters has left most of them free: kernels look at every slot."""
        if self.state.capacity > max(_FIRST_CAPACITY, _SPARSE * (self.n_clusters + 1)):
            self.refresh()

    def refresh(self) -> None:
        """Rename clusters in order of appearance and make the state anew from the labels, without old rounding. O(N D).

        ``sample`` calls it before each draw: the state is then a function of what ``saved`` returns.
        """
        old = self.state
        labels = states.compacted(self.likelihood, old).labels
        to = np.full(old.capacity, -1)
        to[old.labels] = labels
        self.state = self._state_of(labels)
        self.slots_moved(to)

    def slots_moved(self, to: Labels) -> None:
        """Called after each change of slots: the contents of slot k are in slot ``to[k]`` now, or gone where it is -1.

        Moves the "cluster" axes of ``aux`` along. Override it, and call it, where *values* of an array name slots.
        """
        kept = to >= 0
        for name, layout in self.layout.items():
            for axis in _cluster_axes(layout):
                old = np.moveaxis(self.aux[name], axis, 0)
                new = np.full((self.state.capacity, *old.shape[1:]), layout.blank, dtype=old.dtype)
                new[to[kept]] = old[kept]
                self.aux[name] = np.ascontiguousarray(np.moveaxis(new, 0, axis))

    def partition(self) -> Labels:
        """The labels 0..K-1 in order of first appearance, of a chain that was just refreshed."""
        return self.state.labels

    def log_joint(self) -> float:
        """log p(x, z), in nats, given alpha."""
        return objective.log_joint(self.prior, self.state, self._log_marginals(self.likelihood, self.state))

    # ---- its concentrations --------------------------------------------------------------------------------------

    def concentrations(self) -> dict[str, Any]:
        """The parameters of the prior that a sampler may draw, by name; each is in every draw of a trace."""
        return {"alpha": self.prior.alpha, "discount": self.prior.discount}

    def restore_concentrations(self, saved: dict[str, Array]) -> None:
        """Take over what ``concentrations()`` returned; ValueError for what no chain can have drawn."""
        values = {name: check_number(name, saved[name]) for name in ("alpha", "discount")}
        check_drawn(**values)
        self.prior = self.prior._replace(**{n: v for n, v in values.items() if n in self.prior._fields})

    # ---- what it carries beside the labels -----------------------------------------------------------------------

    def carry(self, name: str, values: Any, dims: tuple[str, ...] = (), *, blank: float = 0, kept: bool = True) -> None:
        """Add an array to ``aux``: ``values``, with a name for each axis.

        Parameters
        ----------
        name : str
            The key in ``aux``, in ``saved`` and in ``Trace.extra``.
        values : array-like
            The values to start from. Kernels may edit the array, and a step may replace it.
        dims : tuple of str
            "cluster" for an axis of one entry a slot, "point" for one entry a point, else a name of its own. An array
            without axes is a number.
        blank : float
            The entry of a free slot.
        kept : bool
            Whether traces hold it for each draw. If not, ``sample(keep=(..., name))`` asks for it.
        """
        if name in RESERVED:
            msg = f"{name!r} is kept or saved of every chain; take another name"
            raise ValueError(msg)
        array = np.array(values)
        lengths = {CLUSTER: self.state.capacity, POINT: self.n_points}
        wanted = tuple(lengths.get(dim, -1) for dim in dims)
        if array.ndim != len(dims) or any(n not in (-1, found) for n, found in zip(wanted, array.shape, strict=True)):
            msg = f"{name} must have one axis for each of {dims}, {lengths}, got shape {array.shape}"
            raise ValueError(msg)
        self.aux[name], self.layout[name] = array, Auxiliary(tuple(dims), blank, kept)

    def keep(self, names: tuple[str, ...]) -> None:
        """Let traces hold the arrays ``names`` too; ValueError for one that the chain does not have."""
        arrays = [name for name, value in self.kept().items() if np.ndim(value)]
        known = dict.fromkeys(["partitions", *self.layout, *arrays])
        for name in names:
            if name not in known:
                msg = f"keep may name {', '.join(map(repr, known))} with this sampler, got {name!r}"
                raise ValueError(msg)
            if name in self.layout:
                self.layout[name] = self.layout[name]._replace(kept=True)

    def kept(self) -> dict[str, Any]:
        """The part of a draw that a trace holds beside the partition: numbers, and arrays of ``aux``.

        "cluster" axes have one entry a cluster, in order of first appearance.
        """
        found: dict[str, Any] = self.concentrations()
        asked = {name: layout for name, layout in self.layout.items() if layout.kept}
        if any(CLUSTER in layout.dims for layout in asked.values()):
            slots, _ = states.slots_in_order(self.state)
        for name, layout in asked.items():
            values = self.aux[name]
            for axis in _cluster_axes(layout):
                values = np.take(values, slots, axis=axis)
            found[name] = values.copy()
        return found

    def saved(self) -> dict[str, Array]:
        """All that the next step depends on, of a chain that was just refreshed (decision 72)."""
        about = {"labels": self.state.labels, **self.concentrations(), **self.aux}
        return {name: np.array(value) for name, value in about.items()}

    def restore(self, saved: dict[str, Array]) -> None:
        """Go back to where ``saved()`` was called; ValueError for what this chain cannot have saved."""
        needed = {"labels", *self.concentrations(), *self.aux}
        if set(saved) != needed:
            msg = f"{sorted(needed)} are needed, got {sorted(saved)}"
            raise ValueError(msg)
        self.check_labels(saved["labels"])
        self.restore_concentrations(saved)
        self.become(saved["labels"].astype(np.int64))
        for name, layout in self.layout.items():
            array = saved[name]
            if array.dtype != self.aux[name].dtype:
                msg = f"{name} must be of type {self.aux[name].dtype}, got {array.dtype}"
                raise ValueError(msg)
            self.carry(name, array, layout.dims, blank=layout.blank, kept=layout.kept)

    def capacity_for(self, labels: Labels) -> int:
        """The number of slots of a new state: above that of the clusters, so that most sweeps need no more."""
        return min(max(_FIRST_CAPACITY, 2 * (int(labels.max()) + 1)), len(labels) + 1)

    def check_labels(self, labels: Array) -> None:
        """ValueError for labels that this chain cannot have saved.

        A chain in which names of slots matter overrides it, with ``refresh``, ``partition`` and ``capacity_for``.
        """
        if labels.shape != (self.n_points,) or not is_partition(labels):
            msg = f"labels must be 0..K-1 in order of first appearance, one a point, shape ({self.n_points},)"
            raise ValueError(msg)

    def dims_of(self, name: str, ndim: int) -> tuple[str, ...]:
        """The names of the axes of what ``kept`` returns as ``name``. Override it with ``kept``."""
        return self.layout[name].dims if name in self.layout else tuple(f"{name}_dim_{axis}" for axis in range(ndim))

    def _state_of(self, labels: Labels) -> ClusterState:
        state = states.empty(self.likelihood, 0, self.capacity_for(labels))._replace(labels=labels.astype(np.int64))
        self._statistics(self.likelihood, self.data, None, state)
        return state


def is_partition(labels: Array) -> bool:
    """Whether labels are 0..K-1 in order of first appearance: kernels trust them."""
    return labels.dtype.kind == "i" and np.array_equal(in_order_of_appearance(labels), labels)


def _cluster_axes(layout: Auxiliary) -> list[int]:
    return [axis for axis, dim in enumerate(layout.dims) if dim == CLUSTER]
