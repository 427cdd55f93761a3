"""Bounds of scores by families' verbs leave nothing out: C decides as Python does, on products of hard columns."""

import itertools

import numpy as np
import pandas as pd
import pytest

from mapdpm import (
    BetaBernoulli,
    Categorical,
    GammaPoisson,
    Mixed,
    NormalGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    Spiked,
)
from mapdpm.backends import c_calls, resolve
from mapdpm.backends.c_families import form_of
from mapdpm.likelihoods._restricted import as_table, joined
from mapdpm.partition_priors import partition_prior
from mapdpm.protocol import Model
from mapdpm.search.observed import observed
from mapdpm.state import empty
from mapdpm.testing.backends import agree
from mapdpm.testing.data import Case
from tests.marks import complete_but

KINDS = ("narrow", "wide", "rounded", "known", "spiked", "flag", "rare flag", "count", "large count", "category")


def column(kind, z, rng):
    """Values of a column whose clusters are z, and its family."""
    n, place = len(z), rng.integers(0, 2) * 5.0 * z
    unit = rng.choice([1e-6, 1.0, 1e6])
    if kind in ("flag", "rare flag"):
        x = (rng.random(n) < (0.1 + 0.2 * z if kind == "flag" else 0.02)).astype(float)
        return x, BetaBernoulli(0.5, 0.5)
    if kind in ("count", "large count"):
        x = rng.poisson(np.array([0.1, 2.0, 5.0, 20.0, 3000.0 if kind == "large count" else 8.0])[z]).astype(float)
        return x, GammaPoisson(1.0, 0.2)
    if kind == "category":
        return ((z + rng.integers(2, size=n)) % 5).astype(float), Categorical(1.0)
    x = rng.normal(place, 0.01 if kind == "narrow" else 1.0)
    if kind == "rounded":
        return np.round(x), NormalGamma(0.0, 0.01, 1.0, 0.5, 1.0)
    if kind == "spiked":
        x[rng.random(n) < 0.4] = 0.0
    own = NormalKnownVariance(0.0, 25.0 * unit**2, unit**2) if kind == "known" else None
    own = NormalGamma(0.0, 0.01, 1.0, (1e-4 if kind == "narrow" else 0.5) * unit**2) if own is None else own
    return x * unit, Spiked(0.0, own, BetaBernoulli(0.5, 0.5)) if kind == "spiked" else own


def problem(seed):
    """A table of two to seven columns, and its likelihood; of every second one some cells are missing."""
    rng = np.random.default_rng([8, seed])
    z = rng.integers(5, size=int(rng.integers(30, 150)))
    kinds = rng.choice(KINDS, int(rng.integers(2, 8)), replace=False)
    found = {kind: column(kind, z, rng) for kind in kinds}
    frame = pd.DataFrame({kind: x for kind, (x, _) in found.items()})
    there = rng.random(frame.shape) > (0.2 if seed % 2 else 0.0)
    there[:, 0] = True
    frame = frame.where(there)
    mixed = Mixed({kind: family for kind, (_, family) in found.items()}).bound_to(frame)
    data = mixed.read_table(frame, bool(seed % 2))
    return Case(data, mixed.for_data(data), missing="skip" if seed % 2 else "error")


def test_a_class_of_the_same_name_has_no_form_of_ours():
    """C would read its rows as those of the family of this package, and rule clusters out by wrong scores."""
    assert form_of(NormalGamma(0.0, 1.0, 1.0, 1.0)) == "MAPDPM_STUDENT"
    theirs = type("NormalGamma", (NormalGamma,), {"__slots__": ()})
    assert form_of(theirs(0.0, 1.0, 1.0, 1.0)) == "MAPDPM_BY_VERB"


@pytest.mark.parametrize("seed", complete_but(range(12), range(60)))
def test_c_decides_as_python_does(seed):
    agree(problem(seed), "c", "python", moves=())


@pytest.mark.parametrize("seed", complete_but(range(6), range(30)))
def test_slots_densities_and_shares_are_pythons(seed):
    case = problem(seed)
    seen = observed(case.likelihood, case.X, None, case.missing)
    rng = np.random.default_rng(seed)
    state = empty(seen.shifted, 0, 8)._replace(labels=rng.integers(6, size=seen.data.n_points))
    prior = partition_prior(1.0)
    resolve("python", seen.shifted).statistics(Model(seen.shifted, prior, seen.data), state)
    found = []
    for name in ("c", "python"):
        backend, model = resolve(name, seen.shifted), Model(seen.shifted, prior, seen.data)
        slots, densities = np.empty((2, len(state.labels)), dtype=np.int64), np.empty((2, len(state.labels)))
        for may_open in (0, 1):
            backend.best_slots(model, state, bool(may_open), slots[may_open])
        backend.log_densities(model, state, densities[0])
        backend.left_out(model, state, densities[1])
        found.append((slots, densities))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-9, atol=1e-9)


FAMILIES = {
    "student": lambda d: NormalGamma(np.zeros(d), 0.1, 1.0, np.ones(d)),
    "known": lambda d: NormalKnownVariance(np.zeros(d), np.ones(d), np.ones(d)),
    "full": lambda d: NormalInverseWishart(np.zeros(d), 0.1, d + 1.0, np.eye(d)),
    "flags": lambda d: BetaBernoulli(np.ones(d), np.ones(d)),
}


def test_a_workspace_that_is_known_is_as_large_as_c_asks():
    """Sizes are asked once for all products of a shape; with forms of scores, they are larger (and were overrun)."""
    asked = {}
    for names in itertools.product(FAMILIES, repeat=2):
        for widths in ((1, 4), (2, 3), (1, 1)):
            ends = np.cumsum(widths)
            columns = np.split(np.arange(ends[-1]), ends[:-1])
            product = joined([FAMILIES[name](d) for name, d in zip(names, widths, strict=True)], columns)
            data = as_table(np.zeros((3, ends[-1])))
            problem = c_calls._problem(Model(product.in_kernels("error"), partition_prior(1.0), data, None))
            lib, _ = c_calls.library(np.dtype(float))
            asked.setdefault(problem.shape, set()).add(lib.mapdpm_workspace_bytes(problem.struct, 8))
    assert all(len(sizes) == 1 for sizes in asked.values())
    assert len(asked) > 10
