"""Trees of clusters: heights by the oracle, scipy's form, groups and labels."""

import itertools

import numpy as np
import pytest
from scipy import stats
from scipy.cluster import hierarchy
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_mutual_info_score

import mapdpm
from mapdpm import (
    MAPDPM,
    BetaBernoulli,
    DirichletMultinomial,
    DPMeans,
    GammaPoisson,
    NormalGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    OnlineMAPDPM,
)
from tests.marks import complete_but
from tests.oracle import raw

FAMILIES = (NormalGamma, NormalKnownVariance, NormalInverseWishart, DirichletMultinomial, GammaPoisson, BetaBernoulli)


def blobs(seed=0, K=7, each=12, D=2):
    rng = np.random.default_rng(seed)
    z = np.repeat(np.arange(K), each)
    return rng.normal(0.0, 6.0, (K, D))[z] + rng.normal(size=(K * each, D)), z


def points_for(family):
    X, z = blobs()
    if family is BetaBernoulli:
        return (X > 0.0).astype(float), z
    if family in {DirichletMultinomial, GammaPoisson}:
        return np.round(np.abs(X)), z
    return X, z


def partitions(tree, labels):
    """The labels after each merger, from the tree's nodes alone, beginning with those of the clusters."""
    names = labels.copy()
    yield names
    for t, (one, two) in enumerate(tree.linkage[:, :2]):
        names = np.where(np.isin(names, (one, two)), tree.n_clusters + t, names)
        yield names


def numbered(labels):
    return np.unique(labels, return_inverse=True)[1]


@pytest.mark.parametrize("family", complete_but([NormalGamma, DirichletMultinomial], FAMILIES))
@pytest.mark.parametrize(("alpha", "discount"), [(1.0, 0.0), (3.0, 0.4)])
def test_heights_are_differences_of_the_log_joint(family, alpha, discount):
    """Against the joint of raw data: to 1e-9 of it, for each merger; and each is the cheapest there is."""
    X, z = points_for(family)
    likelihood = family.empirical(X)
    tree = mapdpm.merge_tree(X, z, likelihood=likelihood, alpha=alpha, discount=discount)
    joints = [raw.log_joint(X, numbered(each), likelihood, alpha, discount) for each in partitions(tree, z)]
    np.testing.assert_allclose(tree.losses, -np.diff(joints), rtol=0.0, atol=1e-9 * (1.0 + abs(joints[0])))
    np.testing.assert_array_equal(tree.linkage[:, 2], np.maximum(tree.losses, 0.0))
    first = [
        joints[0] - raw.log_joint(X, numbered(np.where(z == k, j, z)), likelihood, alpha, discount)
        for k, j in itertools.combinations(range(7), 2)
    ]
    assert tree.losses[0] == pytest.approx(min(first), abs=1e-9 * (1.0 + abs(joints[0])))


def test_a_model_has_the_tree_of_its_labels():
    X, _ = blobs(3)
    model = MAPDPM(1.5, likelihood=NormalGamma(0.0, 0.01, 2.0, 2.0), discount=0.2).fit(X)
    one = model.merge_tree()
    other = mapdpm.merge_tree(X, model.labels_, likelihood=model.likelihood_, alpha=1.5, discount=0.2)
    np.testing.assert_array_equal(one.linkage[:, [0, 1, 3]], other.linkage[:, [0, 1, 3]])
    np.testing.assert_allclose(one.losses, other.losses, rtol=1e-9)
    np.testing.assert_array_equal(one.labels(3), other.labels(3))


@pytest.mark.parametrize("family", complete_but([NormalGamma, NormalInverseWishart], [*FAMILIES[:3], GammaPoisson]))
def test_another_prior_judges_by_itself(family):
    X, z = points_for(family)
    wide = family.empirical(X)
    name = {NormalGamma: "b0", NormalKnownVariance: "variance", NormalInverseWishart: "psi0"}.get(family, "a0")
    narrow = wide._replace(**{name: 0.1 * getattr(wide, name)})
    model = MAPDPM(likelihood=narrow, init=z).fit(X)
    tree = model.merge_tree(prior=wide)
    joints = [raw.log_joint(X, numbered(each), wide, 1.0) for each in partitions(tree, model.labels_)]
    assert tree.n_clusters > 2
    np.testing.assert_allclose(tree.losses, -np.diff(joints), rtol=0.0, atol=1e-9 * (1.0 + abs(joints[0])))


def test_another_prior_of_a_model_that_leaves_columns_out():
    X, z = blobs(3)
    noisy = np.column_stack([np.random.default_rng(0).normal(size=len(X)), X, np.ones(len(X))])
    model = MAPDPM(likelihood=NormalGamma.empirical(noisy), relevance="search", init=z).fit(noisy)
    read = model.relevant_
    assert read.tolist() == [False, *[True] * X.shape[1], False]
    wide = NormalGamma([0.0] * len(read), 0.02, 2.0, [9.0, *[3.0] * X.shape[1], 9.0])
    tree = model.merge_tree(prior=wide)
    own = wide._replace(m0=wide.m0[read], b0=wide.b0[read])
    expected = mapdpm.merge_tree(X, model.labels_, likelihood=own)
    np.testing.assert_allclose(tree.losses, expected.losses, rtol=1e-9)
    assert model.merge_tree("overlap", X=noisy).n_clusters == model.n_clusters_
    with pytest.raises(ValueError, match="prior must be of the family of the model, NormalGamma, got NormalInverse"):
        model.merge_tree(prior=NormalInverseWishart.empirical(noisy))


def test_another_prior_is_of_the_family():
    X, _ = blobs(4)
    model = MAPDPM(likelihood=NormalGamma(0.0, 0.01, 2.0, 2.0)).fit(X)
    with pytest.raises(
        ValueError, match="prior must be of the family of the model, NormalGamma, got NormalKnownVariance"
    ):
        model.merge_tree(prior=NormalKnownVariance.empirical(X))


@pytest.mark.parametrize("criterion", ["log-joint", "overlap"])
def test_the_linkage_is_scipys(criterion):
    X, _ = blobs(5)
    tree = MAPDPM(likelihood="auto").fit(X).merge_tree(criterion)
    assert hierarchy.is_valid_linkage(tree.linkage)
    for n in range(1, tree.n_clusters + 1):
        groups = tree.groups(n)
        assert len(set(groups.tolist())) == n
        assert groups[0] == 0
    risen = np.maximum.accumulate(tree.linkage[:, 2])
    for height in (0.5 * risen[0], *(0.5 * (risen[1:] + risen[:-1])), 2.0 * risen[-1]):
        scipys = hierarchy.fcluster(tree.linkage, height, "distance")
        assert adjusted_mutual_info_score(scipys, tree.groups(height=height)) == pytest.approx(1.0)


def test_labels_are_groups_of_points():
    X, _ = blobs(6)
    w = np.ones(len(X))
    w[:3] = 0.0
    model = MAPDPM(likelihood=NormalGamma(0.0, 0.01, 2.0, 2.0)).fit(X, sample_weight=w)
    tree = model.merge_tree()
    labels, groups = tree.labels(3), tree.groups(3)
    assert np.all(labels[:3] == -1)
    np.testing.assert_array_equal(labels[3:], groups[model.labels_[3:]])
    np.testing.assert_array_equal(model.predict(X, merged=groups), groups[model.predict(X)])
    np.testing.assert_array_equal(model.predict(X, merged=3), groups[model.predict(X)])
    far = np.array([[1e3, 1e3]])
    assert model.predict(far, novelty=True, merged=3).tolist() == [-1]
    with pytest.warns(DeprecationWarning, match="groups= is now called merged=") as seen:
        np.testing.assert_array_equal(model.predict(X, groups=3), groups[model.predict(X)])
    assert [each.filename for each in seen] == [__file__]


def test_the_largest_gap_suggests_the_number_of_groups():
    rng = np.random.default_rng(0)
    centres = np.concatenate([rng.normal(0.0, 3.0, (4, 2)) + far for far in ([0, 0], [400, 0], [0, 400])])
    z = np.repeat(np.arange(12), 20)
    X = centres[z] + 0.3 * rng.normal(size=(240, 2))
    tree = mapdpm.merge_tree(X, z, likelihood=NormalKnownVariance(0.0, 1e5, 0.1))
    assert tree.n_groups == 3
    np.testing.assert_array_equal(tree.labels(), z // 4)


@pytest.mark.parametrize("X", [None, "points"])
def test_overlap_follows_bent_shapes(X):
    points, classes = make_moons(500, noise=0.05, random_state=30)
    model = MAPDPM(likelihood="auto").fit(points)
    tree = model.merge_tree("overlap", X=None if X is None else points)
    assert model.n_clusters_ > 5
    assert tree.n_groups == 2
    assert adjusted_mutual_info_score(classes, tree.labels(2)) == pytest.approx(1.0)


def test_overlap_at_points_is_that_of_hennig():
    """The probability of each merger, from the posterior of clusters by scipy's rules on raw scores."""
    X, z = blobs(8, K=4)
    model = MAPDPM(likelihood=NormalGamma(0.0, 0.01, 2.0, 20.0), init=z, moves=()).fit(X)
    tree = model.merge_tree("overlap", X=X)
    shares = model.predict_proba(X)[:, :-1]
    shares /= shares.sum(axis=1, keepdims=True)
    for t, partition in enumerate(
        itertools.islice(partitions(tree, np.arange(model.n_clusters_)), tree.n_clusters - 1)
    ):
        names = np.unique(partition)
        group_shares = np.stack([shares[:, partition == name].sum(axis=1) for name in names], axis=1)
        best = group_shares.argmax(axis=1)
        taken = [
            group_shares[best == b, a].sum() / group_shares[:, a].sum()
            for a, b in itertools.permutations(range(len(names)), 2)
        ]
        assert tree.losses[t] == pytest.approx(-np.log(max(*taken, 1e-300)), rel=1e-9)


def test_overlap_of_two_clusters_is_the_tail_of_a_normal():
    """Of one variance: log (pi_j F_j / pi_i F_i) is normal for points of i; the smaller cluster is taken oftener."""
    X = np.concatenate([np.linspace(-1.0, 1.0, 60), np.linspace(2.5, 3.5, 6)])[:, None]
    z = np.repeat([0, 1], [60, 6])
    tree = MAPDPM(likelihood=NormalKnownVariance(0.0, 1e8, 0.25), init=z, moves=()).fit(X).merge_tree("overlap")
    apart, odds = 3.0 / 0.5, np.log(6.0 / 60.0)
    taken = stats.norm.logcdf([-apart / 2.0 + odds / apart, -apart / 2.0 - odds / apart])
    # the prior moves means by 4e-10 of their distance from 0, and the logarithm by a few times that
    np.testing.assert_allclose(tree.losses, [-taken.max()], rtol=1e-8)


def test_files_streams_and_point_estimates_have_trees():
    rng = np.random.default_rng(9)
    centres = 20.0 * np.array([[0, 0], [1, 0], [0, 1], [2, 2], [3, 0], [0, 3]])
    X = np.repeat(centres, 40, axis=0) + rng.normal(size=(240, 2))
    model = MAPDPM(likelihood=NormalGamma(0.0, 0.001, 2.0, 2.0)).fit(X)
    again = MAPDPM.from_bytes(model.to_bytes())
    np.testing.assert_array_equal(again.merge_tree().linkage, model.merge_tree().linkage)
    stream = OnlineMAPDPM(likelihood=model.likelihood_)
    ids = stream.learn_many(X).tolist()
    tree = stream.merge_tree()
    labels = [stream.ids.tolist().index(stream.resolve(each)) for each in ids]  # no cluster was split
    pooled = mapdpm.merge_tree(X, labels, likelihood=model.likelihood_)
    # clusters may appear in another order than that of their ids; rounding of sums in one pass, 1e-9 of the joint
    np.testing.assert_allclose(
        np.sort(tree.losses), np.sort(pooled.losses), rtol=0.0, atol=1e-9 * abs(model.log_joint_)
    )
    assert "split" not in [event.kind for event in stream.events]
    assert len(tree.groups(2)) == stream.n_clusters == tree.n_clusters
    with pytest.raises(ValueError, match="does not know its points"):
        tree.labels(2)
    estimate = mapdpm.point_estimates.binder_estimate(
        np.stack([model.labels_, model.labels_, model.merge_tree().labels(4)])
    )
    assert mapdpm.merge_tree(X, estimate).n_clusters == len(np.unique(estimate))


def test_a_stream_without_an_alpha_has_trees_by_overlap_only():
    stream = OnlineMAPDPM.dp_means(4.0, n_features=2)
    stream.partial_fit(blobs(1)[0])
    with pytest.raises(ValueError, match="use criterion='overlap'"):
        stream.merge_tree()
    assert stream.merge_tree("overlap").n_clusters == stream.n_clusters


def test_a_point_far_from_all_clusters_is_one_of_them():
    """A new cluster would have all of its probability; among those there are, it is that of the widest."""
    X, _ = blobs(5)
    model = MAPDPM(likelihood="auto").fit(X)
    tree = model.merge_tree("overlap", X=np.concatenate([X, [[1e4, 1e4]]]))
    assert np.all(np.isfinite(tree.losses))
    assert hierarchy.is_valid_linkage(tree.linkage)


def test_clusters_that_are_never_confused_merge_by_distance():
    """Overlaps far below the smallest number: 0 and 100, 5000 and 5100, whatever the order."""
    X = np.concatenate([place + 0.01 * np.random.default_rng(5).normal(size=(50, 1)) for place in (0, 5000, 100, 5100)])
    model = MAPDPM(likelihood=NormalGamma(0.0, 1e-9, 2.0, 2e-4)).fit(X)
    for points in (None, X):
        tree = model.merge_tree("overlap", X=points)
        assert tree.groups(2).tolist() == [0, 1, 0, 1]
        assert np.all(np.isfinite(tree.linkage))


def test_where_the_tree_says_nothing_each_cluster_is_a_group():
    """Clusters in a row, each as far from the next: no gap, by either criterion, and none where none overlap."""
    for apart in (3.0, 40.0):
        centres = apart * np.arange(8.0)[:, None] * [1.0, 0.0]
        z = np.repeat(np.arange(8), 50)
        X = centres[z] + np.random.default_rng(0).normal(size=(400, 2))
        for criterion in ("log-joint", "overlap"):
            assert mapdpm.merge_tree(X, z, criterion, likelihood=NormalKnownVariance(0.0, 1e4, 1.0)).n_groups == 8


def test_where_every_merger_gains_there_is_one_group():
    x = np.random.default_rng(0).normal(size=(300, 1))
    tree = mapdpm.merge_tree(x, np.arange(300) % 3)
    assert np.all(tree.losses < 0.0)
    assert tree.n_groups == 1


def test_points_without_a_cluster_have_no_group():
    X, z = blobs()
    z[:5] = -1
    tree = mapdpm.merge_tree(X, z)
    assert tree.n_clusters == 7
    assert tree.labels(3)[:5].tolist() == [-1] * 5
    np.testing.assert_allclose(tree.losses, mapdpm.merge_tree(X[5:], z[5:], likelihood=NormalGamma.empirical(X)).losses)


def test_one_cluster_is_a_tree_without_mergers():
    X = np.zeros((5, 1))
    tree = MAPDPM().fit(X).merge_tree()
    assert tree.linkage.shape == (0, 4)
    assert tree.n_groups == 1
    assert tree.labels().tolist() == [0] * 5


def test_arguments_are_checked():
    X, z = blobs()
    model = MAPDPM(likelihood=NormalGamma(0.0, 0.01, 2.0, 2.0)).fit(X)
    tree = model.merge_tree()
    K = model.n_clusters_
    with pytest.raises(ValueError, match="criterion must be one of 'log-joint', 'overlap', got 'ward'"):
        model.merge_tree("ward")
    with pytest.raises(ValueError, match=f"n_groups must be at most the number of clusters, {K}, got {K + 1}"):
        tree.groups(K + 1)
    with pytest.raises(ValueError, match="n_groups or height, not both"):
        tree.groups(2, height=1.0)
    with pytest.raises(ValueError, match="prior is for criterion='log-joint'"):
        model.merge_tree("overlap", prior=NormalGamma.empirical(X))
    with pytest.raises(ValueError, match=f"an integer >= 0 for each of the {K} clusters"):
        model.predict(X, merged=[0, 1])
    with pytest.raises(ValueError, match="X is for criterion='overlap'"):
        model.merge_tree(X=X)
    with pytest.raises(ValueError, match="got -1 for all points"):
        mapdpm.merge_tree(X, np.full(len(X), -1))
    with pytest.raises(ValueError, match="labels must be one integer a point"):
        mapdpm.merge_tree(X, z[:-1])
    with pytest.raises(ValueError, match="not fitted"):
        MAPDPM().merge_tree()
    assert not hasattr(DPMeans, "merge_tree")
