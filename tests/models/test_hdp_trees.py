"""HDPMixture with groups in a tree: attributes, J of raw points, new groups, concentrations, files, bad input."""

import copy
import math
import pickle

import numpy as np
import pandas as pd
import pytest

import mapdpm
from mapdpm import HDPMixture
from mapdpm.data.group_tree import read_tree
from mapdpm.files.errors import ModelFileError
from mapdpm.partition_priors.hierarchy import Hierarchy
from mapdpm.partition_priors.hyperpriors import GammaPrior
from tests.oracle import franchise as oracle
from tests.search.test_grouped import PRIOR
from tests.search.test_grouped_trees import sectioned_points


@pytest.fixture(scope="module")
def data():
    X, paths, _ = sectioned_points(0, 3, 3, 12)
    return X, np.array([[f"s{s}", f"g{g}"] for s, g in paths], dtype=object)


@pytest.fixture(scope="module")
def model(data):
    return HDPMixture([1.5, 0.7], 2.0, likelihood=PRIOR).fit(*data)


def test_attributes_fit_together(model, data):
    X, paths = data
    K = model.n_clusters_
    assert model.group_names_.tolist() == [(f"s{s}", f"g{g}") for s in range(3) for g in range(3)]
    assert model.section_names_.tolist() == ["s0", "s1", "s2"]
    assert model.section_shares_.shape == (3, K + 1)
    np.testing.assert_allclose(model.section_shares_.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.alpha_, [1.5, 0.7])
    for j, path in enumerate(model.group_names_):
        counts = np.bincount(model.labels_[np.all(paths == path, axis=1)], minlength=K + 1)
        wanted = (counts + 0.7 * model.section_shares_[j // 3]) / (counts.sum() + 0.7)
        np.testing.assert_allclose(model.weights_[j], wanted)
    flat = HDPMixture(likelihood=PRIOR).fit(X, paths[:, 0])
    assert flat.section_names_.shape == (0,)
    assert flat.section_shares_.shape == (0, flat.n_clusters_ + 1)


def test_log_joint_is_that_of_the_raw_points():
    """Exact p(z) by convolution over all numbers of tables; the objective promises 0.03 nats."""
    X, paths, _ = sectioned_points(1, 2, 2, 6)
    model = HDPMixture([1.5, 0.7], 2.0, likelihood=PRIOR).fit(X, paths)
    tree = read_tree(paths, len(X))
    table = oracle.table_of(model.labels_.tolist(), tree.of_points.tolist())
    prior = oracle.log_partition_of_sections([table[:2], table[2:]], (1.5, 0.7), 2.0)
    marginals = [oracle.log_marginal(X[model.labels_ == k], model.likelihood_) for k in range(model.n_clusters_)]
    assert model.log_joint_ == pytest.approx(prior + math.fsum(marginals), abs=0.03)


def test_a_new_group_weighs_by_the_lowest_node_that_is_known(model, data):
    X, paths = data
    known, section, nothing = ["s1", "g2"], ["s1", "new"], ["new", "g2"]
    weights = model.weights_[5], model.section_shares_[1], model.shares_
    densities = model.score_samples(X[:1], [known]), model.score_samples(X[:1], [section])
    proba = [model.predict_proba(X[:1], [path])[0] for path in (known, section, nothing)]
    likelihoods = proba[0] / weights[0]
    for found, w in zip(proba, weights, strict=True):
        np.testing.assert_allclose(found, w * likelihoods / (w * likelihoods).sum(), rtol=1e-9)
    np.testing.assert_array_equal(model.predict_proba(X[:1]), model.predict_proba(X[:1], [nothing]))
    assert densities[0] != densities[1]
    frame = pd.DataFrame({"section": paths[:, 0], "group": paths[:, 1]})
    np.testing.assert_array_equal(model.score_samples(X, frame), model.score_samples(X, paths))


def test_sections_are_worth_something():
    """Held-out groups of known sections: with the tree they weigh by their section, without it by the root."""
    tree, flat = [], []
    for seed in range(4):
        X, paths, _ = sectioned_points(seed, 5, 6, 30)
        held = paths[:, 1] == 0
        fits = [HDPMixture(likelihood=PRIOR).fit(X[~held], groups[~held]) for groups in (paths, paths @ [100, 1])]
        tree.append(fits[0].score(X[held], groups=paths[held]))
        flat.append(fits[1].score(X[held], groups=paths[held] @ [100, 1]))
    assert np.mean(tree) > np.mean(flat)


@pytest.mark.complete
def test_concentrations_at_their_mode(data):
    """p(log alpha, log gamma | z) is lower at all points of a grid around them."""
    X, paths = data
    priors = [GammaPrior(2.0, 1.0), GammaPrior(1.0, 1.0)]
    model = HDPMixture(likelihood=PRIOR, alpha_prior=priors, gamma_prior=GammaPrior(1.0, 0.5)).fit(X, paths)
    tree = read_tree(paths, len(X))
    table = oracle.table_of(model.labels_.tolist(), tree.of_points.tolist())
    by_number = [*priors, GammaPrior(1.0, 0.5)]

    def density(numbers):
        logs = math.fsum(p.log_density(v) + math.log(v) for p, v in zip(by_number, numbers, strict=True))
        return Hierarchy(tuple(numbers[:-1]), numbers[-1]).log_partition(table, tree.parents) + logs

    numbers = [*model.alpha_.tolist(), model.gamma_]
    for i in range(3):
        for step in (0.9, 0.99, 1.01, 1.1):
            other = [v * step if k == i else v for k, v in enumerate(numbers)]
            assert density(other) < density(numbers)


def test_files_keep_everything(model, data, tmp_path):
    model.save(tmp_path / "m.mdpm")
    for again in (mapdpm.load(tmp_path / "m.mdpm"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        for name in ("labels_", "weights_", "shares_", "section_names_", "section_shares_", "history_", "alpha_"):
            np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
        assert again.group_names_.tolist() == model.group_names_.tolist()
        np.testing.assert_array_equal(again.score_samples(*data), model.score_samples(*data))
        assert again.to_bytes() == model.to_bytes()


@pytest.mark.parametrize(
    "extras",
    [
        {"alpha_": np.array([1.5])},
        {"alpha_": np.array([1.0, 0.7])},
        {"alpha_": np.array([1.0, 2.0, 3.0])},
        {"alpha_": np.array([1.0, -2.0])},
        {"section_shares_": np.zeros(3)},
        {"group_names_": [["s0", "g0"]] * 9},
        {"group_names_": [["s0"]] + [["s1", f"g{i}"] for i in range(8)]},
        {"group_names_": [["s0", {}]] + [["s1", f"g{i}"] for i in range(8)]},
    ],
)
def test_damaged_files_are_refused(model, extras):
    mixture, right = mapdpm.files.container.unpack(model.to_bytes(), HDPMixture._kind)
    data = mapdpm.files.container.pack(mixture, right | extras, kind=HDPMixture._kind)
    with pytest.raises(ModelFileError, match="its extras do not fit"):
        HDPMixture.from_bytes(data)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"alpha": [1.0, 2.0, 3.0]}, "one for each level of groups: 2, got 3"),
        ({"alpha": [1.0, 0.0]}, "alpha must be > 0"),
        ({"alpha": []}, "got none"),
        ({"alpha_prior": [GammaPrior()] * 3}, "alpha_prior must be one, or one for each level of groups: 2, got 3"),
        ({"alpha_prior": [GammaPrior(), None]}, "alpha_prior must be a GammaPrior, or one for each level"),
        ({"alpha_prior": []}, "alpha_prior must be a GammaPrior, or one for each level"),
    ],
)
def test_bad_parameters_are_refused(parameters, words, data):
    with pytest.raises(ValueError, match=words):
        HDPMixture(**parameters).fit(*data)


def test_other_levels_are_refused(model, data):
    X, paths = data
    with pytest.raises(ValueError, match="groups must have a column for each of 2 levels, got 1"):
        model.predict(X, paths[:, 0])
    with pytest.raises(ValueError, match=r"groups\[1\] is None"):
        HDPMixture().fit(X[:2], [["a", "b"], ["a", None]])
    with pytest.raises(ValueError, match=r"shape \(108,\)"):
        HDPMixture().fit(X, paths[:5])


def test_degenerate_trees():
    """A section of one group, a group of one point, one point in all, and every point alone."""
    X = np.random.default_rng(0).normal(size=(12, 2))
    for paths in (
        [["a", "b"]] * 12,
        [["a", f"b{i}"] for i in range(12)],
        [[f"a{i}", "b"] for i in range(12)],
        [["a", "b"]] * 11 + [["c", "b"]],
        [[f"a{i % 2}", f"b{i % 3}", f"c{i}"] for i in range(12)],
    ):
        model = HDPMixture(likelihood=PRIOR).fit(X, paths)
        assert model.converged_
        assert np.isfinite(model.log_joint_)
    assert HDPMixture(likelihood=PRIOR).fit(X[:1], [["a", "b"]]).n_clusters_ == 1
