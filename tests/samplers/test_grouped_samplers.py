"""Both samplers of groups: the prior of tables and dishes, and agreement on recordings of a smart watch."""

import csv
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from mapdpm import NormalGamma, diagnostics
from mapdpm.rng import seeded
from mapdpm.samplers import ChineseRestaurantFranchise, DirectAssignment, Given, sample
from mapdpm.samplers.chain_data import ChainData
from repository import ROOT
from tests.marks import complete_but
from tests.oracle.franchise import stirling

ALPHA, GAMMA = 1.5, 2.0
SIZES = (7, 4)


class NoData(NamedTuple):
    """A family of points that say nothing: the posterior is the prior."""

    nothing: float = 0.0

    def for_data(self, X):
        return self

    def size(self):
        return 1

    def n_statistics(self):
        return 1

    def init(self, row):
        row[0] = 0.0

    def prepare(self, row):
        pass

    def add(self, row, data, i, w):
        row[0] += w

    def remove(self, row, data, i, w):
        row[0] -= w
        return True

    def merge(self, row, other):
        row[0] += other[0]

    def log_predictive(self, row, data, i):
        return 0.0

    def log_marginal(self, row):
        return 0.0

    def log_merge(self, union, row, other):
        return 0.0


def law_of_tables(alpha, n):
    """p(m tables of n guests), m = 0, ..., n: Teh2004 (46), with alpha for alpha beta_k."""
    p = stirling(n) * alpha ** np.arange(n + 1.0)
    return p / p.sum()


def law_of_dishes():
    """p(K dishes): (46) with gamma, mixed over the numbers of tables of both groups."""
    tables = np.convolve(*(law_of_tables(ALPHA, n) for n in SIZES))
    mixed = np.zeros(len(tables))
    for n, p in enumerate(tables[1:], start=1):
        mixed[: n + 1] += p * law_of_tables(GAMMA, n)
    return mixed


def misfit(values, law):
    """The p-value of a chi-square test, with cells of ten or more expected draws."""
    seen = np.bincount(values, minlength=len(law))
    expected = law * len(values)
    common = expected >= 10.0
    cells = [np.append(each[common], each[~common].sum()) for each in (seen, expected)]
    keep = cells[1] > 0.0
    return stats.chisquare(cells[0][keep], cells[1][keep]).pvalue


@pytest.mark.complete
@pytest.mark.parametrize("kind", complete_but([DirectAssignment], [DirectAssignment, ChineseRestaurantFranchise]))
def test_tables_and_dishes_of_the_prior(kind):
    """1,500 draws, six steps apart: nearly independent. A false alarm of one of three tests has odds of 3e-5."""
    X, sampler, rng = np.zeros((11, 1)), kind(ALPHA, GAMMA, likelihood=NoData()), seeded(0)
    given = sampler.check_given(Given(groups=np.repeat([0, 1], SIZES)), 11)
    chain = sampler.chain(ChainData(NoData(), X, given), "single", rng)
    tables, dishes = [], []
    for _ in range(1500):
        for _ in range(6):
            sampler.move(chain, rng)
        tables.append(chain.tables.sum(axis=1))
        dishes.append(chain.n_clusters)
    assert diagnostics.effective_sample_size(np.array([dishes], dtype=float)) > 1000
    for group, n in enumerate(SIZES):
        assert misfit(np.array(tables)[:, group], law_of_tables(ALPHA, n)) > 1e-5
    assert misfit(dishes, law_of_dishes()) > 1e-5
    assert misfit(dishes, law_of_tables(GAMMA, 11)) < 1e-5  # another law shows


def smartwatch():
    with (ROOT / "examples" / "data" / "smartwatch.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))[::16]
    names = [name for name in rows[0] if name not in {"recording", "activity", "seconds"}]
    return np.array([[float(row[name]) for name in names] for row in rows]), [row["recording"] for row in rows]


@pytest.mark.slow
def test_samplers_agree_on_a_smart_watch():
    """Log joint, number of dishes and largest share: means within five standard errors, by effective sample sizes."""
    X, groups = smartwatch()
    prior = NormalGamma(X.mean(axis=0), 0.01, 2.0, 0.1 * X.var(axis=0))
    kinds, traces = (DirectAssignment, ChineseRestaurantFranchise), []
    for kind in kinds:
        sampler = kind(1.0, 3.0, likelihood=prior, split_merge=True)
        steps = {"draws": 4000, "thin": 3, "burn_in": 2000, "chains": 2, "n_jobs": 2}
        traces.append(sample(X, sampler, groups=groups, random_state=0, keep=(), **steps))
    for name in ("log_joint", "n_clusters", "largest_share"):
        values = [np.asarray(trace.values[name], dtype=float) for trace in traces]
        assert max(map(diagnostics.r_hat, values)) < 1.05, name
        errors = [v.std() / np.sqrt(diagnostics.effective_sample_size(v)) for v in values]
        assert abs(values[0].mean() - values[1].mean()) < 5.0 * np.hypot(*errors), name
