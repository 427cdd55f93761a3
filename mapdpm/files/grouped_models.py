"""HDPMixture in model files: the table of counts, the shares and the names of groups, as extras of the container."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapdpm.data.group_tree import GroupTree, read_tree
from mapdpm.files.batch_models import Restored, check_results, checked_likelihood, common_extras, parameters_of
from mapdpm.files.errors import ModelFileError
from mapdpm.files.extras import checked_names, smallest_integers
from mapdpm.partition_priors.hierarchy import Hierarchy, hierarchy
from mapdpm.partition_priors.hyperpriors import GammaPrior
from mapdpm.protocol import Labels, Matrix
from mapdpm.state import Mixture

_PRIORS = ("alpha_prior", "gamma_prior")


def extras_of(model: Any, table: Labels) -> dict[str, Any]:
    """The extras of a model file; ValueError where a group has a name that JSON does not have."""
    paths = [list(name) if _is_tree(model) else [name] for name in model.group_names_]
    for name in (label for path in paths for label in path):
        if not isinstance(name, (str, int, float, bool)) and name is not None:
            msg = (
                f"a model file has groups named by str, int, float or bool, got {name!r}; pickle or joblib can keep it"
            )
            raise ValueError(msg)
    return common_extras(model) | {
        **concentrations_of(model),
        "group_names_": paths if _is_tree(model) else model.group_names_.tolist(),
        "table": smallest_integers(table.ravel()),
        "shares_": model.shares_,
        **({"alpha_": model.alpha_, "section_shares_": model.section_shares_.ravel()} if _is_tree(model) else {}),
    }


def concentrations_of(model: Any) -> dict[str, Any]:
    """alpha, gamma and their priors, as extras."""
    priors = {name: getattr(model, name) for name in _PRIORS}
    return {
        "alpha": np.asarray(model.alpha, dtype=np.float64).tolist(),
        "gamma": float(model.gamma),
        **{name: None if each is None else np.array(each, dtype=np.float64).tolist() for name, each in priors.items()},
    }


def restored_concentrations(extras: dict[str, Any]) -> dict[str, Any]:
    """alpha, gamma and their priors, from extras; the model checks them itself."""
    return {"alpha": extras["alpha"], "gamma": extras["gamma"]} | {name: _prior_of(extras[name]) for name in _PRIORS}


def _is_tree(model: Any) -> bool:
    return np.ndim(model.alpha_) == 1


class RestoredGroups(NamedTuple):
    """The model that the extras give, with the tree of groups, the table of counts and the shares of inner nodes."""

    model: Restored
    mixture: Mixture
    tree: GroupTree
    table: Labels
    shares: Matrix


def restored_groups(cls: Any, mixture: Mixture, extras: dict[str, Any]) -> RestoredGroups:
    """The model read from a file; ``extras`` are checked, but for the parameters, which the model checks itself."""
    try:
        likelihood = checked_likelihood(extras, mixture)
        parameters = parameters_of(extras, type(likelihood)) | restored_concentrations(extras)
        check_results(extras, mixture)
        model = Restored(cls(**parameters), likelihood, checked_names(extras, len(mixture.anchor)))
        tree, table, shares = _checked_groups(extras, mixture)
        if tree.n_levels > 1:
            mixture = mixture._replace(prior=_checked_prior(extras["alpha_"], mixture.prior, tree.n_levels))
        return RestoredGroups(model, mixture, tree, table, shares)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        raise misfit(error) from None


def _checked_prior(alphas: Any, prior: Hierarchy, n_levels: int) -> Hierarchy:
    """The concentrations of a tree; the first is that of the body. ValueError where they do not fit."""
    found = hierarchy(alphas, prior.gamma)
    if len(found.alphas) != n_levels or found.alphas[:1] != prior.alphas:
        msg = "alpha_"
        raise ValueError(msg)
    return found


def _prior_of(extra: Any) -> Any:
    """A prior of a concentration, or one a level."""
    if extra is None:
        return None
    return GammaPrior(*extra) if np.ndim(extra) == 1 else [GammaPrior(*each) for each in extra]


def misfit(error: Exception) -> ModelFileError:
    """The error for extras that do not fit."""
    return ModelFileError(f"the model file is damaged: its extras do not fit ({error})")


def _checked_groups(extras: dict[str, Any], mixture: Mixture) -> tuple[GroupTree, Labels, Matrix]:
    """The tree, the table of counts and the shares of inner nodes; ValueError where they do not fit the model."""
    names, n_clusters = extras["group_names_"], len(mixture.counts)
    tree = read_tree(None if names == [None] else _checked_paths(names), len(names))
    table, shares = extras["table"], extras["shares_"]
    if tree.n_groups != len(names) or table.dtype.kind != "i" or len(table) != len(names) * n_clusters:
        msg = "table"
        raise ValueError(msg)
    table = table.astype(np.int64).reshape(len(names), n_clusters)
    if table.min() < 0 or not np.array_equal(table.sum(axis=0), mixture.counts) or table.sum(axis=1).min() < 1:
        msg = "table"
        raise ValueError(msg)
    shares = np.append(shares, extras.get("section_shares_", ())).reshape(tree.n_inner, n_clusters + 1)
    within = shares.min() >= 0.0 and shares[:, :-1].min() > 0.0
    if not within or not np.allclose(shares.sum(axis=1), 1.0, rtol=0.0, atol=1e-9):
        msg = "shares_"
        raise ValueError(msg)
    return tree, table, shares


def _checked_paths(names: Any) -> NDArray[np.object_]:
    """The labels of groups as a table with a column for each level; ValueError where it is none."""
    paths = [name if isinstance(name, list) else [name] for name in names] if isinstance(names, list) else []
    known = all(isinstance(label, (str, int, float, bool)) for path in paths for label in path)
    if not paths or not known or len({len(path) for path in paths}) != 1:
        msg = "group_names_"
        raise ValueError(msg)
    table = np.empty((len(paths), len(paths[0])), dtype=object)
    table[:] = paths
    return table
