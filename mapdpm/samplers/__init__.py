"""Reference samplers: exact MCMC, one algorithm a file. Faster methods are judged by them."""

from typing import TYPE_CHECKING

from mapdpm.deprecated import old_names
from mapdpm.partition_priors import StickBreaking
from mapdpm.partition_priors.hyperpriors import BetaPrior, GammaPrior, InverseGammaPrior
from mapdpm.samplers.chain import Chain
from mapdpm.samplers.chain_data import ChainData, Given
from mapdpm.samplers.chinese_restaurant_franchise import ChineseRestaurantFranchise
from mapdpm.samplers.collapsed_gibbs import CollapsedGibbs
from mapdpm.samplers.dependent_dp_gibbs import DependentDPGibbs
from mapdpm.samplers.direct_assignment import DirectAssignment
from mapdpm.samplers.finite_symmetric_dirichlet import FiniteSymmetricDirichlet
from mapdpm.samplers.group_shares import group_shares
from mapdpm.samplers.hdp_hmm_beam import HDPHMMBeam
from mapdpm.samplers.hdp_hmm_direct_assignment import HDPHMMDirectAssignment
from mapdpm.samplers.hybrid import Hybrid
from mapdpm.samplers.launched_split_merge import LaunchedSplitMerge
from mapdpm.samplers.nonconjugate_gibbs import NonconjugateGibbs
from mapdpm.samplers.nonconjugate_split_merge import NonconjugateSplitMerge
from mapdpm.samplers.nonconjugate_sub_cluster_splits import NonconjugateSubClusterSplits
from mapdpm.samplers.permutation_augmented import PermutationAugmented
from mapdpm.samplers.random_split_merge import RandomSplitMerge
from mapdpm.samplers.runs import Progress
from mapdpm.samplers.sample import sample
from mapdpm.samplers.sampler import Info, Sampler, Target
from mapdpm.samplers.sequential_split_merge import SequentialSplitMerge
from mapdpm.samplers.split_merge import SplitMerge
from mapdpm.samplers.stick_breaking_gibbs import StickBreakingGibbs
from mapdpm.samplers.sub_cluster_splits import SubClusterSplits
from mapdpm.samplers.super_clusters import SuperClusters
from mapdpm.samplers.trace import Trace
from mapdpm.samplers.uncollapsed_gibbs import UncollapsedGibbs

__all__ = [
    "BetaPrior",
    "Chain",
    "ChainData",
    "ChineseRestaurantFranchise",
    "CollapsedGibbs",
    "DependentDPGibbs",
    "DirectAssignment",
    "FiniteSymmetricDirichlet",
    "GammaPrior",
    "Given",
    "HDPHMMBeam",
    "HDPHMMDirectAssignment",
    "Hybrid",
    "Info",
    "InverseGammaPrior",
    "LaunchedSplitMerge",
    "NonconjugateGibbs",
    "NonconjugateSplitMerge",
    "NonconjugateSubClusterSplits",
    "PermutationAugmented",
    "Progress",
    "RandomSplitMerge",
    "Sampler",
    "SequentialSplitMerge",
    "SplitMerge",
    "StickBreaking",
    "StickBreakingGibbs",
    "SubClusterSplits",
    "SuperClusters",
    "Target",
    "Trace",
    "UncollapsedGibbs",
    "group_shares",
    "sample",
]


if not TYPE_CHECKING:  # mypy would take any name for one that is there
    __getattr__ = old_names(__name__)


def __dir__() -> list[str]:
    return sorted(__all__)
