"""Chains of labels and parameters, for families without conjugacy: what the samplers ``Nonconjugate...`` share."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from mapdpm import objective
from mapdpm.counting_sort import by_slot
from mapdpm.data import point_set, read_by
from mapdpm.jit import compiled_if_possible, fill, jitable
from mapdpm.protocol import Labels, Likelihood, Matrix, Model, NonconjugateVerbs, RngVerbs, Vector
from mapdpm.samplers._blocks import free_slot
from mapdpm.samplers._map_reduce import streams
from mapdpm.samplers.chain import CLUSTER, Chain
from mapdpm.samplers.chain_data import ChainData
from mapdpm.samplers.sampler import Sampler
from mapdpm.samplers.starts import start
from mapdpm.search.observed import Observed
from mapdpm.state import ClusterState, assign, count_used
from mapdpm.threads import Threads

PARAMETERS = "parameters"
NEEDED = ("n_parameters", "log_prior", "log_likelihood", "propose", "log_proposal")
"""The verbs of a family, beside ``for_data``, which it may leave out."""


class Counted(NamedTuple):
    """A family without conjugacy in the form that a chain takes: the row of a cluster is its number of points."""

    family: Any

    def size(self) -> int:
        return 1

    def n_statistics(self) -> int:
        return 1

    def init(self, row: Vector) -> None:
        row[0] = 0.0

    def prepare(self, row: Vector) -> None:
        pass

    def add(self, row: Vector, data: Any, i: int, w: float) -> None:  # noqa: ARG002  (numba compares names)
        row[0] += w

    def remove(self, row: Vector, data: Any, i: int, w: float) -> bool:  # noqa: ARG002
        row[0] -= w
        return True

    def merge(self, row: Vector, other: Vector) -> None:
        row[0] += other[0]

    def log_marginal(self, row: Vector) -> float:  # noqa: ARG002
        """0: the density of points is given parameters, which a row does not know."""
        return 0.0

    def n_parameters(self) -> int:
        return int(self.family.n_parameters())

    def log_likelihood(self, parameters: Vector, data: Any, i: int) -> float:
        return float(self.family.log_likelihood(parameters, data, i))


def is_counted(likelihood: Any) -> bool:
    """Whether a chain's family is one without conjugacy."""
    return isinstance(likelihood, Counted)


@jitable
def log_joint_of(family: NonconjugateVerbs, data: Any, points: Labels, parameters: Vector) -> float:
    """Log density of the parameters of a cluster and of its points. O(n D)."""
    total = family.log_prior(parameters)
    for m in range(points.shape[0]):
        total += family.log_likelihood(parameters, data, points[m])  # type: ignore[attr-defined]
    return total


def log_joint_given(family: NonconjugateVerbs, data: Any, state: ClusterState, parameters: Matrix) -> float:
    """The sum over clusters of ``log_joint_of``. O(N D)."""
    members, begins = by_slot(state.labels, state.counts.shape[0])
    total = 0.0
    for k in range(state.counts.shape[0]):
        if state.counts[k] > 0:
            total += log_joint_of(family, data, members[begins[k] : begins[k + 1]], parameters[k])
    return total


def propose_parameters(
    family: NonconjugateVerbs, data: Any, points: Labels, parameters: Vector, accepts: bool, rng: RngVerbs
) -> bool:
    """Propose new parameters of a cluster; without ``accepts``, take them. Returns whether they were taken. O(n)."""
    new, ratio = parameters.copy(), 0.0
    family.propose(new, data, points, rng)
    if accepts:
        ratio += log_joint_of(family, data, points, new) - family.log_proposal(new, data, points)
        ratio -= log_joint_of(family, data, points, parameters) - family.log_proposal(parameters, data, points)
        if not rng.accept(ratio):
            return False
    fill(parameters, new)
    return True


def start_in_sequence(model: Model, state: ClusterState, parameters: Matrix, first: int, rng: RngVerbs) -> int:
    """Draw the slots of points from ``first`` on, each given those before it and its own draw of a new cluster.

    Returns the first point for which no slot was free.
    """
    capacity, n = state.counts.shape[0], state.labels.shape[0]
    scores, point = np.empty(capacity), np.empty(1, dtype=np.int64)
    for i in range(first, n):
        if count_used(state) == capacity:
            return i
        point[0] = i
        weights_given(model, state, parameters, i, scores)
        new = free_slot(state)
        scores[new] = propose_alone(model, state, parameters[new], point, rng)
        assign(model.likelihood, model.data, None, state, i, rng.categorical(scores))
    return n


@jitable
def weights_given(model: Model, state: ClusterState, parameters: Matrix, i: int, scores: Vector) -> None:
    """Log weights of clusters for point ``i``, which is out of the state, given parameters; -inf for free slots."""
    for k in range(scores.shape[0]):
        scores[k] = -np.inf
        if state.counts[k] > 0:
            scores[k] = model.prior.log_existing(float(state.counts[k]), 1.0)
            scores[k] += model.likelihood.log_likelihood(parameters[k], model.data, i)


@jitable
def propose_alone(model: Model, state: ClusterState, parameters: Vector, point: Labels, rng: RngVerbs) -> float:
    """Fill ``parameters`` with a draw from q(. | point) and return ``log_alone``."""
    model.likelihood.family.propose(parameters, model.data, point, rng)
    return log_alone(model, state, parameters, point)


@jitable
def log_alone(model: Model, state: ClusterState, parameters: Vector, point: Labels) -> float:
    """Log of w_new p(theta) F(x | theta) / q(theta | x) for a point that is out of the state."""
    family = model.likelihood.family
    total = log_joint_of(family, model.data, point, parameters) - family.log_proposal(parameters, model.data, point)
    return total + model.prior.log_new(count_used(state), 1.0)


class ParameterChain(Chain):
    """A chain whose clusters have parameters, ``aux["parameters"]``: they are kept with each draw."""

    __slots__ = ()

    _log_joint_given = staticmethod(compiled_if_possible(log_joint_given))

    @property
    def family(self) -> Any:
        """The family of the user."""
        return cast("Any", self.likelihood).family

    @property
    def parameters(self) -> Matrix:
        """The parameters of each slot; those of free slots have no meaning."""
        return cast("Matrix", self.aux[PARAMETERS])

    def log_joint(self) -> float:
        """log p(x, z, theta), in nats, given alpha."""
        prior = objective.log_joint(self.prior, self.state, np.zeros(self.state.capacity))
        return prior + float(self._log_joint_given(self.family, self.data, self.state, self.parameters))


def observed_without_conjugacy(family: Any, X: Any) -> Observed:
    """The points of ``X`` under the user's family; ValueError for one that lacks a verb."""
    missing = [verb for verb in NEEDED if not callable(getattr(family, verb, None))]
    if missing or isinstance(family, type):
        msg = f"likelihood must be an instance with the verbs {', '.join(NEEDED)}, got {family!r}"
        raise ValueError(f"{msg}: add {', '.join(missing)}" if missing else msg)
    points = read_by(family, X)
    if hasattr(family, "for_data"):
        family = family.for_data(points)
    counted = cast("Likelihood", Counted(family))
    return Observed(counted, counted, points, np.zeros(point_set(points).n_features))


class ParameterProposals:
    """A sampler that proposes new parameters of clusters: ``aux["parameters"]``."""

    _propose_parameters = staticmethod(compiled_if_possible(propose_parameters))
    _by_slot = staticmethod(compiled_if_possible(by_slot))

    def redraw_parameters(self, chain: Chain, accepts: bool, n_jobs: int | None, rng: RngVerbs) -> int:
        """Propose new parameters of all clusters; without ``accepts``, take them. Returns how many were taken."""
        family, parameters = cast("Any", chain.likelihood).family, chain.aux[PARAMETERS]
        members, begins = self._by_slot(chain.state.labels, chain.state.capacity)
        slots = np.flatnonzero(chain.state.counts)

        def proposed(k: int, rng: RngVerbs) -> bool:
            points = members[begins[k] : begins[k + 1]]
            return bool(self._propose_parameters(family, chain.data, points, parameters[k], accepts, rng))

        with Threads(n_jobs) as threads:
            return sum(threads.each(proposed, slots, streams(rng, len(slots))))


class ParameterSampler(ParameterProposals, Sampler):
    """A sampler of labels and parameters. The likelihood is any NamedTuple with the verbs ``NEEDED``."""

    chain_type: type[ParameterChain] = ParameterChain

    _start_in_sequence = staticmethod(compiled_if_possible(start_in_sequence))

    def observe(self, X: Any) -> Observed:
        """The points of ``X`` under the user's family."""
        return observed_without_conjugacy(self.target.likelihood, X)

    def chain(self, data: ChainData, init: str | Labels, rng: RngVerbs) -> Chain:
        """A new chain. Parameters are proposed given the labels; "sequential" proposes a cluster for each point."""
        n_points = point_set(data.data).n_points
        chain = self.chain_type(data.likelihood, self.target.prior, data.data, np.zeros(n_points, dtype=np.int64))
        if init == "sequential":
            chain.clear()
        else:
            start(chain, init, rng)
        P = data.likelihood.n_parameters()
        chain.carry(PARAMETERS, np.zeros((chain.state.capacity, P)), (CLUSTER, "parameter"))
        first = 0 if init == "sequential" else n_points
        while first < n_points:
            first = self._start_in_sequence(chain.model, chain.reserve(), chain.parameters, first, rng)
        self.redraw_parameters(chain, False, None, rng)
        self.equip(chain)
        return chain
