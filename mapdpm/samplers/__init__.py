"""Reference samplers: one MCMC algorithm a file, exact, and the judges of everything faster."""

from mapdpm.samplers.chain import Chain
from mapdpm.samplers.collapsed_gibbs import CollapsedGibbs
from mapdpm.samplers.hybrid import Hybrid
from mapdpm.samplers.permutation_augmented import PermutationAugmented
from mapdpm.samplers.sequential_split_merge import SequentialSplitMerge
from mapdpm.samplers.split_merge import SplitMerge

__all__ = ["Chain", "CollapsedGibbs", "Hybrid", "PermutationAugmented", "SequentialSplitMerge", "SplitMerge"]
