"""Reference samplers: one MCMC algorithm a file, exact, and the judges of everything faster."""

from mapdpm.partition_priors.hyperpriors import BetaPrior, GammaPrior, InverseGammaPrior
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.collapsed_gibbs import CollapsedGibbs
from mapdpm.samplers.hybrid import Hybrid
from mapdpm.samplers.permutation_augmented import PermutationAugmented
from mapdpm.samplers.sample import Progress, sample
from mapdpm.samplers.sampler import Info, Sampler
from mapdpm.samplers.sequential_split_merge import SequentialSplitMerge
from mapdpm.samplers.split_merge import SplitMerge
from mapdpm.samplers.trace import Trace
from mapdpm.samplers.uncollapsed_gibbs import UncollapsedGibbs

__all__ = [
    "BetaPrior",
    "Chain",
    "CollapsedGibbs",
    "GammaPrior",
    "Hybrid",
    "Info",
    "InverseGammaPrior",
    "PermutationAugmented",
    "Progress",
    "Sampler",
    "SequentialSplitMerge",
    "SplitMerge",
    "Trace",
    "UncollapsedGibbs",
    "sample",
]


def __dir__() -> list[str]:
    return sorted(__all__)
