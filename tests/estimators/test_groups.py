"""``MAPDPM(groups=)``: groups of clusters by a slow rule, labels and probabilities of groups, files, bad values."""

import itertools
import pickle

import numpy as np
import pytest
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_mutual_info_score

from mapdpm import MAPDPM, DirichletMultinomial, NormalGamma
from mapdpm.estimators import grouping
from mapdpm.files.errors import ModelFileError
from mapdpm.merging.groups import groups_at_points


def groups_by_the_rule(shares, weights):
    """Maths, section 27, word by word: posterior probabilities of clusters at points, and what each point counts."""
    K = shares.shape[1]
    best_cluster = shares.argmax(axis=1)
    mine = [{k} for k in range(K)]

    def of(sets):
        return np.stack([shares[:, sorted(own)].sum(axis=1) for own in sets], axis=1)

    def overlap(sets, a, b):
        tau = of(sets)
        best = tau.argmax(axis=1)
        return max(
            (weights * tau[:, one] * (best == two)).sum() / (weights * tau[:, one]).sum()
            for one, two in ((a, b), (b, a))
        )

    first = {pair: overlap(mine, *pair) for pair in itertools.combinations(range(K), 2)}
    sets, heights, steps = mine, [], []
    while len(sets) > 1:
        pairs = list(itertools.combinations(range(len(sets)), 2))
        chances = [overlap(sets, *pair) for pair in pairs]
        a, b = pairs[int(np.argmax(chances))]
        heights.append(-np.log(max(chances)))
        bridge = max(itertools.product(sets[a], sets[b]), key=lambda pair: first[tuple(sorted(pair))])
        joined = sets[a] | sets[b]
        sets = [own for place, own in enumerate(sets) if place not in {a, b}] + [joined]
        steps.append((sets, bridge))
    risen = np.maximum.accumulate(heights)
    gaps = [h - g if g <= 6.0 and h - g >= 3.0 else 0.0 for g, h in itertools.pairwise(risen)]
    if not any(gaps):
        return [{k} for k in range(K)]
    n = int(np.argmax(gaps)) + 1
    kept = []
    for own in steps[n - 1][0]:
        ends = between = 0.0
        for one, two in (bridge for _, bridge in steps[:n] if set(bridge) <= own):
            s = np.log(shares[:, one] / shares[:, two])
            places = np.median(s[best_cluster == one]), np.median(s[best_cluster == two])
            reach = abs(places[0] - places[1]) / 8.0
            near = np.isin(best_cluster, (one, two))
            a, b, m = (weights[near & (np.abs(s - place) <= reach)].sum() for place in (*places, 0.0))
            ends, between = ends + min(a, b), between + m
        is_all = weights[np.isin(best_cluster, sorted(own))].sum() > 0.95 * weights.sum()
        kept += [{k} for k in own] if is_all or between < 0.45 * ends else [own]
    return kept


def as_sets(groups):
    return {frozenset(np.flatnonzero(groups == g).tolist()) for g in np.unique(groups)}


@pytest.mark.parametrize("seed", range(12))
def test_groups_are_those_of_the_rule(seed):
    """Random bands and clouds; of twelve, some merge, some have a valley and some no gap."""
    rng = np.random.default_rng(seed)
    steps = rng.uniform(0.8, 5.0)
    line = (
        np.column_stack([steps * rng.integers(0, 4, 160), rng.normal(0.0, 0.3, 160)]) + rng.normal(size=(160, 2)) * 0.7
    )
    cloud = np.array([0.0, rng.uniform(6.0, 14.0)]) + rng.normal(size=(60, 2))
    X = np.concatenate([line, cloud])
    shares = MAPDPM(likelihood=NormalGamma(0.0, 1e-3, 5.0, 5.0)).fit(X).predict_proba(X)[:, :-1]
    shares = np.maximum(shares, 1e-300)
    weights = rng.uniform(0.5, 3.0, len(X))
    found = groups_at_points(np.log(shares), np.log(weights))
    assert as_sets(found) == {
        frozenset(own) for own in groups_by_the_rule(shares / shares.sum(1, keepdims=True), weights)
    }


@pytest.mark.parametrize("make", [make_moons, make_circles])
def test_bent_shapes_become_whole(make):
    X, y = make(600, noise=0.05, random_state=3, **({"factor": 0.4} if make is make_circles else {}))
    model, plain = MAPDPM(groups="auto").fit(X), MAPDPM().fit(X)
    assert model.n_clusters_ > 5
    assert model.n_groups_ == 2
    assert adjusted_mutual_info_score(y, model.labels_) > 0.99
    np.testing.assert_array_equal(model.labels_, model.groups_[model.components_])
    np.testing.assert_array_equal(model.components_, plain.labels_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.predict(X, merged=range(model.n_clusters_)), model.components_)
    of_clusters, of_groups = plain.predict_proba(X), model.predict_proba(X)
    for group in range(2):
        np.testing.assert_allclose(of_groups[:, group], of_clusters[:, :-1][:, model.groups_ == group].sum(axis=1))
    np.testing.assert_array_equal(of_groups[:, -1], of_clusters[:, -1])
    assert model.get_feature_names_out().tolist() == ["mapdpm0", "mapdpm1", "mapdpm_new"]
    assert model.predict([[90.0, 90.0]], novelty=True).tolist() == [-1]


def test_true_clusters_stay_apart():
    """Seven normals round an eighth, 4.3 standard deviations apart, and seven far from them: a gap, and valleys."""
    angle = np.arange(7) * 2.0 * np.pi / 7.0
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    centres = np.concatenate([[[0.0, 0.0]], 5.0 * ring, 16.0 * ring])
    for seed in range(3):
        X = np.repeat(centres, 60, axis=0) + np.random.default_rng(seed).normal(size=(900, 2))
        model = MAPDPM(groups="auto").fit(X)
        assert model.n_clusters_ == model.n_groups_ == 15
        assert model.merge_tree("overlap", X=X).n_groups == 8  # the gap alone would take them for one


def test_where_all_clusters_overlap_each_is_a_group():
    X = np.random.default_rng(0).exponential(size=(800, 3))
    model = MAPDPM(groups="auto").fit(X)
    assert model.n_groups_ == model.n_clusters_ > 3
    assert model.merge_tree("overlap").n_groups == model.n_clusters_
    assert model.merge_tree().n_groups == model.n_clusters_


def test_a_number_of_groups_is_that_of_the_tree():
    X, _ = make_moons(400, noise=0.06, random_state=0)
    model = MAPDPM(groups=3).fit(X)
    np.testing.assert_array_equal(model.groups_, model.merge_tree("overlap", X=X).groups(3))
    with pytest.warns(UserWarning, match="groups is 99, but the fit has found .* clusters: each is a group"):
        assert MAPDPM(groups=99).fit(X).n_groups_ == model.n_clusters_
    model.groups = None
    assert model.fit(X).n_groups_ == model.n_clusters_  # nothing is left of an earlier fit
    np.testing.assert_array_equal(model.components_, model.labels_)


def test_a_sample_has_points_of_rare_clusters(monkeypatch):
    """30 points in 4,000, of which a sample has a quarter, beyond a gap: their group is their own."""
    monkeypatch.setattr(grouping, "_MOST_POINTS", 1024)
    X, _ = make_circles(4000, noise=0.04, factor=0.4, random_state=0)
    X = np.concatenate([X, np.random.default_rng(0).normal([0.5, 4.0], 0.05, (30, 2))])
    model = MAPDPM(groups="auto").fit(X)
    assert model.n_groups_ == 3
    assert np.bincount(model.labels_).tolist() == [2000, 2000, 30]


def test_weights_count_as_copies_do_and_points_of_none_have_no_group():
    X, _ = make_moons(300, noise=0.05, random_state=1)
    w = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    w[:10] = 0.0
    model = MAPDPM(groups="auto").fit(X, sample_weight=w)
    assert model.n_groups_ == 2
    assert set(model.labels_[:10]) == set(model.components_[:10]) == {-1}


def test_files_and_pickles_know_the_groups():
    X, _ = make_moons(300, noise=0.05, random_state=1)
    model = MAPDPM(groups="auto", covariance="diagonal").fit(X)
    for again in (MAPDPM.from_bytes(model.to_bytes()), pickle.loads(pickle.dumps(model))):
        assert (again.groups, again.covariance) == ("auto", "diagonal")
        for name in ("labels_", "components_", "groups_"):
            np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
        np.testing.assert_array_equal(again.predict(X), model.labels_)
    model._groups = model._groups[::-1].copy()  # forged: not in order of appearance
    with pytest.raises(ModelFileError, match="groups"):
        MAPDPM.from_bytes(model.to_bytes())
    del model.labels_, model.history_, model.log_joint_, model.n_sweeps_, model.converged_  # and nothing to check it by
    with pytest.raises(ModelFileError, match="history_"):
        MAPDPM.from_bytes(model.to_bytes())


def test_every_family_has_groups():
    counts = np.random.default_rng(0).multinomial(40, [[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]], size=(60, 2)).reshape(-1, 3)
    model = MAPDPM(likelihood=DirichletMultinomial(1.0), groups="auto").fit(counts)
    assert model.n_groups_ == model.n_clusters_ == 2


@pytest.mark.parametrize("groups", [0, -1, True, 2.5, "all", [2]])
def test_bad_groups_are_refused(groups):
    with pytest.raises(ValueError, match="groups must be"):
        MAPDPM(groups=groups).fit([[0.0], [1.0], [5.0]])
