"""The four samplers of Liang2007: Gibbs sampling alone, and with other moves."""

from __future__ import annotations

from typing import Any

from mapdpm.samplers import CollapsedGibbs, GammaPrior, Hybrid, PermutationAugmented, SequentialSplitMerge

GIBBS, PAIRS, PERM, BOTH = NAMES = ("GIBBS", "+SPLITMERGE", "+PERM", "+SPLITMERGE+PERM")


def samplers(likelihood: Any, counts: Any = "time", **orders: Any) -> dict[str, Hybrid]:
    """The four of the paper."""
    model = {"likelihood": likelihood, "alpha_prior": GammaPrior(1.0, 1.0)}
    gibbs, pairs = CollapsedGibbs(**model), SequentialSplitMerge(**model)
    cuts = PermutationAugmented(epsilon=1e-32, **orders, **model)  # the paper's
    parts = ((gibbs,), (gibbs, pairs), (gibbs, cuts), (gibbs, pairs, cuts))
    return {name: Hybrid(part, counts=counts) for name, part in zip(NAMES, parts, strict=True)}
