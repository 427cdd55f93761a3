"""The likelihood that the options of the command line ask for."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from mapdpm import NormalGamma, columns
from mapdpm.cli.kinds import mixed, warn
from mapdpm.cli.tables import Table
from mapdpm.cli.usage import refuse_argument
from mapdpm.data import read_by
from mapdpm.kinds.likelihood import likelihood_of
from mapdpm.likelihoods._parameters import described
from mapdpm.likelihoods._skipping import empirical_prior
from mapdpm.names import AUTO


def likelihood_of_table(arguments: argparse.Namespace, table: Table, stated: Mapping[Any, str]) -> Any:
    """AUTO, or the family whose prior is to be fitted; or with the prior of all points, changed by ``--prior``.

    That is the prior where it is asked for, and where a parameter is given or varied. ``stated`` are the kinds of
    ``--kinds``.
    """
    family, changes = arguments.likelihood or NormalGamma, dict(arguments.prior)
    if len(changes) < len(arguments.prior):
        names = ", ".join(name for name, _ in arguments.prior)
        refuse_argument(f"--prior: each parameter at most once, got {names}")
    if arguments.standardize and not changes:
        warnings.warn("--standardize changes nothing without --prior, whose units it chooses", stacklevel=2)
    has_kinds = table.kinds is not None or bool(stated)
    fitted = not (changes or arguments.empirical_prior or vars(arguments).get("vary"))
    if fitted and arguments.likelihood is None:
        return AUTO
    if has_kinds:
        return _of_kinds(arguments, table, stated)
    if fitted:
        return family
    if family is NormalGamma and not changes:
        return None
    return _with_changes(arguments, table, family, changes)


def _with_changes(arguments: argparse.Namespace, table: Table, family: Any, changes: dict[str, Any]) -> Any:
    """The prior of all points, with the parameters of ``--prior``."""
    unknown = [name for name in changes if name not in family._fields]
    if unknown:
        known = ", ".join(family._fields)
        refuse_argument(f"--prior: {family.name} has no parameter {unknown[0]!r}; it has {known}")
    missing = arguments.missing or "error"
    prior = empirical_prior(family, table, missing=missing)
    if arguments.standardize and not (hasattr(family, "shifted") and hasattr(family, "scaled")):
        refuse_argument(f"--standardize: {family.name} has no units to choose; leave it out")
    try:
        if not arguments.standardize:
            return prior._replace(**changes)
        # The model is the same in any units: the prior is put into standard units, changed, put back (decision 40).
        _, centre, variance = described(table, missing=missing)
        scale = np.sqrt(variance)
        return prior.shifted(centre).scaled(1.0 / scale)._replace(**changes).scaled(scale).shifted(-centre)
    except ValueError as error:
        refuse_argument(f"--prior: {error}")


def _of_kinds(arguments: argparse.Namespace, table: Table, stated: Mapping[Any, str]) -> Any:
    """The product for columns of several kinds; its priors are fitted, or those of all points where that is asked."""
    for option in ("prior", "standardize", "vary"):
        if getattr(arguments, option, None):
            refuse_argument(f"--{option}: is for columns of numbers only; choose these with --columns")
    if arguments.likelihood is None:
        likelihood = likelihood_of(columns(table, stated), table).likelihood
    else:
        warn(table, stated)
        likelihood = mixed(table, stated, arguments.likelihood).bound_to(table)
    if not arguments.empirical_prior:
        return likelihood
    missing = arguments.missing or "error"
    return empirical_prior(likelihood, read_by(likelihood, table, missing), missing=missing)
