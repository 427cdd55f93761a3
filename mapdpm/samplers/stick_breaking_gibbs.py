"""Collapsed Gibbs sampling over explicit labels of a stick-breaking prior: Porteous2006 section 3."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from mapdpm.jit import compiled_if_possible
from mapdpm.partition_priors.stick_breaking import StickBreaking, log_labels
from mapdpm.protocol import Labels, Model, RngVerbs
from mapdpm.samplers._labels import LABEL_MOVES, Moves, sweep_labels
from mapdpm.samplers.chain import CLUSTER, POINT, Chain
from mapdpm.samplers.chain_data import ChainData
from mapdpm.samplers.concentration import draw_by_slice
from mapdpm.samplers.sampler import Info, Sampler
from mapdpm.samplers.starts import labels_without_order
from mapdpm.validation import check_count, check_number, refuse_value

LABELS = "labels"
"""The explicit label of each point, in a trace."""
_LARGEST_STEP = 2**31

LABEL_OF_CLUSTER = "label"
"""The array of labels of slots; -1 for a free slot."""


def sticks_of(prior: Any) -> StickBreaking:
    """The labels of a process, or the prior over labels itself."""
    if isinstance(prior, StickBreaking):
        return prior
    return StickBreaking(np.array([1.0 - prior.discount]), np.array([prior.alpha + prior.discount]), prior.discount)


class LabelledChain(Chain):
    """A partition whose clusters have explicit labels, ``aux["label"]``; ``kept`` has the label of each point."""

    __slots__ = ()

    _log_labels = staticmethod(compiled_if_possible(log_labels))

    @property
    def labels_of_slots(self) -> Labels:
        """The label of each slot, edited in place; those of free slots have no meaning."""
        return cast("Labels", self.aux[LABEL_OF_CLUSTER])

    @property
    def sticks(self) -> StickBreaking:
        """The prior over labels."""
        return sticks_of(self.prior)

    @property
    def model(self) -> Model:
        """The argument of kernels."""
        return Model(self.likelihood, self.sticks, self.data)

    def log_labels(self, prior: Any) -> float:
        """log P(Z) under ``prior``, in nats."""
        used = np.flatnonzero(self.state.counts)
        used = used[np.argsort(self.labels_of_slots[used])]
        labels = self.labels_of_slots[used]
        return float(self._log_labels(sticks_of(prior), labels, self.state.counts[used], 0, int(labels[-1]) + 1, 0))

    def log_joint(self) -> float:
        """log p(x, Z) of explicit labels, in nats, given alpha."""
        return self.log_labels(self.prior) + float(self._log_marginals(self.likelihood, self.state).sum())

    def concentrations(self) -> dict[str, Any]:
        """Alpha and the discount, of sticks that have them."""
        return {} if isinstance(self.prior, StickBreaking) else super().concentrations()

    def restore_concentrations(self, saved: dict[str, Any]) -> None:
        """Take over what ``concentrations()`` returned."""
        if not isinstance(self.prior, StickBreaking):
            super().restore_concentrations(saved)

    def kept(self) -> dict[str, Any]:
        """As ``Chain.kept``, and the explicit label of each point."""
        return super().kept() | {LABELS: self.labels_of_slots[self.state.labels]}

    def dims_of(self, name: str, ndim: int) -> tuple[str, ...]:
        """The names of the axes of what ``kept`` returns as ``name``."""
        return (POINT,) if name == LABELS else super().dims_of(name, ndim)


class StickBreakingGibbs(Sampler):
    r"""Gibbs sampling of explicit labels under a stick-breaking prior, with moves that change labels (Porteous2006 3).

    Labels 0, 1, ... have shares pi_i = V_i prod_{j<i} (1 - V_j), V_i ~ Beta(a_i, b_i). Shares and parameters are
    integrated out: p(z_n = i | rest) is E[pi_i | Z] p(x_n | points of label i) (Porteous2006 (6), (9)). Empty labels
    have one density, so they are drawn as one, without a limit on labels. A step redraws every label once.

    Labels of clusters hardly ever change that way, so moves of labels follow each assignment. A proposal Z' is accepted
    with probability min(1, P(Z') / P(Z)), for every a and b (the paper's ratio holds for the gamma family only):

    - "swap": exchange two labels that are drawn from the prior;
    - "permute": permute labels 0 to J uniformly, J drawn from the prior;
    - "next": exchange a label that is drawn from the prior with the one ``next_step`` above (Porteous2006 footnote 3).

    ``Trace.extra["labels"]``, shape (chain, draw, point), has the explicit labels, from 0; ``Trace.partitions`` the
    partition that they make. ``log_joint`` is log p(x, Z) of explicit labels.

    Parameters
    ----------
    alpha : float, optional
        Concentration: a_i = 1 - discount, b_i = alpha + (i + 1) discount. None is 1.
    likelihood : Likelihood or None
        The conjugate family, with its prior. None is the empirical Normal-Gamma of the points.
    discount : float in [0, 1)
        Pitman-Yor discount, with ``alpha``; 0 is the Dirichlet process. Near 1 labels grow beyond all bounds, and the
        sampler refuses.
    a, b : float > 0, or sequence of them, optional
        Instead of ``alpha``: a number for all sticks, or a sequence whose last entry goes on. The last of ``b`` may be
        0: then there are no more labels.
    sticks : StickBreaking, optional
        Instead of ``alpha``: a prior over labels, such as ``StickBreaking.gamma_family(gamma, decay)``.
    label_moves : sequence of {"swap", "permute", "next"}
        Which moves of labels to propose. ``()`` is Gibbs sampling alone.
    move_rate : float in (0, 1], optional
        The probability with which each move is proposed after each assignment. None is K / N for K clusters: in a step
        about as many proposals of each move as clusters, which take little time.
    next_step : int >= 1
        The distance of labels in "next".
    alpha_prior, discount_prior : optional
        As for ``CollapsedGibbs``: drawn after each step, by slice sampling given the explicit labels. The prior of a
        discount ends where labels grow beyond all bounds.

    Raises
    ------
    ValueError
        A number is out of its range, or ``alpha``, ``a`` and ``b``, or ``sticks`` are given together.

    Notes
    -----
    O(N K D) a step for K clusters, however high labels are.

    Examples
    --------
    >>> import numpy as np
    >>> from mapdpm.samplers import sample
    >>> X = np.r_[np.zeros(20), np.full(20, 9.0)][:, None] + np.linspace(-1, 1, 40)[:, None]
    >>> trace = sample(X, StickBreakingGibbs(a=5.0, b=0.1), draws=50, burn_in=10, random_state=0)
    >>> trace.extra["labels"].shape
    (1, 50, 40)
    """

    chain_type: type[Chain] = LabelledChain
    """See ``Sampler``.

    :meta private:
    """

    _sweep = staticmethod(compiled_if_possible(sweep_labels))

    def __init__(  # noqa: PLR0913  (all but alpha by name)
        self,
        alpha: float | None = None,
        *,
        likelihood: Any = None,
        discount: float = 0.0,
        a: Any = None,
        b: Any = None,
        sticks: StickBreaking | None = None,
        label_moves: Any = ("swap", "permute"),
        move_rate: float | None = None,
        next_step: int = 1,
        alpha_prior: Any = None,
        discount_prior: Any = None,
    ) -> None:
        own = _own_sticks(alpha, discount, a, b, sticks)
        update = None if alpha_prior is None else "slice"
        model = {"likelihood": likelihood, "discount": discount, "alpha_update": update}
        model |= {"alpha_prior": alpha_prior, "discount_prior": discount_prior}
        super().__init__(1.0 if alpha is None else alpha, **model)
        if own is not None:
            if alpha_prior is not None or discount_prior is not None:
                msg = "alpha_prior and discount_prior are for sticks by alpha and discount; leave out a, b and sticks"
                raise ValueError(msg)
            self.target = self.target._replace(prior=cast("Any", own))
        sticks_of(self.target.prior).checked()
        self.label_moves = checked_moves(label_moves, LABEL_MOVES)
        self.move_rate = checked_rate(move_rate)
        self.next_step = check_count("next_step", next_step)
        if self.next_step > _LARGEST_STEP:
            msg = f"next_step must be at most {_LARGEST_STEP}, got {next_step}"
            raise ValueError(msg)

    @property
    def moves(self) -> Moves:
        """The argument of kernels."""
        rates = [(self.move_rate or 1.0) * (move in self.label_moves) for move in LABEL_MOVES]
        return Moves(np.array(rates), self.move_rate is None, self.next_step)

    def chain(self, data: ChainData, init: str | Labels, rng: RngVerbs) -> Chain:
        """A new chain on ``data``, whose clusters have labels in order of first appearance."""
        chain = self.chain_type(data.likelihood, self.target.prior, data.data, self.first_labels(data, init, rng))
        carry_labels(chain)
        self.equip(chain)
        return chain

    def first_labels(self, data: ChainData, init: str | Labels, rng: RngVerbs) -> Labels:
        """The labels of a new chain, 0..K-1, of which each has a share."""
        alpha = getattr(self.target.prior, "alpha", 1.0)
        labels = labels_without_order(data, alpha if alpha > 0.0 else 1.0, init, rng)
        most = sticks_of(self.target.prior).n_components
        return labels if most is None else np.minimum(labels, most - 1)

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        """A sweep over all points, with moves of labels after each."""
        chain = cast("LabelledChain", chain)
        start, total, model, moves = 0, np.zeros(3, dtype=np.int64), chain.model, self.moves
        while start < chain.n_points:
            state = chain.reserve()
            start, *more = self._sweep(model, state, chain.labels_of_slots, moves, start, rng)
            total += more
        return Info(chain.n_clusters, *map(int, total))

    def step(self, chain: Chain, rng: RngVerbs) -> Info:
        """One step: edit the labels of ``chain``, then draw its alpha and discount if they have a prior."""
        info = self.move(chain, rng)
        log_labels = cast("LabelledChain", chain).log_labels

        def log_probability(prior: Any) -> float:
            return log_labels(prior) if sticks_of(prior).is_representable() else -math.inf

        chain.prior = draw_by_slice(chain.prior, log_probability, self.target, rng)
        return info


def _own_sticks(alpha: Any, discount: Any, a: Any, b: Any, sticks: Any) -> StickBreaking | None:
    """The prior by ``a`` and ``b``, or ``sticks``; None for one by ``alpha``."""
    if a is None and b is None and sticks is None:
        return None
    if alpha is not None or discount != 0.0 or (sticks is not None and (a is not None or b is not None)):
        msg = "give alpha (and discount), or a and b, or sticks: they are three ways to say the same"
        raise ValueError(msg)
    if sticks is not None:
        if not isinstance(sticks, StickBreaking):
            refuse_value("sticks must be a StickBreaking, such as StickBreaking.gamma_family(1.0, 0.5)", sticks)
        a, b = (np.asarray(values, dtype=np.float64) for values in (sticks.a, sticks.b))
        return sticks._replace(a=a, b=b).checked()
    if a is None or b is None:
        msg = f"a and b go together, got a={a!r}, b={b!r}"
        raise ValueError(msg)
    return StickBreaking.of(a, b)


def checked_rate(rate: Any) -> float | None:
    """A rate of moves, or None; ValueError where it is no probability > 0."""
    if rate is None:
        return None
    number = check_number("move_rate", rate)
    if not 0.0 < number <= 1.0:
        msg = f"move_rate must be None or in (0, 1], got {rate}"
        raise ValueError(msg)
    return number


def checked_moves(names: Any, known: tuple[str, ...]) -> tuple[str, ...]:
    """``names`` as a tuple; ValueError where one is not ``known``."""
    if not isinstance(names, (tuple, list, set, frozenset)) or not all(name in known for name in names):
        refuse_value(f"label_moves must be a sequence of {', '.join(map(repr, known))}", names)
    return tuple(name for name in known if name in names)


def carry_labels(chain: Chain) -> None:
    """Let a new chain carry labels of clusters: the numbers of their slots."""
    labels = np.where(chain.state.counts > 0, np.arange(chain.state.capacity), -1)
    chain.carry(LABEL_OF_CLUSTER, labels, (CLUSTER,), blank=-1, kept=False)
