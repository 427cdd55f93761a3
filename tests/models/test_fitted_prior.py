"""``likelihood="auto"`` in models of groups and of states: a prior of the data's own clusters, found with them."""

import numpy as np
import pytest

from mapdpm import HDPHMM, GammaPoisson, HDPMixture, load

KINDS = pytest.mark.parametrize("kind", [HDPMixture, HDPHMM])


def machine(seed, n=240):
    """Points of three states that last some ten points each, in six groups, and the states."""
    rng = np.random.default_rng(seed)
    z = np.repeat(rng.integers(0, 3, n // 10), 10)
    return 6.0 * z[:, None] + rng.normal(size=(n, 2)), np.repeat(np.arange(6), n // 6), z


def fitted(kind, likelihood, X, groups):
    return kind(likelihood=likelihood).fit(X, groups) if kind is HDPMixture else kind(likelihood=likelihood).fit(X)


@KINDS
@pytest.mark.parametrize("unit", [1.0, 1e-6])
def test_the_prior_is_as_wide_as_the_clusters(kind, unit):
    X, groups, z = machine(0)
    model = fitted(kind, "auto", X * unit, groups)
    assert model.n_clusters_ == len(np.unique(z))
    within = model.likelihood_.b0 / model.likelihood_.a0 / unit**2
    assert np.all((within > 0.3) & (within < 3.0))
    assert model.log_joint_ > fitted(kind, None, X * unit, groups).log_joint_
    assert fitted(kind, model.likelihood_, X * unit, groups).log_joint_ == model.log_joint_


@KINDS
def test_a_class_asks_for_the_same_of_its_family(kind):
    rng = np.random.default_rng(1)
    X, groups = rng.poisson(np.array([[1.0, 20.0], [15.0, 3.0]])[np.repeat([0, 1, 0, 1], 30)]), np.arange(120) % 4
    model = fitted(kind, GammaPoisson, X, groups)
    assert model.n_clusters_ == 2
    assert isinstance(model.likelihood_, GammaPoisson)


@KINDS
def test_a_file_keeps_that_the_prior_was_fitted(kind, tmp_path):
    X, groups, _ = machine(2)
    model = fitted(kind, "auto", X, groups)
    model.save(tmp_path / "model.mdpm")
    read = load(tmp_path / "model.mdpm")
    assert read.likelihood == "auto"
    assert read.likelihood_ == model.likelihood_
    assert np.array_equal(read.labels_, model.labels_)
