"""A family with nothing but the verbs that all need: what it lacks is said in words, and all else works."""

from math import log
from typing import Any, NamedTuple

import numpy as np
import pytest

from mapdpm import HDPHMM, MAPDPM, HDPMixture, Mixed, NormalGamma, OnlineMAPDPM, select_alpha
from mapdpm.likelihoods import fitted_to, parameters
from mapdpm.samplers import CollapsedGibbs, SubClusterSplits, UncollapsedGibbs, sample
from mapdpm.search import fit as fitting
from mapdpm.special import log_rising


@parameters(name="minimal", vectors=("b0",), positive={"a0": 1e100, "b0": 1e100})
class Minimal(NamedTuple):
    """Waiting times, as the template, without optional verbs."""

    a0: float
    b0: Any

    def for_data(self, X):
        return fitted_to(self, X)

    def size(self):
        return 1 + self.b0.shape[0]

    def n_statistics(self):
        return 1 + self.b0.shape[0]

    def init(self, row):
        row[:] = 0.0

    def prepare(self, row):
        pass

    def add(self, row, data, i, w):
        row[0] += w
        for d in range(self.b0.shape[0]):
            row[1 + d] += w * data[i, d]

    def remove(self, row, data, i, w):
        row[0] -= w
        for d in range(self.b0.shape[0]):
            row[1 + d] = max(0.0, row[1 + d] - w * data[i, d])
        return True

    def merge(self, row, other):
        for s in range(self.n_statistics()):
            row[s] += other[s]

    def log_predictive(self, row, data, i):
        total = 0.0
        for d in range(self.b0.shape[0]):
            a, b = self.a0 + row[0], self.b0[d] + row[1 + d]
            total += log(a / b) - (a + 1.0) * log(1.0 + data[i, d] / b)
        return total

    def log_marginal(self, row):
        total = 0.0
        for d in range(self.b0.shape[0]):
            b = self.b0[d]
            total += log_rising(self.a0, row[0]) + self.a0 * log(b) - (self.a0 + row[0]) * log(b + row[1 + d])
        return total

    def log_merge(self, union, row, other):
        return self.log_marginal(union) - self.log_marginal(row) - self.log_marginal(other)


X = np.random.default_rng(0).exponential(np.repeat([0.1, 30.0], 20)[:, None], (40, 2))
GROUPS, PRIOR = np.arange(40) % 2, Minimal(2.0, 1.0)
MIXED = Mixed({0: PRIOR, 1: NormalGamma})
GAPS = np.where(np.arange(80).reshape(40, 2) == 7, np.nan, X)


def test_it_works_in_c_and_in_python(monkeypatch):
    model = MAPDPM(likelihood=PRIOR).fit(X)
    assert model.backend_ == "c"
    assert model.log_joint_ == pytest.approx(MAPDPM(likelihood=PRIOR, backend="python").fit(X).log_joint_, rel=1e-12)
    assert MAPDPM.from_bytes(model.to_bytes()).n_clusters_ == model.n_clusters_ == 2
    assert MAPDPM(likelihood=MIXED).fit(X).backend_ == "c"
    for other in (HDPMixture(likelihood=PRIOR).fit(X, GROUPS), HDPHMM(likelihood=PRIOR).fit(X)):
        assert other.n_clusters_ == 2
    assert np.isfinite(model.pseudo_log_likelihood(X))
    assert model.merge_tree("overlap", X=X).linkage.shape == (1, 4)
    sample(X, CollapsedGibbs(likelihood=PRIOR), draws=1, random_state=0)
    monkeypatch.setattr(fitting, "MANY", 1)  # there are no passes without a tangent
    assert MAPDPM(likelihood=PRIOR).fit(X).log_joint_ == model.log_joint_
    assert MAPDPM(likelihood=MIXED).fit(X).n_clusters_ >= 2


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: MAPDPM(likelihood=Minimal).fit(X), "no rule to fit the prior of Minimal"),
        (lambda: MAPDPM(likelihood=Mixed({0: Minimal, 1: NormalGamma})).fit(X), "0: Minimal has no `empirical`"),
        (lambda: HDPMixture(likelihood=Minimal).fit(X, GROUPS), "no rule to fit the prior of Minimal"),
        (lambda: MAPDPM(likelihood=PRIOR).fit(X, sample_weight=GROUPS + 1.0), "Minimal takes no sample_weight"),
        (lambda: MAPDPM(likelihood=MIXED).fit(X, sample_weight=GROUPS + 1.0), "Mixed takes no sample_weight"),
        (lambda: MAPDPM(likelihood=PRIOR, missing="skip").fit(GAPS), "independent features, which Minimal is not"),
        (lambda: MAPDPM(likelihood=PRIOR).fit(X).merge_tree("overlap"), "clusters of Minimal needs points: give X"),
        (lambda: HDPHMM(likelihood=PRIOR).fit(X).sample_path(3), "Minimal has no draw_points"),
        (lambda: select_alpha(X, likelihood=Minimal, method="empirical-bayes"), "no rule to fit the prior of Minimal"),
        (lambda: OnlineMAPDPM(likelihood=PRIOR), "a stream knows NormalGamma and NormalKnownVariance"),
        (lambda: OnlineMAPDPM.from_model(MAPDPM(likelihood=PRIOR).fit(X)), "a model of Minimal cannot go on"),
        (lambda: sample(X, UncollapsedGibbs(likelihood=PRIOR), draws=1), "Minimal has no draw of parameters"),
        (lambda: sample(X, SubClusterSplits(likelihood=PRIOR), draws=1), "Minimal has no draw of parameters"),
        (
            lambda: sample(X, UncollapsedGibbs(likelihood=MIXED), draws=1),
            "Mixed has no draw of parameters|with its prior",
        ),
    ],
)
def test_what_it_lacks_is_said(ask, says):
    with pytest.raises(ValueError, match=says):
        ask()
