"""Several samplers in turn: each leaves the posterior invariant, so all of them together do."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from mapdpm.protocol import Labels, Likelihood, PartitionPrior, RngVerbs
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.chain_data import ChainData, Given
from mapdpm.samplers.sampler import Info, Sampler
from mapdpm.search.observed import Observed
from mapdpm.validation import check_count, refuse_value


class Hybrid(Sampler):
    """A weighted list of samplers: a step runs each of ``samplers`` so many times, in order (Liang2007 section 5).

    Parameters
    ----------
    samplers : sequence of Sampler
        All of the same model, and with the same kind of chain. ``CollapsedGibbs(...) + SplitMerge(...)`` is short for
        a pair.
    counts : sequence of int, or "time"
        How often each runs in a step; None is once. "time" gives each the same time: in a burn-in by the clock, and
        afterwards by counts that stay. The draws then depend on the machine.

    Notes
    -----
    The choice of the part that runs next must not depend on the partition or on the time that a part took for it: that
    is a bias (0.06 of a probability in a small case). So shares of time are fixed at the end of a burn-in.
    """

    def __init__(self, samplers: Iterable[Any], counts: Iterable[int] | str | None = None) -> None:
        parts: list[Sampler] = []
        for sampler in samplers:
            if not isinstance(sampler, Sampler):
                refuse_value("samplers must be samplers, such as CollapsedGibbs()", sampler)
            parts += sampler.parts
        if not parts:
            msg = "samplers must be at least one sampler, got none"
            raise ValueError(msg)
        odd = next((part for part in parts if part.target != parts[0].target), None)
        if odd is not None:
            msg = f"the samplers of a hybrid must share one model, got {parts[0].target} and {odd.target}"
            raise ValueError(msg)
        odd = next((part for part in parts if part.chain_type is not parts[0].chain_type), None)
        if odd is not None:
            msg = (
                "the samplers of a hybrid must carry the same state beside the labels, got "
                f"{type(parts[0]).__name__} ({parts[0].chain_type.__name__}) and "
                f"{type(odd).__name__} ({odd.chain_type.__name__})"
            )
            raise ValueError(msg)
        if any(isinstance(part, Hybrid) and not part.counts for part in parts):
            msg = "a hybrid that shares time cannot be part of another: give its samplers to the outer one"
            raise ValueError(msg)
        self.target, self.chain_type, self.takes = parts[0].target, parts[0].chain_type, parts[0].takes
        self.samplers: tuple[Sampler, ...] = tuple(parts)
        self.counts: tuple[int, ...] = _checked(counts, len(parts))

    @property
    def parts(self) -> tuple[Sampler, ...]:
        """The samplers that a hybrid of this and others runs."""
        return self.samplers if set(self.counts) == {1} else (self,)

    def observe(self, X: Any) -> Observed:
        """As the first part does; ValueError if a part cannot run the family."""
        seen = self.samplers[0].observe(X)
        self.check_family(seen.likelihood)
        return seen

    def chain(self, data: ChainData, init: str | Labels, rng: RngVerbs) -> Chain:
        """A new chain, as the first part makes it, with what the other parts carry."""
        chain = self.samplers[0].chain(data, init, rng)
        for part in self.samplers[1:]:
            part.equip(chain)
        return chain

    def usual_start(self, likelihood: Likelihood) -> str:
        """That of the first part, which makes the chain."""
        return self.samplers[0].usual_start(likelihood)

    def check_given(self, given: Given, n_points: int) -> Given:
        """``given`` as the first part takes it."""
        return self.samplers[0].check_given(given, n_points)

    def step(self, chain: Chain, rng: RngVerbs) -> Info:
        """One step. Each part draws alpha after its own moves."""
        return self.move(chain, rng)

    def move(self, chain: Chain, rng: RngVerbs) -> Info:
        """The steps of all parts."""
        if not self.counts and chain.adapted is None:
            return self._by_the_clock(chain, rng)
        counts = self.counts or (chain.adapted.counts if chain.adapted else ()) or (1,) * len(self.samplers)
        infos = [part.step(chain, rng) for part, count in zip(self.samplers, counts, strict=True) for _ in range(count)]
        return _summed(infos)

    def check_sampling(self) -> None:
        """ValueError if the steps of a part do not leave the posterior invariant."""
        for part in self.samplers:
            part.check_sampling()

    def describe(self) -> str:
        """All parts, and how often each runs in a step."""
        return f"Hybrid({[*self.samplers]}, counts={self.counts or 'time'!r})"

    def check_family(self, likelihood: Likelihood) -> None:
        """ValueError if a part cannot run the family."""
        for part in self.samplers:
            part.check_family(likelihood)

    def log_hyperprior(self, prior: PartitionPrior) -> float:
        """That of the first part: all share one model."""
        return self.samplers[0].log_hyperprior(prior)

    def counts_for(self, chain: Chain) -> tuple[int, ...]:
        """How often each part runs in a step, by the time that each took in a burn-in; the slowest runs once."""
        if not len(chain.seconds):
            return self.counts
        each = chain.seconds[0] / np.maximum(chain.seconds[1], 1.0)
        return tuple(int(count) for count in np.maximum(1, np.round(each.max() / np.maximum(each, 1e-9))))

    def _by_the_clock(self, chain: Chain, rng: RngVerbs) -> Info:
        """A step of a burn-in: each part runs until it has had as much time as any other, and at least once."""
        infos = []
        if not len(chain.seconds):
            chain.seconds = np.zeros((2, len(self.samplers)))
            infos = [part.step(chain, rng) for part in self.samplers]  # not timed: kernels are compiled
        slowest = chain.seconds[0].max()
        for number, part in enumerate(self.samplers):
            while True:
                start = time.perf_counter()
                infos.append(part.step(chain, rng))
                chain.seconds[:, number] += time.perf_counter() - start, 1.0
                if chain.seconds[0, number] >= slowest:
                    break
        return _summed(infos)


Sampler.together = Hybrid


def _summed(infos: list[Info]) -> Info:
    _, moved, proposed, accepted = np.array(infos).sum(axis=0)
    return Info(infos[-1].n_clusters, int(moved), int(proposed), int(accepted))


def _checked(counts: Iterable[int] | str | None, n_parts: int) -> tuple[int, ...]:
    """The counts; empty if the clock finds them."""
    if isinstance(counts, str):
        if counts != "time":
            refuse_value("counts must be 'time', or how often each sampler runs in a step", counts)
        return ()
    checked = (1,) * n_parts if counts is None else tuple(check_count("each of counts", count) for count in counts)
    if len(checked) != n_parts:
        msg = f"counts must be one for each of {n_parts} samplers, got {len(checked)}"
        raise ValueError(msg)
    return checked
