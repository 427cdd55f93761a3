"""What a family can do: every family, those from outside and products too, has all of it, or there is a reason.

The table is printed by ``pytest -s -k test_every_family_has_every_ability``.
"""

import io
import pickle
from contextlib import redirect_stdout
from types import SimpleNamespace

import numpy as np
import pytest

from mapdpm import (
    HDPHMM,
    MAPDPM,
    Categorical,
    DirichletMultinomial,
    HDPMixture,
    Mixed,
    NormalGamma,
    OnlineHDP,
    OnlineHDPHMM,
    OnlineMAPDPM,
    merge_tree,
    select_alpha,
)
from mapdpm.cli import main
from mapdpm.data import read_by
from mapdpm.likelihoods import FAMILIES, STREAM_FAMILIES
from mapdpm.likelihoods._skipping import has_verb
from mapdpm.likelihoods._template import GammaExponential
from mapdpm.samplers import CollapsedGibbs, UncollapsedGibbs, sample
from mapdpm.search import fit as fitting
from mapdpm.search.observed import observed
from mapdpm.testing import laws
from tests.beta_geometric import BetaGeometric
from tests.families import as_array, example
from tests.marks import complete_but
from tests.mixed import bound, prior, table

N, GROUPS = 24, np.repeat([0, 1, 2], 8)


def case_of(kind):
    """A prior, the points as a user gives them, and what asks for the fitted prior."""
    rng = np.random.default_rng(3)
    if kind is Mixed:
        data = table(rng, N, levels=4)
        given = bound(prior(rng, 4), 4)
        classes = Mixed({key: type(family) for key, family in given.parts.items()})
        return SimpleNamespace(prior=given, X=data.array, fitted=classes)
    likelihood, data = example(kind, rng, n=N, D=2)
    return SimpleNamespace(prior=likelihood, X=data.words if kind is Categorical else as_array(data), fitted=kind)


def fitted(case):
    """The fit of the points, made once."""
    return made_once(case, "fit", lambda: MAPDPM(likelihood=case.prior).fit(case.X))


def in_groups(case):
    return made_once(case, "of_groups", lambda: HDPMixture(likelihood=case.prior).fit(case.X, GROUPS))


def in_states(case):
    return made_once(case, "of_states", lambda: HDPHMM(likelihood=case.prior).fit(case.X))


def made_once(case, name, make):
    if not hasattr(case, name):
        setattr(case, name, make())
    return getattr(case, name)


def with_gaps(case):
    X = np.array(case.X, dtype=float).reshape(N, -1)
    X[::5, 0] = np.nan
    assert np.isfinite(MAPDPM(likelihood=case.prior, missing="skip").fit(X).log_joint_)


def comes_back(model):
    for back in (type(model).from_bytes(model.to_bytes()), pickle.loads(pickle.dumps(model))):
        assert back.likelihood_ == model.likelihood_


def in_passes(case):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "MANY", 1)
        assert MAPDPM(likelihood=case.prior).fit(case.X).history_.size


def on_command_line(case, folder):
    X = np.asarray(case.X, dtype=float).reshape(N, -1)
    np.savetxt(folder / "data.csv", X, delimiter=",", header=",".join("abcdefg"[: X.shape[1]]), comments="")
    if isinstance(case.prior, Mixed):
        options = ["--kinds", "e=category,f=count,g=flag"]
    else:
        kind = type(case.prior)
        options = ["--likelihood", kind.name if kind.number else f"{kind.__module__}:{kind.__name__}"]
    out = [] if not has_name(case) else ["--out", str(folder / "model.mdpm")]
    with redirect_stdout(io.StringIO()):
        assert main(["fit", str(folder / "data.csv"), *options, *out]) == 0
        assert not out or main(["predict", str(folder / "model.mdpm"), str(folder / "data.csv")]) == 0


def has_name(case):
    return isinstance(case.prior, Mixed) or bool(type(case.prior).name)


def runs_in_c(model):
    assert model.backend_ == "c"


def obeys_the_laws(case):
    seen = observed(case.prior, read_by(case.prior, case.X))
    laws.check_likelihood(seen.shifted, seen.data, N)


ABILITIES = {
    "the laws": obeys_the_laws,
    "a fit": fitted,
    "a fit in C": lambda case: runs_in_c(fitted(case)),
    "fitted prior": lambda case: MAPDPM(likelihood=case.fitted).fit(case.X),
    "missing values": with_gaps,
    "weights": lambda case: MAPDPM(likelihood=case.prior).fit(case.X, sample_weight=np.full(N, 1.5)),
    "passes": in_passes,
    "file": lambda case: comes_back(fitted(case)),
    "tree by the joint": lambda case: fitted(case).merge_tree(),
    "tree by overlap at points": lambda case: fitted(case).merge_tree("overlap", X=case.X),
    "tree of labels": lambda case: merge_tree(case.X, np.arange(N) % 2, likelihood=case.prior),
    "tree by overlap alone": lambda case: fitted(case).merge_tree("overlap"),
    "means_": lambda case: fitted(case).means_,
    "pseudo-log-likelihood": lambda case: fitted(case).pseudo_log_likelihood(case.X),
    "HDPMixture": in_groups,
    "HDPMixture, fitted prior": lambda case: HDPMixture(likelihood=case.fitted).fit(case.X, GROUPS),
    "HDPMixture, file": lambda case: comes_back(in_groups(case)),
    "HDPHMM": in_states,
    "HDPHMM, fitted prior": lambda case: HDPHMM(likelihood=case.fitted).fit(case.X),
    "HDPHMM, file": lambda case: comes_back(in_states(case)),
    "alpha by cv": lambda case: select_alpha(case.X, [0.5, 1.0], likelihood=case.prior, folds=2),
    "alpha by the joint": lambda case: select_alpha(case.X, [0.5, 1.0], likelihood=case.prior, method="nll"),
    "alpha by its posterior": lambda case: select_alpha(case.X, likelihood=case.prior, method="map"),
    "empirical Bayes": lambda case: select_alpha(case.X, likelihood=case.fitted, method="empirical-bayes"),
    "alpha in a stream": lambda case: select_alpha(case.X, likelihood=case.prior, method="prequential"),
    "collapsed Gibbs": lambda case: sample(case.X, CollapsedGibbs(likelihood=case.prior), draws=1, random_state=0),
    "uncollapsed Gibbs": lambda case: sample(case.X, UncollapsedGibbs(likelihood=case.prior), draws=1, random_state=0),
    "command line": on_command_line,
    "stream": lambda case: OnlineMAPDPM(likelihood=case.prior).learn_many(case.X),
    "stream of groups": lambda case: OnlineHDP(likelihood=case.prior).learn_many(case.X, GROUPS),
    "stream of states": lambda case: OnlineHDPHMM(likelihood=case.prior).learn_many(case.X),
    "stream from a model": lambda case: OnlineMAPDPM.from_model(fitted(case)),
    "divergence": lambda case: verb(case, "divergence"),
    "points drawn": lambda case: in_states(case).sample_path(5, 0),
    "a shift": lambda case: verb(case, "shifted"),
    "other units": lambda case: verb(case, "scaled"),
}

IN_STREAMS = {"alpha in a stream", "stream", "stream of groups", "stream of states", "stream from a model"}


def verb(case, name):
    assert has_verb(case.prior, name), f"there is no {name}"


def why_not(kind, ability):
    """Why a family lacks an ability: what mathematics forbids, by what the family is; None where nothing does."""
    has_moments = hasattr(kind, "moments")
    reasons = {
        "missing values": (kind is not Mixed and not hasattr(kind, "feature"), "its features are not independent"),
        "tree by overlap alone": (kind is DirichletMultinomial, "the length of a document is not modelled"),
        "means_": (not has_moments, "its statistics hold no squares"),
        "a shift": (not hasattr(kind, "shifted") or kind is Mixed, "it has no location"),
        "other units": (not hasattr(kind, "scaled") or kind is Mixed, "counts have no units"),
        "points drawn": (kind is DirichletMultinomial, "the length of a document is not modelled"),
        "file": (kind is GammaExponential, "the template has no name"),
        "empirical Bayes": (kind is Mixed, "its parts are fitted, each by itself"),
    }
    if ability in IN_STREAMS and kind not in STREAM_FAMILIES:
        return "streams know two families"
    for name in ("file", "HDPMixture, file", "HDPHMM, file"):
        reasons[name] = reasons["file"]
    holds, reason = reasons.get(ability, (False, ""))
    return reason if holds else None


KINDS = (*FAMILIES, GammaExponential, BetaGeometric, Mixed)
QUICK = (NormalGamma, Categorical, DirichletMultinomial, BetaGeometric, Mixed)  # a family of each kind of data


@pytest.mark.filterwarnings("ignore:.*the edge of the search range")
@pytest.mark.parametrize("kind", complete_but(QUICK, KINDS), ids=lambda kind: kind.__name__)
def test_every_family_has_every_ability(kind, tmp_path):
    case, cells = case_of(kind), {}
    for name, run in ABILITIES.items():
        reason = why_not(kind, name)
        if reason is None:
            run(case, tmp_path) if run is on_command_line else run(case)
            cells[name] = "yes"
        else:
            with pytest.raises((ValueError, AssertionError, AttributeError)):
                run(case)
            cells[name] = reason
    print(f"\n{kind.__name__}: {sum(cell == 'yes' for cell in cells.values())} of {len(cells)}")
    print("".join(f"  {name}: {cell}\n" for name, cell in cells.items() if cell != "yes"))
    assert kind is not NormalGamma or all(cell == "yes" for cell in cells.values())
