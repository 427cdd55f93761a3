"""Diagonal or full covariances: whichever has the higher log joint, beside columns without clusters, and in files."""

import math

import numpy as np
import pytest
from scipy import integrate, stats
from sklearn.metrics import adjusted_mutual_info_score

from mapdpm import HDPHMM, MAPDPM, HDPMixture, Mixed, NormalGamma, NormalInverseWishart, OnlineMAPDPM, select_alpha
from mapdpm.backends import resolve
from mapdpm.backends.evidence import log_evidence
from mapdpm.likelihoods import _full_normal as full
from mapdpm.likelihoods import _triangle as tri
from mapdpm.likelihoods._full_evidence import full_clusters, full_evidence
from mapdpm.search.relevance import _Search
from mapdpm.search.shape import linked
from tests.marks import complete_but
from tests.oracle import raw


def stretched(seed, noise=0, n=600):
    """Three clusters of two columns that go together, each in its own way; and columns of noise."""
    rng = np.random.default_rng(seed)
    z = rng.permutation(np.arange(n) % 3)
    turns = np.array([[[2.0, 0.0], [1.9, 0.3]], [[2.0, 0.0], [-1.9, 0.3]], [[0.4, 0.0], [0.0, 0.4]]])
    X = np.einsum("nij,nj->ni", turns[z], rng.normal(size=(n, 2))) + np.array([[0.0, 0.0], [9.0, 0.0], [4.5, 6.0]])[z]
    return np.column_stack([X, rng.normal(size=(n, noise))]), z


def same(labels, z):
    """Whether two partitions are nearly one: a far point may be a cluster of its own."""
    return adjusted_mutual_info_score(z, labels) > 0.93


@pytest.mark.parametrize("seed", complete_but(range(2), range(4)))
def test_the_shape_of_the_higher_joint_wins(seed):
    X, z = stretched(seed)
    one, two, best = (MAPDPM(covariance=shape).fit(X) for shape in ("diagonal", "full", "auto"))
    assert best.log_joint_ == max(one.log_joint_, two.log_joint_) == two.log_joint_
    assert isinstance(best.likelihood_, NormalInverseWishart)
    assert same(best.labels_, z)
    assert one.n_clusters_ > 6
    own = raw.log_joint(X, best.labels_, best.likelihood_, 1.0)
    assert best.log_joint_ == pytest.approx(own, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_independent_columns_stay_diagonal(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 4)) + 7.0 * rng.integers(0, 3, 400)[:, None]
    model = MAPDPM().fit(X)
    assert isinstance(model.likelihood_, NormalGamma)
    assert model.log_joint_ == MAPDPM(covariance="diagonal").fit(X).log_joint_


def test_one_cluster_of_columns_that_go_together():
    X = np.random.default_rng(1).normal(size=(500, 3)) @ [[1.0, 0.9, 0.0], [0.0, 0.2, 0.5], [0.0, 0.0, 1.0]]
    model = MAPDPM().fit(X)
    assert model.n_clusters_ == 1
    assert isinstance(model.likelihood_, NormalInverseWishart)


def test_columns_that_go_together_are_linked():
    """By numpy's correlations; in any unit, with weights, and where clusters turn two ways."""
    rng = np.random.default_rng(0)
    z = np.arange(400) % 3
    turned = rng.normal(size=400)
    X = np.column_stack([turned, np.where(z == 0, turned, -turned) + 0.5 * rng.normal(size=400), rng.normal(size=400)])
    X[:, 1] -= X[:, 1] @ turned / (turned @ turned) * turned  # not among all points
    assert linked(X, None, z).tolist() == [True, True, False]
    assert linked(X, None, np.zeros(400, dtype=int)).tolist() == [False] * 3
    gain = sum(-0.5 * (n * np.log1p(-(r**2)) + np.log(n)) for n, r in _correlations(X[:, :2], z))
    assert gain > 100.0
    for each in (X * 1e-200, X * 1e200, X.astype(np.float32), np.column_stack([X[:, :2], np.full(400, 7.0)])):
        assert linked(each, None, z).tolist() == [True, True, False]
    assert linked(np.repeat(X, 2, axis=0)[:400], np.full(400, 0.5), np.repeat(z, 2)[:400])[:2].all()
    assert linked(X[:, [0, 0]], None, z).all()


def _correlations(X, z):
    return [((z == k).sum(), np.corrcoef(X[z == k].T)[0, 1]) for k in np.unique(z)]


def test_noise_is_hardly_ever_linked():
    """By the rule in one table of a hundred at most; 9 of 300 would be three standard errors more."""
    found = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        found += linked(rng.normal(size=(60, 8)), None, rng.integers(0, 3, 60)).any()
    assert found <= 9


def test_full_covariances_are_tried_where_columns_are_linked(monkeypatch):
    """Beside noise once, for the columns that carry clusters, and once more if others go together."""
    tried = []
    at = _Search.at

    def noted(self, relevant, *, is_full=False):
        if is_full:
            tried.append(int(relevant.sum()))
        return at(self, relevant, is_full=is_full)

    monkeypatch.setattr(_Search, "at", noted)
    X, _ = stretched(0, noise=4)
    MAPDPM().fit(X)
    assert set(tried) == {2}
    tried.clear()
    X[:, 5] += X[:, 4]
    MAPDPM().fit(X)
    assert set(tried) == {2, 4}


@pytest.mark.parametrize(("noise", "seed"), complete_but([(4, 1)], [(1, 0), (4, 1), (12, 2)], several=True))
def test_columns_of_noise_have_no_part_in_the_block(noise, seed):
    """J, by the raw points: the block, one cluster of all points for the others, and the price of the set."""
    X, z = stretched(seed, noise)
    model = MAPDPM().fit(X)
    assert same(model.labels_, z)
    assert model.relevant_.tolist() == [True, True, *[False] * noise]
    own = model.likelihood_.restricted([0, 1])
    clusters = raw.log_joint(X[:, :2], model.labels_, own, 1.0)
    others = model._relevance.background.likelihood
    one = model._relevance.background
    rest = float(resolve("auto", others).log_marginals(others, one.state).sum())
    price = math.log(math.comb(2 + noise, 2))
    assert model.log_joint_ == pytest.approx(clusters + rest - price, rel=1e-9)
    block = clusters - math.fsum(raw.log_partition(model.labels_, 1.0))
    alone = MAPDPM(covariance="diagonal").fit(X)
    assert model.relevance_[0] == model.relevance_[1] > 500.0
    assert model.log_joint_ > alone.log_joint_
    again = MAPDPM.from_bytes(model.to_bytes())
    assert again.likelihood_ == model.likelihood_
    np.testing.assert_array_equal(again.score_samples(X), model.score_samples(X))
    np.testing.assert_array_equal(again.relevant_, model.relevant_)
    assert block == pytest.approx(2.0 * model.relevance_[0] + _together(X[:, :2]), abs=1.0)  # its own prior is fitted


def _together(X):
    """The log marginal of all points as one cluster, each column under its own fitted prior."""
    one = [MAPDPM(likelihood=NormalGamma, max_clusters=1, relevance="all").fit(x).log_joint_ for x in X.T[:, :, None]]
    return math.fsum(one) - X.shape[1] * math.fsum(raw.log_partition(np.zeros(len(X), dtype=int), 1.0))


def test_scores_are_densities_of_all_columns():
    X, _ = stretched(5, 1)
    model = MAPDPM().fit(X)
    assert model.relevant_.tolist() == [True, True, False]
    block = model.likelihood_.restricted([0, 1])
    n = len(X)
    parts = [
        np.log(len(own) / (n + 1.0)) + raw.log_predictive_terms(own, np.array([1.0, 2.0]), block)[0]
        for own in (X[model.labels_ == k][:, :2] for k in range(model.n_clusters_))
    ]
    new = -np.log(n + 1.0) + raw.log_predictive_terms(X[:0, :2], np.array([1.0, 2.0]), block)[0]
    given = np.logaddexp.reduce([*parts, new])
    found = model.score_samples([[1.0, 2.0, 0.5]])[0] - given
    assert found == pytest.approx(stats.norm(X[:, 2].mean(), X[:, 2].std()).logpdf(0.5), abs=0.02)


def test_a_table_of_several_kinds_has_one_block():
    X, z = stretched(3, 1)
    rng = np.random.default_rng(3)
    table = np.column_stack([X, rng.random(len(X)) < 0.3, (z == 2) ^ (rng.random(len(X)) < 0.1)])
    model = MAPDPM().fit(table)
    assert isinstance(model.likelihood_, Mixed)
    assert same(model.labels_, z)
    assert model.relevant_.tolist() == [True, True, False, False, True]
    again = MAPDPM.from_bytes(model.to_bytes())
    assert again.likelihood_ == model.likelihood_
    np.testing.assert_array_equal(again.score_samples(table), model.score_samples(table))


@pytest.mark.parametrize("own", [NormalInverseWishart([0.0, 0.0], 0.1, 4.0, [1.0, 1.0]), NormalInverseWishart])
def test_a_part_that_is_full_is_fitted_beside_others(own):
    """With its prior given no other shape is a start; it was tried for ever."""
    X, z = stretched(3, 2)
    model = MAPDPM(likelihood=Mixed({(0, 1): own, (2, 3): NormalGamma})).fit(X)
    assert same(model.labels_, z)


def test_a_part_of_one_column_may_be_full_too():
    X, _ = stretched(3, 2)
    assert MAPDPM(likelihood=Mixed({0: NormalInverseWishart, (1, 2, 3): NormalGamma})).fit(X).n_clusters_ > 1


def test_rounded_values_have_their_steps():
    X, z = stretched(4)
    model = MAPDPM().fit(X.round(1))
    assert model.likelihood_.resolution.tolist() == [0.1, 0.1]
    assert isinstance(model.likelihood_, NormalInverseWishart)
    assert same(model.labels_, z)


def test_units_do_not_matter():
    X, z = stretched(6, 2)
    for factor, shift in ((1e-6, 0.0), (1e6, 1e9)):
        model = MAPDPM().fit(factor * X + shift)
        assert same(model.labels_, z)
        assert model.relevant_.tolist() == [True, True, False, False]


def test_weights_are_relative():
    X, z = stretched(7, 3)
    for weights in (3.0 * np.ones(len(X)), np.random.default_rng(0).integers(1, 5, len(X))):
        model = MAPDPM().fit(X, sample_weight=weights)
        assert same(model.labels_, z)
        assert model.relevant_.tolist() == [True, True, False, False, False]


def test_where_full_covariances_are_not_tried():
    X, _ = stretched(8, n=200)
    wide = np.column_stack([X, np.random.default_rng(0).normal(size=(len(X), 31)) + X[:, :1]])
    assert isinstance(MAPDPM(missing="skip").fit(X).likelihood_, NormalGamma)
    assert isinstance(MAPDPM(relevance="all").fit(wide).likelihood_, NormalGamma)
    assert isinstance(MAPDPM(relevance="all").fit(wide[:, :32]).likelihood_, NormalInverseWishart)
    assert isinstance(MAPDPM().fit(X[:, :1]).likelihood_, NormalGamma)
    assert isinstance(MAPDPM(likelihood=NormalGamma).fit(X).likelihood_, NormalGamma)


@pytest.mark.parametrize(
    "fit",
    [
        MAPDPM(covariance="full").fit,
        MAPDPM(likelihood=NormalInverseWishart, relevance="all").fit,
        lambda X: HDPMixture(likelihood=NormalInverseWishart).fit(X, groups=[0, 0, 1]),
        lambda X: select_alpha(X, [0.1, 1.0], folds=2, likelihood=NormalInverseWishart),
    ],
)
def test_more_columns_than_a_matrix_can_have_are_refused(fit):
    with pytest.raises(ValueError, match="513 are more than 512: use covariance='diagonal'"):
        fit(np.random.default_rng(0).normal(size=(3, 513)))


@pytest.mark.complete
def test_groups_states_and_alpha_have_the_shape_too():
    X, z = stretched(9, 1, n=300)
    order = np.argsort(z, kind="stable")
    groups = HDPMixture(likelihood="auto").fit(X, groups=np.arange(len(X)) % 2)
    assert same(groups.labels_, z)
    states = HDPHMM(likelihood="auto").fit(X[order])
    assert same(states.labels_, z[order])
    chosen = select_alpha(X, [0.3, 3.0], folds=3)
    assert same(chosen.model.labels_, z)
    assert chosen.model.relevant_.tolist() == [True, True, False]
    assert chosen.scores.mean() > select_alpha(X, [0.3, 3.0], folds=3, covariance="diagonal").scores.mean()


def test_a_stream_says_what_to_fit():
    with pytest.raises(ValueError, match="covariance='diagonal'"):
        OnlineMAPDPM.from_model(MAPDPM().fit(stretched(0)[0]))


@pytest.mark.parametrize("likelihood", [NormalGamma, None, NormalGamma(0.0, 0.1, 1.0, 1.0)])
def test_a_family_says_its_shape_itself(likelihood):
    with pytest.raises(ValueError, match="covariance is for likelihood='auto'"):
        MAPDPM(likelihood=likelihood, covariance="full").fit(stretched(0)[0])
    with pytest.raises(ValueError, match="covariance must be one of"):
        MAPDPM(likelihood=likelihood, covariance="round").fit(stretched(0)[0])


def test_a_block_that_loses_columns_has_the_marginal_prior():
    """The density of some features is the integral over the others; and what was completed is found again."""
    psi0 = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 1.5]])
    whole = NormalInverseWishart([0.0, 1.0, 2.0], 0.3, 4.5, psi0, [0.0, 0.1, 0.2])
    part = whole.restricted([0, 2])
    past = np.random.default_rng(0).normal(size=(5, 3))
    x = np.array([0.7, 1.1])

    def density(value):
        return math.exp(raw.log_predictive_terms(past, np.array([x[0], value, x[1]]), whole)[0])

    marginal = integrate.quad(density, -np.inf, np.inf, epsabs=0.0, epsrel=1e-10)[0]
    assert raw.log_predictive_terms(past[:, [0, 2]], x, part)[0] == pytest.approx(math.log(marginal), rel=1e-8)
    other = NormalInverseWishart([5.0, 6.0], 0.2, 7.0, [[3.0, 1.0], [1.0, 4.0]], [0.5, 0.0])
    assert whole.completed(other, np.array([0, 2])).restricted([0, 2]) == other


@pytest.mark.parametrize("D", [1, 2, 7, 25])
def test_the_evidence_at_many_widths_is_that_of_the_family(D):
    rng = np.random.default_rng(D)
    X = rng.normal(size=(120, D)) @ rng.normal(size=(D, D)) + 3.0
    model = MAPDPM(likelihood=NormalInverseWishart.empirical(X), init=np.arange(120) % 4, moves=(), max_sweeps=0).fit(X)
    mixture = model._mixture
    made_by = mixture.likelihood
    at = full_evidence(full_clusters(mixture.statistics, made_by, made_by), made_by)
    for c0, more, by in ((0.05, 2.0, 1.0), (1.0, 150.0, 1e-4), (1e-6, -0.5, 1e3)):
        prior = made_by._replace(c0=c0, nu0=D + more, psi0=by * made_by.psi0)
        expected = log_evidence(resolve("auto", made_by), prior, made_by, mixture.counts, mixture.statistics)
        assert at(prior) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("D", [1, 2, 5, 12])
def test_cells_by_squares_are_those_by_rotations(D):
    rng = np.random.default_rng(D)
    A = rng.normal(size=(D, D))
    steps = rng.choice([0.0, 0.3, 2.0], D)
    steps[0] = 1.0
    prior = NormalInverseWishart(np.zeros(D), 0.1, D + 2.0, np.eye(D), steps)
    matrix = A @ A.T + 0.1 * np.eye(D)
    factor, added = np.linalg.cholesky(matrix)[np.tril_indices(D)], 2.5 * np.diag(steps**2 / 12.0)
    before = factor.copy()
    growth = full.add_cells(prior, factor, 0, 2.5, np.empty(D))
    assert growth == pytest.approx(np.linalg.slogdet(matrix + added)[1] - np.linalg.slogdet(matrix)[1], rel=1e-9)
    np.testing.assert_allclose(tri.unpacked(factor) @ tri.unpacked(factor).T, matrix + added, rtol=1e-12, atol=1e-12)
    assert full.remove_cells(prior, factor, 0, 2.5, np.empty(D))
    np.testing.assert_allclose(factor, before, rtol=1e-9, atol=1e-12)
    assert not full.remove_cells(prior, factor, 0, 1e9, np.empty(D))
    np.testing.assert_allclose(factor, before, rtol=1e-9, atol=1e-12)


def test_cells_of_columns_that_nearly_depend_are_added_by_rotations():
    """Squares would lose the small pivot: 1e-20 beside 1."""
    factor = np.array([1.0, 1.0, 1e-10])
    prior = NormalInverseWishart(np.zeros(2), 0.1, 4.0, np.eye(2), [0.0, math.sqrt(12.0) * 1e-10])
    full.add_cells(prior, factor, 0, 1.0, np.empty(2))
    np.testing.assert_allclose(factor, [1.0, 1.0, math.sqrt(2.0) * 1e-10], rtol=1e-12)
