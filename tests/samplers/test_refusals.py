"""Invalid arguments of sample and samplers, and the error messages."""

import numpy as np
import pytest

from mapdpm import MAPDPM, DirichletMultinomial, NormalGamma
from mapdpm.samplers import (
    BetaPrior,
    CollapsedGibbs,
    GammaPrior,
    Hybrid,
    PermutationAugmented,
    SequentialSplitMerge,
    SplitMerge,
    UncollapsedGibbs,
    sample,
)
from tests.samplers.test_trace import PRIOR, blobs


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"draws": 0}, "draws must be an integer >= 1, got 0"),
        ({"burn_in": -1}, "burn_in must be an integer >= 0, got -1"),
        ({"thin": 0}, "thin must be an integer >= 1, got 0"),
        ({"chains": 0}, "chains must be an integer >= 1, got 0"),
        ({"n_jobs": 0}, "n_jobs must be an integer >= 1, got 0"),
        (
            {"init": "shuffled"},
            "init must be one of 'sequential', 'random', 'single', 'singletons' or an array",
        ),
        ({"init": np.zeros(39, dtype=int)}, r"one label a point, shape \(40,\)"),
        ({"callback": 3}, "callback must be callable"),
        ({"keep": "partitions"}, r"keep must be a tuple of names, such as \('partitions',\) or \(\), got 'partitions'"),
        ({"keep": 3}, "keep must be a tuple of names"),
        ({"keep": ("partitions", "tables")}, "keep may name 'partitions' with this sampler, got 'tables'"),
        ({"groups": np.zeros(40)}, "CollapsedGibbs knows no groups; leave groups= out"),
        ({"sequences": np.zeros(40)}, "CollapsedGibbs knows no sequences; leave sequences= out"),
        ({"times": np.zeros(40)}, "CollapsedGibbs knows no times; leave times= out"),
        ({"resume": "draws.npz"}, "resume must be a Trace, such as Trace.load"),
        ({"random_state": "x"}, "random_state must be None, an integer"),
        ({"sampler": MAPDPM()}, "sampler must be one of mapdpm.samplers"),
        ({"sampler": PermutationAugmented(permutations="projections")}, "is a hill climb, no sampler"),
        (
            {"sampler": CollapsedGibbs(n_components=7), "init": "singletons"},
            "init='singletons' makes 40 clusters, and n_components is 7",
        ),
        (
            {"sampler": CollapsedGibbs(n_components=2), "init": np.arange(40) % 3},
            "init has 3 clusters, and n_components is 2",
        ),
        ({"sampler": Hybrid([CollapsedGibbs()], counts="time")}, "finds out in a burn-in"),
        ({"sampler": CollapsedGibbs(likelihood=NormalGamma)}, "got the class NormalGamma itself"),
        ({"sampler": CollapsedGibbs(likelihood=DirichletMultinomial(1.0))}, "X must hold counts"),
    ],
)
def test_bad_input(arguments, message):
    options = {"sampler": CollapsedGibbs(likelihood=PRIOR), "draws": 2} | arguments
    with pytest.raises(ValueError, match=message):
        sample(blobs(), **options)


def test_nan_is_refused():
    X = blobs()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN at row 3, column 1"):
        sample(X, CollapsedGibbs(), draws=1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CollapsedGibbs(0.0), "alpha must be > 0"),
        (lambda: CollapsedGibbs(discount=0.2, n_components=3), "a finite mixture has no discount"),
        (lambda: CollapsedGibbs(n_components=0), "n_components must be an integer >= 1"),
        (lambda: CollapsedGibbs(discount_prior=BetaPrior()), "give a discount in"),
        (lambda: CollapsedGibbs(alpha_update="slice"), "give it a prior"),
        (lambda: CollapsedGibbs(alpha_update="gibbs", alpha_prior=GammaPrior()), "one of 'auxiliary', 'slice'"),
        (
            lambda: CollapsedGibbs(discount=0.1, alpha_prior=GammaPrior(), alpha_update="auxiliary"),
            "for a Dirichlet process and a GammaPrior, got PitmanYor.*'slice' takes any",
        ),
        (lambda: CollapsedGibbs(alpha_prior=1.0), "alpha_prior must be a GammaPrior or an InverseGammaPrior, got 1.0"),
        (lambda: CollapsedGibbs(alpha_prior=GammaPrior(-1.0, 1.0)), "the shape of alpha_prior must be > 0, got -1.0"),
        (lambda: CollapsedGibbs(alpha_prior=GammaPrior(1.0, 0.0)), "the rate of alpha_prior must be > 0 to draw alpha"),
        (lambda: CollapsedGibbs(-0.1, discount=0.3, alpha_prior=GammaPrior()), "must start > 0, got -0.1"),
        (lambda: CollapsedGibbs(discount=0.3, discount_prior=0.5), "discount_prior must be a BetaPrior, got 0.5"),
        (lambda: CollapsedGibbs(discount=0.3, discount_prior=BetaPrior(0.0)), "a of discount_prior must be > 0, got 0"),
        (lambda: SplitMerge(n_scans=-1), "n_scans must be an integer >= 0"),
        (lambda: SequentialSplitMerge(n_proposals=0), "n_proposals must be an integer >= 1"),
        (lambda: PermutationAugmented(method="exact"), "method must be one of 'beam', 'beta', 'table', got 'exact'"),
        (lambda: PermutationAugmented(permutations="random"), "permutations must be one of 'uniform', 'markov', 'proj"),
        (lambda: PermutationAugmented(beta=0.0), "beta must be > 0"),
        (lambda: PermutationAugmented(epsilon=1.0), r"epsilon must be in \[0, 1\)"),
        (lambda: PermutationAugmented(integrate_alpha=True), "needs a DirichletProcess and an alpha_prior, got Di"),
        (
            lambda: PermutationAugmented(integrate_alpha=True, discount=0.1, alpha_prior=GammaPrior()),
            "needs a DirichletProcess and an alpha_prior, got PitmanYor",
        ),
        (lambda: Hybrid([]), "at least one sampler"),
        (lambda: Hybrid([3]), "samplers must be samplers"),
        (lambda: CollapsedGibbs(1.0) + SplitMerge(2.0), "must share one model"),
        (lambda: Hybrid([CollapsedGibbs()], counts=[1, 2]), "one for each of 1 samplers, got 2"),
        (lambda: Hybrid([CollapsedGibbs()], counts="time") + SplitMerge(), "shares time cannot be part of another"),
        (
            lambda: PermutationAugmented(method="table", integrate_alpha=True, alpha_prior=GammaPrior(0.01, 0.01)),
            "under a prior of shape 0.1 at least",
        ),
        (lambda: Hybrid([CollapsedGibbs()], counts="speed"), "counts must be 'time'"),
    ],
)
def test_unsupported_samplers(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_family_without_draws():
    class Bare(NormalGamma):
        __slots__ = ()
        log_likelihood = property()

    with pytest.raises(ValueError, match="Bare has no draw of parameters; CollapsedGibbs takes every likelihood"):
        sample(blobs(), UncollapsedGibbs(likelihood=Bare(*PRIOR)), draws=1)
